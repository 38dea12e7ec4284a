//! Every expression and statement of nftables, and every extension of iptables: may its answer
//! differ between two packets of one direction of a forwarded connection? One table;
//! `docs/how-to/per-packet-rules.md` is made after it.
//!
//! An expression missing from the table counts as seeing each packet: it may be a newer one.

use super::finding::Kind;

/// Effect of a field, key or extension on a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Equal for all packets of one direction.
    Constant,
    /// The proof compares the value: a packet with another value goes to the kernel.
    Proven,
    /// Packets that have it are always the kernel's; for all others the answer is the same.
    Kernel,
    /// Not TCP and not UDP: such packets are always the kernel's.
    Elsewhere,
    /// Possibly different from packet to packet.
    Each(Kind),
    /// Worth knowing only.
    Noted(Kind),
}

use Class::{Constant, Each, Elsewhere, Kernel, Noted, Proven};

/// A row of the table: kind, names, class.
type Row = (&'static str, &'static [&'static str], Class);

/// Rows by source (`payload` protocols are written `payload ip`), in the words of
/// libnftables-json(5) and of iptables-extensions(8).
const TABLE: &[Row] = &[
    ("payload ether", &["daddr", "type"], Constant),
    // Two stations may use one address and port; the proof compares the place where a packet
    // entered, not its sender.
    ("payload ether", &["saddr"], Each(Kind::Station)),
    ("payload vlan", &["id", "cfi", "dei", "pcp", "type"], Proven),
    (
        "payload ip",
        &["version", "protocol", "saddr", "daddr"],
        Constant,
    ),
    ("payload ip", &["dscp", "ttl"], Proven),
    ("payload ip", &["hdrlength"], Kernel),
    ("payload ip", &["length"], Each(Kind::Length)),
    (
        "payload ip",
        &["ecn", "id", "frag-off", "checksum"],
        Each(Kind::Header),
    ),
    (
        "payload ip6",
        &["version", "nexthdr", "saddr", "daddr"],
        Constant,
    ),
    ("payload ip6", &["dscp", "flowlabel", "hoplimit"], Proven),
    ("payload ip6", &["length"], Each(Kind::Length)),
    ("payload ip6", &["ecn"], Each(Kind::Header)),
    ("payload th", &["sport", "dport"], Constant),
    ("payload tcp", &["sport", "dport"], Constant),
    // A match on flags is first checked for which flags it asks for.
    ("payload tcp", &["flags"], Each(Kind::Flags)),
    (
        "payload tcp",
        &[
            "sequence", "ackseq", "doff", "reserved", "window", "checksum", "urgptr",
        ],
        Each(Kind::Header),
    ),
    ("payload udp", &["sport", "dport"], Constant),
    ("payload udp", &["length"], Each(Kind::Length)),
    ("payload udp", &["checksum"], Each(Kind::Header)),
    (
        "meta",
        &[
            "protocol",
            "nfproto",
            "l4proto",
            "iif",
            "oif",
            "iifname",
            "oifname",
            "iiftype",
            "oiftype",
            "iifgroup",
            "oifgroup",
            "iifkind",
            "oifkind",
            "ibrname",
            "obrname",
            "ibridgename",
            "obridgename",
            "ibrpvid",
            "ibrvproto",
            "ibrhwaddr",
            "sdif",
            "sdifname",
            "skuid",
            "skgid",
            "cgroup",
            "rtclassid",
            "pkttype",
            "secmark",
            "secpath",
            "ipsec",
            "mark",
            "nftrace",
            "broute",
        ],
        Constant,
    ),
    ("meta", &["priority"], Proven),
    ("meta", &["length"], Each(Kind::Length)),
    ("meta", &["random"], Each(Kind::Numgen)),
    ("meta", &["cpu"], Each(Kind::Moment)),
    // Proofs end at their edges: see `silent`.
    ("meta", &["time", "day", "hour"], Noted(Kind::Time)),
    (
        "ct",
        &[
            "state",
            "direction",
            "status",
            "mark",
            "secmark",
            "label",
            "helper",
            "l3proto",
            "protocol",
            "saddr",
            "daddr",
            "ip saddr",
            "ip daddr",
            "ip6 saddr",
            "ip6 daddr",
            "proto-src",
            "proto-dst",
            "zone",
            "event",
            "id",
        ],
        Constant,
    ),
    ("ct", &["expiration"], Each(Kind::Expiration)),
    (
        "ct",
        &["bytes", "packets", "avgpkt"],
        Each(Kind::CountedBytes),
    ),
    (
        "rt",
        &[
            "classid",
            "nexthop",
            "mtu",
            "ipsec",
            "ip nexthop",
            "ip6 nexthop",
        ],
        Constant,
    ),
    // Of SYNs only.
    ("expression", &["osf"], Kernel),
    ("expression", &["exthdr", "ip option"], Kernel),
    ("expression", &["tcp option"], Each(Kind::Header)),
    ("expression", &["sctp chunk", "dccp option"], Elsewhere),
    // Hashes of the other operands of the expression; `symhash` of addresses and ports.
    (
        "expression",
        &["jhash", "symhash", "fib", "socket", "ipsec"],
        Constant,
    ),
    ("expression", &["numgen"], Each(Kind::Numgen)),
    (
        "statement",
        &[
            "accept",
            "drop",
            "return",
            "continue",
            "jump",
            "goto",
            "reject",
            "match",
            "vmap",
            "mangle",
            "snat",
            "dnat",
            "masquerade",
            "redirect",
            "ct helper",
            "ct timeout",
            "ct expectation",
            "secmark",
            "comment",
            "fwd",
        ],
        Constant,
    ),
    ("statement", &["flow"], Constant),
    ("statement", &["counter", "last"], Noted(Kind::Counter)),
    ("statement", &["notrack"], Noted(Kind::Notrack)),
    ("statement", &["limit"], Each(Kind::Limit)),
    ("statement", &["quota"], Each(Kind::Quota)),
    ("statement", &["ct count"], Each(Kind::ConnectionLimit)),
    ("statement", &["log"], Each(Kind::Log)),
    ("statement", &["queue"], Each(Kind::Queue)),
    ("statement", &["dup"], Each(Kind::Duplicate)),
    // Packets of these rules go to a socket of this router, or are adjusted: weir never forwards
    // them.
    ("statement", &["tproxy"], Noted(Kind::Tproxy)),
    ("statement", &["synproxy"], Noted(Kind::Synproxy)),
    (
        "statement",
        &["set", "map", "meter"],
        Noted(Kind::DynamicSet),
    ),
    // Fields written into the packet. The witness compares packets with the packet at ingress, and
    // leaves such flows to the kernel.
    (
        "write",
        &[
            "dscp", "ttl", "hoplimit", "saddr", "daddr", "sport", "dport",
        ],
        Noted(Kind::Remark),
    ),
    (
        "xt",
        &[
            "addrtype",
            "cgroup",
            "cluster",
            "comment",
            "connlabel",
            "connmark",
            "conntrack",
            "devgroup",
            "geoip",
            "helper",
            "iprange",
            "ipvs",
            "mark",
            "mark_m",
            "multiport",
            "owner",
            "physdev",
            "pkttype",
            "policy",
            "realm",
            "rpfilter",
            "set",
            "socket",
            "state",
            "udp",
            "CLASSIFY",
            "CONNMARK",
            "CONNSECMARK",
            "CT",
            "DNAT",
            "HMARK",
            "MARK",
            "MASQUERADE",
            "NETMAP",
            "REDIRECT",
            "REJECT",
            "SECMARK",
            "SNAT",
            "TRACE",
            "FLOWOFFLOAD",
            "standard",
            "vlan",
            "ip",
            "ip6",
            "arp",
            "802_3",
            "stp",
        ],
        Constant,
    ),
    ("xt", &["dscp", "tos", "ttl", "hl"], Proven),
    // Options are of SYNs only, fragments and extension headers the kernel's.
    (
        "xt",
        &[
            "osf",
            "TCPMSS",
            "frag",
            "hbh",
            "dst",
            "ipv6header",
            "rt",
            "srh",
        ],
        Kernel,
    ),
    (
        "xt",
        &[
            "ah", "esp", "dccp", "sctp", "icmp", "icmp6", "igmp", "ipcomp", "mh", "udplite",
        ],
        Elsewhere,
    ),
    ("xt", &["tcp"], Each(Kind::Flags)),
    ("xt", &["tcpmss", "ecn"], Each(Kind::Header)),
    ("xt", &["length", "length2"], Each(Kind::Length)),
    ("xt", &["mac", "eui64", "among"], Each(Kind::Station)),
    (
        "xt",
        &["string", "u32", "bpf", "layer7"],
        Each(Kind::Payload),
    ),
    ("xt", &["recent", "IDLETIMER"], Each(Kind::Recent)),
    ("xt", &["cpu"], Each(Kind::Moment)),
    (
        "xt",
        &["limit", "hashlimit", "rateest", "RATEEST"],
        Each(Kind::Limit),
    ),
    ("xt", &["quota", "quota2"], Each(Kind::Quota)),
    ("xt", &["statistic"], Each(Kind::Numgen)),
    // In lower case, those of ebtables.
    (
        "xt",
        &["LOG", "NFLOG", "ULOG", "AUDIT", "log", "nflog"],
        Each(Kind::Log),
    ),
    ("xt", &["time"], Noted(Kind::Time)),
    ("xt", &["connbytes"], Each(Kind::CountedBytes)),
    ("xt", &["connlimit"], Each(Kind::ConnectionLimit)),
    ("xt", &["NFQUEUE"], Each(Kind::Queue)),
    ("xt", &["TEE"], Each(Kind::Duplicate)),
    (
        "xt",
        &["TCPOPTSTRIP", "ECN", "CHECKSUM", "SNPT", "DNPT"],
        Each(Kind::Rewrite),
    ),
    ("xt", &["TTL", "HL", "DSCP", "TOS"], Noted(Kind::Remark)),
    ("xt", &["nfacct"], Noted(Kind::Counter)),
    ("xt", &["NOTRACK"], Noted(Kind::Notrack)),
    ("xt", &["TPROXY"], Noted(Kind::Tproxy)),
    ("xt", &["SYNPROXY"], Noted(Kind::Synproxy)),
    ("xt", &["SET"], Noted(Kind::DynamicSet)),
];

/// Protocols that are neither TCP nor UDP, nor carry them in the clear.
const ELSEWHERE: [&str; 16] = [
    "ah", "arp", "comp", "dccp", "esp", "gre", "gretap", "icmp", "icmpv6", "igmp", "mh", "sctp",
    "udplite", "hbh", "frag", "rt",
];

/// Returns the class of one name from one source.
pub(super) fn class(source: &str, name: &str) -> Class {
    let row = TABLE
        .iter()
        .find(|(of, names, _)| *of == source && names.contains(&name));
    match row {
        Some((_, _, class)) => *class,
        None => match (source, source.strip_prefix("payload ")) {
            (_, Some(protocol)) if ELSEWHERE.contains(&protocol) => Elsewhere,
            // Inner headers, or those that a newer nft knows.
            (_, Some(_)) => Each(Kind::Payload),
            ("write", _) => Each(Kind::Rewrite),
            _ => Each(Kind::Unknown),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn each_name_has_one_class() {
        let mut seen = HashSet::new();
        for (source, names, _) in TABLE {
            for name in *names {
                assert!(
                    seen.insert((source, name)),
                    "{source} {name} is in it twice"
                );
            }
        }
    }

    #[test]
    fn what_is_not_in_the_table_sees_each_packet() {
        assert_eq!(class("statement", "teleport"), Each(Kind::Unknown));
        assert_eq!(class("meta", "mood"), Each(Kind::Unknown));
        assert_eq!(class("xt", "ndpi"), Each(Kind::Unknown));
        assert_eq!(class("payload vxlan", "vni"), Each(Kind::Payload));
        assert_eq!(class("payload icmp", "type"), Elsewhere);
        assert_eq!(class("write", "ecn"), Each(Kind::Rewrite));
    }

    /// The page that shows the table to people names all of it.
    #[test]
    fn the_documents_name_every_row() {
        let page = include_str!("../../../../../docs/how-to/per-packet-rules.md");
        let words: HashSet<&str> = page
            .split(|c: char| !(c.is_alphanumeric() || "_-".contains(c)))
            .collect();
        for (source, names, _) in TABLE {
            for word in names.iter().flat_map(|name| name.split(' ')) {
                assert!(
                    words.contains(word),
                    "docs/how-to/per-packet-rules.md: {source} {word}"
                );
            }
        }
    }
}
