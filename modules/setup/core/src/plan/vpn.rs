//! Remote access by OpenVPN.

use super::check::is_endpoint;
use super::zones::zone;
use super::{Config, Facts, Ipv4Cidr, MOST_CLIENTS, ProblemKind, Report, zone_names};
use crate::choices::{OpenVpn, OpenVpnClient};
use crate::openvpn::{Client, DEVICE, FILE, SECTIONS, Server, is_common_name, places};

const RULE: &str = "openvpn_in";

/// Edits the server of OpenVPN.
pub(super) fn edit(vpn: &OpenVpn, config: &mut Config, facts: &Facts, report: &mut Report) {
    let mut plan = OpenVpnPlan {
        config,
        facts,
        report,
    };
    plan.edit(vpn);
}

/// A plan for the server of OpenVPN.
struct OpenVpnPlan<'a> {
    config: &'a mut Config,
    facts: &'a Facts,
    report: &'a mut Report,
}

impl OpenVpnPlan<'_> {
    fn edit(&mut self, vpn: &OpenVpn) {
        let netifd = self.facts.release.is_none_or(|year| year >= 25);
        let (package, section) = SECTIONS[usize::from(!netifd)];
        if !vpn.on {
            return self.remove(package, section);
        }
        if self.facts.missing("openvpn", "openvpn.on", self.report) {
            return;
        }
        if vpn.port == 0 {
            return self
                .report
                .add_problem("openvpn.port", &ProblemKind::OutOfRange(1, 65535));
        }
        let Some(network) = Ipv4Cidr::read_network(&vpn.network)
            .filter(|network| (16..=29).contains(&network.length))
            .filter(|network| network.network() == network.address)
            .filter(|network| Ipv4Cidr::read(&network.first().to_string()).is_some())
        else {
            return self
                .report
                .add_problem("openvpn.network", &ProblemKind::NotAnAddress);
        };
        if !is_endpoint(&vpn.endpoint) {
            return self
                .report
                .add_problem("openvpn.endpoint", &ProblemKind::NotAName);
        }
        let known = Server::of(self.config);
        let before = known.as_ref().map(|server| server.port);
        let known = known.map(|server| server.clients).unwrap_or_default();
        let Some(clients) = self.clients(vpn, network, &known) else {
            return;
        };
        self.server(package, section, vpn, &clients);
        let port = vpn.port.to_string();
        if before != Some(vpn.port) {
            let says = format!("OpenVPN's UDP port {port} is open; who comes in by it is inside.");
            self.report
                .add_sentence("services", "openvpn", &[("port", &port)], says);
        }
        for client in clients.iter().filter(|client| !known.contains(client)) {
            let says = format!("{} may come in by OpenVPN.", client.name);
            let name = [("name", &*client.name)];
            self.report
                .add_sentence("services", "openvpn-client", &name, says);
        }
        for client in known.iter().filter(|client| !clients.contains(client)) {
            let says = format!("{} may not come in by OpenVPN any more.", client.name);
            let name = [("name", &*client.name)];
            self.report
                .add_sentence("services", "openvpn-client-gone", &name, says);
        }
    }

    /// Returns the permitted clients; `None` if there is a problem.
    fn clients(
        &mut self,
        vpn: &OpenVpn,
        network: Ipv4Cidr,
        known: &[Client],
    ) -> Option<Vec<Client>> {
        let Some(wanted) = &vpn.clients else {
            return Some(known.to_vec());
        };
        // The server has one of the addresses.
        let room = usize::try_from(network.host_count() - 1).unwrap_or(usize::MAX);
        let most = room.min(MOST_CLIENTS);
        if wanted.len() > most {
            self.report
                .add_problem("openvpn.clients", &ProblemKind::TooMany(most));
            return None;
        }
        let before = self.report.problems().len();
        let mut clients = Vec::new();
        for (n, OpenVpnClient { name, common_name }) in wanted.iter().enumerate() {
            let field = format!("openvpn.clients[{n}].name");
            self.report.check_name(&field, name);
            if wanted[..n].iter().any(|other| other.name == *name) {
                self.report.add_problem(&*field, &ProblemKind::Twice);
            }
            let same = known.iter().find(|client| client.name == *name);
            let made = common_name.clone().filter(|made| is_common_name(made));
            match same.map(|client| client.common_name.clone()).or(made) {
                Some(common_name) => clients.push(Client {
                    common_name,
                    name: name.clone(),
                }),
                None => self.report.add_problem(
                    format!("openvpn.clients[{n}].common_name"),
                    &ProblemKind::Required,
                ),
            }
        }
        (self.report.problems().len() == before).then_some(clients)
    }

    fn server(&mut self, package: &str, section: &str, vpn: &OpenVpn, clients: &[Client]) {
        let netifd = package == "network";
        let port = vpn.port.to_string();
        zone(self.config, "wan");
        let (_, outside) = zone_names(self.config);
        self.only_at(package, section);
        let config = &mut *self.config;
        // The other options belong to a server that was made otherwise, and would conflict.
        if config.get(package, section, "config").as_deref() != Some(FILE) {
            config.remove(package, section);
        }
        if netifd {
            config.section(package, section, "interface");
            config.set(package, section, "proto", "openvpn");
        } else {
            config.section(package, section, "openvpn");
            config.set(package, section, "enabled", "1");
        }
        for (option, value) in [
            ("config", FILE),
            ("dev", DEVICE),
            ("dev_type", "tun"),
            ("port", &port),
            // Not for OpenVPN: its own file has them, or clients' files do.
            ("weir_network", &vpn.network),
            ("endpoint", &vpn.endpoint),
        ] {
            config.set(package, section, option, value);
        }
        let lines: Vec<String> = clients.iter().map(Client::line).collect();
        config.set_list(package, section, "weir_client", &lines);
        config.section("firewall", RULE, "rule");
        for (option, value) in [
            ("name", "Allow-OpenVPN"),
            ("src", &outside),
            ("proto", "udp"),
            ("dest_port", &port),
            ("target", "ACCEPT"),
        ] {
            config.set("firewall", RULE, option, value);
        }
        // By its device: netifd does not learn the device of a separate OpenVPN.
        let zone = zone(self.config, "lan");
        self.config.list_with("firewall", &zone, "device", DEVICE);
    }

    /// Removes sections of an earlier release.
    fn only_at(&mut self, package: &str, section: &str) {
        let all: Vec<_> = places(self.config).collect();
        for (former, name) in all {
            if (former, name) != (package, section) {
                self.config.remove(former, name);
            }
        }
    }

    fn remove(&mut self, package: &str, section: &str) {
        if !self.config.has("firewall", RULE) {
            return;
        }
        self.only_at(package, section);
        self.config.remove(package, section);
        self.config.remove("firewall", RULE);
        let zone = zone(self.config, "lan");
        self.config
            .list_without("firewall", &zone, "device", DEVICE);
        let says = "No device may come in by OpenVPN any more.".to_owned();
        self.report
            .add_sentence("services", "openvpn-off", &[], says);
    }
}

/// Records a hash of the server's file and keys, whichever part of the choices changed them.
/// `known` is the old server.
pub(super) fn mark(known: Option<Server>, config: &mut Config, facts: &Facts, report: &mut Report) {
    let Some(server) = Server::of(config) else {
        return;
    };
    let known = known.map(|server| server.clients).unwrap_or_default();
    if facts.openvpn_anew && server.clients.iter().any(|c| known.contains(c)) {
        let says = "OpenVPN gets new keys: no device can connect with its present file; each needs \
                    a new one. The page shows a file only once; to get another, remove the device \
                    from the list and add it again.";
        report.add_sentence("services", "openvpn-authority", &[], says.to_owned());
    }
    let place = places(config).next();
    if let Some((package, section)) = place {
        // An option without effect for OpenVPN, which each release accepts.
        let mark = server.mark(&facts.openvpn_keys);
        config.set(package, section, "echo", &mark);
    }
}
