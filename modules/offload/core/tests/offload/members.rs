//! Members of bridges without forwarding: weir attaches to them all the same, or forwards nothing
//! to the others.

use crate::common::{facts, link};
use kernel::Link;
use weir_offload_core::ports::plans;
use weir_offload_core::{Device, Hook, Limit, PortFacts, PortPlan, PortReason, Settings, Use};

const WAN: u32 = 2;
const LAN0: u32 = 4;
const LAN1: u32 = 5;
const BRIDGE: u32 = 10;
const OTHER: u32 = 20;

/// A WAN port, and a bridge of lan0, lan1 and this device.
fn world(other: Link) -> Vec<Link> {
    let member = |link: Link| Link {
        master: Some(BRIDGE),
        ..link
    };
    let bridge = Link {
        kind: "bridge".into(),
        ..link(BRIDGE, "br0")
    };
    vec![
        link(WAN, "wan0"),
        member(link(LAN0, "lan0")),
        member(link(LAN1, "lan1")),
        bridge,
        member(other),
    ]
}

fn planned(links: &[Link], settings: &Settings, of_other: Option<PortFacts>) -> Vec<PortPlan> {
    let common = facts();
    let devices: Vec<Device<'_>> = links
        .iter()
        .map(|link| Device {
            link,
            facts: match link.index {
                OTHER => of_other.as_ref(),
                _ => Some(&common),
            },
            own_xdp: false,
        })
        .collect();
    plans(&devices, settings).ports
}

fn plan(plans: &[PortPlan], index: u32) -> &PortPlan {
    let found = plans.iter().find(|plan| plan.link == index);
    found.expect("planned")
}

fn vxlan() -> Link {
    Link {
        kind: "vxlan".into(),
        ..link(OTHER, "vxlan0")
    }
}

#[test]
fn a_member_that_is_no_port_is_looked_at() {
    let plans = planned(&world(vxlan()), &Settings::default(), Some(facts()));
    let other = plan(&plans, OTHER);
    assert_eq!(other.hook, Hook::Watch);
    assert_eq!(other.reason, PortReason::NotYet("vxlan".into()));
    assert!(other.floods && !other.ingress && !other.egress && !other.forwards());
    for port in [WAN, LAN0, LAN1] {
        let port = plan(&plans, port);
        assert!(port.forwards() && port.egress, "{}", port.name);
        assert_eq!(port.limits, []);
    }
}

#[test]
fn where_a_member_must_be_left_alone_nothing_leaves_by_the_others() {
    let off = Settings {
        ports: [("vxlan0".into(), Hook::Off)].into(),
        ..Settings::default()
    };
    let refused = PortFacts {
        tc_refused: true,
        ..facts()
    };
    for (settings, of_other, what) in [
        (off, Some(facts()), "the user says so"),
        (Settings::default(), Some(refused), "the kernel refused"),
        (Settings::default(), None, "nobody has looked yet"),
    ] {
        let plans = planned(&world(vxlan()), &settings, of_other);
        assert_eq!(plan(&plans, OTHER).hook, Hook::Off, "{what}");
        for port in [LAN0, LAN1] {
            let port = plan(&plans, port);
            assert!(port.forwards() && port.ingress, "{what}: {}", port.name);
            assert!(!port.egress && !port.ppp_egress && !port.bridges, "{what}");
            let limit = Limit {
                of: Use::Out,
                reason: PortReason::Unseen("vxlan0".into()),
            };
            assert_eq!(port.limits, [limit], "{what}");
        }
        let wan = plan(&plans, WAN);
        assert!(wan.egress && wan.limits.is_empty(), "{what}");
    }
}

/// A bridge floods only to members that are up, and only frames that weir forwards matter.
#[test]
fn nobody_looks_where_it_does_not_matter() {
    let down = Link {
        up: false,
        ..vxlan()
    };
    let plans = planned(&world(down), &Settings::default(), Some(facts()));
    assert_eq!(plan(&plans, OTHER).hook, Hook::Off);
    assert!(plan(&plans, LAN0).egress);

    let off = Settings {
        ports: ["lan0", "lan1"].map(|name| (name.into(), Hook::Off)).into(),
        ..Settings::default()
    };
    let plans = planned(&world(vxlan()), &off, Some(facts()));
    assert_eq!(plan(&plans, OTHER).hook, Hook::Off);
    assert!(plan(&plans, WAN).egress);

    let mut apart = world(vxlan());
    if let Some(other) = apart.last_mut() {
        other.master = None;
    }
    let plans = planned(&apart, &Settings::default(), Some(facts()));
    assert_eq!(plan(&plans, OTHER).hook, Hook::Off, "no member");
}

/// A locked member requires a look-up of each frame's station, which weir does not do.
#[test]
fn nothing_comes_in_by_a_locked_member() {
    let limit = |reason| Limit {
        of: Use::In,
        reason,
    };
    let mut links = world(link(OTHER, "lan2"));
    links[1].locked = true;
    let settings = Settings {
        bridge: true,
        ..Settings::default()
    };
    let plans = planned(&links, &settings, Some(facts()));
    let locked = plan(&plans, LAN0);
    assert!(locked.forwards() && !locked.ingress && locked.egress && !locked.bridges);
    assert_eq!(locked.limits[0], limit(PortReason::Locked));
    for index in [WAN, LAN1, OTHER] {
        assert!(plan(&plans, index).ingress, "{index}");
    }

    // A VLAN device as the member: its port does not distinguish VLANs.
    let on_lan1 = Link {
        kind: "vlan".into(),
        lower: Some(LAN1),
        vlan: Some(kernel::Vlan {
            id: 5,
            protocol: 0x8100,
        }),
        locked: true,
        ..link(OTHER, "lan1.5")
    };
    let mut links = world(on_lan1);
    links[2].master = None;
    let plans = planned(&links, &Settings::default(), Some(facts()));
    let reason = PortReason::Above {
        device: "lan1.5".into(),
        reason: Box::new(PortReason::Locked),
    };
    let below = plan(&plans, LAN1);
    assert!(!below.ingress && below.egress);
    assert_eq!(below.limits, [limit(reason)]);
}
