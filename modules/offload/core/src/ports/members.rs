//! Members of bridges without forwarding. A bridge sends frames for an unknown station to all
//! members. Weir can distinguish such copies from the one path to the station only if weir sees
//! every copy leave. So weir attaches to such members, too; if weir cannot, it forwards nothing to
//! the other members.

use std::collections::BTreeMap;

use super::{Device, Limit, PortPlan, PortReason, Use};
use crate::settings::Hook;
use crate::stack::Stack;

/// Returns true if weir may watch a device at which it forwards nothing: the operator did not
/// exclude the device, and attaching is possible.
fn may_be_watched(reason: &PortReason) -> bool {
    match reason {
        PortReason::Above { reason, .. } => may_be_watched(reason),
        PortReason::SwitchedOff | PortReason::TcRefused | PortReason::NotLookedAt => false,
        _ => true,
    }
}

/// Members of all bridges, and the ports by which a frame to each leaves.
pub(super) struct Members<'a> {
    devices: &'a BTreeMap<u32, Device<'a>>,
    stack: &'a Stack,
}

impl<'a> Members<'a> {
    pub(super) fn new(devices: &'a BTreeMap<u32, Device<'a>>, stack: &'a Stack) -> Self {
        Self { devices, stack }
    }

    /// Completes the plans of all devices by the relations between members of a bridge.
    pub(super) fn plan(&self, ports: &mut BTreeMap<u32, PortPlan>) {
        let mut bridges: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for link in self.devices.values().map(|device| device.link) {
            let master = link.master.and_then(|master| self.devices.get(&master));
            // A bridge floods nothing to a member that is down. When the member comes up, weir
            // plans again.
            if let Some(bridge) = master.filter(|m| m.link.kind == "bridge" && link.up) {
                let members = bridges.entry(bridge.link.index).or_default();
                members.push(link.index);
            }
        }
        for members in bridges.values() {
            self.watch(members, ports);
        }
    }

    /// Returns the ports by which a member's frames leave: the member itself, or the ports below
    /// it.
    fn ports_of(&self, member: u32) -> Vec<u32> {
        match self.stack.stands(member) {
            true => self.stack.lowest(member),
            false => vec![member],
        }
    }

    fn watch(&self, members: &[u32], ports: &mut BTreeMap<u32, PortPlan>) {
        let forwards = |port: &u32, ports: &BTreeMap<u32, PortPlan>| {
            ports.get(port).is_some_and(PortPlan::forwards)
        };
        let (seen, unseen): (Vec<u32>, Vec<u32>) = members.iter().partition(|member| {
            let below = self.ports_of(**member);
            below.iter().all(|port| forwards(port, ports))
        });
        let sends: Vec<u32> = (members.iter())
            .flat_map(|member| self.ports_of(*member))
            .filter(|port| forwards(port, ports))
            .collect();
        if sends.is_empty() || seen.len() == members.len() {
            return;
        }
        for member in unseen {
            let (Some(plan), Some(device)) = (ports.get_mut(&member), self.devices.get(&member))
            else {
                continue;
            };
            let refused = device.facts.is_none_or(|facts| facts.tc_refused);
            if !refused && may_be_watched(&plan.reason) {
                plan.hook = Hook::Watch;
                plan.floods = true;
                continue;
            }
            for port in &sends {
                if let Some(plan) = ports.get_mut(port) {
                    send_nothing(plan, PortReason::Unseen(device.link.name.clone()));
                }
            }
        }
    }
}

/// Makes weir send nothing by this port, for this reason.
fn send_nothing(plan: &mut PortPlan, reason: PortReason) {
    (plan.egress, plan.ppp_egress, plan.bridges) = (false, false, false);
    let of = Use::Out;
    let limit = Limit {
        of,
        reason: reason.clone(),
    };
    if !plan.limits.contains(&limit) {
        plan.limits.push(limit);
    }
    if !plan.ingress {
        // The port keeps only its view of the bridge.
        *plan = PortPlan {
            hook: Hook::Watch,
            floods: true,
            limits: std::mem::take(&mut plan.limits),
            upper_devices: std::mem::take(&mut plan.upper_devices),
            hides_tags: plan.hides_tags.take(),
            ..PortPlan::off(plan.link, &plan.name, reason)
        };
    }
}
