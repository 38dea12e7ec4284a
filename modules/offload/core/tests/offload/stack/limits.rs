//! Limits that forbid sending or receiving by a port.

use kernel::ethtool::HiddenTags;
use kernel::route::qdisc::Listed;
use kernel::{Event, Link, Vlan};
use weir_offload_core::ports::{has_details, plans, shaper};
use weir_offload_core::{Device, Hook, PortFacts, PortReason, Settings, Use};

use crate::common::{Rig, bumps, facts, link};
use crate::stack::world::{
    ETH0, World, above, below, home_router, member, of_kind, ports, ppp, vlan,
};

#[test]
fn what_must_not_be_skipped_forbids_one_way_or_both() {
    let text = || "netdev t c".to_owned();
    type Change = fn(&mut PortFacts, String);
    type Reason = fn(String) -> PortReason;
    let all: [(Change, Use, Reason); 4] = [
        (
            |f, t| f.ingress_chains = vec![t],
            Use::In,
            PortReason::IngressChain,
        ),
        (
            |f, t| f.ingress_filters = vec![t],
            Use::In,
            PortReason::IngressFilter,
        ),
        (
            |f, t| f.egress_chains = vec![t],
            Use::Out,
            PortReason::EgressChain,
        ),
        (
            |f, t| f.egress_filters = vec![t],
            Use::Out,
            PortReason::EgressFilter,
        ),
    ];
    for (change, of, reason) in all {
        for (device, name) in [(ETH0, None), (12, Some("eth0.7"))] {
            let plan = home_router().fact(device, |f| change(f, text())).plan(ETH0);
            let expected = match name {
                Some(name) => above(name, reason(text())),
                None => reason(text()),
            };
            assert_eq!(plan.hook, Hook::Xdp);
            assert_eq!(plan.limits.len(), 1);
            assert_eq!(
                (plan.limits[0].of.clone(), &plan.limits[0].reason),
                (of.clone(), &expected)
            );
            assert_eq!((plan.ingress, plan.egress), (of != Use::In, of != Use::Out));
            assert_eq!(
                (plan.ppp_ingress, plan.ppp_egress),
                (plan.ingress, plan.egress)
            );
            let text = plan.limits[0].explain();
            assert!(
                text.contains("netdev t c") && text.contains(name.unwrap_or("")),
                "{text}"
            );
            // The others are left alone.
            assert_eq!(
                home_router()
                    .fact(device, |f| change(f, text.clone()))
                    .plan(4)
                    .limits,
                []
            );
        }
    }
    let both = home_router().fact(10, |f| {
        f.ingress_chains = vec![text()];
        f.egress_filters = vec![text()];
    });
    for member in [4, 5] {
        let plan = both.plan(member);
        assert_eq!(plan.hook, Hook::Off);
        assert_eq!(plan.reason, above("br0", PortReason::IngressChain(text())));
        assert_eq!(plan.limits.len(), 2, "all is told");
    }
    assert_eq!(both.plan(10).limits.len(), 2);
    assert_eq!(both.plan(10).reason, below(&[], &["lan0", "lan1"]));
    assert_eq!(
        both.plan(11).limits,
        [],
        "a VLAN on it keeps nobody from anything"
    );
}

#[test]
fn a_shaper_on_what_stands_on_a_port_keeps_what_leaves() {
    let shaped = |index| home_router().change(index, |l| l.qdisc = "cake".into());
    let plan = shaped(12).plan(ETH0);
    assert_eq!(
        (plan.ingress, plan.egress, plan.direct),
        (true, false, true)
    );
    assert_eq!(
        plan.limits[0].reason,
        above("eth0.7", PortReason::Qdisc("cake".into()))
    );
    let plan = shaped(11).plan(5);
    assert_eq!((plan.ingress, plan.egress), (true, false));
    // The port itself keeps the limit.
    let plan = shaped(ETH0).plan(ETH0);
    assert_eq!(
        (plan.ingress, plan.egress, plan.direct, plan.xdp_transmit),
        (true, true, false, false)
    );
}

