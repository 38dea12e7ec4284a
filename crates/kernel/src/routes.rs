//! Routes and policy rules as they stand: only as much of them as tells whether packets to a prefix are always dropped
//! (`include/uapi/linux/rtnetlink.h`, `fib_rules.h`). Read by [`crate::io::read_routes`].

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::encode::{Encoder, NLM_F_DUMP, NLM_F_REQUEST};
use crate::message::{Attribute, DecodeError, Message, Problem, u32_at};
use crate::sets::Prefix;

const RTM_NEWROUTE: u16 = 24;
const RTM_GETROUTE: u16 = 26;
const RTM_NEWRULE: u16 = 32;
const RTM_GETRULE: u16 = 34;
const RTA_DST: u16 = 1;
const RTA_TABLE: u16 = 15;
const RTM_F_CLONED: u32 = 0x200;
const FRA_PRIORITY: u16 = 6;
const FRA_TABLE: u16 = 15;
const FRA_SUPPRESS_PREFIXLEN: u16 = 14;
const FRA_PROTOCOL: u16 = 21;
const FR_ACT_TO_TBL: u8 = 1;
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;

/// What a route does with packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RouteKind {
    /// Drops them.
    Blackhole,
    /// Drops them, and says that the host cannot be reached.
    Unreachable,
    /// Drops them, and says that it is forbidden.
    Prohibit,
    /// Anything else.
    Other,
}

/// A route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// Where to.
    pub to: Prefix,
    /// Its table (`RT_TABLE_*`): 254 is main, 255 local.
    pub table: u32,
    /// What it does.
    pub kind: RouteKind,
    /// It counts for some packets only: by source or TOS.
    pub narrow: bool,
}

/// A policy rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PolicyRule {
    /// Order among the rules.
    pub priority: u32,
    /// Table it leads to; 0: it does something else.
    pub table: u32,
    /// It asks for something: a mark, a source, a device…
    pub asks: bool,
}

/// Routing of one family.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Routing {
    /// All rules.
    pub rules: Vec<PolicyRule>,
    /// All routes of all tables.
    pub routes: Vec<Route>,
}

/// Asks for all routes.
pub(crate) fn dump_routes(ipv6: bool, sequence: u32) -> Vec<u8> {
    dump(RTM_GETROUTE, ipv6, sequence)
}

/// Asks for all rules.
pub(crate) fn dump_rules(ipv6: bool, sequence: u32) -> Vec<u8> {
    dump(RTM_GETRULE, ipv6, sequence)
}

/// Both headers are of 12 octets, beginning with the family.
fn dump(kind: u16, ipv6: bool, sequence: u32) -> Vec<u8> {
    let mut header = [0; 12];
    header[0] = if ipv6 { AF_INET6 } else { AF_INET };
    let mut encoder = Encoder::default();
    encoder.message(kind, NLM_F_REQUEST | NLM_F_DUMP, sequence, |e| {
        e.fixed(&header)
    });
    encoder.finish()
}

/// Decodes a route of a dump. `None`: of no concern, an entry of the cache.
///
/// # Errors
/// Names the attribute that is cut short or of a wrong length.
pub fn decode_route(message: &Message<'_>) -> Result<Option<Route>, DecodeError> {
    if message.kind != RTM_NEWROUTE {
        return Ok(None);
    }
    let (fixed, attributes) = message.split::<12>("rtmsg")?;
    let [family, to_length, from_length, tos, table, _, _, kind, ..] = *fixed;
    if u32_at(fixed, 8) & RTM_F_CLONED != 0 {
        return Ok(None);
    }
    let mut address: IpAddr = match family {
        AF_INET => Ipv4Addr::UNSPECIFIED.into(),
        AF_INET6 => Ipv6Addr::UNSPECIFIED.into(),
        _ => return Ok(None),
    };
    if to_length > if family == AF_INET { 32 } else { 128 } {
        return Err(DecodeError::new("rtm_dst_len", Problem::Contradiction));
    }
    let mut table = u32::from(table);
    for attribute in attributes {
        let attribute: Attribute<'_> = attribute?;
        match attribute.kind {
            RTA_DST if family == AF_INET => {
                address = Ipv4Addr::from(attribute.array::<4>("RTA_DST")?).into();
            }
            RTA_DST => address = Ipv6Addr::from(attribute.array::<16>("RTA_DST")?).into(),
            RTA_TABLE => table = attribute.u32_native("RTA_TABLE")?,
            _ => {}
        }
    }
    Ok(Some(Route {
        to: Prefix {
            address,
            length: to_length,
        },
        table,
        kind: match kind {
            6 => RouteKind::Blackhole,
            7 => RouteKind::Unreachable,
            8 => RouteKind::Prohibit,
            _ => RouteKind::Other,
        },
        narrow: from_length != 0 || tos != 0,
    }))
}

