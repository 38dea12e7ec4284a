//! What stands on what, and what that means for ports.

mod common;

use std::collections::{BTreeMap, BTreeSet};

use common::{Rig, bumps, facts, link};
use kernel::ethtool::HiddenTags;
use kernel::route::qdisc::Listed;
use kernel::{Event, Link, Qdisc, Vlan};
use proptest::prelude::*;
use weir_offload::ports::{Below, Plans, has_details, plans, shaper};
use weir_offload::stack::{OVER_PPP, Stack, Upper, is_switch_port};
use weir_offload::{Action, Device, Hook, PortFacts, PortPlan, PortReason, Settings, Use};

const ETH0: u32 = 2;

fn of_kind(index: u32, name: &str, kind: &str) -> Link {
    Link {
        kind: kind.into(),
        qdisc: "noqueue".into(),
        ..link(index, name)
    }
}

fn vlan(index: u32, lower: &Link, id: u16) -> Link {
    Link {
        lower: Some(lower.index),
        vlan: Some(Vlan {
            id,
            protocol: 0x8100,
        }),
        mac: lower.mac,
        ..of_kind(index, &format!("{}.{id}", lower.name), "vlan")
    }
}

fn ppp(index: u32) -> Link {
    Link {
        hardware: 512,
        mac: None,
        qdisc: "fq_codel".into(),
        ..of_kind(index, &format!("ppp{}", index - 80), "ppp")
    }
}

fn member(mut link: Link, master: &Link) -> Link {
    link.master = Some(master.index);
    link
}

/// A router as it is put together in each test.
#[derive(Clone, Default)]
struct World {
    links: Vec<Link>,
    facts: BTreeMap<u32, PortFacts>,
    settings: Settings,
}

impl World {
    fn of(links: &[Link]) -> Self {
        Self {
            links: links.to_vec(),
            ..Self::default()
        }
    }

    fn fact(mut self, link: u32, change: impl Fn(&mut PortFacts)) -> Self {
        change(self.facts.entry(link).or_insert_with(facts));
        self
    }

    fn change(mut self, link: u32, change: impl Fn(&mut Link)) -> Self {
        let found = self.links.iter_mut().find(|l| l.index == link);
        change(found.expect("there"));
        self
    }

    fn plans(&self) -> Plans {
        let common = facts();
        let devices: Vec<Device<'_>> = self
            .links
            .iter()
            .map(|link| Device {
                link,
                facts: Some(self.facts.get(&link.index).unwrap_or(&common)),
                own_xdp: false,
            })
            .collect();
        plans(&devices, &self.settings)
    }

    fn plan(&self, link: u32) -> PortPlan {
        let plans = self.plans().ports.into_iter();
        plans
            .into_iter()
            .find(|plan| plan.link == link)
            .expect("planned")
    }
}

/// Two LAN ports in a bridge, a VLAN on the bridge; the WAN by PPPoE over VLAN 7 of another device.
fn home_router() -> World {
    let (lan0, lan1, wan) = (link(4, "lan0"), link(5, "lan1"), link(ETH0, "eth0"));
    let br0 = of_kind(10, "br0", "bridge");
    let guests = vlan(11, &br0, 20);
    let wan7 = vlan(12, &wan, 7);
    World::of(&[
        member(lan0, &br0),
        member(lan1, &br0),
        br0,
        guests,
        wan,
        wan7,
        ppp(80),
    ])
}

fn above(device: &str, reason: PortReason) -> PortReason {
    PortReason::Above {
        device: device.into(),
        reason: Box::new(reason),
    }
}

fn below(ports: &[&str], others: &[&str]) -> PortReason {
    let names = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect();
    PortReason::Upper(Below {
        ports: names(ports),
        others: names(others),
    })
}