/// An offloading card encrypts packets with macsec's mark, which weir's packets do not have.
#[test]
fn nothing_leaves_where_macsec_stands() {
    let macsec = |lower| Link {
        lower: Some(lower),
        ..of_kind(30, "macsec0", "macsec")
    };
    for (lower, concerned) in [(ETH0, &[ETH0][..]), (12, &[ETH0]), (10, &[4, 5])] {
        let mut world = home_router();
        world.links.push(macsec(lower));
        for port in [ETH0, 4, 5] {
            let plan = world.plan(port);
            let limits: Vec<_> = plan.limits.iter().map(|l| (&l.of, &l.reason)).collect();
            if !concerned.contains(&port) {
                assert_eq!((plan.egress, limits), (true, vec![]));
                continue;
            }
            assert_eq!(
                (plan.hook, plan.ingress, plan.egress),
                (Hook::Xdp, true, false)
            );
            let reason = above("macsec0", PortReason::NotYet("macsec".into()));
            assert_eq!(limits, [(&Use::Out, &reason)]);
        }
    }
}

#[test]
fn a_shaper_below_queues_or_a_rate_is_one() {
    let listed = |kind: &str, root, rate| Listed {
        link: ETH0,
        kind: kind.into(),
        handle: 1,
        root,
        rate,
        tuned: false,
        nat: false,
    };
    let (mq, fq) = (listed("mq", true, false), listed("fq", false, false));
    let below = |qdisc: &Listed| shaper(&[mq.clone(), fq.clone(), qdisc.clone()]);
    assert_eq!(shaper(&[]), None);
    for kind in ["fq_codel", "pfifo_fast", "fq", "noqueue", "pfifo"] {
        assert_eq!(below(&listed(kind, false, false)), None, "{kind}");
        assert_eq!(shaper(&[listed(kind, true, false)]), None, "{kind}");
    }
    let words = |text: &str| Some(text.to_owned());
    assert_eq!(below(&listed("tbf", false, false)), words("tbf below mq"));
    assert_eq!(
        below(&listed("fq", false, true)),
        words("fq with a rate below mq")
    );
    assert_eq!(shaper(&[listed("fq", true, true)]), words("fq with a rate"));
    // The device may have the qdisc before the kernel reports it.
    assert_eq!(shaper(&[listed("htb", true, false)]), words("htb"));
    let tuned = Listed {
        tuned: true,
        ..listed("fq_codel", false, false)
    };
    assert_eq!(
        below(&tuned),
        words("fq_codel with options of its own below mq")
    );
    for kind in ["mq", "fq", "fq_codel", "pfifo"] {
        assert!(has_details(kind), "{kind}");
    }
    assert!(!has_details("noqueue") && !has_details("cake"));

    let shaped = |index| home_router().fact(index, |f| f.shaper = words("tbf below mq"));
    let plan = shaped(ETH0).plan(ETH0);
    assert_eq!(
        (plan.hook, plan.direct, plan.xdp_transmit),
        (Hook::Xdp, false, false)
    );
    assert!(plan.ingress && plan.egress, "kept at the port itself");
    let plan = shaped(12).plan(ETH0);
    assert_eq!((plan.ingress, plan.egress), (true, false));
    let reason = PortReason::Qdisc("tbf below mq".into());
    assert_eq!(plan.limits[0].reason, above("eth0.7", reason));
    let mut rig = Rig::new(Settings::default());
    rig.tell(Event::Link(link(ETH0, "eth0")));
    rig.facts(ETH0, facts());
    let shaped = PortFacts {
        shaper: words("fq with a rate"),
        ..facts()
    };
    let actions = rig.facts(ETH0, shaped);
    assert!(!ports(&actions)[0].direct && bumps(&actions) > 0);
}

