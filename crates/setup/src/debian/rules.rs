//! Rules and redirects of the package `firewall`. What a rule says that is not rendered is a fault
//! and no note: without it the rule would be for more than it was meant to.

use std::net::IpAddr;

use super::reader::Reader;
use super::value::{self, Prefix};
use super::zones::{Verdict, Zone};

/// Families of addresses, as nft(8) has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Four,
    Six,
}

/// What is matched by, but zones: a line of nft(8) for each combination of family and protocol.
#[derive(Debug, Default)]
pub struct Matches(pub Vec<String>);

/// What a rule asks of a packet.
struct Asked {
    family: Option<Family>,
    protocols: Vec<String>,
    source: Vec<Prefix>,
    destination: Vec<Prefix>,
    macs: Vec<String>,
    source_ports: Vec<String>,
    ports: Vec<String>,
    icmp: Vec<Icmp>,
}

/// A type of ICMP, by its names in nft(8).
#[derive(Clone, Copy, Debug)]
struct Icmp {
    four: Option<&'static str>,
    six: Option<&'static str>,
}

/// The names that fw4 knows, for those that both families have or one of them.
const ICMP: [(&str, Option<&str>, Option<&str>); 21] = [
    (
        "echo-request",
        Some("type echo-request"),
        Some("type echo-request"),
    ),
    ("ping", Some("type echo-request"), Some("type echo-request")),
    (
        "echo-reply",
        Some("type echo-reply"),
        Some("type echo-reply"),
    ),
    ("pong", Some("type echo-reply"), Some("type echo-reply")),
    (
        "destination-unreachable",
        Some("type destination-unreachable"),
        Some("type destination-unreachable"),
    ),
    (
        "time-exceeded",
        Some("type time-exceeded"),
        Some("type time-exceeded"),
    ),
    (
        "ttl-exceeded",
        Some("type time-exceeded"),
        Some("type time-exceeded"),
    ),
    (
        "parameter-problem",
        Some("type parameter-problem"),
        Some("type parameter-problem"),
    ),
    (
        "bad-header",
        Some("type parameter-problem"),
        Some("parameter-problem . 0"),
    ),
    ("unknown-header-type", None, Some("parameter-problem . 1")),
    (
        "fragmentation-needed",
        Some("destination-unreachable . 4"),
        None,
    ),
    ("source-quench", Some("type source-quench"), None),
    ("redirect", Some("type redirect"), Some("type nd-redirect")),
    (
        "router-advertisement",
        Some("type router-advertisement"),
        Some("type nd-router-advert"),
    ),
    (
        "router-solicitation",
        Some("type router-solicitation"),
        Some("type nd-router-solicit"),
    ),
    ("packet-too-big", None, Some("type packet-too-big")),
    (
        "neighbour-solicitation",
        None,
        Some("type nd-neighbor-solicit"),
    ),
    (
        "neighbour-advertisement",
        None,
        Some("type nd-neighbor-advert"),
    ),
    ("mld-listener-query", None, Some("type mld-listener-query")),
    ("no-route", None, Some("destination-unreachable . 0")),
    ("timestamp-request", Some("type timestamp-request"), None),
];

const ADDRESS: &str = "an address, or one with the length of its prefix";
const PORTS: &str = "a port, or the first and last of some: 8000-8010";