#[test]
fn the_lowest_devices_are_the_ports() {
    let world = home_router();
    for index in [4, 5, ETH0] {
        let plan = world.plan(index);
        assert_eq!(
            (plan.hook, plan.limits.len()),
            (Hook::Xdp, 0),
            "{}",
            plan.name
        );
        assert!(plan.into && plan.out && plan.ppp_in && plan.ppp_out && plan.direct);
        assert_eq!(plan.floods, index != ETH0);
        assert!(plan.stands_on.is_empty());
    }
    let br0 = world
        .links
        .iter()
        .find(|l| l.name == "br0")
        .unwrap()
        .mac
        .unwrap();
    assert_eq!(world.plan(4).mac, br0, "that of the bridge");
    assert_eq!(world.plan(ETH0).mac, [2, 0, 0, 0, 0, 2], "its own");
    assert_eq!(world.plan(4).carries, ["br0", "br0.20"]);
    assert_eq!(world.plan(ETH0).carries, ["eth0.7"]);
    assert_eq!(world.plan(10).reason, below(&["lan0", "lan1"], &[]));
    assert_eq!(world.plan(11).reason, below(&["lan0", "lan1"], &[]));
    assert_eq!(world.plan(12).reason, below(&["eth0"], &[]));
    assert_eq!(world.plan(80).reason, PortReason::Ppp);
    for index in [10, 11, 12, 80] {
        assert_eq!(world.plan(index).hook, Hook::Off);
    }
    assert_eq!(world.plan(11).stands_on, ["lan0", "lan1"]);
}

#[test]
fn an_upper_tells_which_of_its_devices_are_no_ports() {
    let world = home_router().change(5, |l| l.up = false);
    assert_eq!(world.plan(10).reason, below(&["lan0"], &["lan1"]));
    let world = world.change(4, |l| l.kind = "gretap".into());
    assert_eq!(world.plan(10).reason, below(&[], &["lan0", "lan1"]));
    let alone = World::of(&[of_kind(10, "br0", "bridge")]);
    assert_eq!(alone.plan(10).reason, below(&[], &[]));
    for world in [&world, &alone] {
        let reason = world.plan(10).reason;
        assert!(!reason.explain().is_empty() && !reason.mend().is_empty());
    }
}

#[test]
fn devices_that_stand_on_one_another_share_a_number() {
    let numbers: BTreeMap<u32, u32> = home_router().plans().stacks.into_iter().collect();
    let expected = [
        (ETH0, 2),
        (12, 2),
        (4, 4),
        (5, 4),
        (10, 4),
        (11, 4),
        (80, OVER_PPP),
    ];
    assert_eq!(numbers, expected.into_iter().collect());

    // The two ends of a wire stand on nothing, tunnels not on what carries their packets.
    let (mut one, mut other) = (of_kind(6, "v0", "veth"), of_kind(7, "v1", "veth"));
    (one.lower, other.lower) = (Some(7), Some(6));
    let mut tunnel = of_kind(8, "gre1", "gre");
    tunnel.lower = Some(6);
    let mut sealed = of_kind(9, "macsec0", "macsec");
    sealed.lower = Some(6);
    let world = World::of(&[one, other, tunnel, sealed]);
    assert_eq!(world.plans().stacks, [(6, 6), (7, 7), (8, 8), (9, 9)]);

    // A VRF over a PPP device and a port: on both.
    let vrf = of_kind(30, "red", "vrf");
    let world = World::of(&[member(link(ETH0, "eth0"), &vrf), member(ppp(80), &vrf), vrf]);
    assert_eq!(
        world.plans().stacks,
        [(ETH0, 2), (30, 2 | OVER_PPP), (80, OVER_PPP)]
    );
}

#[test]
fn a_device_below_in_another_namespace_is_none() {
    let mut eth = vlan(12, &link(99, "eth9"), 5);
    eth.master = Some(77);
    let stack = Stack::of(&[eth]);
    assert_eq!((stack.uppers(99), stack.lowest(12)), (vec![], vec![]));
    assert_eq!(stack.numbers(), [(12, 12)]);
}

