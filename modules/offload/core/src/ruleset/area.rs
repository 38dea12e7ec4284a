//! Flows that the static conditions of rules can match: a superset, from properties that all
//! packets of a flow share.
//!
//! An unknown condition is dropped, which only widens the area.

use std::net::IpAddr;
use std::sync::Arc;

use kernel::{Protocol, Tuple};
use serde_json::Value;

use super::marks::{MarkTest, Marks, mark_of};
use super::statements::single;

const V4: u8 = 1;
const V6: u8 = 2;
const TCP: u8 = 1;
const UDP: u8 = 2;

/// Maximum number of values of a set that are read; a longer set counts as any value.
const MOST_VALUES: usize = 4_096;
/// Maximum number of ways to a chain that weir tracks separately.
const MOST_WAYS: usize = 16;

/// Set of flows that meet all conditions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Area {
    families: u8,
    protocols: u8,
    /// Conditions on a packet of the flow in one direction, at one place on its way.
    tests: Vec<Test>,
    marks: Vec<MarkTest>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Test {
    end: End,
    what: What,
    negated: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Source,
    Destination,
}

/// Inclusive ranges.
#[derive(Clone, Debug, PartialEq, Eq)]
enum What {
    Addresses(Arc<[(IpAddr, IpAddr)]>),
    Ports(Arc<[(u16, u16)]>),
}

/// Connection as these conditions see it.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// Tuple of packets of the original direction at ingress.
    pub original: &'a Tuple,
    /// Tuple of packets of the reply direction at ingress.
    pub reply: &'a Tuple,
    /// Connection mark.
    pub mark: u32,
}

impl Area {
    /// Returns the area of all that a table of this family sees.
    pub(super) fn of_family(family: &str) -> Self {
        Self {
            families: match family {
                "ip" => V4,
                "ip6" => V6,
                _ => V4 | V6,
            },
            protocols: TCP | UDP,
            tests: Vec::new(),
            marks: Vec::new(),
        }
    }

    fn is_empty(&self) -> bool {
        self.families == 0 || self.protocols == 0
    }

    /// Returns true if the area has no condition: all flows.
    pub(super) fn is_everything(&self) -> bool {
        self.families == V4 | V6
            && self.protocols == TCP | UDP
            && self.tests.is_empty()
            && self.marks.is_empty()
    }

    /// Returns the intersection of both areas.
    pub(super) fn and(&self, other: &Self) -> Self {
        let mut both = self.clone();
        both.families &= other.families;
        both.protocols &= other.protocols;
        let new = other.tests.iter().filter(|test| !self.tests.contains(test));
        both.tests.extend(new.cloned());
        let new = other.marks.iter().filter(|mark| !self.marks.contains(mark));
        both.marks.extend(new.cloned());
        both
    }

    /// Conditions that both areas share: an area that covers either of them.
    fn or(&self, other: &Self) -> Self {
        let mut either = self.clone();
        either.families |= other.families;
        either.protocols |= other.protocols;
        either.tests.retain(|test| other.tests.contains(test));
        either.marks.retain(|mark| other.marks.contains(mark));
        either
    }

