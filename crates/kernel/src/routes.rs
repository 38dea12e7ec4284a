//! Routes and policy rules: the parts that decide whether packets to a prefix are always dropped
//! (`include/uapi/linux/rtnetlink.h`, `fib_rules.h`). Read by [`crate::io::read_routes`].

use std::hash::BuildHasher;

use crate::message::{Attribute, Attributes, DecodeError, Message, Problem, u16_at, u32_at};
use crate::policy;
pub use crate::policy::RouteKind;
use crate::prefix::Prefix;
use crate::rtnetlink::{RTA_MULTIPATH, RTM_F_CLONED, RTM_NEWROUTE};

const RTA_CACHEINFO: u16 = 12;
const RTA_ENCAP_TYPE: u16 = 21;
/// LWTUNNEL_ENCAP_BPF and LWTUNNEL_ENCAP_IOAM6 (include/uapi/linux/lwtunnel.h): a program may do
/// anything with each packet, and IOAM may mark one packet of many.
const EACH_PACKET: [u16; 2] = [6, 9];

/// A route. The whole of it: [`policy::Route`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// Destination.
    pub to: Prefix,
    /// Routing table (`RT_TABLE_*`): 254 is main, 255 local.
    pub table: u32,
    /// Effect of the route.
    pub kind: RouteKind,
    /// True if the route is for some packets only: by source or TOS.
    pub narrow: bool,
}

/// A policy rule. The whole of it: [`policy::Rule`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PolicyRule {
    /// Order among the rules.
    pub priority: u32,
    /// Table it leads to; 0: it does something else.
    pub table: u32,
    /// True if the rule has conditions: a mark, a source, a device…
    pub conditional: bool,
}

/// Routing of one family.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Routing {
    /// All rules.
    pub rules: Vec<PolicyRule>,
    /// All routes of all tables.
    pub routes: Vec<Route>,
}

/// Decodes a route of a dump. `None`: irrelevant, an entry of the cache.
///
/// # Errors
/// Names the attribute that is cut short or of a wrong length.
pub fn decode_route(message: &Message<'_>) -> Result<Option<Route>, DecodeError> {
    Ok(policy::decode_route(message)?.map(|route| Route {
        to: route.to,
        table: route.table,
        kind: route.kind,
        narrow: route.from.is_some() || route.tos,
    }))
}

/// Decodes a rule of a dump.
///
/// # Errors
/// Names the attribute that is cut short or of a wrong length.
pub fn decode_rule(message: &Message<'_>) -> Result<Option<PolicyRule>, DecodeError> {
    Ok(policy::decode_rule(message)?.map(|rule| PolicyRule {
        priority: rule.priority,
        table: rule.table,
        conditional: rule.more
            || rule.from.is_some()
            || rule.to.is_some()
            || rule.mark.is_some()
            || rule.iif.is_some(),
    }))
}

/// Milliseconds until a route of a dump expires, to a hundredth of a second, rounded down:
/// advertised routes have a lifetime, and routes that were given one. The kernel checks the time
/// for each packet, and sends no event at the end: it removes the route later (net/ipv6/ip6_fib.c,
/// `fib6_age`; net/ipv6/route.c, `rt6_check_expired`).
///
/// # Errors
/// Names the attribute that is cut short or of a wrong length.
pub fn decode_lifetime(message: &Message<'_>) -> Result<Option<u64>, DecodeError> {
    if message.kind != RTM_NEWROUTE {
        return Ok(None);
    }
    let (fixed, attributes) = message.split::<12>("rtmsg")?;
    if u32_at(fixed, 8) & RTM_F_CLONED != 0 {
        return Ok(None);
    }
    let Some(told) = attributes.first(RTA_CACHEINFO)? else {
        return Ok(None);
    };
    // struct rta_cacheinfo: rta_expires is the third, in hundredths of a second; 0: none, below:
    // over.
    let short = DecodeError::new("RTA_CACHEINFO", Problem::Length);
    let octets = told.value.get(8..).and_then(|rest| rest.first_chunk());
    let left = i32::from_ne_bytes(*octets.ok_or(short)?);
    let left = u64::try_from(left).ok().filter(|left| *left > 0);
    Ok(left.map(|left| left * 10))
}

/// Returns the destination of a route of a dump that treats packets individually: by a BPF program
/// (`encap bpf`), or by IOAM, which may mark some packets only. `None`: any other route. All other
/// encapsulations change each packet in the same way.
///
/// # Errors
/// Names the attribute that is cut short or of a wrong length.
pub fn decode_program(message: &Message<'_>) -> Result<Option<Prefix>, DecodeError> {
    if message.kind != RTM_NEWROUTE {
        return Ok(None);
    }
    let (_, attributes) = message.split::<12>("rtmsg")?;
    let mut found = false;
    for attribute in attributes {
        let attribute = attribute?;
        found |= match attribute.kind {
            RTA_MULTIPATH => hop_has_program(&attribute)?,
            _ => is_program(&attribute)?,
        };
    }
    // Few routes have one, and the whole of a route takes longer to decode.
    if !found {
        return Ok(None);
    }
    Ok(policy::decode_route(message)?.map(|route| route.to))
}

