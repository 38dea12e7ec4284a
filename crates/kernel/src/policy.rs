//! Policy rules and routes, whole: read, and written by [`crate::io::Policy`]
//! (`include/uapi/linux/rtnetlink.h`, `fib_rules.h`).
//!
//! Each has a number for its origin. Objects that weir writes have [`PROTOCOL`], which identifies
//! those that a killed weir left behind. Note that systemd-networkd removes foreign rules and
//! routes (`ManageForeignRoutes=`, `ManageForeignRoutingPolicyRules=`): a program that writes some
//! has to watch [`Event::Routing`](crate::Event::Routing) and write them again.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::message::{Attribute, DecodeError, Message, Problem, u16_at, u32_at};
use crate::prefix::Prefix;
use crate::rtnetlink::{AF_INET, AF_INET6, RTA_MULTIPATH, RTM_F_CLONED, RTM_NEWROUTE, RTM_NEWRULE};

pub(crate) mod request;

/// Origin of weir's rules and routes (`RTPROT_*`). Not in use in the lists of the kernel, iproute2,
/// systemd, BIRD and FRR.
pub const PROTOCOL: u8 = 119;
/// `RT_TABLE_MAIN`.
pub const MAIN: u32 = 254;
/// `RT_TABLE_LOCAL`.
pub const LOCAL: u32 = 255;

const RTA_DST: u16 = 1;
const RTA_SRC: u16 = 2;
const RTA_OIF: u16 = 4;
const RTA_GATEWAY: u16 = 5;
const RTA_PRIORITY: u16 = 6;
const RTA_PREFSRC: u16 = 7;
const RTA_TABLE: u16 = 15;
const RTA_VIA: u16 = 18;
const RTNH_F_ONLINK: u32 = 4;

const FRA_DST: u16 = 1;
const FRA_SRC: u16 = 2;
const FRA_IIFNAME: u16 = 3;
const FRA_PRIORITY: u16 = 6;
const FRA_FWMARK: u16 = 10;
const FRA_SUPPRESS_PREFIXLEN: u16 = 14;
const FRA_TABLE: u16 = 15;
const FRA_FWMASK: u16 = 16;
const FRA_PROTOCOL: u16 = 21;
const FR_ACT_TO_TBL: u8 = 1;
const FIB_RULE_INVERT: u32 = 2;

/// Treatment of packets by a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RouteKind {
    /// Drops them.
    Blackhole,
    /// Drops packets, and reports that the host is unreachable.
    Unreachable,
    /// Drops packets, and reports that the traffic is forbidden.
    Prohibit,
    /// Sends them on.
    Unicast,
    /// Takes them for this machine's own.
    Local,
    /// Anything else.
    Other,
}

impl RouteKind {
    /// `RTN_*`.
    pub(crate) fn number(self) -> u8 {
        match self {
            Self::Unicast => 1,
            Self::Local => 2,
            Self::Blackhole => 6,
            Self::Unreachable => 7,
            Self::Prohibit => 8,
            Self::Other => 0,
        }
    }

    pub(crate) fn from_number(number: u8) -> Self {
        match number {
            1 => Self::Unicast,
            2 => Self::Local,
            6 => Self::Blackhole,
            7 => Self::Unreachable,
            8 => Self::Prohibit,
            _ => Self::Other,
        }
    }
}

/// A policy rule: packets that match all its conditions are looked up in a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// True for IPv6.
    pub ipv6: bool,
    /// Order among the rules: the lowest is evaluated first.
    pub priority: u32,
    /// Source.
    pub from: Option<Prefix>,
    /// Destination.
    pub to: Option<Prefix>,
    /// Mark of the packet, and the bits of it that count.
    pub mark: Option<(u32, u32)>,
    /// Ingress device of the packets, by name; `lo` for packets of this machine.
    pub iif: Option<String>,
    /// Table; 0: it does something else.
    pub table: u32,
    /// Origin of the rule.
    pub protocol: u8,
    /// True if the rule has other conditions, which this omits. Only read, not written.
    pub more: bool,
}

impl Default for Rule {
    /// Returns a rule of weir's for all IPv4 packets, without a table yet.
    fn default() -> Self {
        Self {
            ipv6: false,
            priority: 0,
            from: None,
            to: None,
            mark: None,
            iif: None,
            table: 0,
            protocol: PROTOCOL,
            more: false,
        }
    }
}

/// Next hop of a route.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Hop {
    /// Index of the device; 0 leaves it to the kernel, which finds the one that reaches the
    /// gateway.
    pub link: u32,
    /// Next router, of either family. `None`: the destinations are on the link.
    pub gateway: Option<IpAddr>,
    /// True if the gateway is reachable regardless of the device's addresses.
    pub onlink: bool,
}

