//! Requests to write, remove and list rules and routes.

use std::net::IpAddr;

use super::RouteKind;
use super::{
    FR_ACT_TO_TBL, FRA_DST, FRA_FWMARK, FRA_FWMASK, FRA_IIFNAME, FRA_PRIORITY, FRA_PROTOCOL,
    FRA_SRC, FRA_TABLE, Hop, RTA_DST, RTA_GATEWAY, RTA_OIF, RTA_PREFSRC, RTA_PRIORITY, RTA_SRC,
    RTA_TABLE, RTA_VIA, RTNH_F_ONLINK, Route, Rule, decode_route, decode_rule,
};
use crate::encode::{Encoder, NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST};
use crate::encode::{NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE};
use crate::message::{DecodeError, Message};
use crate::prefix::Prefix;
use crate::rtnetlink::{
    AF_INET, AF_INET6, RTA_MULTIPATH, RTM_DELROUTE, RTM_DELRULE, RTM_F_CLONED, RTM_GETROUTE,
    RTM_GETRULE, RTM_NEWROUTE, RTM_NEWRULE,
};

pub(super) const RT_SCOPE_UNIVERSE: u8 = 0;
pub(super) const RT_SCOPE_LINK: u8 = 253;
pub(super) const RT_SCOPE_HOST: u8 = 254;
pub(super) const RT_SCOPE_NOWHERE: u8 = 255;

/// Requests all rules of a family.
pub(crate) fn dump_rules(ipv6: bool, sequence: u32) -> Vec<u8> {
    dump(RTM_GETRULE, ipv6, sequence)
}

/// Requests all routes of a family.
pub(crate) fn dump_routes(ipv6: bool, sequence: u32) -> Vec<u8> {
    dump(RTM_GETROUTE, ipv6, sequence)
}

/// Requests the exceptions of a family alone: the kernel's knowledge of single destinations. On a
/// socket without strict checks, or with a kernel before 5.3, requests the routes themselves.
pub(crate) fn dump_exceptions(ipv6: bool, sequence: u32) -> Vec<u8> {
    let mut header = [0; 12];
    header[0] = number(ipv6);
    header[8..].copy_from_slice(&RTM_F_CLONED.to_ne_bytes());
    let flags = NLM_F_REQUEST | NLM_F_DUMP;
    Encoder::single(RTM_GETROUTE, flags, sequence, |e| e.fixed(&header))
}

/// Requests the egress of a packet that this machine itself sends.
pub(crate) fn way_to(address: IpAddr, sequence: u32) -> Vec<u8> {
    let mut header = [0; 12];
    header[0] = number(address.is_ipv6());
    header[1] = if address.is_ipv6() { 128 } else { 32 };
    Encoder::single(RTM_GETROUTE, NLM_F_REQUEST, sequence, |e| {
        e.fixed(&header);
        octets(e, RTA_DST, address);
    })
}

/// The device of the answer. Unlike a route of a table, it is marked as a copy.
pub(crate) fn decode_way(message: &Message<'_>) -> Result<Option<u32>, DecodeError> {
    if message.kind != RTM_NEWROUTE {
        return Ok(None);
    }
    let (_, attributes) = message.split::<12>("rtmsg")?;
    let device = attributes.first(RTA_OIF)?;
    device.map(|index| index.u32_native("RTA_OIF")).transpose()
}

/// Requests all rules or routes. Both headers are of 12 bytes, beginning with the family.
fn dump(kind: u16, ipv6: bool, sequence: u32) -> Vec<u8> {
    let mut header = [0; 12];
    header[0] = number(ipv6);
    Encoder::single(kind, NLM_F_REQUEST | NLM_F_DUMP, sequence, |e| {
        e.fixed(&header)
    })
}

/// Adds a rule; the kernel refuses a second one that is the same.
pub(crate) fn add_rule(rule: &Rule, sequence: u32) -> Vec<u8> {
    about_rule(RTM_NEWRULE, NLM_F_CREATE | NLM_F_EXCL, rule, sequence)
}

/// Removes the first rule with all of these attributes. Attributes that are `None` match any value,
/// so the rule is also named by its protocol and priority.
pub(crate) fn remove_rule(rule: &Rule, sequence: u32) -> Vec<u8> {
    about_rule(RTM_DELRULE, 0, rule, sequence)
}

fn about_rule(kind: u16, flags: u16, rule: &Rule, sequence: u32) -> Vec<u8> {
    let length = |prefix: Option<Prefix>| prefix.map_or(0, |prefix| prefix.length);
    let mut header = [0; 12];
    header[0] = number(rule.ipv6);
    header[1] = length(rule.to);
    header[2] = length(rule.from);
    header[7] = FR_ACT_TO_TBL;
    Encoder::single(kind, NLM_F_REQUEST | NLM_F_ACK | flags, sequence, |e| {
        e.fixed(&header);
        e.attribute(FRA_PRIORITY, &rule.priority.to_ne_bytes());
        e.attribute(FRA_TABLE, &rule.table.to_ne_bytes());
        e.attribute(FRA_PROTOCOL, &[rule.protocol]);
        for (kind, prefix) in [(FRA_DST, rule.to), (FRA_SRC, rule.from)] {
            if let Some(prefix) = prefix {
                octets(e, kind, prefix.address);
            }
        }
        if let Some((value, mask)) = rule.mark {
            e.attribute(FRA_FWMARK, &value.to_ne_bytes());
            e.attribute(FRA_FWMASK, &mask.to_ne_bytes());
        }
        if let Some(name) = &rule.iif {
            e.attribute(FRA_IIFNAME, &[name.as_bytes(), &[0]].concat());
        }
    })
}

