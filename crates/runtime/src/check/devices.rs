//! Plan for each device: the daemon's own if one runs, else the plan that weir would make.

use answers::{Port, PortStack};
use kernel::Link;
use offload_core::{PortFacts, PortPlan, PortReason};

use super::report::{Device, Note, hint};
use crate::daemon::system_state::{self, SystemState};

/// Plans each device as the daemon would; `running` has a running daemon's plan.
pub fn plan(
    links: &[Link],
    surroundings: &mut SystemState,
    settings: &offload_core::Settings,
    running: Option<&[Port]>,
) -> Vec<Device> {
    // A daemon's own XDP program looks foreign here, but then the daemon's plan is used instead.
    let facts: Vec<PortFacts> = links
        .iter()
        .map(|link| surroundings.facts(link, PortFacts::default(), None))
        .collect();
    let devices: Vec<offload_core::Device<'_>> = links
        .iter()
        .zip(&facts)
        .map(|(link, facts)| offload_core::Device {
            link,
            facts: Some(facts),
            own_xdp: false,
        })
        .collect();
    let plans = offload_core::ports::plans(&devices, settings).ports;
    plans
        .iter()
        .filter(|plan| plan.reason != PortReason::Loopback)
        .map(|plan| {
            let port = running.and_then(|ports| ports.iter().find(|port| port.index == plan.link));
            let found = links.iter().zip(&facts).find(|(l, _)| l.index == plan.link);
            let kept = found.and_then(|(link, facts)| offload_core::ports::kept(link, facts));
            device(plan, port, kept.as_deref())
        })
        .collect()
}

/// Describes one device, as planned here or by a running daemon. `kept`: the qdisc of the device,
/// if packets must go through it.
fn device(plan: &PortPlan, port: Option<&Port>, kept: Option<&str>) -> Device {
    let told = port.and_then(|port| Some((port, port.reason.as_ref()?)));
    let (hook, mut why, mended, stack) = match told {
        Some((port, reason)) => (
            port.hook,
            reason.text.clone(),
            reason.hint.as_deref().and_then(hint),
            port.stack.clone(),
        ),
        None => (
            system_state::hook(plan.hook),
            plan.reason.explain(),
            hint(plan.reason.hint()),
            system_state::stack(plan),
        ),
    };
    let PortStack {
        carries,
        lower_devices,
        limits,
    } = stack;
    let mut notes: Vec<Note> = limits
        .into_iter()
        .map(|limit| Note {
            what: limit.reason.text,
            hint: limit.reason.hint.as_deref().and_then(hint),
        })
        .collect();
    if let Some(qdisc) = kept.filter(|_| hook.is_some()) {
        why = format!("{why}; its qdisc {qdisc} is kept: packets that leave here pass through it");
    }
    // The settings may ask for XDP all the same.
    if hook == Some(answers::Hook::Xdp)
        && let Some(reason) = &plan.hides_tags
    {
        notes.push(Note {
            what: reason.explain(),
            hint: hint(&reason.hint().replace("DEV", &plan.name)),
        });
    }
    Device {
        name: plan.name.clone(),
        hook,
        why,
        hint: mended,
        lower_devices,
        carries,
        notes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_is_made_to_use_xdp_may_hide_tags() {
        let mend_of = |hides: Option<PortReason>, hook| {
            let plan = PortPlan {
                hook,
                hides_tags: hides,
                ..PortPlan::off(2, "eth0", PortReason::Asked)
            };
            let notes = device(&plan, None, None).notes;
            notes.into_iter().next().and_then(|note| note.hint)
        };
        let (xdp, tc) = (offload_core::Hook::Xdp, offload_core::Hook::Tc);
        let hint = "switch that off: `ethtool -K eth0 rxvlan off`";
        let hides = Some(PortReason::HiddenTags);
        assert_eq!(mend_of(hides.clone(), xdp).as_deref(), Some(hint));
        assert_eq!(mend_of(hides, tc), None);
        assert_eq!(mend_of(None, xdp), None);
    }
}
