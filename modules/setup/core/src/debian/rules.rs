//! Rules and redirects of the package `firewall`. An option that is not rendered is a fault, not a
//! note: without it the rule would match more than intended.

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

/// Conditions in addition to zones: a line of nft(8) for each combination of family and protocol.
#[derive(Debug, Default)]
pub struct Matches(pub Vec<String>);

/// Conditions of a rule.
struct Conditions {
    family: Option<Family>,
    protocols: Vec<String>,
    source: Vec<Prefix>,
    destination: Vec<Prefix>,
    macs: Vec<String>,
    source_ports: Vec<String>,
    ports: Vec<String>,
    icmp: Vec<Icmp>,
}

/// Types of ICMP that an option names, in each family that has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Icmp {
    four: Option<Kind>,
    six: Option<Kind>,
}

/// A type of ICMP, and its code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Every type.
    Any,
    /// A type, with every code.
    Type(u8),
    /// A type with one code.
    Code(u8, u8),
}

use Kind::{Any, Code, Type};

/// Names of types of ICMP for IPv4 (RFC 792), as fw4 reads them.
#[rustfmt::skip]
const FOUR: [(&str, Kind); 40] = [
    ("any", Any),
    ("echo-reply", Type(0)), ("pong", Type(0)),
    ("destination-unreachable", Type(3)), ("network-unreachable", Code(3, 0)),
    ("host-unreachable", Code(3, 1)), ("protocol-unreachable", Code(3, 2)),
    ("port-unreachable", Code(3, 3)), ("fragmentation-needed", Code(3, 4)),
    ("source-route-failed", Code(3, 5)), ("network-unknown", Code(3, 6)),
    ("host-unknown", Code(3, 7)), ("network-prohibited", Code(3, 9)),
    ("host-prohibited", Code(3, 10)), ("TOS-network-unreachable", Code(3, 11)),
    ("TOS-host-unreachable", Code(3, 12)), ("communication-prohibited", Code(3, 13)),
    ("host-precedence-violation", Code(3, 14)), ("precedence-cutoff", Code(3, 15)),
    ("source-quench", Type(4)),
    ("redirect", Type(5)), ("network-redirect", Code(5, 0)), ("host-redirect", Code(5, 1)),
    ("TOS-network-redirect", Code(5, 2)), ("TOS-host-redirect", Code(5, 3)),
    ("echo-request", Type(8)), ("ping", Type(8)),
    ("router-advertisement", Type(9)), ("router-solicitation", Type(10)),
    ("time-exceeded", Type(11)), ("ttl-exceeded", Type(11)),
    ("ttl-zero-during-transit", Code(11, 0)), ("ttl-zero-during-reassembly", Code(11, 1)),
    ("parameter-problem", Type(12)), ("ip-header-bad", Code(12, 0)),
    ("required-option-missing", Code(12, 1)),
    ("timestamp-request", Type(13)), ("timestamp-reply", Type(14)),
    ("address-mask-request", Type(17)), ("address-mask-reply", Type(18)),
];

