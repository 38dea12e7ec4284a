//! Pairs of stations behind bridges: which are known, and until when.

use crate::common::{Rig, facts, link};
use kernel::{BridgeSettings, Bridging, Event, Fdb, Link, Mac};
use weir_offload_core::ports::PortFacts;
use weir_offload_core::{Action, FlowId, PAIRS, PortReason, Reading, Settings};

const BRIDGE: u32 = 10;
const LAN1: u32 = 4;
const LAN2: u32 = 5;
const LAN3: u32 = 6;

fn mac(number: u32) -> Mac {
    let n = number.to_be_bytes();
    [2, 0, n[0], n[1], n[2], n[3]]
}

fn at(port: u32, vlan: u16, number: u32, present: bool) -> Event {
    Event::Fdb(Fdb {
        link: port,
        bridge: BRIDGE,
        mac: mac(number),
        vlan,
        local: false,
        present,
    })
}

fn bridge(ageing: u32) -> Link {
    Link {
        kind: "bridge".into(),
        bridge: Some(BridgeSettings {
            ageing,
            netfilter: false,
        }),
        ..link(BRIDGE, "br0")
    }
}

/// A bridge of three members.
fn rig(settings: Settings) -> Rig {
    let mut rig = Rig::new(Settings {
        bridge: true,
        ..settings
    });
    let mut all = vec![bridge(30_000)];
    for port in [LAN1, LAN2, LAN3] {
        all.push(Link {
            master: Some(BRIDGE),
            ..link(port, &format!("lan{}", port - 3))
        });
    }
    for device in all {
        let index = device.index;
        rig.tell(Event::Link(device));
        let mut out = Vec::new();
        rig.core.facts(index, facts(), rig.now, &mut out);
        rig.core.flush(&mut out);
    }
    rig
}

fn seen(rig: &mut Rig, pairs: &[(u32, u32)]) -> Vec<Action> {
    let pairs: Vec<[Mac; 2]> = pairs
        .iter()
        .map(|(to, from)| [mac(*to), mac(*from)])
        .collect();
    let mut out = Vec::new();
    rig.core.pairs_seen(&pairs, rig.now, &mut out);
    rig.core.flush(&mut out);
    out
}

fn install(number: u32, to: u32, from: u32) -> Action {
    Action::InstallPair {
        flow: FlowId(PAIRS | number),
        stations: [mac(to), mac(from)],
    }
}

fn remove(number: u32) -> Action {
    Action::Remove {
        flow: FlowId(PAIRS | number),
    }
}

fn with_two_stations() -> Rig {
    let mut rig = rig(Settings::default());
    rig.tell(at(LAN1, 0, 1, true));
    rig.tell(at(LAN2, 0, 2, true));
    rig
}

#[test]
fn a_pair_is_known_where_the_bridge_knows_both_behind_different_ports() {
    let mut rig = rig(Settings::default());
    assert_eq!(seen(&mut rig, &[(2, 1)]), [], "it would flood");
    rig.tell(at(LAN1, 0, 1, true));
    assert_eq!(seen(&mut rig, &[(2, 1)]), [], "it would flood");
    rig.tell(at(LAN1, 0, 2, true));
    assert_eq!(seen(&mut rig, &[(2, 1)]), [], "behind one port");
    rig.tell(at(LAN2, 7, 2, true));
    assert_eq!(seen(&mut rig, &[(2, 1)]), [], "in another VLAN");
    rig.tell(at(LAN2, 0, 2, true));
    assert_eq!(seen(&mut rig, &[(2, 1)]), [install(0, 2, 1)]);
    assert_eq!(
        seen(&mut rig, &[(2, 1), (1, 2)]),
        [],
        "known, either way round"
    );
}

#[test]
fn a_pair_ends_with_what_the_bridge_knows() {
    for (event, why) in [
        (at(LAN2, 0, 2, false), "forgotten"),
        (at(LAN3, 0, 2, true), "moved"),
        (at(LAN1, 0, 1, false), "the other one"),
        (Event::LinkGone(LAN2), "the port is gone"),
        (
            Event::Link(bridge(1_000)),
            "stations are forgotten too soon from now on",
        ),
        (
            Event::Bridging(Bridging {
                link: LAN1,
                port: None,
                vlans: None,
                proxies: Some(true),
                locked: None,
            }),
            "the port answers for others",
        ),
    ] {
        let mut rig = with_two_stations();
        assert_eq!(seen(&mut rig, &[(2, 1)]), [install(0, 2, 1)]);
        assert!(rig.tell(event).contains(&remove(0)), "{why}");
        assert_eq!(rig.core.pairs().count(), 0, "{why}");
    }
    // A pair with a moved station is known at the new location after its next frames.
    let mut rig = with_two_stations();
    seen(&mut rig, &[(2, 1)]);
    rig.tell(at(LAN3, 0, 2, true));
    assert_eq!(seen(&mut rig, &[(1, 2)]), [install(0, 1, 2)]);
}

