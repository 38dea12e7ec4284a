//! Counters of each device as if nothing had bypassed it: the kernel's own numbers, plus the
//! traffic that weir forwarded past the device.
//!
//! A driver counts the traffic that weir forwards, because that traffic comes in and leaves through
//! it. The devices on top (VLAN, bridge, PPP, VRF) see none of it: [`paths`] computes the devices
//! that a packet would have gone through, and [`ledger`] adds up their counts.

pub mod ledger;
pub mod netdev;
pub mod paths;

use std::collections::HashSet;

use answers::{Port, Reason, Traffic};
use offload_core::PortPlan;
use offload_core::stack::{Stack, is_switch_port};
use tracing::debug;

use super::router::Router;
use super::system_state::{code, hook};

/// Kinds of devices that share the lower device with others, by address: weir cannot attribute
/// traffic to one of them.
const SHARING: [&str; 4] = ["macvlan", "macvtap", "ipvlan", "ipvtap"];

/// Returns all devices with their counters.
pub fn ports(router: &mut Router) -> Vec<Port> {
    router.count_all();
    let text = std::fs::read_to_string(netdev::FILE).unwrap_or_else(|error| {
        debug!(%error, "cannot read device counters");
        String::new()
    });
    let counted = netdev::parse(&text);
    let unknown = unknown(router);
    let show = |plan: &PortPlan| {
        let counted = counted.get(plan.name.as_str()).copied();
        port(
            router,
            plan,
            counted.filter(|_| !unknown.contains(&plan.link)),
        )
    };
    router.core.ports().map(show).collect()
}

fn port(router: &Router, plan: &PortPlan, counted: Option<Traffic>) -> Port {
    let ledger = &router.account.ledger;
    let forwarded = ledger.forwarded(plan.link);
    Port {
        name: plan.name.clone(),
        index: plan.link,
        mac: (plan.mac != [0; 6]).then(|| net::mac::text(&plan.mac)),
        hook: hook(plan.hook),
        xdp_transmit: plan.xdp_transmit,
        reason: Some(Reason {
            code: code(&plan.reason),
            text: plan.reason.explain(),
            hint: Some(plan.reason.hint().to_owned()).filter(|m| !m.is_empty()),
        }),
        packets_in: forwarded.packets_in,
        bytes_in: forwarded.bytes_in,
        packets_out: forwarded.packets_out,
        bytes_out: forwarded.bytes_out,
        total: counted.map(|counted| ledger.total(plan.link, counted)),
        unattributed: ledger.unattributed(plan.link),
        stack: super::system_state::stack(plan),
    }
}

/// Returns devices that packets may have passed unnoticed: devices that share one, user ports of a
/// switch on whose conduit weir works, and devices on top of either.
fn unknown(router: &Router) -> HashSet<u32> {
    let above_ports: HashSet<u32> = router
        .core
        .ports()
        .filter(|plan| !plan.forwards() && !plan.lower_devices.is_empty())
        .map(|plan| plan.link)
        .collect();
    let sharing: Vec<u32> = router
        .core
        .links()
        .filter(|link| SHARING.contains(&link.kind.as_str()) || is_switch_port(link))
        .map(|link| link.index)
        .filter(|link| above_ports.contains(link))
        .collect();
    if sharing.is_empty() {
        return HashSet::new();
    }
    let stack = Stack::of(router.core.links());
    let uppers = sharing.iter().flat_map(|link| stack.uppers(*link));
    let mut unknown: HashSet<u32> = uppers.map(|upper| upper.link).collect();
    unknown.extend(sharing);
    unknown
}