#[test]
fn the_outermost_tag_is_that_of_the_first_vlan_device() {
    let eth0 = link(ETH0, "eth0");
    let outer = vlan(12, &eth0, 100);
    let inner = vlan(13, &outer, 200);
    let br1 = of_kind(14, "br1", "bridge");
    let on_bridge = vlan(15, &br1, 300);
    let stack = Stack::of(&[eth0, outer, member(inner, &br1), br1, on_bridge]);
    let seen = |link, outer| Upper { link, outer };
    let expected = [12, 13, 14, 15].map(|link| seen(link, Some(100)));
    assert_eq!(stack.uppers(ETH0), expected);
    assert_eq!(stack.uppers(14), [seen(15, Some(300))]);
    assert_eq!(stack.lowest(15), [ETH0]);
}

#[test]
fn a_member_of_a_bridge_takes_its_address_and_vlan_devices_may_have_others() {
    let eth0 = link(ETH0, "eth0");
    let br0 = of_kind(10, "br0", "bridge");
    let own = |index, lower: &Link, id| Link {
        mac: Some([6, 0, 0, 0, 0, index as u8]),
        ..vlan(index, lower, id)
    };
    let mut links = vec![member(eth0.clone(), &br0), br0.clone()];
    links.push(vlan(11, &br0, 10));
    links.push(own(12, &br0, 20));
    // Under the bridge: its address is that of the device, which is not that of the bridge.
    links.push(vlan(13, &eth0, 30));
    let plan = World::of(&links).plan(ETH0);
    assert_eq!(plan.mac, br0.mac.unwrap());
    let mut macs = plan.vlan_macs.clone();
    macs.sort();
    assert_eq!(macs, [(20, [6, 0, 0, 0, 0, 12]), (30, eth0.mac.unwrap())]);
    assert_eq!(plan.limits, []);

    // A VLAN device in a bridge of its own is not addressed, its bridge is; and by QinQ with the outer tag.
    let br1 = of_kind(20, "br1", "bridge");
    let outer = own(21, &eth0, 100);
    let inner = own(22, &outer, 5);
    let plan = World::of(&[eth0.clone(), member(outer, &br1), br1.clone(), inner]).plan(ETH0);
    let mut macs = plan.vlan_macs;
    macs.sort();
    assert_eq!(macs, [(100, br1.mac.unwrap()), (100, [6, 0, 0, 0, 0, 22])]);
    assert!(plan.floods);

    // More than there is room for.
    let mut links = vec![eth0.clone()];
    links.extend((1..=6).map(|n| own(40 + n, &eth0, n as u16)));
    let plan = World::of(&links).plan(ETH0);
    assert_eq!(plan.vlan_macs.len(), 3);
    let [limit] = &plan.limits[..] else {
        panic!("{:?}", plan.limits)
    };
    assert_eq!(limit.of, Use::Some);
    assert_eq!(limit.reason, PortReason::Addresses(vec![4, 5, 6]));
    assert!(
        limit.explain().contains("VLAN 4, 5, 6"),
        "{}",
        limit.explain()
    );
    assert!(plan.into && plan.out, "the rest is as ever");
}

#[test]
fn a_bridge_or_vrf_is_no_obstacle_and_a_bond_is() {
    let with = |kind: &str| {
        let master = of_kind(10, "up", kind);
        World::of(&[member(link(ETH0, "eth0"), &master), master]).plan(ETH0)
    };
    assert_eq!(
        (with("bridge").hook, with("bridge").floods),
        (Hook::Xdp, true)
    );
    let vrf = with("vrf");
    assert_eq!(
        (vrf.hook, vrf.floods, vrf.mac),
        (Hook::Xdp, false, [2, 0, 0, 0, 0, 2])
    );
    for kind in ["bond", "team", "openvswitch", "batadv"] {
        assert_eq!(with(kind).reason, PortReason::Enslaved(kind.into()));
    }
    // A VLAN of it in a bond: what leaves there may leave elsewhere next.
    let eth0 = link(ETH0, "eth0");
    let bond = of_kind(10, "bond0", "bond");
    let world = World::of(&[eth0.clone(), member(vlan(12, &eth0, 5), &bond), bond]);
    let reason = above("bond0", PortReason::NotYet("bond".into()));
    assert_eq!(
        (world.plan(ETH0).hook, world.plan(ETH0).reason),
        (Hook::Off, reason)
    );
    assert_eq!(world.plan(10).reason, PortReason::NotYet("bond".into()));
}