/// Reads what a rule asks of packets. `destination` and `ports` are the options in which that is.
pub fn matches(reader: &Reader<'_>, destination: &str, ports: &str) -> Matches {
    let family = |text: &str| match text {
        "ipv4" => Some(Some(Family::Four)),
        "ipv6" => Some(Some(Family::Six)),
        "any" | "all" | "*" => Some(None),
        _ => None,
    };
    let family = reader.one("family", family, "ipv4, ipv6 or any").flatten();
    let protocol = |text: &str| match text {
        "tcp" | "udp" | "icmp" | "icmpv6" | "esp" | "ah" | "gre" | "sctp" | "udplite" | "igmp" => {
            Some(text.to_owned())
        }
        "all" | "any" | "*" => Some("all".to_owned()),
        "ipv6-icmp" => Some("icmpv6".to_owned()),
        "tcpudp" => Some("tcpudp".to_owned()),
        _ => value::number(1..=255)(text).map(|number| number.to_string()),
    };
    let expected = "protocols: tcp udp icmp icmpv6 esp ah gre all, or a number";
    let mut protocols = reader.many("proto", protocol, expected);
    if let Some(n) = protocols.iter().position(|name| name == "tcpudp") {
        protocols.splice(n..=n, ["tcp".to_owned(), "udp".to_owned()]);
    }
    if protocols.is_empty() && !reader.has("proto") {
        protocols = vec!["tcp".into(), "udp".into()];
    }
    let icmp = |text: &str| {
        let found = ICMP.iter().find(|(name, _, _)| *name == text)?;
        let (_, four, six) = *found;
        Some(Icmp { four, six })
    };
    let asked = Asked {
        family,
        source: reader.many("src_ip", value::prefix, ADDRESS),
        destination: reader.many(destination, value::prefix, ADDRESS),
        macs: reader.many("src_mac", value::mac, "a MAC: 02:00:00:00:00:01"),
        source_ports: reader.many("src_port", value::ports, PORTS),
        ports: reader.many(ports, value::ports, PORTS),
        icmp: reader.many("icmp_type", icmp, "a type of ICMP: echo-request"),
        protocols,
    };
    let with_ports = |name: &String| matches!(&**name, "tcp" | "udp" | "sctp" | "udplite");
    let needs = !asked.ports.is_empty() || !asked.source_ports.is_empty();
    if needs && !asked.protocols.iter().all(with_ports) {
        reader.fault("proto", "tcp or udp, for a rule with ports");
    }
    let found = asked.lines();
    if found.0.is_empty() {
        reader.fault("family", "addresses and protocols of one family");
    }
    found
}

fn set(words: &[String]) -> String {
    match words {
        [word] => word.clone(),
        words => format!("{{ {} }}", words.join(", ")),
    }
}

impl Asked {
    /// The families for which something can fit.
    fn families(&self) -> Vec<Option<Family>> {
        let all = self.source.iter().chain(&self.destination);
        let is = |family| match family {
            IpAddr::V4(_) => Family::Four,
            IpAddr::V6(_) => Family::Six,
        };
        let mut named: Vec<Family> = all.map(|prefix| is(prefix.address)).collect();
        // Linux's own ICMP is another protocol in each family.
        for protocol in &self.protocols {
            match &**protocol {
                "icmp" if self.family.is_none() => named.extend([Family::Four, Family::Six]),
                _ => {}
            }
        }
        match (self.family, named.is_empty()) {
            (Some(family), _) => vec![Some(family)],
            (None, true) => vec![None],
            (None, false) => [Family::Four, Family::Six]
                .into_iter()
                .filter(|family| named.contains(family))
                .map(Some)
                .collect(),
        }
    }

    fn lines(&self) -> Matches {
        let mut lines = Vec::new();
        for family in self.families() {
            let mut head = match family {
                Some(Family::Four) => "meta nfproto ipv4 ".to_owned(),
                Some(Family::Six) => "meta nfproto ipv6 ".to_owned(),
                None => String::new(),
            };
            let word = match family {
                Some(Family::Six) => "ip6",
                _ => "ip",
            };
            let mut fits = true;
            for (prefixes, side) in [(&self.source, "saddr"), (&self.destination, "daddr")] {
                let own = prefixes
                    .iter()
                    .filter(|prefix| {
                        let four = prefix.address.is_ipv4();
                        family == Some(if four { Family::Four } else { Family::Six })
                    })
                    .map(|prefix| prefix.network().to_string());
                let own: Vec<String> = own.collect();
                match (own.is_empty(), prefixes.is_empty()) {
                    (_, true) => {}
                    (true, false) => fits = false,
                    (false, false) => head += &format!("{word} {side} {} ", set(&own)),
                }
            }
            if !self.macs.is_empty() {
                head += &format!("ether saddr {} ", set(&self.macs));
            }
            if fits {
                let tails = self.protocols(family).into_iter();
                lines.extend(tails.map(|tail| format!("{head}{tail}")));
            }
        }
        Matches(lines)
    }

