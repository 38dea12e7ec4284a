//! Remote access by `WireGuard`.

use std::net::Ipv4Addr;

use super::check::{is_endpoint, is_wireguard_key};
use super::overlaps::overlaps;
use super::zones::zone;
use super::{Config, Facts, Ipv4Cidr, ProblemKind, Report, is_enabled, text, words, zone_names};
use crate::choices::{WireGuard, WireGuardClient};
use crate::read::{client_of, peers, rule_of, tunnel_names as names, tunnel_of, wireguard_of};

/// Most clients.
pub const MOST: usize = 250;

/// Edits the tunnel of `WireGuard`.
pub(super) fn edit(tunnel: &WireGuard, config: &mut Config, facts: &Facts, report: &mut Report) {
    let mut plan = WireGuardPlan {
        config,
        facts,
        report,
    };
    plan.edit(tunnel);
}

/// A plan for the tunnel of `WireGuard`.
struct WireGuardPlan<'a> {
    config: &'a mut Config,
    facts: &'a Facts,
    report: &'a mut Report,
}

impl WireGuardPlan<'_> {
    fn edit(&mut self, tunnel: &WireGuard) {
        let there = tunnel_of(self.config);
        if !tunnel.on {
            return self.remove(there.as_deref());
        }
        let known = wireguard_of(self.config);
        if is_there(tunnel, &known) {
            return;
        }
        let clients = tunnel.clients.as_deref().or(known.clients.as_deref());
        let clients = clients.unwrap_or_default();
        let known = Some(&known).filter(|known| known.on);
        if self.facts.missing("wireguard", "wireguard.on", self.report) {
            return;
        }
        let stays = known.is_some_and(|known| known.address == tunnel.address);
        let inside = match Ipv4Cidr::read_network(&tunnel.address).filter(|_| stays) {
            Some(inside) => inside,
            None => match self
                .report
                .read_lan_address("wireguard.address", &tunnel.address)
            {
                Some(inside) => inside,
                None => return,
            },
        };
        if clients.len() > MOST {
            return self
                .report
                .add_problem("wireguard.clients", &ProblemKind::TooMany(MOST));
        }
        let same_port = known.is_some_and(|known| known.port == tunnel.port);
        if tunnel.port == 0 {
            return self
                .report
                .add_problem("wireguard.port", &ProblemKind::OutOfRange(1, 65535));
        }
        let former = known.and_then(|known| known.private_key.clone());
        let key = tunnel.private_key.clone().or(former);
        match &key {
            None => {
                return self
                    .report
                    .add_problem("wireguard.private_key", &ProblemKind::Required);
            }
            Some(key) if !is_wireguard_key(key) => {
                return self
                    .report
                    .add_problem("wireguard.private_key", &ProblemKind::NotAKey);
            }
            Some(_) => {}
        }
        if !is_endpoint(&tunnel.endpoint) {
            return self
                .report
                .add_problem("wireguard.endpoint", &ProblemKind::NotAName);
        }
        let new = there.is_none();
        // A tunnel that was made by hand leads to a provider: it stays.
        let free = |name: &String| {
            let kind = peers(name);
            !self.config.has("network", name)
                && self.config.of_type("network", &kind).next().is_none()
        };
        let Some(interface) = there.or_else(|| names().find(free)) else {
            return self.report.add_problem("wireguard.on", &ProblemKind::Twice);
        };
        let interface = &*interface;
        // A port and a network that stay are not judged.
        let new_port = (!same_port).then_some(tunnel.port);
        let new_network = (!stays).then_some(inside);
        if self.is_taken_by_hand(new_port, new_network, interface) {
            return;
        }
        let port = tunnel.port.to_string();
        if new {
            zone(self.config, "wan");
        }
        let (_, outside) = zone_names(self.config);
        let config = &mut *self.config;
        config.section("network", interface, "interface");
        config.set("network", interface, "proto", "wireguard");
        config.set_if("network", interface, "private_key", key.as_deref());
        config.set("network", interface, "listen_port", &port);
        // Not for netifd: clients' files contain it.
        if known.is_none_or(|known| known.endpoint != tunnel.endpoint) {
            config.set("network", interface, "endpoint", &tunnel.endpoint);
        }
        if !stays {
            // Other addresses, such as one of IPv6, stay.
            let all = config.list("network", interface, "addresses");
            let others = all.into_iter().skip(1);
            let all: Vec<String> = std::iter::once(inside.to_string()).chain(others).collect();
            match all.len() {
                1 => config.set_list("network", interface, "addresses", &all),
                _ => config.replace_list("network", interface, "addresses", &all),
            }
        }
        let rule = &*rule_of(interface);
        if new {
            config.section("firewall", rule, "rule");
            for (option, value) in [
                ("name", "Allow-WireGuard"),
                ("src", &*outside),
                ("proto", "udp"),
                ("dest_port", &port),
                ("target", "ACCEPT"),
            ] {
                config.set("firewall", rule, option, value);
            }
        } else {
            config.set("firewall", rule, "dest_port", &port);
        }
        // Clients of the tunnel are inside.
        if new {
            let zone = zone(self.config, "lan");
            self.config
                .list_with("firewall", &zone, "network", interface);
            let says =
                format!("WireGuard's UDP port {port} is open; who comes in by it is inside.");
            self.report
                .add_sentence("services", "wireguard", &[("port", &port)], says);
        }
        self.clients(clients, inside, interface);
    }

    /// Refuses a new port or a new network that another tunnel of `WireGuard` has.
    fn is_taken_by_hand(
        &mut self,
        port: Option<u16>,
        inside: Option<Ipv4Cidr>,
        interface: &str,
    ) -> bool {
        let others = || {
            let all = self.config.of_type("network", "interface");
            all.filter(|other| {
                other.name != interface
                    && text(other, "proto").as_deref() == Some("wireguard")
                    && !is_enabled(other, "disabled")
            })
        };
        let port = port.map(|port| port.to_string());
        let same = others()
            .find(|other| port.is_some() && text(other, "listen_port") == port)
            .map(|other| other.name.clone());
        let met = others().find(|other| {
            let all = words(other, "addresses");
            let mut networks = all.iter().filter_map(|text| Ipv4Cidr::read_network(text));
            networks.any(|network| inside.is_some_and(|inside| network.overlaps(inside)))
        });
        let met = met.map(|other| other.name.clone());
        if let Some(other) = &same {
            let what = format!("the tunnel {other}");
            self.report
                .add_problem("wireguard.port", &ProblemKind::PortTaken(what));
        }
        if let Some(other) = &met {
            let what = format!("the tunnel {other}");
            overlaps(
                self.config,
                self.facts,
                self.report,
                "wireguard.address",
                what,
            );
        }
        same.is_some() || met.is_some()
    }

    fn clients(&mut self, wanted: &[WireGuardClient], inside: Ipv4Cidr, interface: &str) {
        let kind = &*peers(interface);
        let known: Vec<(String, WireGuardClient)> = self
            .config
            .of_type("network", kind)
            .map(|section| (section.name.clone(), client_of(section)))
            .collect();
        let mut taken: Vec<Ipv4Addr> = vec![inside.address];
        let there = known.iter().map(|(_, client)| client);
        taken.extend(wanted.iter().chain(there).filter_map(address));
        let mut stay: Vec<String> = Vec::new();
        for (n, client) in wanted.iter().enumerate() {
            let field = format!("wireguard.clients[{n}]");
            let same = known.iter().find(|(section, other)| {
                let key = client.public_key.is_some() && other.public_key == client.public_key;
                let name = client.public_key.is_none() && other.name == client.name;
                !stay.contains(section) && (key || name)
            });
            if let Some((section, other)) = same
                && is_client(client, other)
            {
                stay.push(section.clone());
                continue;
            }
            let former = same.map(|(_, client)| client.clone()).unwrap_or_default();
            let known = client.address.clone().or(former.address);
            let address = known.or_else(|| {
                let address = free(inside, &taken)?;
                taken.push(address);
                Some(address.to_string())
            });
            let whole = WireGuardClient {
                name: client.name.clone(),
                address,
                public_key: client.public_key.clone().or(former.public_key),
                preshared_key: client.preshared_key.clone().or(former.preshared_key),
            };
            if !self.good_client(&field, &whole, inside, &wanted[..n]) {
                continue;
            }
            let section = match same {
                Some((section, _)) => section.clone(),
                None => {
                    let says = format!("{} may come in by WireGuard.", client.name);
                    self.report.add_sentence(
                        "services",
                        "wireguard-client",
                        &[("name", &client.name)],
                        says,
                    );
                    self.config.add("network", kind)
                }
            };
            self.set_client(&section, &whole, same.map(|(_, client)| client));
            stay.push(section);
        }
        for (section, client) in known {
            if !stay.contains(&section) {
                self.config.remove("network", &section);
                let says = format!("{} may not come in by WireGuard any more.", client.name);
                self.report.add_sentence(
                    "services",
                    "wireguard-client-gone",
                    &[("name", &client.name)],
                    says,
                );
            }
        }
    }

    fn good_client(
        &mut self,
        field: &str,
        client: &WireGuardClient,
        inside: Ipv4Cidr,
        earlier: &[WireGuardClient],
    ) -> bool {
        let before = self.report.problems().len();
        self.report
            .check_name(&format!("{field}.name"), &client.name);
        if earlier.iter().any(|other| other.name == client.name) {
            self.report
                .add_problem(format!("{field}.name"), &ProblemKind::Twice);
        }
        match &client.public_key {
            None => self
                .report
                .add_problem(format!("{field}.public_key"), &ProblemKind::Required),
            Some(key) if !is_wireguard_key(key) => {
                self.report
                    .add_problem(format!("{field}.public_key"), &ProblemKind::NotAKey);
            }
            Some(key) => {
                if earlier
                    .iter()
                    .any(|other| other.public_key.as_ref() == Some(key))
                {
                    self.report
                        .add_problem(format!("{field}.public_key"), &ProblemKind::Twice);
                }
            }
        }
        if client
            .preshared_key
            .as_deref()
            .is_some_and(|key| !is_wireguard_key(key))
        {
            self.report
                .add_problem(format!("{field}.preshared_key"), &ProblemKind::NotAKey);
        }
        match address(client) {
            Some(address) if inside.contains(address) && address != inside.address => {
                if earlier
                    .iter()
                    .any(|other| self::address(other) == Some(address))
                {
                    self.report
                        .add_problem(format!("{field}.address"), &ProblemKind::Twice);
                }
            }
            None if client.address.is_some() => {
                self.report
                    .add_problem(format!("{field}.address"), &ProblemKind::NotOneAddress);
            }
            _ => {
                let network = format!("{}/{}", inside.network(), inside.length);
                self.report.add_problem(
                    format!("{field}.address"),
                    &ProblemKind::OutsideNetwork(network),
                );
            }
        }
        self.report.problems().len() == before
    }

    /// Writes a client. Options that `known` has already stay: more networks that lead to the
    /// client, and the client's routes.
    fn set_client(
        &mut self,
        section: &str,
        client: &WireGuardClient,
        known: Option<&WireGuardClient>,
    ) {
        let config = &mut *self.config;
        config.set("network", section, "description", &client.name);
        let key = client.public_key.as_deref();
        config.set_if("network", section, "public_key", key);
        let preshared = client.preshared_key.as_deref();
        config.set_if("network", section, "preshared_key", preshared);
        if known.is_some_and(|known| known.address == client.address) {
            return;
        }
        let former = known.and_then(|known| Some(format!("{}/32", known.address.as_ref()?)));
        let own = address(client).map(|address| format!("{address}/32"));
        let others = config.list("network", section, "allowed_ips");
        let others = others
            .into_iter()
            .filter(|other| Some(other) != former.as_ref());
        let allowed: Vec<String> = own.into_iter().chain(others).collect();
        config.set_list("network", section, "allowed_ips", &allowed);
        if known.is_none() {
            config.set("network", section, "route_allowed_ips", "1");
        }
    }

    fn remove(&mut self, interface: Option<&str>) {
        let Some(interface) = interface else {
            return;
        };
        let kind = peers(interface);
        let peers: Vec<String> = self
            .config
            .of_type("network", &kind)
            .map(|section| section.name.clone())
            .collect();
        for peer in peers {
            self.config.remove("network", &peer);
        }
        self.config.remove("network", interface);
        self.config.remove("firewall", &rule_of(interface));
        let zone = zone(self.config, "lan");
        self.config
            .list_without("firewall", &zone, "network", interface);
        let says = "No device may come in by WireGuard any more.".to_owned();
        self.report
            .add_sentence("services", "wireguard-off", &[], says);
    }
}