/// Decodes a rule of a dump.
///
/// # Errors
/// Names the attribute that is cut short or of a wrong length.
pub fn decode_rule(message: &Message<'_>) -> Result<Option<PolicyRule>, DecodeError> {
    if message.kind != RTM_NEWRULE {
        return Ok(None);
    }
    let (fixed, attributes) = message.split::<12>("fib_rule_hdr")?;
    let [_, to, from, tos, table, _, _, action, ..] = *fixed;
    let mut rule = PolicyRule {
        priority: 0,
        table: u32::from(table),
        // FIB_RULE_PERMANENT and others tell nothing of what it asks; FIB_RULE_INVERT (2) does.
        asks: to != 0 || from != 0 || tos != 0 || u32_at(fixed, 8) & 2 != 0,
    };
    for attribute in attributes {
        let attribute: Attribute<'_> = attribute?;
        match attribute.kind {
            FRA_PRIORITY => rule.priority = attribute.u32_native("FRA_PRIORITY")?,
            FRA_TABLE => rule.table = attribute.u32_native("FRA_TABLE")?,
            // All ones: nothing is suppressed. The kernel tells it of every rule.
            FRA_SUPPRESS_PREFIXLEN => {
                rule.asks |= attribute.u32_native("FRA_SUPPRESS_PREFIXLEN")? != u32::MAX;
            }
            // Who made it.
            FRA_PROTOCOL => {}
            _ => rule.asks = true,
        }
    }
    if action != FR_ACT_TO_TBL {
        rule.table = 0;
    }
    Ok(Some(rule))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Messages;

    fn message(kind: u16, fixed: [u8; 12], attributes: &[(u16, &[u8])]) -> Vec<u8> {
        let mut encoder = Encoder::default();
        encoder.message(kind, 0, 1, |e| {
            e.fixed(&fixed);
            for (kind, value) in attributes {
                e.attribute(*kind, value);
            }
        });
        encoder.finish()
    }

    fn only(datagram: &[u8]) -> Message<'_> {
        Messages::new(datagram).next().expect("one").expect("whole")
    }

    #[test]
    fn routes_are_read() {
        let fixed = [2, 24, 0, 0, 252, 0, 0, 6, 0, 0, 0, 0];
        let table = 1000u32.to_ne_bytes();
        let datagram = message(
            RTM_NEWROUTE,
            fixed,
            &[(RTA_DST, &[192, 0, 2, 0]), (RTA_TABLE, &table)],
        );
        let route = decode_route(&only(&datagram)).expect("right").expect("one");
        assert_eq!(route.to.to_string(), "192.0.2.0/24");
        assert_eq!(
            (route.table, route.kind, route.narrow),
            (1000, RouteKind::Blackhole, false)
        );
        let wrong = message(RTM_NEWROUTE, [2, 33, 0, 0, 254, 0, 0, 1, 0, 0, 0, 0], &[]);
        assert!(decode_route(&only(&wrong)).is_err());
        let wrong = message(RTM_NEWROUTE, fixed, &[(RTA_DST, &[1])]);
        assert!(decode_route(&only(&wrong)).is_err());
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
        let rule = |fixed, attributes: &[(u16, &[u8])]| {
            let datagram = message(RTM_NEWRULE, fixed, attributes);
            decode_rule(&only(&datagram)).expect("right").expect("one")
        };
        let main = rule(fixed, plain);
        assert_eq!((main.priority, main.table, main.asks), (32766, 254, false));
        // A mark (FRA_FWMARK).
        assert!(rule(fixed, &[(10, &[0; 4])]).asks);
        assert!(rule(fixed, &[(FRA_SUPPRESS_PREFIXLEN, &[0; 4])]).asks);
        assert!(rule([2, 0, 24, 0, 254, 0, 0, 1, 0, 0, 0, 0], &[]).asks);
        assert_eq!(rule([2, 0, 0, 0, 254, 0, 0, 6, 0, 0, 0, 0], &[]).table, 0);
    }
}