fn is_program(attribute: &Attribute<'_>) -> Result<bool, DecodeError> {
    if attribute.kind != RTA_ENCAP_TYPE {
        return Ok(false);
    }
    let wrong = DecodeError::new("RTA_ENCAP_TYPE", Problem::Length);
    let kind = attribute.value.first_chunk().ok_or(wrong)?;
    Ok(EACH_PACKET.contains(&u16::from_ne_bytes(*kind)))
}

/// Iterates over `struct rtnexthop`, each with its attributes.
fn hop_has_program(hops: &Attribute<'_>) -> Result<bool, DecodeError> {
    let cut = DecodeError::new("RTA_MULTIPATH", Problem::CutShort);
    let mut found = false;
    let mut rest = hops.value;
    while !rest.is_empty() {
        let header = rest.first_chunk::<8>().ok_or(cut)?;
        let length = usize::from(u16_at(header, 0));
        let inside = rest.get(8..length).ok_or(cut)?;
        for attribute in Attributes::new(inside, "RTA_MULTIPATH") {
            found |= is_program(&attribute?)?;
        }
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(found)
}

/// Hashes an exception of a dump: another path MTU or gateway for one destination, which the kernel
/// learned by ICMP. Leaves out the remaining time. `None`: not an exception.
///
/// # Errors
/// Names the attribute that is cut short.
pub fn decode_exception(
    message: &Message<'_>,
    hasher: &impl BuildHasher,
) -> Result<Option<u64>, DecodeError> {
    if message.kind != RTM_NEWROUTE {
        return Ok(None);
    }
    let (fixed, attributes) = message.split::<12>("rtmsg")?;
    if u32_at(fixed, 8) & RTM_F_CLONED == 0 {
        return Ok(None);
    }
    let mut parts = Vec::new();
    for attribute in attributes {
        let attribute = attribute?;
        if attribute.kind != RTA_CACHEINFO {
            parts.push((attribute.kind, attribute.value));
        }
    }
    Ok(Some(hasher.hash_one((&fixed[..8], parts))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{first, message};
    use crate::rtnetlink::RTM_NEWRULE;

    const RTA_DST: u16 = 1;
    const RTA_TABLE: u16 = 15;
    const FRA_PRIORITY: u16 = 6;
    const FRA_SUPPRESS_PREFIXLEN: u16 = 14;
    const FRA_PROTOCOL: u16 = 21;

    #[test]
    fn routes_are_read() {
        let fixed = [2, 24, 0, 0, 252, 0, 0, 6, 0, 0, 0, 0];
        let table = 1000u32.to_ne_bytes();
        let datagram = message(
            RTM_NEWROUTE,
            &fixed,
            &[(RTA_DST, &[192, 0, 2, 0]), (RTA_TABLE, &table)],
        );
        let route = decode_route(&first(&datagram))
            .expect("right")
            .expect("one");
        assert_eq!(route.to.to_string(), "192.0.2.0/24");
        assert_eq!(
            (route.table, route.kind, route.narrow),
            (1000, RouteKind::Blackhole, false)
        );
        let wrong = message(RTM_NEWROUTE, &[2, 33, 0, 0, 254, 0, 0, 1, 0, 0, 0, 0], &[]);
        assert!(decode_route(&first(&wrong)).is_err());
        let wrong = message(RTM_NEWROUTE, &fixed, &[(RTA_DST, &[1])]);
        assert!(decode_route(&first(&wrong)).is_err());
    }

    #[test]
    fn rules_ask_or_do_not() {
        let fixed = [2, 0, 0, 0, 254, 0, 0, 1, 0, 0, 0, 0];
        let priority = 32766u32.to_ne_bytes();
        let plain: &[(u16, &[u8])] = &[
            (FRA_PRIORITY, &priority),
            (FRA_SUPPRESS_PREFIXLEN, &[0xff; 4]),
            (FRA_PROTOCOL, &[2]),
        ];
        let rule = |fixed: [u8; 12], attributes: &[(u16, &[u8])]| {
            let datagram = message(RTM_NEWRULE, &fixed, attributes);
            decode_rule(&first(&datagram)).expect("right").expect("one")
        };
        let main = rule(fixed, plain);
        assert_eq!(
            (main.priority, main.table, main.conditional),
            (32766, 254, false)
        );
        // A mark (FRA_FWMARK).
        assert!(rule(fixed, &[(10, &[0; 4])]).conditional);
        assert!(rule(fixed, &[(FRA_SUPPRESS_PREFIXLEN, &[0; 4])]).conditional);
        assert!(rule([2, 0, 24, 0, 254, 0, 0, 1, 0, 0, 0, 0], &[]).conditional);
        assert_eq!(rule([2, 0, 0, 0, 254, 0, 0, 6, 0, 0, 0, 0], &[]).table, 0);
    }

    #[test]
    fn programs_on_routes_are_found() {
        let fixed = [2, 24, 0, 0, 254, 3, 0, 1, 0, 0, 0, 0];
        let to = [192, 0, 2, 0];
        let with = |kind: u16, value: &[u8]| {
            let datagram = message(RTM_NEWROUTE, &fixed, &[(RTA_DST, &to), (kind, value)]);
            decode_program(&first(&datagram)).map(|found| found.map(|to| to.to_string()))
        };
        for (kind, counts) in [(1, false), (2, false), (5, false), (6, true), (9, true)] {
            let expected = counts.then(|| "192.0.2.0/24".to_owned());
            let kind = u16::to_ne_bytes(kind);
            assert_eq!(with(RTA_ENCAP_TYPE, &kind), Ok(expected.clone()));
            // The second of two next hops.
            let mut hops = vec![8, 0, 0, 0, 7, 0, 0, 0, 16, 0, 0, 0, 8, 0, 0, 0];
            hops[..2].copy_from_slice(&8u16.to_ne_bytes());
            hops[8..10].copy_from_slice(&16u16.to_ne_bytes());
            hops.extend(
                [
                    6u16.to_ne_bytes(),
                    RTA_ENCAP_TYPE.to_ne_bytes(),
                    kind,
                    [0; 2],
                ]
                .concat(),
            );
            assert_eq!(with(RTA_MULTIPATH, &hops), Ok(expected));
        }
        assert_eq!(with(RTA_DST, &to), Ok(None));
        // A gateway (RTA_GATEWAY) that is cut short.
        assert_eq!(with(5, &[192, 0]), Ok(None), "no more is decoded");
        assert!(with(RTA_ENCAP_TYPE, &[6]).is_err());
        for length in [0u16, 7, 200] {
            let mut hop = [0; 12];
            hop[..2].copy_from_slice(&length.to_ne_bytes());
            assert!(with(RTA_MULTIPATH, &hop).is_err(), "{length}");
        }
    }

    #[test]
    fn exceptions_differ_by_what_was_learned() {
        let hasher = std::hash::RandomState::new();
        let cached = [10, 128, 0, 0, 254, 3, 0, 1, 0, 2, 0, 0];
        let number = |fixed: [u8; 12], mtu: u8, left: u8| {
            let attributes: &[(u16, &[u8])] = &[(8, &[mtu]), (RTA_CACHEINFO, &[left; 32])];
            let datagram = message(RTM_NEWROUTE, &fixed, attributes);
            decode_exception(&first(&datagram), &hasher).expect("right")
        };
        let one = number(cached, 1, 1);
        assert!(one.is_some());
        assert_eq!(one, number(cached, 1, 2), "time goes by");
        assert_ne!(one, number(cached, 2, 1));
        let route = [10, 128, 0, 0, 254, 3, 0, 1, 0, 0, 0, 0];
        assert_eq!(number(route, 1, 1), None);
    }

    #[test]
    fn life_times_are_read() {
        let fixed = [10, 48, 0, 0, 254, 3, 0, 1, 0, 0, 0, 0];
        let left = |left: i32| {
            let mut cache = [0; 32];
            cache[8..12].copy_from_slice(&left.to_ne_bytes());
            let datagram = message(RTM_NEWROUTE, &fixed, &[(RTA_CACHEINFO, &cache)]);
            decode_lifetime(&first(&datagram))
        };
        assert_eq!(left(300), Ok(Some(3000)));
        assert_eq!(left(i32::MAX), Ok(Some(21_474_836_470)));
        // No lifetime; an expired one.
        assert_eq!((left(0), left(-5)), (Ok(None), Ok(None)));
        let short = message(RTM_NEWROUTE, &fixed, &[(RTA_CACHEINFO, &[0; 8])]);
        assert!(decode_lifetime(&first(&short)).is_err());
        let cached = [10, 128, 0, 0, 254, 3, 0, 1, 0, 2, 0, 0];
        let cached = message(RTM_NEWROUTE, &cached, &[(RTA_CACHEINFO, &[9; 32])]);
        assert_eq!(decode_lifetime(&first(&cached)), Ok(None));
    }
}
