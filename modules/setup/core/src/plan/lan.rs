//! The network inside.

use super::batman::unwire;
use super::bridge::{interface, set_address};
use super::check::is_lease;
use super::link::bridged_uplink;
use super::overlaps::free_address;
use super::{Config, Facts, Ipv4Cidr, ProblemKind, Report, address_in, derived, pool_of};
use crate::choices::{Choices, Lan};
use crate::read::lan_of;

/// Edits the network inside.
pub(super) fn edit(lan: &Lan, config: &mut Config, facts: &Facts, report: &mut Report) {
    let mut plan = LanPlan {
        config,
        facts,
        report,
    };
    plan.edit(lan);
}

/// A plan for the network inside.
struct LanPlan<'a> {
    config: &'a mut Config,
    facts: &'a Facts,
    report: &'a mut Report,
}

impl LanPlan<'_> {
    fn edit(&mut self, lan: &Lan) {
        let known = lan_of(self.config);
        if known.as_ref() == Some(lan) {
            return;
        }
        // An address that is there stays, even one that the wizard would not give.
        let stays = known.as_ref().filter(|known| known.address == lan.address);
        let inside = match stays.and(address_in(self.config, "lan")) {
            Some(inside) => inside,
            None => match derived::address(lan, self.facts, self.report) {
                Some(inside) => inside,
                None => return,
            },
        };
        if address_in(self.config, "lan") != Some(inside) {
            interface(self.config, self.facts, "lan");
            set_address(self.config, self.facts, "lan", inside);
            let address = inside.to_string();
            let says = format!("The router is {address} inside.");
            self.report
                .add_sentence("services", "lan-address", &[("address", &address)], says);
            if inside.is_public() {
                let network = format!("{}/{}", inside.network(), inside.length);
                let free = free_address(self.config, self.facts, "lan.address");
                let free = free.map_or_else(|| "a private one".to_owned(), |free| free.to_string());
                let says = format!(
                    "{network} is a public network, whose addresses on the Internet devices inside \
                     could not reach: unless it is yours, use {free}."
                );
                self.report
                    .add_sentence("services", "lan-public", &[("network", &network)], says);
            }
        }
        let field = |n: usize| format!("lan.ports[{n}]");
        let ports = lan.ports.iter().enumerate();
        let good = ports.fold(true, |good, (n, port)| {
            self.report.device(&field(n), Some(port)) && good
        });
        if good && !lan.ports.is_empty() {
            self.lan_ports(&lan.ports);
        }
        self.dhcp(lan, inside, known.as_ref());
    }

    /// Sets the ports of the LAN's bridge; `bat0` stays in the bridge.
    fn lan_ports(&mut self, wanted: &[String]) {
        interface(self.config, self.facts, "lan");
        for port in wanted {
            unwire(self.config, port);
        }
        let device = self.config.get("network", "lan", "device");
        let bridge = device.and_then(|name| {
            self.config
                .find_by_option("network", "device", "name", &name)
        });
        let Some(bridge) = bridge else {
            let what = "bridge inside (network.lan.device)".to_owned();
            return self
                .report
                .add_problem("lan.ports", &ProblemKind::Lacking(what));
        };
        let known = self.config.list("network", &bridge, "ports");
        let mesh = known.into_iter().filter(|port| port == "bat0");
        let all: Vec<String> = wanted.iter().cloned().chain(mesh).collect();
        let known = self.config.list("network", &bridge, "ports");
        self.config.set_list("network", &bridge, "ports", &all);
        if known != all {
            let ports = wanted.join(", ");
            let says = format!("Inside are {ports}.");
            self.report
                .add_sentence("services", "lan-ports", &[("ports", &ports)], says);
        }
    }

    /// Switches DHCP on or off. `known` is the old LAN.
    fn dhcp(&mut self, lan: &Lan, inside: Ipv4Cidr, known: Option<&Lan>) {
        let pool = &*pool_of(self.config, "lan");
        let there = self.config.has("dhcp", pool);
        if !lan.dhcp && !there {
            return;
        }
        if !there {
            self.config.section("dhcp", pool, "dhcp");
            self.config.set("dhcp", pool, "interface", "lan");
            self.config.set("dhcp", pool, "ra", "server");
        }
        let known = known.filter(|_| there);
        let is_on = known.is_some_and(|known| known.dhcp);
        if !lan.dhcp {
            if is_on || known.is_none() {
                self.config.set("dhcp", pool, "ignore", "1");
                let says = "It gives no addresses to others.".to_owned();
                self.report
                    .add_sentence("services", "lan-no-dhcp", &[], says);
            }
            return;
        }
        let stays = known.filter(|known| known.dhcp && known.address == lan.address);
        if stays.is_none_or(|known| (known.first, known.count) != (lan.first, lan.count))
            && !self.pool(pool, lan, inside, known)
        {
            return;
        }
        if known.is_none_or(|known| known.lease != lan.lease) {
            if !is_lease(&lan.lease) {
                return self.report.add_problem("lan.lease", &ProblemKind::NotATime);
            }
            self.config.set("dhcp", pool, "leasetime", &lan.lease);
        }
        if !is_on {
            self.config.unset("dhcp", pool, "ignore");
        }
    }

    /// Sets which addresses others get. Returns false if that cannot be.
    fn pool(&mut self, pool: &str, lan: &Lan, inside: Ipv4Cidr, known: Option<&Lan>) -> bool {
        let room = inside.host_count();
        let (first, count) = (u64::from(lan.first), u64::from(lan.count));
        if !(1..=room).contains(&first) {
            self.report
                .add_problem("lan.first", &ProblemKind::OutOfRange(1, room));
            return false;
        }
        let most = room - first + 1;
        if !(1..=most).contains(&count) {
            self.report
                .add_problem("lan.count", &ProblemKind::OutOfRange(1, most));
            return false;
        }
        // The router keeps its own.
        let own = u64::from(u32::from(inside.address) - u32::from(inside.network()));
        let left = count - u64::from((first..first + count).contains(&own));
        if left == 0 {
            self.report.add_problem("lan.count", &ProblemKind::NoneLeft);
            return false;
        }
        let (first, count) = (first.to_string(), count.to_string());
        let is_same =
            |known: &Lan| known.dhcp && (known.first, known.count) == (lan.first, lan.count);
        if !known.is_some_and(is_same) {
            let from = u32::from(inside.network()) + lan.first;
            let from = std::net::Ipv4Addr::from(from).to_string();
            let says = format!("It gives {count} addresses to others, from {from} on.");
            self.report.add_sentence(
                "services",
                "lan-dhcp",
                &[("count", &count), ("from", &from)],
                says,
            );
            if left == 1 {
                let says = "That is enough for one device alone.".to_owned();
                self.report
                    .add_sentence("services", "lan-dhcp-one", &[], says);
            }
        }
        if known.is_none_or(|known| known.first != lan.first) {
            self.config.set("dhcp", pool, "start", &first);
        }
        if known.is_none_or(|known| known.count != lan.count) {
            self.config.set("dhcp", pool, "limit", &count);
        }
        true
    }
}

/// Refuses a port of the Internet that a bridge of another network has: the provider would be
/// inside, and the uplink would receive no answer. `was` is the old configuration: such a port
/// stays if the old configuration has it, unless the choices name the port.
pub(super) fn ports_once(choices: &Choices, was: &Config, config: &Config, report: &mut Report) {
    let internet = choices.internet.as_ref();
    let named = internet.is_some_and(|internet| internet.port.is_some());
    let inside = choices
        .lan
        .as_ref()
        .is_some_and(|lan| !lan.ports.is_empty());
    let Some((port, network)) = bridged_uplink(config) else {
        return;
    };
    let is_new = bridged_uplink(was).as_ref() != Some(&(port.clone(), network.clone()));
    let field = match internet {
        _ if inside && !named && (is_new || network == "lan") => "lan.ports",
        Some(_) if is_new || named => "internet.port",
        _ => return,
    };
    report.add_problem(field, &ProblemKind::PortInside(port, network));
}
