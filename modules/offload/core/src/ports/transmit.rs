//! Ports to which XDP at other ports may send. Such frames bypass the qdisc of the outgoing port,
//! and byte queue limits: if they come faster than they leave, they wait in the driver's ring, or
//! are dropped there, without marks or early drops. So TC sends them then.

use std::collections::BTreeMap;

use super::{Device, Limit, PortPlan, PortReason, Use, kept, xdp};
use crate::settings::Hook;

/// A port where XDP receives frames.
struct WayIn {
    name: String,
    speed: Option<u32>,
}

/// Fastest of all ways in.
struct Fastest {
    /// Fastest way in; one of unknown speed comes first.
    any: Option<WayIn>,
    /// Fastest way in of known speed.
    known: Option<WayIn>,
}

/// Completes the plans of all ports, by the destinations of XDP at the other ports.
pub(super) fn choose_transmit(
    devices: &BTreeMap<u32, Device<'_>>,
    ports: &mut BTreeMap<u32, PortPlan>,
) {
    let speed = |link: &u32| devices.get(link)?.facts?.speed;
    let comes_in = |plan: &PortPlan| plan.hook == Hook::Xdp && plan.ingress;
    let ways_in = || ports.values().filter(|plan| comes_in(plan));
    let number = ways_in().count();
    let way = |(plan, speed): (&PortPlan, Option<u32>)| WayIn {
        name: plan.name.clone(),
        speed,
    };
    let with_speed = || ways_in().map(|plan| (plan, speed(&plan.link)));
    let fastest = Fastest {
        any: (with_speed().max_by_key(|(_, speed)| speed.unwrap_or(u32::MAX))).map(way),
        known: (with_speed().filter(|(_, speed)| speed.is_some()))
            .max_by_key(|(_, speed)| *speed)
            .map(way),
    };
    for plan in ports.values_mut().filter(|plan| plan.forwards()) {
        let Some(device) = devices.get(&plan.link) else {
            continue;
        };
        let others = number > usize::from(comes_in(plan));
        let against = against(device, plan.hook, &fastest);
        plan.xdp_transmit = against.is_none();
        if let Some(reason) = against.filter(|_| plan.egress && others) {
            let of = Use::Xdp;
            plan.limits.push(Limit { of, reason });
        }
    }
}

/// Returns the reason that forbids sending frames of XDP programs to this port.
fn against(device: &Device<'_>, hook: Hook, fastest: &Fastest) -> Option<PortReason> {
    let (link, facts) = (device.link, device.facts?);
    if let Some(qdisc) = kept(link, facts) {
        return Some(PortReason::Queue(qdisc));
    }
    if !takes_frames(device, hook) {
        let asleep = link.kind == "veth" && facts.xdp_features.is_some();
        return Some(match asleep {
            true => PortReason::PeerSleeps,
            false => PortReason::NoRings,
        });
    }
    // The fastest is named.
    let fastest = match facts.speed {
        Some(_) => &fastest.any,
        None => &fastest.known,
    };
    let faster = fastest.as_ref();
    let faster = faster.filter(|way| may_be_faster(way.speed, facts.speed))?;
    Some(PortReason::Slower {
        speed: facts.speed,
        than: faster.name.clone(),
        its: faster.speed,
    })
}

/// Returns true if frames may arrive faster than they leave. If neither speed is known (virtual
/// machines), they count as equal.
fn may_be_faster(into: Option<u32>, out: Option<u32>) -> bool {
    match (into, out) {
        (Some(into), Some(out)) => into > out,
        (into, out) => into != out,
    }
}

/// Returns true if the driver transmits XDP frames of other devices. Many drivers have rings for
/// that only while a program is attached to the device itself, and answer -ENXIO otherwise
/// (`ixgbe_xdp_xmit`, `virtnet_xdp_xmit`, …): each frame would be lost.
fn takes_frames(device: &Device<'_>, hook: Hook) -> bool {
    let facts = device.facts;
    facts.is_some_and(|facts| match facts.xdp_features {
        // Features reported while weir's own program is attached do not hold once it is detached.
        Some(features) => features & xdp::NDO_XMIT != 0 && (hook == Hook::Xdp || !device.own_xdp),
        // Before Linux 6.3 no device reports features.
        None => facts.known_driver() && hook == Hook::Xdp,
    })
}
