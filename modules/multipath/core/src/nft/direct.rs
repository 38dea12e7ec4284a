//! Traffic that goes directly: its rules and sets. Part of the router's table and of the lock's.

use std::fmt::Write;

use kernel::Prefix;

use crate::traffic_policy::{Clients, Ports, TrafficPolicy, Transport};

/// Rules for new connections that go directly, shared by several chains.
pub(super) const DIRECT: &str = concat!(
    "\t\tip daddr @direct4 return\n\t\tip6 daddr @direct6 return\n",
    "\t\tip saddr @clients4 return\n\t\tip6 saddr @clients6 return\n\t\tether saddr @clients \
        return\n",
);

/// Rules for ports that are reached directly: only the first packet of a connection matters.
pub(super) const DIRECT_PORTS: &str =
    "\t\ttcp dport @direct_tcp return\n\t\tudp dport @direct_udp return\n";

/// Returns rules that accept direct traffic: for a chain without other rules before.
pub fn accept_direct(choice: &TrafficPolicy) -> String {
    let mut text = [DIRECT, DIRECT_PORTS].concat();
    // A rule on hardware addresses keeps connections from the fast path.
    if !choice
        .clients
        .iter()
        .any(|it| matches!(it, Clients::Mac(_)))
    {
        text = text.replace("\t\tether saddr @clients return\n", "");
    }
    text.replace(" return\n", " accept\n")
}

/// Writes the sets of the rules: direct traffic, and devices.
pub fn sets(text: &mut String, choice: &TrafficPolicy, (devices, names): (&str, Vec<String>)) {
    let clients: Vec<_> = choice
        .clients
        .iter()
        .filter_map(|clients| match clients {
            Clients::Network(network) => Some(*network),
            Clients::Mac(_) => None,
        })
        .collect();
    let cards = choice.clients.iter();
    let cards = cards.filter(|clients| matches!(clients, Clients::Mac(_)));
    let cards = cards.map(ToString::to_string).collect();
    let of = |networks: &[Prefix], ipv4: bool| -> Vec<_> {
        let networks = networks.iter();
        let networks = networks.filter(|network| network.address.is_ipv4() == ipv4);
        networks.map(ToString::to_string).collect()
    };
    let ports = |transport: Transport| -> Vec<_> {
        let ports = choice.ports.iter();
        let ports = ports.filter(|ports| ports.transport == transport);
        ports.map(Ports::numbers).collect()
    };
    for (name, kind, is_interval, elements) in [
        (devices, "ifname", false, names),
        ("direct4", "ipv4_addr", true, of(&choice.networks, true)),
        ("direct6", "ipv6_addr", true, of(&choice.networks, false)),
        ("direct_tcp", "inet_service", true, ports(Transport::Tcp)),
        ("direct_udp", "inet_service", true, ports(Transport::Udp)),
        ("clients4", "ipv4_addr", true, of(&clients, true)),
        ("clients6", "ipv6_addr", true, of(&clients, false)),
        ("clients", "ether_addr", false, cards),
    ] {
        let _ = writeln!(text, "\tset {name} {{\n\t\ttype {kind}");
        if is_interval {
            *text += "\t\tflags interval\n\t\tauto-merge\n";
        }
        if !elements.is_empty() {
            let _ = writeln!(text, "\t\telements = {{ {} }}", elements.join(", "));
        }
        *text += "\t}\n";
    }
}