    /// Narrows the area by the conditions of expressions; `marks`: known marks before them.
    pub(super) fn asking_all<'a>(
        mut self,
        expressions: &'a [Value],
        named: &impl Fn(&str) -> Option<&'a Value>,
        mut marks: Marks,
    ) -> Self {
        for expression in expressions {
            match single(expression) {
                Some(("match", condition)) => {
                    let operator = condition.get("op").and_then(Value::as_str);
                    if let (Some(left), Some(right)) =
                        (condition.get("left"), condition.get("right"))
                    {
                        let operator = operator.unwrap_or_default();
                        self = self.asking(left, operator, right, named, &marks);
                    }
                }
                Some(("vmap", map)) => {
                    map.get("key").into_iter().for_each(|key| self.imply(key));
                }
                _ => {}
            }
            marks.follow(expression);
        }
        self
    }

    /// Narrows the area by one condition.
    pub(super) fn asking<'a>(
        mut self,
        left: &Value,
        operator: &str,
        right: &Value,
        named: &impl Fn(&str) -> Option<&'a Value>,
        marks: &Marks,
    ) -> Self {
        self.imply(left);
        let name = right.as_str().and_then(|text| text.strip_prefix('@'));
        let right = match name {
            Some(name) => match named(name) {
                Some(elements) => elements,
                None => return self,
            },
            None => right,
        };
        let negated = match operator {
            "==" | "in" | "<" | ">" | "<=" | ">=" => false,
            "!=" => true,
            _ => return self,
        };
        let Some(values) = values(right) else {
            return self;
        };
        if matches!(operator, "==" | "!=")
            && let Some(mark) = mark(left, &values, negated, marks)
        {
            self.marks.push(mark);
        }
        self.narrow(left, operator, &values, negated);
        self
    }

    fn narrow(&mut self, left: &Value, operator: &str, values: &[&Value], negated: bool) {
        if left.pointer("/payload/tunnel").is_some() {
            return; // of the packet inside
        }
        let word = |of: &str, name: &str| left.get(of)?.get(name)?.as_str();
        match (
            word("payload", "protocol"),
            word("payload", "field"),
            word("meta", "key"),
        ) {
            (Some("ip" | "ip6"), Some("saddr" | "daddr"), _) if !operator.contains(['<', '>']) => {
                let ranges: Option<Vec<_>> = values.iter().map(|v| addresses(v)).collect();
                if let Some(ranges) = ranges {
                    let end = end(word("payload", "field"));
                    let what = What::Addresses(ranges.into());
                    self.tests.push(Test { end, what, negated });
                }
            }
            (Some("tcp" | "udp" | "th"), Some("sport" | "dport"), _) => {
                let ranges: Option<Vec<_>> = values.iter().map(|v| ports(v, operator)).collect();
                if let Some(ranges) = ranges {
                    let end = end(word("payload", "field"));
                    let what = What::Ports(ranges.into());
                    self.tests.push(Test { end, what, negated });
                }
            }
            (Some("ip"), Some("protocol"), _)
            | (Some("ip6"), Some("nexthdr"), _)
            | (_, _, Some("l4proto"))
                if !operator.contains(['<', '>']) =>
            {
                if let Some(bits) = bits(values, protocol) {
                    self.protocols &= if negated { !bits } else { bits };
                }
            }
            (_, _, Some("nfproto" | "protocol")) | (Some("ether"), Some("type"), _)
                if !operator.contains(['<', '>']) =>
            {
                if let Some(bits) = bits(values, family) {
                    self.families &= if negated { !bits } else { bits };
                }
            }
            _ => {}
        }
    }

    /// Restricts the area by a header field, whose presence implies a protocol or family.
    fn imply(&mut self, left: &Value) {
        match left {
            Value::Array(all) => all.iter().for_each(|one| self.imply(one)),
            Value::Object(all) => {
                for (name, inner) in all {
                    let tunnel = inner.get("tunnel").and_then(Value::as_str);
                    let protocol = tunnel.or_else(|| inner.get("protocol")?.as_str());
                    match (name.as_str(), protocol) {
                        ("payload", Some(protocol)) => self.imply_protocol(protocol),
                        ("sctp chunk" | "dccp option", _) => self.protocols = 0,
                        _ => self.imply(inner),
                    }
                }
            }
            _ => {}
        }
    }

    fn imply_protocol(&mut self, protocol: &str) {
        match protocol {
            "ip" => self.families &= V4,
            "ip6" => self.families &= V6,
            "tcp" => self.protocols &= TCP,
            "udp" | "vxlan" | "geneve" => self.protocols &= UDP,
            "arp" => self.families = 0,
            "icmp" | "icmpv6" | "igmp" | "sctp" | "dccp" | "udplite" | "esp" | "ah" | "comp"
            | "gre" | "gretap" => self.protocols = 0,
            _ => {}
        }
    }

    /// Returns true if a packet of this connection may match, in either direction, before or after
    /// its addresses are translated.
    pub(super) fn touches(&self, subject: &Subject<'_>) -> bool {
        let (original, reply) = (subject.original, subject.reply);
        let family = if original.source.is_ipv4() { V4 } else { V6 };
        let protocol = match original.protocol {
            Protocol::Tcp => TCP,
            Protocol::Udp => UDP,
        };
        if self.families & family == 0
            || self.protocols & protocol == 0
            || !self.marks.iter().all(|test| test.holds(subject.mark))
        {
            return false;
        }
        if self.tests.is_empty() {
            return true;
        }
        // Source and destination are translated at different hooks: between these hooks one of them
        // is already translated.
        let here = [
            (original.source, original.source_port),
            (reply.destination, reply.destination_port),
        ];
        let there = [
            (original.destination, original.destination_port),
            (reply.source, reply.source_port),
        ];
        here.iter().any(|a| {
            there
                .iter()
                .any(|b| self.matches(a, b) || self.matches(b, a))
        })
    }

    fn matches(&self, source: &(IpAddr, u16), destination: &(IpAddr, u16)) -> bool {
        self.tests.iter().all(|test| {
            let (address, port) = match test.end {
                End::Source => source,
                End::Destination => destination,
            };
            let found = match &test.what {
                What::Addresses(all) => all.iter().any(|(from, to)| {
                    from.is_ipv4() == address.is_ipv4() && from <= address && address <= to
                }),
                What::Ports(all) => all.iter().any(|(from, to)| from <= port && port <= to),
            };
            found != test.negated
        })
    }
}

/// All ways to a chain, or to a rule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Areas {
    ways: Vec<Area>,
    /// Include areas whose traffic is not forwarded.
    aside: bool,
}

impl Areas {
    /// Adds a way; `None`: by a chain at a device.
    pub(super) fn add(&mut self, area: Option<Area>) {
        match area {
            None => self.aside = true,
            Some(area) if area.is_empty() || self.ways.contains(&area) => {}
            Some(area) if self.ways.len() < MOST_WAYS => self.ways.push(area),
            // Too many alternatives to distinguish: take their common part.
            Some(area) => {
                let all = std::mem::take(&mut self.ways).into_iter();
                self.ways = vec![all.fold(area, |all, way| all.or(&way))];
            }
        }
    }

