//! The partner's table: masquerades traffic of its routers, and forwards ports to them.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::chains::{clamp, guard, ports};
use crate::net::TunnelNet;
use crate::reach::SMTP;
use crate::traffic_policy::Ports;

/// Name of the partner's table, of family `inet`.
pub const PARTNER_TABLE: &str = "weir_partner";

/// Input of a partner's rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partnering {
    /// Device of the tunnel.
    pub device: String,
    /// Networks of the tunnel.
    pub net: TunnelNet,
    /// Places of routers, and their ports.
    pub forwards: Vec<(usize, Vec<Ports>)>,
    /// Ports on which the partner itself listens.
    pub listens: BTreeSet<u16>,
    /// The kernel forwards IPv4 for the tunnel alone.
    pub closed: bool,
    /// Traffic of routers may go to port [`SMTP`].
    pub smtp: bool,
}

/// Returns the partner's table: traffic of routers leaves under the partner's own addresses, and
/// traffic to forwarded ports goes to their routers.
pub fn partner(rules: &Partnering) -> String {
    let Partnering {
        device,
        net,
        forwards,
        ..
    } = rules;
    let mut text = remove_partner();
    text += "table inet weir_partner {\n\tchain leaves {\n\t\ttype nat hook postrouting priority \
        srcnat; policy accept;\n";
    let _ = writeln!(
        text,
        "\t\tip saddr {} oifname != \"{device}\" masquerade",
        net.ipv4
    );
    if let Some(ipv6) = net.ipv6 {
        let _ = writeln!(
            text,
            "\t\tip6 saddr {ipv6} oifname != \"{device}\" masquerade"
        );
    }
    text +=
        "\t}\n\tchain arrives {\n\t\ttype nat hook prerouting priority dstnat; policy accept;\n";
    let _ = writeln!(text, "\t\tiifname \"{device}\" return");
    // Ports of the partner itself are never forwarded.
    for port in &rules.listens {
        let _ = writeln!(
            text,
            "\t\tmeta l4proto {{ tcp, udp }} th dport {port} return"
        );
    }
    for (place, granted) in forwards {
        let (four, six) = net.router(*place);
        let four = four.map(|(own, _)| ("ip", own.to_string()));
        let six = six.map(|(own, _)| ("ip6", own.to_string()));
        for (family, own) in [four, six].into_iter().flatten() {
            for granted in granted {
                let which = ports(family, granted);
                let _ = writeln!(
                    text,
                    "\t\tfib daddr type local {which} dnat {family} to {own}"
                );
            }
        }
    }
    text += "\t}\n";
    if rules.closed {
        let _ = write!(
            text,
            concat!(
                "\tchain closed {{\n\t\ttype filter hook forward priority filter; policy accept;\n",
                "\t\tmeta nfproto ipv4 iifname != \"{device}\" oifname != \"{device}\" drop\n\t}}\n",
            ),
            device = device
        );
    }
    if !rules.smtp {
        let _ = write!(
            text,
            concat!(
                "\tchain mail {{\n\t\ttype filter hook forward priority filter; policy accept;\n",
                "\t\tiifname \"{device}\" oifname != \"{device}\" tcp dport {SMTP} reject with tcp \
                    reset\n\t}}\n",
            ),
            device = device,
            SMTP = SMTP
        );
    }
    // Packets unknown to conntrack would leave with an address of the tunnel.
    let _ = write!(
        text,
        concat!(
            "\tchain known {{\n\t\ttype filter hook forward priority filter; policy accept;\n",
            "\t\tiifname \"{device}\" ct state invalid drop\n\t}}\n",
        ),
        device = device
    );
    clamp(&mut text, device);
    guard(
        &mut text,
        "forward priority filter",
        &format!("oifname \"{device}\""),
    );
    text + "}\n"
}

/// Returns the commands that remove the partner's table, if it exists.
pub fn remove_partner() -> String {
    "table inet weir_partner {}\ndelete table inet weir_partner\n".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_router_has_goes_there() {
        let net = TunnelNet {
            ipv4: "10.93.0.0/16".parse().unwrap(),
            ipv6: Some("fd93::/64".parse().unwrap()),
        };
        let ports = ["tcp/8022", "udp/8000-8099"].map(|text| text.parse().unwrap());
        let rules = Partnering {
            device: "weir-partner".into(),
            net,
            forwards: vec![(1, ports.to_vec())],
            listens: [443, 9349].into(),
            closed: false,
            smtp: false,
        };
        let text = partner(&rules);
        assert!(text.contains("tcp dport 25 reject"), "{text}");
        let mail = Partnering {
            smtp: true,
            ..rules.clone()
        };
        assert!(!partner(&mail).contains("dport 25"));
        assert!(!text.contains("chain closed"), "{text}");
        for line in [
            "th dport 443 return\n",
            "th dport 9349 return\n",
            "fib daddr type local meta nfproto ipv4 tcp dport 8022 dnat ip to 10.93.0.3\n",
            "fib daddr type local meta nfproto ipv6 udp dport 8000-8099 dnat ip6 to fd93::3\n",
            "oifname \"weir-partner\" drop",
        ] {
            assert!(text.contains(line), "{line} in\n{text}");
        }
    }
}