/// Adds a route, or replaces the one to the same prefix, of the same metric, in the same table.
pub(crate) fn set_route(route: &Route, sequence: u32) -> Vec<u8> {
    about_route(
        RTM_NEWROUTE,
        NLM_F_CREATE | NLM_F_REPLACE,
        route,
        scope(route),
        sequence,
    )
}

/// Removes a route.
pub(crate) fn remove_route(route: &Route, sequence: u32) -> Vec<u8> {
    about_route(RTM_DELROUTE, 0, route, RT_SCOPE_NOWHERE, sequence)
}

/// Returns the scope of a route's destination. IPv6 ignores it.
fn scope(route: &Route) -> u8 {
    match route.kind {
        RouteKind::Local => RT_SCOPE_HOST,
        RouteKind::Unicast if route.hops.iter().all(|hop| hop.gateway.is_none()) => RT_SCOPE_LINK,
        _ => RT_SCOPE_UNIVERSE,
    }
}

fn about_route(kind: u16, flags: u16, route: &Route, scope: u8, sequence: u32) -> Vec<u8> {
    let ipv6 = route.to.address.is_ipv6();
    let mut header = [0; 12];
    header[0] = number(ipv6);
    header[1] = route.to.length;
    header[2] = route.from.map_or(0, |prefix| prefix.length);
    header[5] = route.protocol;
    header[6] = scope;
    header[7] = route.kind.number();
    if let [hop] = route.hops[..] {
        header[8..].copy_from_slice(&hop_flags(&hop).to_ne_bytes());
    }
    Encoder::single(kind, NLM_F_REQUEST | NLM_F_ACK | flags, sequence, |e| {
        e.fixed(&header);
        e.attribute(RTA_TABLE, &route.table.to_ne_bytes());
        octets(e, RTA_DST, route.to.address);
        if let Some(from) = route.from {
            octets(e, RTA_SRC, from.address);
        }
        if let Some(source) = route.source {
            octets(e, RTA_PREFSRC, source);
        }
        if route.metric != 0 {
            e.attribute(RTA_PRIORITY, &route.metric.to_ne_bytes());
        }
        match &route.hops[..] {
            [] => {}
            [hop] => {
                if hop.link != 0 {
                    e.attribute(RTA_OIF, &hop.link.to_ne_bytes());
                }
                gateway(e, ipv6, hop);
            }
            several => e.attribute(RTA_MULTIPATH, &multipath(ipv6, several)),
        }
    })
}

fn multipath(ipv6: bool, hops: &[Hop]) -> Vec<u8> {
    let mut all = Vec::new();
    for hop in hops {
        let mut inside = Encoder::default();
        gateway(&mut inside, ipv6, hop);
        let inside = inside.finish();
        all.extend((8 + inside.len() as u16).to_ne_bytes());
        // Flags, and by how much more than the others it is used.
        all.extend([hop_flags(hop) as u8, 0]);
        all.extend(hop.link.to_ne_bytes());
        all.extend(inside);
    }
    all
}

fn hop_flags(hop: &Hop) -> u32 {
    if hop.onlink { RTNH_F_ONLINK } else { 0 }
}

fn gateway(encoder: &mut Encoder, ipv6: bool, hop: &Hop) {
    match hop.gateway {
        None => {}
        Some(gateway) if gateway.is_ipv6() == ipv6 => octets(encoder, RTA_GATEWAY, gateway),
        Some(gateway) => {
            let family = u16::from(number(gateway.is_ipv6())).to_ne_bytes();
            let value = match gateway {
                IpAddr::V4(address) => [&family[..], &address.octets()].concat(),
                IpAddr::V6(address) => [&family[..], &address.octets()].concat(),
            };
            encoder.attribute(RTA_VIA, &value);
        }
    }
}

fn octets(encoder: &mut Encoder, kind: u16, address: IpAddr) {
    match address {
        IpAddr::V4(address) => encoder.attribute(kind, &address.octets()),
        IpAddr::V6(address) => encoder.attribute(kind, &address.octets()),
    }
}

fn number(ipv6: bool) -> u8 {
    if ipv6 { AF_INET6 } else { AF_INET }
}

/// Returns the origin of a rule or route in a dump. `None`: neither a rule nor a route of a table.
pub(crate) fn protocol_of(message: &Message<'_>) -> Result<Option<u8>, DecodeError> {
    Ok(match message.kind {
        RTM_NEWRULE => decode_rule(message)?.map(|rule| rule.protocol),
        _ => decode_route(message)?.map(|route| route.protocol),
    })
}

/// Turns a dump's message about a rule or a route into the request to remove exactly that one, by
/// all of its attributes.
pub(crate) fn remove_told(message: &Message<'_>) -> (u16, Vec<u8>) {
    let kind = match message.kind {
        RTM_NEWRULE => RTM_DELRULE,
        _ => RTM_DELROUTE,
    };
    (kind, message.payload.to_vec())
}

/// The request made of what [`remove_told`] gave.
pub(crate) fn whole(kind: u16, payload: &[u8], sequence: u32) -> Vec<u8> {
    Encoder::single(kind, NLM_F_REQUEST | NLM_F_ACK, sequence, |e| {
        e.fixed(payload)
    })
}