#[test]
fn a_device_that_takes_tags_off_gets_tc_where_tags_matter() {
    let tags = |customer, service| HiddenTags { customer, service };
    let eth0 = link(ETH0, "eth0");
    let service = Link {
        vlan: Some(Vlan {
            id: 7,
            protocol: 0x88a8,
        }),
        ..vlan(12, &eth0, 7)
    };
    let br0 = of_kind(10, "br0", "bridge");
    let filtering = Link {
        filters_vlans: true,
        ..br0.clone()
    };
    let (customer_tags, service_tags) = (PortReason::HiddenTags, PortReason::HiddenServiceTags);
    let worlds = [
        (vec![], None, None),
        (vec![vlan(12, &eth0, 7)], Some(&customer_tags), None),
        (vec![service], Some(&customer_tags), Some(&service_tags)),
        (vec![br0.clone()], None, None),
        (
            vec![br0.clone(), vlan(11, &br0, 5)],
            Some(&customer_tags),
            None,
        ),
        (vec![filtering], Some(&customer_tags), None),
    ];
    for (above, customer, service) in worlds {
        let mut eth0 = eth0.clone();
        eth0.master = above.iter().find(|l| l.kind == "bridge").map(|l| l.index);
        let mut world = World::of(&[&[eth0], &above[..]].concat());
        for (hidden, why) in [
            (tags(false, false), None),
            (tags(true, false), customer),
            (tags(false, true), service),
            (tags(true, true), customer.or(service)),
        ] {
            world = world.fact(ETH0, |f| f.hidden_tags = hidden);
            let plan = world.plan(ETH0);
            let expected = match why {
                Some(why) => (Hook::Tc, why.clone()),
                None => (Hook::Xdp, PortReason::Native),
            };
            assert_eq!((plan.hook, plan.reason), expected, "{hidden:?} {above:?}");
            assert_eq!(plan.hides_tags.as_ref(), why);
            // An explicit setting of XDP wins.
            let mut asked = world.clone();
            asked.settings.ports.insert("eth0".into(), Hook::Xdp);
            let plan = asked.plan(ETH0);
            assert_eq!((plan.hook, plan.reason), (Hook::Xdp, PortReason::Asked));
            assert_eq!(plan.hides_tags.as_ref(), why);
            // Another reason against the device does not affect this one.
            let foreign = world.clone().change(ETH0, |l| l.xdp_program = Some(9));
            assert_eq!(foreign.plan(ETH0).hides_tags.as_ref(), why);
        }
    }
}

#[test]
fn what_is_on_a_ppp_device_is_so_for_pppoe_on_every_port() {
    let flags = |world: &World| {
        [4, ETH0].map(|link| {
            let plan = world.plan(link);
            assert!(plan.ingress && plan.egress, "all else is as ever");
            (plan.ppp_ingress, plan.ppp_egress)
        })
    };
    let shaped = home_router().change(80, |l| l.qdisc = "htb".into());
    assert_eq!(flags(&shaped), [(true, false); 2]);
    let limit = &shaped.plan(4).limits[0];
    assert_eq!(limit.of, Use::PppOut);
    assert!(
        limit.explain().starts_with("PPPoE that leaves"),
        "{}",
        limit.explain()
    );
    let policed = home_router().fact(80, |f| f.ingress_filters = vec!["a policer".into()]);
    assert_eq!(flags(&policed), [(false, true); 2]);
    let mut off = home_router();
    off.settings.ports.insert("ppp0".into(), Hook::Off);
    assert_eq!(flags(&off), [(false, false); 2]);
    // Also for its upper devices.
    let vrf = of_kind(30, "red", "vrf");
    let world = World::of(&[
        link(ETH0, "eth0"),
        link(4, "lan0"),
        member(ppp(80), &vrf),
        vrf,
    ]);
    let world = world.fact(30, |f| f.egress_chains = vec!["netdev t c".into()]);
    assert_eq!(flags(&world), [(true, false); 2]);
}

#[test]
fn the_settings_may_switch_off_what_stands_on_a_port() {
    let mut world = home_router();
    world.settings.ports.insert("br0.20".into(), Hook::Off);
    let reason = above("br0.20", PortReason::SwitchedOff);
    assert_eq!(
        (world.plan(4).hook, world.plan(4).reason),
        (Hook::Off, reason)
    );
    assert_eq!(world.plan(ETH0).hook, Hook::Xdp);
    // A wish for all devices is one about ports.
    let mut world = home_router();
    world.settings.hook = Hook::Off;
    world.settings.ports.insert("lan0".into(), Hook::Tc);
    assert_eq!(world.plan(4).hook, Hook::Tc);
    assert_eq!(world.plan(5).reason, PortReason::SwitchedOff);
}

#[test]
fn somebodys_xdp_above_keeps_what_comes_in() {
    let plan = home_router()
        .change(10, |l| l.xdp_program = Some(7))
        .plan(4);
    assert_eq!((plan.ingress, plan.egress), (false, true));
    assert_eq!(plan.limits[0].reason, above("br0", PortReason::ForeignXdp));
}

#[test]
fn an_upper_that_was_not_looked_at_keeps_the_port() {
    let (eth0, common) = (link(ETH0, "eth0"), facts());
    let seven = vlan(12, &eth0, 7);
    let devices = [(&eth0, Some(&common)), (&seven, None)].map(|(link, facts)| Device {
        link,
        facts,
        own_xdp: false,
    });
    let plan = plans(&devices, &Settings::default()).ports.remove(0);
    assert_eq!(
        (plan.hook, plan.reason),
        (Hook::Off, above("eth0.7", PortReason::NotLookedAt))
    );
}
