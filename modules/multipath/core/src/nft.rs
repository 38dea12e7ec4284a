//! The rules that redirect clients' TCP to weir, as text for `nft -f -`: pure.
//!
//! The rules are in a table of weir's own. A rule that redirects to a missing socket does not match
//! (`nft_tproxy` breaks off), so without weir, for whatever reason, packets take their usual route.

mod chains;
mod direct;
mod partner;

use std::fmt::Write;
use std::net::{IpAddr, SocketAddr};

use crate::traffic_policy::{Forward, TrafficPolicy};
use chains::{clamp, guard, ports};
use direct::{DIRECT, DIRECT_PORTS};
pub use direct::{accept_direct, sets};
pub use partner::{PARTNER_TABLE, Partnering, partner, remove_partner};

/// Name of the table, of family `inet`.
pub const TABLE: &str = "weir_multipath";
/// Names of a router's and a partner's table.
pub const TABLES: [&str; 2] = [TABLE, PARTNER_TABLE];
/// Bit of the packet mark that routes redirected packets to this machine.
pub const MARK: u32 = 0x1000_0000;

/// Bit of the packet mark and of the connection mark, of traffic in the tunnel.
pub const TUNNEL_MARK: u32 = 0x2000_0000;

/// Bit of the connection mark, of traffic that went directly for want of a tunnel.
pub const STRAY_MARK: u32 = 0x4000_0000;

/// Ports of name servers: DNS, and DNS over TLS or QUIC (RFC 7858, 9250).
const NAMES: &str = "53, 853";

/// Input of the router's rules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Redirect {
    /// Device of the tunnel, if traffic other than TCP uses the tunnel.
    pub tunnel: Option<String>,
    /// The tunnel carries IPv4, and IPv6.
    pub carries: [bool; 2],
    /// Port of 127.0.0.1 that accepts IPv4.
    pub ipv4: Option<u16>,
    /// Port of ::1 that accepts IPv6.
    pub ipv6: Option<u16>,
    /// Uplinks: their packets are not from clients.
    pub uplinks: Vec<String>,
    /// Device of the tunnel, working or not: only answers and forwarded ports enter by it.
    pub device: Option<String>,
    /// Traffic that goes directly, and forwarded ports.
    pub choice: TrafficPolicy,
    /// No other traffic of clients leaves by an uplink.
    pub stops: bool,
    /// Conversations that begin without a tunnel are marked, to be found when there is one.
    pub strays: bool,
}

/// Returns the commands that create the table, and replace a table of an earlier weir.
pub fn create(redirect: &Redirect) -> String {
    let mut text = remove();
    text += "table inet weir_multipath {\n";
    let names = redirect.uplinks.iter();
    let names = names.map(|name| format!("\"{name}\"")).collect();
    sets(&mut text, &redirect.choice, ("uplinks", names));
    sources(&mut text, redirect);
    text += "\tchain clients {\n\t\ttype filter hook prerouting priority mangle; policy accept;\n";
    text += "\t\tmeta l4proto != tcp return\n";
    // Packets of weir's connections come first, as their destination may have become a direct one
    // since.
    let _ = writeln!(
        text,
        "\t\tsocket transparent 1 meta mark set meta mark or {MARK:#x} accept"
    );
    // Connections that began before weir stay as they are.
    text += "\t\ttcp flags & (fin | syn | rst | ack) != syn return\n";
    text += "\t\tiifname \"lo\" return\n\t\tiifname @uplinks return\n";
    if let Some(device) = &redirect.device {
        let _ = writeln!(text, "\t\tiifname \"{device}\" return");
    }
    text += "\t\tfib daddr type != unicast return\n";
    text += DIRECT;
    text += "\t\ttcp dport @direct_tcp return\n";
    for (family, address, port) in [
        ("ipv4", "ip to 127.0.0.1", redirect.ipv4),
        ("ipv6", "ip6 to [::1]", redirect.ipv6),
    ] {
        if let Some(port) = port {
            let _ = writeln!(
                text,
                "\t\tmeta nfproto {family} meta l4proto tcp tproxy {address}:{port} meta mark set \
                    meta mark or {MARK:#x} accept"
            );
        }
    }
    text += "\t}\n";
    match (&redirect.tunnel, &redirect.device) {
        (Some(device), _) => {
            others(&mut text, device, redirect.carries);
            arrivals(&mut text, device, &redirect.choice.forwards);
            if redirect.stops {
                names_asked(&mut text);
            }
        }
        (None, Some(device)) if redirect.strays => strays(&mut text, device),
        _ => {}
    }
    if redirect.stops {
        let _ = write!(
            text,
            concat!(
                "\tchain stops {{\n\t\ttype filter hook forward priority filter; policy accept;\n",
                "\t\toifname != @uplinks return\n\t\tiifname @uplinks return\n",
                "\t\tct state established,related return\n{direct}{ports}",
                "\t\treject with icmpx admin-prohibited\n\t}}\n",
            ),
            direct = DIRECT,
            ports = DIRECT_PORTS
        );
    }
    if let Some(device) = &redirect.device {
        // The tunnel's addresses must not leave by an uplink, when the tunnel is lost.
        let _ = write!(
            text,
            concat!(
                "\tchain stays {{\n\t\ttype filter hook forward priority filter; policy accept;\n",
                "\t\toifname @uplinks ct mark & {mark:#x} == {mark:#x} drop\n\t}}\n",
            ),
            mark = TUNNEL_MARK
        );
        guard(
            &mut text,
            "prerouting priority dstnat + 10",
            &format!("iifname \"{device}\""),
        );
    }
    text + "}\n"
}