#[test]
fn it_forwards_if_what_stands_on_it_does() {
    let off = |f: &mut PortFacts| f.forwarding_v4 = false;
    let mut world = home_router();
    for index in [4, 5, 10, 11, ETH0, 12, 80] {
        world = world.fact(index, off);
    }
    assert_eq!(world.plan(4).reason, PortReason::NotForwarding);
    assert_eq!(world.plan(ETH0).reason, PortReason::NotForwarding);
    let guests = world.clone().fact(11, |f| f.forwarding_v6 = true);
    assert_eq!(guests.plan(4).hook, Hook::Xdp);
    assert_eq!(guests.plan(ETH0).reason, PortReason::NotForwarding);
    // A PPP device may stand on any.
    let internet = world.fact(80, |f| f.forwarding_v4 = true);
    assert_eq!(internet.plan(ETH0).hook, Hook::Xdp);
}

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
            assert_eq!((plan.into, plan.out), (of != Use::In, of != Use::Out));
            assert_eq!((plan.ppp_in, plan.ppp_out), (plan.into, plan.out));
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
    assert_eq!((plan.into, plan.out, plan.direct), (true, false, true));
    assert_eq!(
        plan.limits[0].reason,
        above("eth0.7", PortReason::Qdisc("cake".into()))
    );
    let plan = shaped(11).plan(5);
    assert_eq!((plan.into, plan.out), (true, false));
    // On the port itself it is kept.
    let plan = shaped(ETH0).plan(ETH0);
    assert_eq!(
        (plan.into, plan.out, plan.direct, plan.xdp_transmit),
        (true, true, false, false)
    );
}

/// An offloading card encrypts what has macsec's mark, which weir's packets do not have.
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
                assert_eq!((plan.out, limits), (true, vec![]));
                continue;
            }
            assert_eq!((plan.hook, plan.into, plan.out), (Hook::Xdp, true, false));
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
    // The device may have it before it is told.
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
    assert!(plan.into && plan.out, "kept at the port itself");
    let plan = shaped(12).plan(ETH0);
    assert_eq!((plan.into, plan.out), (true, false));
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
            // Who asks for XDP gets it.
            let mut asked = world.clone();
            asked.settings.ports.insert("eth0".into(), Hook::Xdp);
            let plan = asked.plan(ETH0);
            assert_eq!((plan.hook, plan.reason), (Hook::Xdp, PortReason::Asked));
            assert_eq!(plan.hides_tags.as_ref(), why);
            // Whatever keeps it off is another matter.
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
            assert!(plan.into && plan.out, "all else is as ever");
            (plan.ppp_in, plan.ppp_out)
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
    // On what stands on it, too.
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
    assert_eq!((plan.into, plan.out), (false, true));
    assert_eq!(plan.limits[0].reason, above("br0", PortReason::ForeignXdp));
}

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
                    assert!(plan.into && plan.out && plan.floods && plan.direct);
                    assert_eq!((plan.mac, plan.tagging), ([2, 0, 0, 0, 0, 10], None));
                    assert_eq!(
                        (plan.carries.as_slice(), plan.stands_on.len()),
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
            .mend()
            .contains("not been tried on hardware")
    );
    // One whose conduit is not here is a device like others, and so is a conduit with its ports elsewhere none.
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
            assert_eq!(plan.carries, ["lan1", "lan2", "br0"]);
            for upper in [4, 5, 10] {
                assert_eq!(world.plan(upper).reason, below(&["eth0"], &[]));
            }
            assert!(world.plans().stacks.iter().all(|(_, number)| *number == 2));
            // What the switch does with a frame is not known, bridge or not.
            world = world
                .change(4, |l| l.master = None)
                .change(5, |l| l.master = None);
            assert!(world.plan(ETH0).floods);
        }
    }
    // Until it is looked at, its ports are not attached to for a moment.
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