/// A route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// Destination.
    pub to: Prefix,
    /// Source prefix of the packets (IPv6), if limited.
    pub from: Option<Prefix>,
    /// Routing table: [`MAIN`], [`LOCAL`], ….
    pub table: u32,
    /// Effect of the route.
    pub kind: RouteKind,
    /// Next hops. Several share the packets. Empty if packets are dropped; IPv6 then has the
    /// loopback device.
    pub hops: Vec<Hop>,
    /// Source address of packets that this machine sends by the route.
    pub source: Option<IpAddr>,
    /// The lowest wins. 0 is written as 1024 for IPv6, by the kernel.
    pub metric: u32,
    /// Origin of the route.
    pub protocol: u8,
    /// True if the route is for one TOS only. Only read, not written.
    pub tos: bool,
}

impl Route {
    /// A route of weir's, by one hop.
    pub fn new(to: Prefix, table: u32, hop: Hop) -> Self {
        Self {
            hops: vec![hop],
            ..Self::without_hop(to, table, RouteKind::Unicast)
        }
    }

    /// A route of weir's that drops packets.
    pub fn without_hop(to: Prefix, table: u32, kind: RouteKind) -> Self {
        Self {
            to,
            from: None,
            table,
            kind,
            hops: Vec::new(),
            source: None,
            metric: 0,
            protocol: PROTOCOL,
            tos: false,
        }
    }
}

/// Decodes a rule of a dump. `None`: another message, or a rule of neither IPv4 nor IPv6.
///
/// # Errors
/// Names the attribute that is cut short or of a wrong length.
pub fn decode_rule(message: &Message<'_>) -> Result<Option<Rule>, DecodeError> {
    if message.kind != RTM_NEWRULE {
        return Ok(None);
    }
    let (fixed, attributes) = message.split::<12>("fib_rule_hdr")?;
    let [family, to_length, from_length, tos, table, _, _, action, ..] = *fixed;
    if !matches!(family, AF_INET | AF_INET6) {
        return Ok(None);
    }
    let any = |length| (length != 0).then(|| unspecified(family, length));
    let mut rule = Rule {
        ipv6: family == AF_INET6,
        from: any(from_length),
        to: any(to_length),
        table: u32::from(table),
        protocol: 0,
        // FIB_RULE_PERMANENT and other flags say nothing about the conditions.
        more: tos != 0 || u32_at(fixed, 8) & FIB_RULE_INVERT != 0,
        ..Rule::default()
    };
    for attribute in attributes {
        let attribute = attribute?;
        match attribute.kind {
            FRA_PRIORITY => rule.priority = attribute.u32_native("FRA_PRIORITY")?,
            FRA_TABLE => rule.table = attribute.u32_native("FRA_TABLE")?,
            FRA_PROTOCOL => [rule.protocol] = attribute.array("FRA_PROTOCOL")?,
            FRA_SRC => rule.from = Some(prefix(&attribute, family, from_length, "FRA_SRC")?),
            FRA_DST => rule.to = Some(prefix(&attribute, family, to_length, "FRA_DST")?),
            FRA_IIFNAME => rule.iif = Some(attribute.text()),
            FRA_FWMARK => {
                rule.mark.get_or_insert((0, u32::MAX)).0 = attribute.u32_native("FRA_FWMARK")?;
            }
            FRA_FWMASK => {
                rule.mark.get_or_insert((0, u32::MAX)).1 = attribute.u32_native("FRA_FWMASK")?;
            }
            // All ones: nothing is suppressed. The kernel sends the attribute with every rule.
            FRA_SUPPRESS_PREFIXLEN => {
                rule.more |= attribute.u32_native("FRA_SUPPRESS_PREFIXLEN")? != u32::MAX;
            }
            _ => rule.more = true,
        }
    }
    if action != FR_ACT_TO_TBL {
        rule.table = 0;
    }
    Ok(Some(rule))
}

