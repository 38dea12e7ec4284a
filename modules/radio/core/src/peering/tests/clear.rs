//! Access points without proof, which are accepted if `clear` allows.

use std::collections::BTreeSet;

use super::super::{Element, EndReason, Event, Instance, NodeKey, Settings, State};
use super::air::{Air, SSID, beacon, forged, mac, machine, secret};

fn clear(settings: &mut Settings) {
    settings.clear = Some("wlan0.sta".to_owned());
}

/// Makes nodes that accept others in clear, too.
fn open(count: u8) -> Air {
    let nodes = (1..=count).map(|number| (number, machine(number, clear)));
    Air::of(nodes.collect())
}

/// Another access point with our name, by hand: the beacon has no element.
fn foreign(number: u8) -> Vec<u8> {
    beacon(mac(number), SSID, &[])
}

/// Receives the frames ten times a second for some time.
fn heard(air: &mut Air, frames: &[Vec<u8>], time: u64) {
    for _ in 0..time / 100 {
        for frame in frames {
            // The sender is not one of the nodes, so all receive the frame.
            air.said(usize::MAX, frame);
        }
        air.run(100);
    }
}

#[test]
fn nobody_is_taken_in_clear_unless_it_is_asked_for() {
    let mut air = Air::usual(1);
    heard(&mut air, &[foreign(9)], 2000);
    assert_eq!(air.nodes[0].machine.shown().count(), 0);
    assert!(air.nodes[0].devices.is_empty());
}

#[test]
fn who_has_the_name_alone_gets_a_device_without_a_key() {
    let mut air = open(1);
    heard(&mut air, &[foreign(9)], 300);
    assert_eq!(air.nodes[0].devices.get("wlan0.sta2007"), Some(&mac(9)));
    assert_eq!(air.nodes[0].stations.get(&mac(9)), Some(&None));
    let shown: Vec<_> = air.nodes[0].machine.shown().collect();
    assert!(!shown[0].encrypted && shown[0].clear);
    // The node sends nothing to the access point, and need not listen.
    assert!(air.frames.is_empty() && !air.nodes[0].listens);
    // An idle node stays for as long as it likes.
    heard(&mut air, &[foreign(9)], 10_000);
    assert_eq!(air.nodes[0].removed, []);
    // A node with another name belongs to another network.
    heard(&mut air, &[beacon(mac(8), b"other", &[])], 300);
    assert_eq!(air.nodes[0].machine.shown().count(), 1);
}

#[test]
fn it_goes_once_its_beacons_are_not_heard_and_comes_back() {
    let mut air = open(1);
    heard(&mut air, &[foreign(9)], 1000);
    air.run(6000);
    assert_eq!(air.nodes[0].removed, [(mac(9), EndReason::Silent)]);
    assert!(air.nodes[0].devices.is_empty());
    heard(&mut air, &[foreign(9)], 300);
    assert_eq!(air.nodes[0].devices.len(), 1);
    // The kernel lost it.
    air.nodes[0].stations.clear();
    air.happen(0, Event::Counted(mac(9), None));
    heard(&mut air, &[foreign(9)], 6000);
    assert_eq!(air.nodes[0].stations.len(), 1);
}

#[test]
fn it_is_alive_while_something_comes_from_it() {
    let mut air = open(1);
    heard(&mut air, &[foreign(9)], 1000);
    let state = |air: &Air| air.nodes[0].machine.shown().next().map(|it| it.state);
    assert_eq!(state(&air), Some(State::Installed));
    air.happen(0, Event::Counted(mac(9), Some((100, 0))));
    assert_eq!(state(&air), Some(State::Alive));
    air.happen(0, Event::Counted(mac(9), Some((4000, 0))));
    assert_eq!(state(&air), Some(State::Installed));
    // Frames to the node are lost, and none return.
    air.happen(0, Event::Counted(mac(9), Some((5000, 20))));
    assert_eq!(air.nodes[0].removed, [(mac(9), EndReason::Failing)]);
}

#[test]
fn signal_lists_and_limits_hold_for_it_too() {
    let mut air = open(1);
    air.signal = -76;
    heard(&mut air, &[foreign(9)], 1000);
    let state = air.nodes[0].machine.shown().next().map(|it| it.state);
    assert_eq!(state, Some(State::Waiting));
    air.signal = -70;
    heard(&mut air, &[foreign(9)], 2000);
    assert_eq!(air.nodes[0].devices.len(), 1);
    air.signal = -84;
    heard(&mut air, &[foreign(9)], 3000);
    assert_eq!(air.nodes[0].devices.len(), 1);
    air.signal = -90;
    heard(&mut air, &[foreign(9)], 5000);
    assert_eq!(air.nodes[0].removed, [(mac(9), EndReason::Weak)]);

    for list in [true, false] {
        let lists = |settings: &mut Settings| {
            clear(settings);
            match list {
                true => settings.allow = vec![mac(9)],
                false => settings.deny = vec![mac(8)],
            }
        };
        let mut air = Air::of(vec![(1, machine(1, lists))]);
        heard(&mut air, &[foreign(8), foreign(9)], 1000);
        let stations: Vec<_> = air.nodes[0].stations.keys().copied().collect();
        assert_eq!(stations, [mac(9)]);
    }
    let few = |settings: &mut Settings| {
        clear(settings);
        settings.most = 1;
    };
    let mut air = Air::of(vec![(1, machine(1, few))]);
    heard(&mut air, &[foreign(8), foreign(9)], 1000);
    assert_eq!(air.nodes[0].devices.len(), 1);
}