fn ports(actions: &[Action]) -> Vec<&PortPlan> {
    fn port(action: &Action) -> Option<&PortPlan> {
        match action {
            Action::Port(plan) => Some(plan),
            _ => None,
        }
    }
    actions.iter().filter_map(port).collect()
}

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
        .map(|p| (p.name.as_str(), p.out))
        .collect();
    assert_eq!(planned, [("lan0", false), ("lan1", false)]);
    assert!(bumps(&actions) > 0);

    // A VLAN device comes and goes: the numbers say so, and nothing else happens to the port.
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
        (plan.mac, plan.floods, plan.out),
        ([2, 0, 0, 0, 0, 5], false, true)
    );
}

#[test]
fn a_thousand_vlans_are_planned_once() {
    let mut rig = Rig::new(Settings::default());
    let eth0 = link(ETH0, "eth0");
    let mut out = Vec::new();
    rig.core.handle(Event::Link(eth0.clone()), 0, &mut out);
    rig.core.facts(ETH0, facts(), 0, &mut out);
    for n in 0..1000 {
        rig.core
            .handle(Event::Link(vlan(100 + n, &eth0, n as u16)), 0, &mut out);
        rig.core.facts(100 + n, facts(), 0, &mut out);
    }
    assert_eq!(out, []);
    rig.core.flush(&mut out);
    assert_eq!(ports(&out).len(), 1);
    assert_eq!(ports(&out)[0].carries.len(), 1000);
    assert_eq!(out.len(), 2, "and the numbers");
    let before = out.len();
    rig.core.flush(&mut out);
    assert_eq!(out.len(), before);
}

/// Devices of any kind, standing on any other.
fn any_links() -> impl Strategy<Value = Vec<Link>> {
    let kinds = prop::sample::select(vec![
        "", "veth", "vlan", "bridge", "vrf", "bond", "macvlan", "gre", "ppp", "dsa",
    ]);
    let one = (
        kinds,
        prop::option::of(1..12u32),
        prop::option::of(1..12u32),
        1..5u16,
        any::<[bool; 6]>(),
    );
    prop::collection::vec(one, 1..12).prop_map(|all| {
        all.into_iter()
            .zip(1u32..)
            .map(
                |((kind, lower, master, id, [up, cake, own, ..]), index)| Link {
                    lower,
                    master,
                    up,
                    qdisc: if cake { "cake" } else { "noqueue" }.into(),
                    mac: Some([2, 0, 0, 0, 0, if own { index as u8 } else { 0 }]),
                    vlan: (kind == "vlan").then_some(Vlan {
                        id,
                        protocol: 0x8100,
                    }),
                    ..of_kind(index, &format!("d{index}"), kind)
                },
            )
            .collect()
    })
}

