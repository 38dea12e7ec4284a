//! What weir would do with each device, or does where it runs.

use api::Port;
use kernel::Link;
use offload::{PortFacts, PortReason};

use super::{Device, mend};
use crate::daemon::surroundings::Surroundings;

/// Plans each device as the daemon would; `running` has what a daemon made of them.
pub fn plan(
    links: &[Link],
    surroundings: &mut Surroundings,
    settings: &offload::Settings,
    running: Option<&[Port]>,
) -> Vec<Device> {
    let mut devices = Vec::new();
    for link in links {
        // A daemon's own XDP program would look like somebody else's; but then what it says is taken.
        let facts = surroundings.facts(link, PortFacts::default(), None);
        let plan = offload::ports::plan(link, &facts, settings);
        if plan.reason == PortReason::Loopback {
            continue;
        }
        let port = running.and_then(|ports| {
            ports
                .iter()
                .find(|port| port.index == link.index && port.reason.is_some())
        });
        let (hook, mut why, mend) = match port.and_then(|port| Some((port, port.reason.as_ref()?)))
        {
            Some((port, reason)) => (
                port.hook,
                reason.text.clone(),
                reason.mend.as_deref().and_then(mend),
            ),
            None => (
                hook(plan.hook),
                plan.reason.explain(),
                mend(plan.reason.mend()),
            ),
        };
        if hook.is_some() && plan.needs_qdisc {
            why = format!(
                "{why}; its qdisc {} is kept: what leaves here goes through it",
                link.qdisc
            );
        }
        devices.push(Device {
            name: link.name.clone(),
            hook,
            why,
            mend,
        });
    }
    devices
}

fn hook(hook: offload::Hook) -> Option<api::Hook> {
    match hook {
        offload::Hook::Xdp => Some(api::Hook::Xdp),
        offload::Hook::Tc => Some(api::Hook::Tc),
        offload::Hook::Off | offload::Hook::Auto => None,
    }
}