    fn protocols(&self, family: Option<Family>) -> Vec<String> {
        let mut tails = Vec::new();
        if self.protocols.iter().any(|name| name == "all") {
            return vec![String::new()];
        }
        for protocol in &self.protocols {
            if matches!(&**protocol, "icmp" | "icmpv6") {
                tails.extend(self.icmp(protocol, family));
                continue;
            }
            let mut tail = format!("meta l4proto {protocol} ");
            for (ports, side) in [(&self.source_ports, "sport"), (&self.ports, "dport")] {
                if !ports.is_empty() {
                    tail += &format!("th {side} {} ", set(ports));
                }
            }
            tails.push(tail);
        }
        tails
    }

    /// `icmp` in a rule of IPv6 is ICMPv6, as fw4 has it.
    fn icmp(&self, protocol: &str, family: Option<Family>) -> Vec<String> {
        let six = family == Some(Family::Six) || protocol == "icmpv6" && family.is_none();
        if protocol == "icmpv6" && family == Some(Family::Four) {
            return Vec::new();
        }
        let name = if six { "icmpv6" } else { "icmp" };
        if self.icmp.is_empty() {
            let number = if six { "ipv6-icmp" } else { "icmp" };
            return vec![format!("meta l4proto {number} ")];
        }
        let known = self
            .icmp
            .iter()
            .filter_map(|kind| if six { kind.six } else { kind.four });
        known
            .map(|kind| match kind.strip_prefix("type ") {
                Some(kind) => format!("{name} type {kind} "),
                None => {
                    let (kind, code) = kind.split_once(" . ").unwrap_or((kind, "0"));
                    format!("{name} type {kind} {name} code {code} ")
                }
            })
            .collect()
    }
}

/// How often: `1000/sec`, and `limit_burst`.
pub fn limit(reader: &Reader<'_>) -> String {
    let rate = |text: &str| {
        let (number, unit) = text.split_once('/').unwrap_or((text, "second"));
        let number = value::number(1..=1_000_000)(number)?;
        let unit = match unit {
            "s" | "sec" | "second" => "second",
            "m" | "min" | "minute" => "minute",
            "h" | "hour" => "hour",
            "d" | "day" => "day",
            _ => return None,
        };
        Some(format!("limit rate {number}/{unit} "))
    };
    let rate = reader.one("limit", rate, "a number and a time: 1000/second");
    let burst = reader.number("limit_burst", 1..=1_000_000);
    match (rate, burst) {
        (Some(rate), Some(burst)) => format!("{rate}burst {burst} packets "),
        (rate, _) => rate.unwrap_or_default(),
    }
}

/// A rule's name, as a comment; what nft(8) could take for more is left out.
pub fn comment(reader: &Reader<'_>) -> String {
    let name = |text: &str| {
        let good = |c: &char| c.is_ascii_alphanumeric() || " .,_-".contains(*c);
        Some(text.chars().filter(good).take(100).collect::<String>())
    };
    let name = reader.one("name", name, "text").unwrap_or_default();
    if name.is_empty() {
        return String::new();
    }
    format!(" comment \"{name}\"")
}

/// The zone of an option; `*` is `Some(None)`.
pub fn zone<'a>(
    reader: &Reader<'_>,
    option: &str,
    zones: &'a [Zone],
) -> Result<Option<Option<&'a Zone>>, ()> {
    if !reader.has(option) {
        return Ok(None);
    }
    let known = |text: &str| match text {
        "*" => Some(None),
        _ => zones.iter().find(|zone| zone.name == text).map(Some),
    };
    let found = reader.one(option, known, "a zone that there is, or *");
    found.map(Some).ok_or(())
}

/// `option target` of a rule.
pub fn target(reader: &Reader<'_>) -> Option<Verdict> {
    let read = |text: &str| match text.to_ascii_uppercase().as_str() {
        "ACCEPT" => Some(Verdict::Accept),
        "REJECT" => Some(Verdict::Reject),
        "DROP" => Some(Verdict::Drop),
        _ => None,
    };
    let expected = "ACCEPT, REJECT or DROP";
    if !reader.has("target") {
        reader.fault("target", expected);
    }
    reader.one("target", read, expected)
}

/// Refuses what a rule asks besides.
pub fn nothing_else(reader: &Reader<'_>) {
    for option in reader.left() {
        reader.fault(
            option,
            "nothing: no rule is made of it. Take it out, or switch the rule off",
        );
    }
}