/// Drops packets whose source address routes to an uplink: they do not come from a client, and an
/// answer, even the firewall's, would leave by that uplink and reveal the request.
fn sources(text: &mut String, redirect: &Redirect) {
    if redirect.uplinks.is_empty() {
        return;
    }
    *text += "\tchain sources {\n\t\ttype filter hook prerouting priority mangle - 1; policy \
        accept;\n\t\tct state established,related return\n\t\tiifname \"lo\" return\n\t\tiifname \
        @uplinks return\n";
    if let Some(device) = &redirect.device {
        let _ = writeln!(text, "\t\tiifname \"{device}\" return");
    }
    // A set of interface names has another type here.
    let names = named(&redirect.uplinks);
    let _ = write!(
        text,
        "\t\tfib daddr type != unicast return\n\t\tfib saddr oifname {names} drop\n\t}}\n"
    );
}

/// Redirects all but TCP: new conversations use the tunnel, with all of their packets; older ones
/// keep their route, as their addresses were translated for it.
fn others(text: &mut String, device: &str, carries: [bool; 2]) {
    let mut without = String::new();
    for (family, carries) in ["ipv4", "ipv6"].into_iter().zip(carries) {
        if !carries {
            let _ = writeln!(without, "\t\tmeta nfproto {family} return");
        }
    }
    let _ = write!(
        text,
        concat!(
            "\tchain others {{\n\t\ttype filter hook prerouting priority mangle + 1; policy \
                accept;\n",
            // Answers to conversations from the tunnel go back by the tunnel.
            "\t\tiifname \"{device}\" ct state new ct mark set ct mark or {mark:#x} return\n",
            "\t\tiifname {{ \"lo\", \"{device}\" }} return\n\t\tiifname @uplinks return\n",
            "\t\tct mark & {mark:#x} == {mark:#x} meta mark set meta mark or {mark:#x} return\n",
            "\t\tmeta l4proto tcp return\n",
            "{without}\t\tct state != new return\n",
            "\t\tfib daddr type != unicast return\n",
            "{direct}\t\tudp dport @direct_udp return\n",
            "\t\tct mark set ct mark or {mark:#x} meta mark set meta mark or {mark:#x}\n",
            "\t}}\n",
            "\tchain leaves {{\n\t\ttype nat hook postrouting priority srcnat - 1; policy accept;\n",
            "\t\toifname \"{device}\" masquerade\n\t}}\n",
        ),
        device = device,
        mark = TUNNEL_MARK,
        direct = DIRECT,
        without = without,
    );
}

/// Sends this machine's name queries by the tunnel, as they are clients' queries. Its other traffic
/// may go directly: an uplink may be a tunnel itself.
fn names_asked(text: &mut String) {
    let _ = write!(
        text,
        concat!(
            "\tchain names {{\n\t\ttype route hook output priority mangle + 1; policy accept;\n",
            "\t\toifname != @uplinks return\n",
            "\t\tct mark & {mark:#x} == {mark:#x} meta mark set meta mark or {mark:#x} return\n",
            "\t\tct state != new return\n\t\tfib daddr type != unicast return\n",
            "\t\tip daddr @direct4 return\n\t\tip6 daddr @direct6 return\n",
            "\t\tmeta l4proto != {{ tcp, udp }} return\n\t\tth dport != {{ {names} }} return\n",
            "\t\tct mark set ct mark or {mark:#x} meta mark set meta mark or {mark:#x}\n\t}}\n",
        ),
        mark = TUNNEL_MARK,
        names = NAMES,
    );
}