#[test]
fn what_else_may_look_at_frames_leaves_them_to_the_kernel() {
    let mut rig = with_two_stations();
    seen(&mut rig, &[(2, 1)]);
    let mut out = Vec::new();
    let filtered = PortFacts {
        bridge_filters: vec!["the nftables chain bridge filter forward".into()],
        ..facts()
    };
    rig.core.facts(BRIDGE, filtered, rig.now, &mut out);
    rig.core.flush(&mut out);
    assert!(out.contains(&remove(0)));
    let plan = rig
        .core
        .ports()
        .find(|plan| plan.link == LAN1)
        .expect("a plan");
    assert!(
        !plan.bridges && plan.ingress && plan.egress,
        "what is routed is not concerned"
    );
    assert!(matches!(plan.limits[0].reason, PortReason::BridgeFilter(_)));
    assert_eq!(seen(&mut rig, &[(2, 1)]), []);
}

#[test]
fn without_the_option_nothing_is_known() {
    let mut rig = with_two_stations();
    let off = Settings::default();
    let mut out = Vec::new();
    seen(&mut rig, &[(2, 1)]);
    rig.core.reload(off, rig.now, &mut out);
    assert!(out.contains(&remove(0)));
    assert_eq!(seen(&mut rig, &[(2, 1)]), []);
    assert!(rig.core.ports().all(|plan| !plan.bridges));
}

/// A client that forges addresses at one port takes half of the room, and does not keep it.
#[test]
fn one_port_has_half_of_the_room_and_idle_pairs_make_way() {
    let mut rig = rig(Settings {
        max_pairs: 8,
        ..Settings::default()
    });
    for number in 100..200 {
        rig.tell(at(LAN1, 0, number, true));
    }
    for (port, number) in [(LAN2, 2), (LAN2, 12), (LAN3, 3), (LAN3, 13)] {
        rig.tell(at(port, 0, number, true));
    }
    let flood: Vec<(u32, u32)> = (100..200).map(|number| (2, number)).collect();
    assert_eq!(seen(&mut rig, &flood).len(), 4);
    assert_eq!(
        seen(&mut rig, &[(3, 12)]),
        [],
        "that port's room is taken, too"
    );
    rig.now += 5_000;
    let out = seen(&mut rig, &[(3, 12)]);
    assert!(
        matches!(out[..], [Action::Remove { .. }, Action::InstallPair { .. }]),
        "{out:?}"
    );
    assert_eq!(rig.core.pairs().count(), 4);
}

#[test]
fn a_pair_that_moves_stays_and_proves_anew_and_an_idle_one_goes() {
    let mut rig = with_two_stations();
    seen(&mut rig, &[(2, 1)]);
    let (mut proofs, mut packets) = (0, 0);
    let mut tick = |rig: &mut Rig, moves: u64| {
        let mut out = Vec::new();
        rig.now += 250;
        packets += moves;
        let mut read = |_| {
            let reading = Reading {
                packets,
                bytes: 0,
                proven: true,
                trials: 0,
                shown_length: 0,
            };
            [reading, Reading::default()]
        };
        rig.core.tick(rig.now, &mut read, &mut out);
        out
    };
    for _ in 0..4 * 120 {
        let out = tick(&mut rig, 1);
        proofs += out
            .iter()
            .filter(|a| matches!(a, Action::Invalidate { flow } if flow.0 == PAIRS))
            .count();
        assert!(!out.contains(&remove(0)));
    }
    assert!(
        (5..=7).contains(&proofs),
        "{proofs} in two minutes, one every 20 s"
    );
    let idle = (0..4 * 70).position(|_| tick(&mut rig, 0).contains(&remove(0)));
    let idle = idle.expect("an idle pair goes");
    assert!(idle >= 4 * 57, "too soon: {idle}");
}

#[test]
fn a_pair_for_which_there_is_no_room_is_told_again() {
    let mut rig = with_two_stations();
    seen(&mut rig, &[(2, 1)]);
    rig.core
        .refused(FlowId(PAIRS), weir_offload_core::DeclineReason::TableFull);
    assert_eq!(seen(&mut rig, &[(2, 1)]), [install(0, 2, 1)]);
}