/// Names of types of `ICMPv6` (RFC 4443 and others), as fw4 reads them.
#[rustfmt::skip]
const SIX: [(&str, Kind); 57] = [
    ("destination-unreachable", Type(1)), ("no-route", Code(1, 0)),
    ("communication-prohibited", Code(1, 1)), ("address-unreachable", Code(1, 3)),
    ("port-unreachable", Code(1, 4)),
    ("packet-too-big", Type(2)),
    ("time-exceeded", Type(3)), ("ttl-exceeded", Type(3)),
    ("ttl-zero-during-transit", Code(3, 0)), ("ttl-zero-during-reassembly", Code(3, 1)),
    ("parameter-problem", Type(4)), ("bad-header", Code(4, 0)),
    ("unknown-header-type", Code(4, 1)), ("unknown-option", Code(4, 2)),
    ("echo-request", Type(128)), ("ping", Type(128)),
    ("echo-reply", Type(129)), ("pong", Type(129)),
    ("multicast-listener-query", Type(130)), ("mld-listener-query", Type(130)),
    ("multicast-listener-report", Type(131)), ("multicast-listener-done", Type(132)),
    ("router-solicitation", Type(133)), ("router-advertisement", Type(134)),
    ("neighbour-solicitation", Type(135)), ("neighbor-solicitation", Type(135)),
    ("neighbour-advertisement", Type(136)), ("neighbor-advertisement", Type(136)),
    ("redirect", Type(137)), ("router-renumbering", Type(138)),
    ("node-info-query", Type(139)), ("node-info-response", Type(140)),
    ("inverse-neighbour-discovery-solicitation-message", Type(141)),
    ("inverse-neighbor-discovery-solicitation-message", Type(141)),
    ("inverse-neighbour-discovery-advertisement-message", Type(142)),
    ("inverse-neighbor-discovery-advertisement-message", Type(142)),
    ("v2-multicast-listener-report", Type(143)),
    ("home-agent-address-discovery-request-message", Type(144)),
    ("home-agent-address-discovery-reply-message", Type(145)),
    ("mobile-prefix-solicitation", Type(146)), ("mobile-prefix-advertisement", Type(147)),
    ("certification-path-solicitation-message", Type(148)),
    ("certification-path-advertisement-message", Type(149)),
    ("seamoby-protocol-message", Type(150)),
    ("multicast-router-advertisement", Type(151)), ("multicast-router-solicitation", Type(152)),
    ("multicast-router-termination", Type(153)), ("fmipv6-message", Type(154)),
    ("rpl-control-message", Type(155)), ("ilnpv6-locator-update-message", Type(156)),
    ("duplicate-address-request", Type(157)), ("duplicate-address-confirmation", Type(158)),
    ("mpl-control-message", Type(159)),
    ("extended-echo-request", Type(160)), ("extended-ping", Type(160)),
    ("extended-echo-reply", Type(161)), ("extended-pong", Type(161)),
];

/// Names that nft(8) has for types of IPv4; all others are written as numbers.
#[rustfmt::skip]
const NFT_FOUR: [(u8, &str); 10] = [
    (0, "echo-reply"), (3, "destination-unreachable"), (4, "source-quench"), (5, "redirect"),
    (8, "echo-request"), (9, "router-advertisement"), (10, "router-solicitation"),
    (11, "time-exceeded"), (12, "parameter-problem"), (13, "timestamp-request"),
];

/// Names that nft(8) has for types of `ICMPv6`; all others are written as numbers.
#[rustfmt::skip]
const NFT_SIX: [(u8, &str); 14] = [
    (1, "destination-unreachable"), (2, "packet-too-big"), (3, "time-exceeded"),
    (4, "parameter-problem"), (128, "echo-request"), (129, "echo-reply"),
    (130, "mld-listener-query"), (131, "mld-listener-report"), (132, "mld-listener-done"),
    (133, "nd-router-solicit"), (134, "nd-router-advert"), (135, "nd-neighbor-solicit"),
    (136, "nd-neighbor-advert"), (137, "nd-redirect"),
];

impl Icmp {
    /// Reads a name, a number, or a number and a code: `echo-request`, `8`, `130/0`.
    fn read(text: &str) -> Option<Icmp> {
        let named = |names: &[(&str, Kind)]| {
            let found = names.iter().find(|(name, _)| *name == text);
            found.map(|&(_, kind)| kind)
        };
        let (four, six) = (named(&FOUR), named(&SIX));
        if four.is_some() || six.is_some() {
            return Some(Icmp { four, six });
        }
        let number = |text: &str| {
            let digits = !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
            digits.then(|| text.parse::<u8>().ok()).flatten()
        };
        let kind = match text.split_once('/') {
            Some((kind, code)) => Code(number(kind)?, number(code)?),
            None => Type(number(text)?),
        };
        let kind = Some(kind);
        Some(Icmp {
            four: kind,
            six: kind,
        })
    }
}

impl Kind {
    /// Returns the match of nft(8).
    fn line(self, is_six: bool) -> String {
        let (word, protocol, names): (_, _, &[(u8, &str)]) = if is_six {
            ("icmpv6", "ipv6-icmp", &NFT_SIX)
        } else {
            ("icmp", "icmp", &NFT_FOUR)
        };
        let name = |number: u8| {
            let known = names.iter().find(|(known, _)| *known == number);
            known.map_or_else(|| number.to_string(), |(_, name)| (*name).to_owned())
        };
        match self {
            Any => format!("meta l4proto {protocol} "),
            Type(number) => format!("{word} type {} ", name(number)),
            Code(number, code) => format!("{word} type {} {word} code {code} ", name(number)),
        }
    }
}