/// Marks all traffic but TCP without a tunnel, if the tunnel would have carried it.
fn strays(text: &mut String, device: &str) {
    let _ = write!(
        text,
        concat!(
            "\tchain others {{\n\t\ttype filter hook prerouting priority mangle + 1; policy \
                accept;\n",
            "\t\tiifname {{ \"lo\", \"{device}\" }} return\n\t\tiifname @uplinks return\n",
            "\t\tmeta l4proto tcp return\n\t\tct state != new return\n",
            "\t\tfib daddr type != unicast return\n",
            "{direct}\t\tudp dport @direct_udp return\n",
            "\t\tct mark set ct mark or {mark:#x}\n\t}}\n",
        ),
        device = device,
        mark = STRAY_MARK,
        direct = DIRECT,
    );
}

/// Forwards connections from the partner to hosts of the LAN, which see the real source address.
fn arrivals(text: &mut String, device: &str, forwards: &[Forward]) {
    clamp(text, device);
    *text +=
        "\tchain arrives {\n\t\ttype nat hook prerouting priority dstnat - 1; policy accept;\n";
    for forward in forwards {
        let (own, to) = match (forward.host, forward.port) {
            (IpAddr::V4(host), None) => ("ip", host.to_string()),
            (IpAddr::V6(host), None) => ("ip6", host.to_string()),
            (host @ IpAddr::V4(_), Some(port)) => ("ip", SocketAddr::new(host, port).to_string()),
            (host @ IpAddr::V6(_), Some(port)) => ("ip6", SocketAddr::new(host, port).to_string()),
        };
        let _ = writeln!(
            text,
            "\t\tiifname \"{device}\" fib daddr type local {} dnat {own} to {to}",
            ports(own, &forward.ports)
        );
    }
    *text += "\t}\n";
}

/// Returns a set of these devices.
pub fn named(devices: &[String]) -> String {
    let names = devices.iter().map(|name| format!("\"{name}\""));
    format!("{{ {} }}", names.collect::<Vec<_>>().join(", "))
}

/// Returns the commands that remove the table, if it exists.
pub fn remove() -> String {
    // Declared first: deleting a missing table would be an error.
    "table inet weir_multipath {}\ndelete table inet weir_multipath\n".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_redirected() {
        let redirect = Redirect {
            ipv4: Some(9348),
            ipv6: None,
            tunnel: Some("weir-tunnel".into()),
            device: Some("weir-tunnel".into()),
            carries: [true, false],
            uplinks: vec!["wan0".into(), "wan1".into()],
            choice: TrafficPolicy {
                networks: vec!["10.0.0.0/8".parse().unwrap(), "fd00::/8".parse().unwrap()],
                ports: vec!["tcp/25".parse().unwrap(), "udp/5060-5090".parse().unwrap()],
                clients: ["02:00:00:00:00:07", "192.168.1.7", "fd00::7"]
                    .map(|text| text.parse().unwrap())
                    .to_vec(),
                forwards: ["tcp/8022 = 192.168.1.2:22", "udp/51820-51821 = fd00::2"]
                    .map(|text| text.parse().unwrap())
                    .to_vec(),
            },
            stops: false,
            strays: true,
        };
        let text = create(&redirect);
        assert!(!text.contains("chain stops"), "{text}");
        assert!(!text.contains("0x40000000"), "{text}");
        for line in [
            "elements = { \"wan0\", \"wan1\" }",
            "elements = { 10.0.0.0/8 }",
            "elements = { fd00::/8 }",
            "elements = { 25 }",
            "elements = { 5060-5090 }",
            "elements = { 02:00:00:00:00:07 }",
            "elements = { 192.168.1.7/32 }",
            "elements = { fd00::7/128 }",
            "iifname \"weir-tunnel\" fib daddr type local meta nfproto ipv4 tcp dport 8022 dnat \
                ip to 192.168.1.2:22",
            "iifname \"weir-tunnel\" fib daddr type local meta nfproto ipv6 udp dport 51820-51821 \
                dnat ip6 to fd00::2",
            "meta nfproto ipv4 meta l4proto tcp tproxy ip to 127.0.0.1:9348 meta mark set meta \
                mark or 0x10000000 accept",
        ] {
            assert!(text.contains(line), "{line} in\n{text}");
        }
        assert!(!text.contains("nfproto ipv6 meta"), "{text}");
        assert!(text.contains("nfproto ipv6 return"), "the tunnel has none");
        assert!(!text.contains("nfproto ipv4 return"), "{text}");
        assert!(text.starts_with(&remove()));

        let without = Redirect {
            tunnel: None,
            ..redirect
        };
        let text = create(&without);
        assert!(text.contains("ct mark set ct mark or 0x40000000"), "{text}");
        assert!(!text.contains("meta mark or 0x20000000"), "{text}");
        let stays = Redirect {
            strays: false,
            ..without
        };
        assert!(!create(&stays).contains("0x40000000"));
    }
}
