//! Switches whose ports are devices (DSA).

use kernel::Link;
use weir_offload_core::ports::plans;
use weir_offload_core::{Device, Hook, PortReason};

use crate::common::{facts, link};
use crate::stack::world::{ETH0, World, below, member, of_kind};

/// A conduit, and two ports of its switch in a bridge.
fn switch(kind: &str, tag: Option<&str>, wish: Option<Hook>) -> World {
    let br0 = of_kind(10, "br0", "bridge");
    let port = |index, name| {
        let port = Link {
            lower: Some(ETH0),
            ..of_kind(index, name, kind)
        };
        member(port, &br0)
    };
    let links = [
        link(ETH0, "eth0"),
        port(4, "lan1"),
        port(5, "lan2"),
        br0.clone(),
    ];
    let mut world = World::of(&links).fact(ETH0, |f| f.tagging = tag.map(str::to_owned));
    for port in [4, 5] {
        world = world.fact(port, |f| {
            (f.xdp_features, f.driver) = (Some(0), "dsa".into())
        });
    }
    if let Some(wish) = wish {
        world.settings.ports.insert("eth0".into(), wish);
    }
    world
}

#[test]
fn ports_of_a_switch_are_ports_and_its_conduit_is_left_alone() {
    let known = |tag: &str| ["mtk", "gswip", "qca"].contains(&tag);
    for kind in ["dsa", ""] {
        for tag in [
            Some("mtk"),
            Some("gswip"),
            Some("qca"),
            Some("ocelot"),
            None,
        ] {
            for wish in [None, Some(Hook::Auto), Some(Hook::Tc)] {
                if wish == Some(Hook::Tc) && tag.is_some_and(known) {
                    continue;
                }
                let mut world = switch(kind, tag, wish);
                // The wish for all is not one for the conduit.
                world.settings.hook = Hook::Tc;
                let conduit = world.plan(ETH0);
                let expected = match tag {
                    Some(tag) if known(tag) => PortReason::Conduit,
                    tag => PortReason::UnknownTags(tag.map(str::to_owned)),
                };
                assert_eq!((conduit.hook, conduit.reason), (Hook::Off, expected));
                world.settings.hook = Hook::Auto;
                for port in [4, 5] {
                    let plan = world.plan(port);
                    assert_eq!(
                        (plan.hook, plan.reason),
                        (Hook::Tc, PortReason::NoNativeXdp)
                    );
                    assert!(plan.ingress && plan.egress && plan.floods && plan.direct);
                    assert_eq!((plan.mac, plan.tagging), ([2, 0, 0, 0, 0, 10], None));
                    assert_eq!(
                        (plan.upper_devices.as_slice(), plan.lower_devices.len()),
                        (&["br0".to_owned()][..], 0)
                    );
                }
                assert_eq!(world.plan(10).reason, below(&["lan1", "lan2"], &[]));
                assert_eq!(world.plans().stacks, [(ETH0, 2), (4, 4), (5, 4), (10, 4)]);
            }
        }
    }
    // Off for the conduit is off for the conduit.
    let off = switch("dsa", Some("mtk"), Some(Hook::Off));
    assert_eq!(off.plan(ETH0).reason, PortReason::SwitchedOff);
    assert_eq!(off.plan(4).hook, Hook::Tc);
    assert!(
        PortReason::Conduit
            .hint()
            .contains("not been tried on hardware")
    );
    // A switch port without its conduit here is an ordinary device; a conduit whose ports are
    // elsewhere is not.
    let alone = World::of(&[of_kind(4, "lan1", "dsa")]);
    assert_eq!(alone.plan(4).hook, Hook::Xdp);
    let conduit = World::of(&[link(ETH0, "eth0")]).fact(ETH0, |f| f.tagging = Some("mtk".into()));
    assert_eq!(conduit.plan(ETH0).reason, PortReason::Conduit);
}

#[test]
fn a_conduit_is_the_port_where_the_user_asks_for_it() {
    for kind in ["dsa", ""] {
        for (wish, tag) in [(Hook::Xdp, "qca"), (Hook::Tc, "mtk"), (Hook::Tc, "gswip")] {
            let mut world = switch(kind, Some(tag), Some(wish));
            let plan = world.plan(ETH0);
            assert_eq!((plan.hook, plan.reason), (wish, PortReason::Asked));
            assert_eq!((plan.tagging.as_deref(), plan.floods), (Some(tag), true));
            assert_eq!(plan.upper_devices, ["lan1", "lan2", "br0"]);
            for upper in [4, 5, 10] {
                assert_eq!(world.plan(upper).reason, below(&["eth0"], &[]));
            }
            assert!(world.plans().stacks.iter().all(|(_, number)| *number == 2));
            // The switch's handling of a frame is unknown, bridge or not.
            world = world
                .change(4, |l| l.master = None)
                .change(5, |l| l.master = None);
            assert!(world.plan(ETH0).floods);
        }
    }
    // Until the conduit has been examined, weir does not attach to its ports.
    let world = switch("dsa", Some("mtk"), Some(Hook::Xdp));
    let common = facts();
    let devices: Vec<Device<'_>> = world
        .links
        .iter()
        .map(|link| Device {
            link,
            facts: (link.index != ETH0).then_some(&common),
            own_xdp: false,
        })
        .collect();
    let plans = plans(&devices, &world.settings).ports;
    assert!(plans.iter().all(|plan| plan.hook == Hook::Off));
}
