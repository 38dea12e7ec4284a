//! The rules that bring clients' TCP to weir, as text for `nft -f -`: pure.
//!
//! They are a table of weir's own. A rule that redirects to a socket that is not there does not match (`nft_tproxy` breaks off), so when weir is gone,
//! by whatever death, packets go their former way.

use std::fmt::Write;

use kernel::Prefix;

use crate::net::TunnelNet;

/// Name of the table, of family `inet`.
pub const TABLE: &str = "weir_multipath";
/// Bit of the packet mark by which what is redirected is routed to this machine.
pub const MARK: u32 = 0x1000_0000;

/// Bit of the packet mark, and of the connection mark, of what goes by the tunnel.
pub const TUNNEL_MARK: u32 = 0x2000_0000;

/// What is redirected, and what not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Redirect {
    /// Device of the tunnel, where what is no TCP goes by it.
    pub tunnel: Option<String>,
    /// Where weir accepts IPv4: a port of 127.0.0.1.
    pub ipv4: Option<u16>,
    /// Where it accepts IPv6: a port of ::1.
    pub ipv6: Option<u16>,
    /// Devices whose packets are not clients': the uplinks.
    pub uplinks: Vec<String>,
    /// Destinations that are reached directly.
    pub direct: Vec<Prefix>,
}

/// Makes the table, in place of one that a former weir left.
pub fn create(redirect: &Redirect) -> String {
    let mut text = remove();
    text += "table inet weir_multipath {\n";
    let quoted: Vec<_> = redirect
        .uplinks
        .iter()
        .map(|name| format!("\"{name}\""))
        .collect();
    let of = |ipv4: bool| -> Vec<_> {
        let prefixes = redirect.direct.iter();
        let prefixes = prefixes.filter(|prefix| prefix.address.is_ipv4() == ipv4);
        prefixes.map(ToString::to_string).collect()
    };
    for (name, kind, elements) in [
        ("uplinks", "type ifname", quoted),
        (
            "direct4",
            "type ipv4_addr\n\t\tflags interval\n\t\tauto-merge",
            of(true),
        ),
        (
            "direct6",
            "type ipv6_addr\n\t\tflags interval\n\t\tauto-merge",
            of(false),
        ),
    ] {
        let _ = write!(text, "\tset {name} {{\n\t\t{kind}\n");
        if !elements.is_empty() {
            let _ = writeln!(text, "\t\telements = {{ {} }}", elements.join(", "));
        }
        text += "\t}\n";
    }
    text += "\tchain clients {\n\t\ttype filter hook prerouting priority mangle; policy accept;\n";
    text += "\t\tmeta l4proto != tcp return\n";
    // Of a connection that weir has: before all else, as its destination may have become a direct one since.
    let _ = writeln!(
        text,
        "\t\tsocket transparent 1 meta mark set meta mark or {MARK:#x} accept"
    );
    // Connections that began before weir did go on as they are.
    text += "\t\ttcp flags & (fin | syn | rst | ack) != syn return\n";
    text += "\t\tiifname \"lo\" return\n\t\tiifname @uplinks return\n";
    text += "\t\tfib daddr type != unicast return\n";
    text += "\t\tip daddr @direct4 return\n\t\tip6 daddr @direct6 return\n";
    for (family, address, port) in [
        ("ipv4", "ip to 127.0.0.1", redirect.ipv4),
        ("ipv6", "ip6 to [::1]", redirect.ipv6),
    ] {
        if let Some(port) = port {
            let _ = writeln!(
                text,
                "\t\tmeta nfproto {family} meta l4proto tcp tproxy {address}:{port} meta mark set meta mark or {MARK:#x} accept"
            );
        }
    }
    text += "\t}\n";
    if let Some(device) = &redirect.tunnel {
        others(&mut text, device);
    }
    text + "}\n"
}

/// What is no TCP: new conversations go by the tunnel, with all of their packets; those that began before stay where they are, as their addresses were
/// translated for there.
fn others(text: &mut String, device: &str) {
    let _ = write!(
        text,
        concat!(
            "\tchain others {{\n\t\ttype filter hook prerouting priority mangle + 1; policy accept;\n",
            "\t\tmeta l4proto tcp return\n",
            "\t\tiifname {{ \"lo\", \"{device}\" }} return\n\t\tiifname @uplinks return\n",
            "\t\tfib daddr type != unicast return\n",
            "\t\tip daddr @direct4 return\n\t\tip6 daddr @direct6 return\n",
            "\t\tct state new ct mark set ct mark or {mark:#x}\n",
            "\t\tct mark & {mark:#x} == {mark:#x} meta mark set meta mark or {mark:#x}\n",
            "\t}}\n",
            "\tchain leaves {{\n\t\ttype nat hook postrouting priority srcnat - 1; policy accept;\n",
            "\t\toifname \"{device}\" masquerade\n\t}}\n",
        ),
        device = device,
        mark = TUNNEL_MARK
    );
}

/// Name of the partner's table, of family `inet`.
pub const PARTNER_TABLE: &str = "weir_partner";

/// The partner's table: what comes from its routers leaves under the partner's own addresses. `device`: of the tunnel.
pub fn partner(device: &str, net: &TunnelNet) -> String {
    let mut text = remove_partner();
    text += "table inet weir_partner {\n\tchain leaves {\n\t\ttype nat hook postrouting priority srcnat; policy accept;\n";
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
    text + "\t}\n}\n"
}

/// Takes the partner's table away, if it is there.
pub fn remove_partner() -> String {
    "table inet weir_partner {}\ndelete table inet weir_partner\n".to_owned()
}

/// Takes the table away, if it is there.
pub fn remove() -> String {
    // Declared first: deleting what is not there would be an error.
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
            uplinks: vec!["wan0".into(), "wan1".into()],
            direct: vec!["10.0.0.0/8".parse().unwrap(), "fd00::/8".parse().unwrap()],
        };
        let text = create(&redirect);
        for line in [
            "elements = { \"wan0\", \"wan1\" }",
            "elements = { 10.0.0.0/8 }",
            "elements = { fd00::/8 }",
            "meta nfproto ipv4 meta l4proto tcp tproxy ip to 127.0.0.1:9348 meta mark set meta mark or 0x10000000 accept",
        ] {
            assert!(text.contains(line), "{line} in\n{text}");
        }
        assert!(!text.contains("nfproto ipv6"), "{text}");
        assert!(text.starts_with(&remove()));
    }
}
