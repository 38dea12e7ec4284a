//! Relations of upper and lower devices, and their effect on ports.

mod core;
mod limits;
mod switches;
mod world;

use std::collections::{BTreeMap, BTreeSet};

use crate::common::link;
use kernel::{Link, Vlan};
use proptest::prelude::*;
use weir_offload_core::stack::{OVER_PPP, Stack, Upper, is_switch_port};
use weir_offload_core::{Hook, PortFacts, PortReason, Use};
use world::{ETH0, World, above, below, home_router, member, of_kind, ppp, vlan};

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
        assert!(plan.ingress && plan.egress && plan.ppp_ingress && plan.ppp_egress && plan.direct);
        assert_eq!(plan.floods, index != ETH0);
        assert!(plan.lower_devices.is_empty());
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
    assert_eq!(world.plan(4).upper_devices, ["br0", "br0.20"]);
    assert_eq!(world.plan(ETH0).upper_devices, ["eth0.7"]);
    assert_eq!(world.plan(10).reason, below(&["lan0", "lan1"], &[]));
    assert_eq!(world.plan(11).reason, below(&["lan0", "lan1"], &[]));
    assert_eq!(world.plan(12).reason, below(&["eth0"], &[]));
    assert_eq!(world.plan(80).reason, PortReason::Ppp);
    for index in [10, 11, 12, 80] {
        assert_eq!(world.plan(index).hook, Hook::Off);
    }
    assert_eq!(world.plan(11).lower_devices, ["lan0", "lan1"]);
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
        assert!(!reason.explain().is_empty() && !reason.hint().is_empty());
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

    // The two ends of a veth pair have no lower device, and tunnels are not above the device of
    // their packets.
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

    // A VLAN device in a bridge of its own is not addressed, its bridge is; and by QinQ with the
    // outer tag.
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
    assert!(plan.ingress && plan.egress, "the rest is as ever");
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
    // A VLAN of the port in a bond: frames that leave there may leave elsewhere next.
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
    // A PPP device may be above any device.
    let internet = world.fact(80, |f| f.forwarding_v4 = true);
    assert_eq!(internet.plan(ETH0).hook, Hook::Xdp);
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

    /// Even if devices are above one another in a circle, which no kernel has.
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
        // Only connected devices share a number, except by PPP: each number is the lowest index of
        // its devices.
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
            prop_assert!(!plan.reason.explain().is_empty() && !plan.reason.hint().is_empty());
            prop_assert!(plan.limits.iter().all(|limit| !limit.explain().is_empty()));
            if plan.hook == Hook::Off {
                prop_assert!(!plan.ingress && !plan.egress && plan.mac == [0; 6]);
                continue;
            }
            if plan.hook == Hook::Watch {
                let member = link_of(plan.link);
                prop_assert!(!plan.ingress && !plan.egress && plan.mac == [0; 6]);
                prop_assert!(member.up && plan.floods);
                continue;
            }
            let link = link_of(plan.link);
            prop_assert!(link.up && !stack.stands(plan.link));
            prop_assert!(plan.ingress || plan.egress);
            prop_assert!(!plan.ppp_egress || plan.egress && no_ppp_shaped);
            prop_assert!(!plan.ppp_ingress || plan.ingress);
            prop_assert_eq!(plan.direct, link.qdisc != "cake");
            prop_assert!(plan.vlan_macs.len() <= 3);
            prop_assert!(plan.vlan_macs.iter().all(|(_, mac)| *mac != plan.mac));
            for upper in stack.uppers(plan.link) {
                let above = link_of(upper.link);
                prop_assert!(!plan.egress || above.qdisc != "cake");
                prop_assert!(above.kind != "bond" && above.kind != "veth" && above.kind != "gre");
                prop_assert!(above.kind != "bridge" || plan.floods);
            }
        }
    }
}