const ADDRESS: &str = "an address, or one with the length of its prefix";
const ICMP: &str = "a type of ICMP: echo-request, 8, or with its code 130/0";
const PORTS: &str = "a port, or the first and last of some: 8000-8010";

/// Reads the conditions of a rule. `destination` and `ports` are the names of their options.
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
    let asked = Conditions {
        family,
        source: reader.many("src_ip", value::prefix, ADDRESS),
        destination: reader.many(destination, value::prefix, ADDRESS),
        macs: reader.many("src_mac", value::mac, "a MAC: 02:00:00:00:00:01"),
        source_ports: reader.many("src_port", value::ports, PORTS),
        ports: reader.many(ports, value::ports, PORTS),
        icmp: reader.many("icmp_type", Icmp::read, ICMP),
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

impl Conditions {
    /// Returns the families that can match.
    fn families(&self) -> Vec<Option<Family>> {
        let all = self.source.iter().chain(&self.destination);
        let is = |family| match family {
            IpAddr::V4(_) => Family::Four,
            IpAddr::V6(_) => Family::Six,
        };
        let mut named: Vec<Family> = all.map(|prefix| is(prefix.address)).collect();
        // ICMP is a different protocol in each family.
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

    /// Returns the types for `icmp`, which is ICMPv6 in a rule of IPv6, as in fw4.
    fn icmp(&self, protocol: &str, family: Option<Family>) -> Vec<String> {
        let six = family == Some(Family::Six) || protocol == "icmpv6" && family.is_none();
        if protocol == "icmpv6" && family == Some(Family::Four) {
            return Vec::new();
        }
        if self.icmp.is_empty() {
            return vec![Any.line(six)];
        }
        let known = self
            .icmp
            .iter()
            .filter_map(|kind| if six { kind.six } else { kind.four });
        known.map(|kind| kind.line(six)).collect()
    }
}

/// Reads the rate: `1000/sec`, and `limit_burst`.
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

/// Returns a rule's name as a comment, without characters that are special to nft(8).
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

/// Reads the zone of an option; `*` is `Some(None)`.
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

/// Reads `option target` of a rule.
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

/// Refuses all further conditions of a rule.
pub fn nothing_else(reader: &Reader<'_>) {
    for option in reader.left() {
        reader.fault(
            option,
            "no effect: no rule is rendered from it; remove it, or disable the rule",
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Option<[Option<String>; 2]> {
        let Icmp { four, six } = Icmp::read(text)?;
        Some([
            four.map(|kind| kind.line(false)),
            six.map(|kind| kind.line(true)),
        ])
    }

    #[test]
    fn types_of_icmp_are_those_of_fw4() {
        let both = |four: &str, six: &str| Some([four, six].map(|line| Some(format!("{line} "))));
        assert_eq!(
            lines("130/0"),
            both(
                "icmp type 130 icmp code 0",
                "icmpv6 type mld-listener-query icmpv6 code 0"
            )
        );
        assert_eq!(lines("8"), both("icmp type echo-request", "icmpv6 type 8"));
        assert_eq!(
            lines("ping"),
            both("icmp type echo-request", "icmpv6 type echo-request")
        );
        assert_eq!(
            lines("communication-prohibited"),
            both(
                "icmp type destination-unreachable icmp code 13",
                "icmpv6 type destination-unreachable icmpv6 code 1"
            )
        );
        assert_eq!(
            lines("address-mask-reply"),
            Some([Some("icmp type 18 ".into()), None])
        );
        assert_eq!(
            lines("v2-multicast-listener-report"),
            Some([None, Some("icmpv6 type 143 ".into())])
        );
        assert_eq!(
            lines("any"),
            Some([Some("meta l4proto icmp ".into()), None])
        );
        for wrong in [
            "", "256", "3/256", "3/", "/3", "+3", "3/4/5", "-1", "Ping", "0x8", "３",
        ] {
            assert_eq!(lines(wrong), None, "{wrong}");
        }
    }
}