/// Decodes a route of a dump. `None`: irrelevant, an entry of the cache, or neither IPv4 nor IPv6.
///
/// # Errors
/// Names the attribute that is cut short or of a wrong length.
pub fn decode_route(message: &Message<'_>) -> Result<Option<Route>, DecodeError> {
    if message.kind != RTM_NEWROUTE {
        return Ok(None);
    }
    let (fixed, attributes) = message.split::<12>("rtmsg")?;
    let [
        family,
        to_length,
        from_length,
        tos,
        table,
        protocol,
        _,
        kind,
        ..,
    ] = *fixed;
    let flags = u32_at(fixed, 8);
    if flags & RTM_F_CLONED != 0 || !matches!(family, AF_INET | AF_INET6) {
        return Ok(None);
    }
    if to_length > if family == AF_INET { 32 } else { 128 } {
        return Err(DecodeError::new("rtm_dst_len", Problem::Contradiction));
    }
    let mut route = Route {
        from: (from_length != 0).then(|| unspecified(family, from_length)),
        protocol,
        tos: tos != 0,
        ..Route::without_hop(
            unspecified(family, to_length),
            table.into(),
            RouteKind::from_number(kind),
        )
    };
    let mut hop = Hop::default();
    for attribute in attributes {
        let attribute = attribute?;
        match attribute.kind {
            RTA_DST => route.to = prefix(&attribute, family, to_length, "RTA_DST")?,
            RTA_SRC => route.from = Some(prefix(&attribute, family, from_length, "RTA_SRC")?),
            RTA_TABLE => route.table = attribute.u32_native("RTA_TABLE")?,
            RTA_PRIORITY => route.metric = attribute.u32_native("RTA_PRIORITY")?,
            RTA_PREFSRC => route.source = Some(address(&attribute, family, "RTA_PREFSRC")?),
            RTA_OIF => hop.link = attribute.u32_native("RTA_OIF")?,
            RTA_GATEWAY => hop.gateway = Some(address(&attribute, family, "RTA_GATEWAY")?),
            RTA_VIA => hop.gateway = Some(via(&attribute)?),
            RTA_MULTIPATH => hops(&attribute, family, &mut route.hops)?,
            _ => {}
        }
    }
    if route.hops.is_empty() && hop != Hop::default() {
        hop.onlink = flags & RTNH_F_ONLINK != 0;
        route.hops.push(hop);
    }
    Ok(Some(route))
}

/// The next hops of a route that has several (`struct rtnexthop`).
fn hops(told: &Attribute<'_>, family: u8, out: &mut Vec<Hop>) -> Result<(), DecodeError> {
    let cut = DecodeError::new("RTA_MULTIPATH", Problem::CutShort);
    let mut rest = told.value;
    while !rest.is_empty() {
        let header = rest.first_chunk::<8>().ok_or(cut)?;
        let length = usize::from(u16_at(header, 0));
        let inside = rest.get(8..length).ok_or(cut)?;
        let mut hop = Hop {
            link: u32_at(header, 4),
            gateway: None,
            onlink: u32::from(header[2]) & RTNH_F_ONLINK != 0,
        };
        for attribute in crate::message::Attributes::new(inside, "RTA_MULTIPATH") {
            let attribute = attribute?;
            match attribute.kind {
                RTA_GATEWAY => hop.gateway = Some(address(&attribute, family, "RTA_GATEWAY")?),
                RTA_VIA => hop.gateway = Some(via(&attribute)?),
                _ => {}
            }
        }
        out.push(hop);
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(())
}

/// A gateway of the other family (RFC 5549): its family, then its address.
fn via(attribute: &Attribute<'_>) -> Result<IpAddr, DecodeError> {
    let wrong = DecodeError::new("RTA_VIA", Problem::Length);
    let (family, octets) = attribute.value.split_first_chunk::<2>().ok_or(wrong)?;
    ip(u16::from_ne_bytes(*family), octets).ok_or(wrong)
}

fn address(
    attribute: &Attribute<'_>,
    family: u8,
    part: &'static str,
) -> Result<IpAddr, DecodeError> {
    ip(family.into(), attribute.value).ok_or(DecodeError::new(part, Problem::Length))
}

fn prefix(
    attribute: &Attribute<'_>,
    family: u8,
    length: u8,
    part: &'static str,
) -> Result<Prefix, DecodeError> {
    let address = address(attribute, family, part)?;
    Ok(Prefix { address, length })
}

fn ip(family: u16, octets: &[u8]) -> Option<IpAddr> {
    match u8::try_from(family).ok()? {
        AF_INET => Some(Ipv4Addr::from(<[u8; 4]>::try_from(octets).ok()?).into()),
        AF_INET6 => Some(Ipv6Addr::from(<[u8; 16]>::try_from(octets).ok()?).into()),
        _ => None,
    }
}

fn unspecified(family: u8, length: u8) -> Prefix {
    let address = match family {
        AF_INET => Ipv4Addr::UNSPECIFIED.into(),
        _ => Ipv6Addr::UNSPECIFIED.into(),
    };
    Prefix { address, length }
}

#[cfg(test)]
mod tests;