/// Nodes with the secret prove it to each other, as without `clear`.
#[test]
fn who_can_prove_itself_is_never_taken_in_clear() {
    let mut air = open(3);
    air.run(1000);
    assert!(air.is_whole());
    assert!(air.nodes.iter().all(|node| node.keys.len() == 2));
    // An attacker repeats beacons without the element in their names: while they are peers, after
    // they have left, and after they were forgotten.
    let bare = [foreign(1), foreign(2), foreign(3)];
    heard(&mut air, &bare, 3000);
    assert!(air.is_whole());
    air.nodes[1].off = true;
    air.nodes[2].off = true;
    heard(&mut air, &bare[1..], 30_000);
    assert!(air.nodes[0].stations.is_empty());
    assert_eq!(air.nodes[0].keys.len(), 2);
}

/// hostapd and the machine restart: earlier proofs still hold.
#[test]
fn what_was_proven_outlives_the_access_point() {
    let mut air = open(2);
    air.run(1000);
    assert!(air.is_whole());
    let proven = air.nodes[0].machine.proven().clone();
    assert_eq!(proven, BTreeSet::from([mac(2)]));
    for (proven, devices) in [(proven, 0), (BTreeSet::new(), 1)] {
        let mut air = Air::of(vec![(1, machine(1, clear).remembering(proven))]);
        heard(&mut air, &[foreign(2)], 1000);
        assert_eq!(air.nodes[0].devices.len(), devices);
    }
}

/// An own element without proof, or of an unknown version, does not allow a peering without proof.
#[test]
fn an_element_of_ours_is_handshake_or_nothing() {
    let mut air = open(1);
    let mut later = forged(9, mac(9)).octets();
    // The version.
    later[6] = 2;
    let frames = [
        beacon(mac(9), SSID, &later),
        beacon(mac(8), SSID, &forged(8, mac(8)).octets()),
        beacon(mac(7), SSID, &[221, 3, 2, b'w', b'r']),
    ];
    heard(&mut air, &frames, 2000);
    assert!(air.nodes[0].devices.is_empty());
    assert_eq!(air.nodes[0].machine.shown().count(), 0);
}

#[test]
fn who_was_taken_in_clear_and_proves_itself_then_has_a_key_from_then_on() {
    let mut air = Air::of(vec![(1, machine(1, clear)), (2, machine(2, |_| {}))]);
    air.nodes[1].off = true;
    heard(&mut air, &[foreign(2)], 1000);
    assert_eq!(air.nodes[0].stations.get(&mac(2)), Some(&None));
    air.nodes[1].off = false;
    air.run(500);
    assert!(air.is_whole());
    assert_eq!(air.nodes[0].removed, [(mac(2), EndReason::Proven)]);
    assert!(air.nodes[0].stations[&mac(2)].is_some());
    // A forged element in the name of one in clear does nothing to it.
    heard(&mut air, &[foreign(9)], 300);
    let frames = [
        foreign(9),
        beacon(mac(9), SSID, &forged(9, mac(9)).octets()),
    ];
    heard(&mut air, &frames, 2000);
    assert_eq!(air.nodes[0].stations.get(&mac(9)), Some(&None));
    assert_eq!(air.nodes[0].removed.len(), 1);
}

/// Only 2,000 access points with our name.
#[test]
fn a_flood_gets_no_more_than_the_limit_and_who_has_the_secret_comes_in() {
    let mut air = open(2);
    air.nodes[1].off = true;
    for round in 0..5 {
        for number in 0..2000_u16 {
            let [high, low] = number.to_be_bytes();
            air.said(usize::MAX, &beacon([2, 1, 0, 0, high, low], SSID, &[]));
            assert!(air.nodes[0].devices.len() <= 8);
            assert!(air.nodes[0].machine.shown().count() <= 64);
        }
        air.run(100);
        if round == 2 {
            assert_eq!(air.nodes[0].devices.len(), 8);
            air.nodes[1].off = false;
        }
    }
    air.run(300);
    assert!(air.nodes[0].stations[&mac(2)].is_some());
    assert_eq!(air.state(0, 1), Some(State::Alive));
    assert_eq!(air.nodes[0].devices.len(), 8);
    let why: Vec<_> = air.nodes[0].removed.iter().map(|it| it.1).collect();
    assert_eq!(why, [EndReason::Displaced]);
}

/// Eight that prove the secret leave no place for one that does not.
#[test]
fn one_in_clear_displaces_nobody() {
    let few = |settings: &mut Settings| {
        clear(settings);
        settings.most = 1;
    };
    let mut air = Air::of(vec![(1, machine(1, few)), (2, machine(2, few))]);
    air.run(500);
    assert!(air.is_whole());
    heard(&mut air, &[foreign(9)], 3000);
    assert!(air.is_whole());
    // Nor are those that are remembered forgotten for its sake.
    let mut air = open(1);
    // The keys of others than the node itself.
    for number in 100..164 {
        let from = [2, 1, 0, 0, 0, number];
        let public = NodeKey::from_seed([number; 32]).public();
        let element = Element::new(&secret(), public, Instance([1; 8]), from, SSID);
        air.signal = -80;
        air.said(usize::MAX, &beacon(from, SSID, &element.octets()));
    }
    air.signal = -40;
    heard(&mut air, &[foreign(9)], 300);
    assert!(air.nodes[0].devices.is_empty());
}