/// Edges from a device to one right below it.
fn edges(links: &[Link]) -> BTreeSet<(u32, u32)> {
    let there = |index: &u32| links.iter().any(|link| link.index == *index);
    let on_lower = ["", "dsa", "vlan", "macvlan"];
    let mut edges = BTreeSet::new();
    for link in links {
        let lower = link
            .lower
            .filter(|_| on_lower.contains(&link.kind.as_str()));
        edges.extend(lower.filter(there).map(|lower| (link.index, lower)));
        edges.extend(link.master.filter(there).map(|master| (master, link.index)));
    }
    edges.retain(|(upper, lower)| upper != lower);
    edges
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    /// Even where devices stand on one another in a circle, which no kernel has.
    #[test]
    fn numbers_and_uppers_are_those_of_the_graph(links in any_links()) {
        let stack = Stack::of(&links);
        let edges = edges(&links);
        // Reachability, worked out from scratch.
        let mut reach = edges.clone();
        loop {
            let more: Vec<(u32, u32)> = reach
                .iter()
                .flat_map(|(a, b)| reach.iter().filter(move |(c, _)| c == b).map(move |(_, d)| (*a, *d)))
                .collect();
            let before = reach.len();
            reach.extend(more);
            if reach.len() == before {
                break;
            }
        }
        for link in &links {
            let index = link.index;
            let uppers: BTreeSet<u32> = stack.uppers(index).iter().map(|upper| upper.link).collect();
            let expected: BTreeSet<u32> = reach
                .iter()
                .filter(|(upper, lower)| *lower == index && *upper != index)
                .map(|(upper, _)| *upper)
                .collect();
            prop_assert_eq!(uppers, expected);
            let lowest = reach.iter().filter(|(upper, lower)| {
                *upper == index && *lower != index && !edges.iter().any(|(u, _)| u == lower)
            });
            let lowest: Vec<u32> = lowest.map(|(_, lower)| *lower).collect();
            prop_assert_eq!(stack.lowest(index), lowest);
        }
        let numbers: BTreeMap<u32, u32> = stack.numbers().into_iter().collect();
        prop_assert_eq!(numbers.len(), links.len());
        let ppp: BTreeSet<u32> = links.iter().filter(|l| l.kind == "ppp").map(|l| l.index).collect();
        for (device, number) in &numbers {
            let over = ppp.contains(device) || reach.iter().any(|(u, l)| u == device && ppp.contains(l));
            prop_assert_eq!(*number & OVER_PPP != 0, over);
        }
        for (upper, lower) in &edges {
            let (one, other) = (numbers[upper] & !OVER_PPP, numbers[lower] & !OVER_PPP);
            prop_assert!(one == 0 || other == 0 || one == other, "{upper} on {lower}");
        }
        // Never more than what is connected, but by PPP: each number is the lowest index of those that have it.
        for (device, number) in numbers.iter().filter(|(_, number)| **number != OVER_PPP) {
            let mut seen = BTreeSet::from([*device]);
            loop {
                let more: Vec<u32> = edges
                    .iter()
                    .filter(|(u, l)| !ppp.contains(u) && !ppp.contains(l))
                    .filter(|(u, l)| seen.contains(u) != seen.contains(l))
                    .flat_map(|(u, l)| [*u, *l])
                    .collect();
                if more.is_empty() {
                    break;
                }
                seen.extend(more);
            }
            prop_assert_eq!(seen.first().copied(), Some(*number & !OVER_PPP));
        }
    }

    #[test]
    fn what_is_planned_is_allowed_by_all_that_stands_on_it(links in any_links()) {
        let world = World::of(&links);
        let stack = Stack::with_apart(&links, is_switch_port);
        let plans = world.plans();
        prop_assert_eq!(plans.ports.len(), links.len());
        let link_of = |index: u32| links.iter().find(|link| link.index == index).unwrap();
        let no_ppp_shaped = links.iter().filter(|l| l.kind == "ppp").all(|l| l.qdisc != "cake");
        for plan in &plans.ports {
            prop_assert!(!plan.reason.explain().is_empty() && !plan.reason.mend().is_empty());
            prop_assert!(plan.limits.iter().all(|limit| !limit.explain().is_empty()));
            if plan.hook == Hook::Off {
                prop_assert!(!plan.into && !plan.out && plan.mac == [0; 6]);
                continue;
            }
            if plan.hook == Hook::Watch {
                let member = link_of(plan.link);
                prop_assert!(!plan.into && !plan.out && plan.mac == [0; 6]);
                prop_assert!(member.up && plan.floods);
                continue;
            }
            let link = link_of(plan.link);
            prop_assert!(link.up && !stack.stands(plan.link));
            prop_assert!(plan.into || plan.out);
            prop_assert!(!plan.ppp_out || plan.out && no_ppp_shaped);
            prop_assert!(!plan.ppp_in || plan.into);
            prop_assert_eq!(plan.direct, link.qdisc != "cake");
            prop_assert!(plan.vlan_macs.len() <= 3);
            prop_assert!(plan.vlan_macs.iter().all(|(_, mac)| *mac != plan.mac));
            for upper in stack.uppers(plan.link) {
                let above = link_of(upper.link);
                prop_assert!(!plan.out || above.qdisc != "cake");
                prop_assert!(above.kind != "bond" && above.kind != "veth" && above.kind != "gre");
                prop_assert!(above.kind != "bridge" || plan.floods);
            }
        }
    }
}
