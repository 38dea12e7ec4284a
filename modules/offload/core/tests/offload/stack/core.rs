//! The core plans ports again when their upper devices change.

use std::collections::BTreeMap;

use kernel::{Event, Qdisc};
use weir_offload_core::stack::OVER_PPP;
use weir_offload_core::{Action, Hook, PortReason, Settings};

use crate::common::{Rig, bumps, facts, link};
use crate::stack::world::{ETH0, above, home_router, ports, vlan};

#[test]
fn the_core_plans_ports_anew_with_what_stands_on_them() {
    let mut rig = Rig::new(Settings::default());
    for link in home_router().links {
        let index = link.index;
        rig.tell(Event::Link(link));
        rig.facts(index, facts());
    }
    let numbers: BTreeMap<u32, u32> = rig.stacks.iter().copied().collect();
    assert_eq!((numbers[&4], numbers[&11], numbers[&80]), (4, 4, OVER_PPP));

    let cake = Event::Qdisc(Qdisc {
        link: 10,
        kind: "cake".into(),
    });
    let actions = rig.tell(cake);
    let planned: Vec<_> = ports(&actions)
        .iter()
        .map(|p| (p.name.as_str(), p.egress))
        .collect();
    assert_eq!(planned, [("lan0", false), ("lan1", false)]);
    assert!(bumps(&actions) > 0);

    // A VLAN device appears and disappears: the numbers reflect the change, and the port stays
    // unchanged.
    let more = vlan(13, &link(ETH0, "eth0"), 8);
    let actions = rig.tell(Event::Link(more.clone()));
    assert!(actions.iter().any(|a| matches!(a, Action::Stacks(_))));
    assert_eq!(
        ports(&actions)[0].reason,
        above("eth0.8", PortReason::NotLookedAt)
    );
    assert_eq!(ports(&rig.facts(13, facts()))[0].hook, Hook::Xdp);
    let actions = rig.tell(Event::LinkGone(13));
    assert_eq!(ports(&actions).len(), 0);
    assert!(bumps(&actions) == 1 && !rig.stacks.iter().any(|(link, _)| *link == 13));

    // A port leaves its bridge.
    let actions = rig.tell(Event::Link(link(5, "lan1")));
    let plan = ports(&actions)[0];
    assert_eq!(
        (plan.mac, plan.floods, plan.egress),
        ([2, 0, 0, 0, 0, 5], false, true)
    );
}

#[test]
fn a_thousand_vlans_are_planned_once() {
    let mut rig = Rig::new(Settings::default());
    let eth0 = link(ETH0, "eth0");
    let mut out = Vec::new();
    rig.core.on_event(Event::Link(eth0.clone()), 0, &mut out);
    rig.core.facts(ETH0, facts(), 0, &mut out);
    for n in 0..1000 {
        rig.core
            .on_event(Event::Link(vlan(100 + n, &eth0, n as u16)), 0, &mut out);
        rig.core.facts(100 + n, facts(), 0, &mut out);
    }
    assert_eq!(out, []);
    rig.core.flush(&mut out);
    assert_eq!(ports(&out).len(), 1);
    assert_eq!(ports(&out)[0].upper_devices.len(), 1000);
    assert_eq!(out.len(), 2, "and the numbers");
    let before = out.len();
    rig.core.flush(&mut out);
    assert_eq!(out.len(), before);
}