    /// Calls for each way.
    pub(super) fn each(&self, mut call: impl FnMut(Option<Area>)) {
        self.ways.iter().for_each(|area| call(Some(area.clone())));
        if self.aside {
            call(None);
        }
    }

    /// Narrows the ways by the condition of a rule.
    pub(super) fn and(&self, area: &Area) -> Vec<Area> {
        let all = self.ways.iter().map(|way| way.and(area));
        all.filter(|way| !way.is_empty()).collect()
    }
}

fn end(field: Option<&str>) -> End {
    match field {
        Some("saddr" | "sport") => End::Source,
        _ => End::Destination,
    }
}

/// Returns the values on the right of a condition: one, or those of a set. `None`: too many, or
/// unknown.
fn values(right: &Value) -> Option<Vec<&Value>> {
    let all = match right.get("set").unwrap_or(right) {
        Value::Array(all) => all.iter().map(element).collect(),
        one => vec![element(one)],
    };
    (all.len() <= MOST_VALUES).then_some(all)
}

/// Returns the value of an element without its attributes.
fn element(value: &Value) -> &Value {
    value
        .get("elem")
        .and_then(|elem| elem.get("val"))
        .unwrap_or(value)
}

fn addresses(value: &Value) -> Option<(IpAddr, IpAddr)> {
    let address = |value: &Value| value.as_str()?.parse::<IpAddr>().ok();
    if let Some([from, to]) = value
        .get("range")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
    {
        return Some((address(from)?, address(to)?));
    }
    let Some(prefix) = value.get("prefix") else {
        return address(value).map(|one| (one, one));
    };
    let length = u32::try_from(prefix.get("len")?.as_u64()?).ok()?;
    Some(match address(prefix.get("addr")?)? {
        IpAddr::V4(first) => {
            let host = u32::MAX.checked_shr(length).unwrap_or(0);
            let first = first.to_bits() & !host;
            (IpAddr::V4(first.into()), IpAddr::V4((first | host).into()))
        }
        IpAddr::V6(first) => {
            let host = u128::MAX.checked_shr(length).unwrap_or(0);
            let first = first.to_bits() & !host;
            (IpAddr::V6(first.into()), IpAddr::V6((first | host).into()))
        }
    })
}

fn ports(value: &Value, operator: &str) -> Option<(u16, u16)> {
    let port = |value: &Value| u16::try_from(value.as_u64()?).ok();
    if let Some([from, to]) = value
        .get("range")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
    {
        return (!operator.contains(['<', '>'])).then_some((port(from)?, port(to)?));
    }
    let port = port(value)?;
    Some(match operator {
        "<" => (0, port.checked_sub(1)?),
        "<=" => (0, port),
        ">" => (port.checked_add(1)?, u16::MAX),
        ">=" => (port, u16::MAX),
        _ => (port, port),
    })
}

/// Combines the bits of several values. `None`: one of the values is unknown.
fn bits(values: &[&Value], of: impl Fn(&Value) -> Option<u8>) -> Option<u8> {
    values
        .iter()
        .try_fold(0, |sum, value| Some(sum | of(value)?))
}

fn protocol(value: &Value) -> Option<u8> {
    match value {
        Value::String(name) => Some(match name.as_str() {
            "tcp" => TCP,
            "udp" => UDP,
            "icmp" | "icmpv6" | "ipv6-icmp" | "igmp" | "esp" | "ah" | "comp" | "udplite"
            | "dccp" | "sctp" | "gre" | "ipip" | "ipv6" | "ospf" | "pim" | "vrrp" => 0,
            _ => return None,
        }),
        Value::Number(number) => Some(match number.as_u64()? {
            6 => TCP,
            17 => UDP,
            _ => 0,
        }),
        _ => None,
    }
}

fn family(value: &Value) -> Option<u8> {
    match value {
        Value::String(name) => Some(match name.as_str() {
            "ipv4" | "ip" => V4,
            "ipv6" | "ip6" => V6,
            "arp" => 0,
            _ => return None,
        }),
        // `meta nfproto` and EtherTypes.
        Value::Number(number) => Some(match number.as_u64()? {
            2 | 0x800 => V4,
            10 | 0x86dd => V6,
            _ => return None,
        }),
        _ => None,
    }
}

/// Returns a condition on the connection mark, or on a mark that was restored from it.
fn mark(left: &Value, values: &[&Value], negated: bool, marks: &Marks) -> Option<MarkTest> {
    let number = |value: &&Value| u32::try_from(value.as_u64()?).ok();
    let (mask, connection) = mark_of(left)?;
    let values = values.iter().map(number).collect::<Option<Vec<u32>>>()?;
    match connection {
        true => Some(MarkTest {
            mask,
            values,
            negated,
        }),
        false => marks.told(mask, &values, negated),
    }
}
