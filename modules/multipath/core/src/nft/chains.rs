//! Text that the tables of a router and of a partner have in common.

use std::fmt::Write;

use crate::traffic_policy::Ports;

/// Matches ports of a family: `ip` or `ip6`.
pub fn ports(family: &str, ports: &Ports) -> String {
    let family = if family == "ip" { "ipv4" } else { "ipv6" };
    let name = ports.transport.name();
    format!("meta nfproto {family} {name} dport {}", ports.numbers())
}

/// Clamps the segment size of connections into the tunnel: messages about long packets may get
/// lost.
pub fn clamp(text: &mut String, device: &str) {
    let _ = write!(
        text,
        concat!(
            "\tchain fits {{\n\t\ttype filter hook forward priority mangle; policy accept;\n",
            "\t\toifname \"{device}\" tcp flags & (syn | rst) == syn tcp option maxseg size set \
                rt mtu\n\t}}\n",
        ),
        device = device
    );
}

/// Drops the tunnel's packets that match, unless they are answers, or a rule of weir gave them a
/// new destination.
pub fn guard(text: &mut String, hook: &str, which: &str) {
    let _ = write!(
        text,
        concat!(
            "\tchain guard {{\n\t\ttype filter hook {hook}; policy accept;\n",
            "\t\t{which} ct state established,related accept\n",
            "\t\t{which} ct status & dnat == dnat accept\n",
            "\t\t{which} drop\n\t}}\n",
        ),
        hook = hook,
        which = which
    );
}