/// Returns true if a client already has the wanted values. A missing value stays.
fn is_client(wanted: &WireGuardClient, known: &WireGuardClient) -> bool {
    let same =
        |wanted: &Option<String>, known: &Option<String>| wanted.is_none() || wanted == known;
    wanted.name == known.name
        && same(&wanted.address, &known.address)
        && same(&wanted.public_key, &known.public_key)
        && same(&wanted.preshared_key, &known.preshared_key)
}

/// Returns true if the tunnel is as wanted.
fn is_there(wanted: &WireGuard, known: &WireGuard) -> bool {
    let of = |tunnel: &WireGuard| WireGuard {
        private_key: None,
        clients: None,
        ..tunnel.clone()
    };
    of(wanted) == of(known)
        && (wanted.private_key.is_none() || wanted.private_key == known.private_key)
        && wanted.clients.as_ref().is_none_or(|wanted| {
            let known = known.clients.as_deref().unwrap_or_default();
            let mut pairs = wanted.iter().zip(known);
            wanted.len() == known.len() && pairs.all(|(wanted, known)| is_client(wanted, known))
        })
}

/// Returns a client's address, if it is valid.
fn address(client: &WireGuardClient) -> Option<Ipv4Addr> {
    client.address.as_deref()?.parse().ok()
}

/// Returns a free address.
fn free(inside: Ipv4Cidr, taken: &[Ipv4Addr]) -> Option<Ipv4Addr> {
    let first = u32::from(inside.network());
    let room = u32::try_from(inside.host_count())
        .unwrap_or(u32::MAX)
        .min(65_536);
    (1..=room)
        .map(|n| Ipv4Addr::from(first.wrapping_add(n)))
        .find(|address| !taken.contains(address))
}
