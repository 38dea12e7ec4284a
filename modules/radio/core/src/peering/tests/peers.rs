use super::super::peer::CONFIRM;
use super::super::{
    Beacon, Element, EndReason, Event, Instance, NodeKey, State, WaitReason, attach,
};
use super::air::{Air, FREQUENCY, SSID, beacon, forged, mac, machine, secret};

#[test]
fn two_are_peers_within_a_second_and_hear_no_more_then() {
    let mut air = Air::usual(2);
    air.run(300);
    assert!(air.is_whole());
    // An early hello, hello, answer, and both confirmations.
    assert_eq!(air.frames.len(), 5);
    // Time for which the other node may repeat the end of a handshake.
    air.run(CONFIRM[1]);
    assert!(air.nodes.iter().all(|node| !node.listens));
    assert_eq!(air.frames.len(), 5);
}

#[test]
fn eight_are_peers_of_each_other_with_a_key_for_each_two() {
    let mut air = Air::usual(8);
    air.run(1000);
    assert!(air.is_whole());
    let mut keys: Vec<[u8; 16]> = Vec::new();
    for node in &air.nodes {
        keys.extend(node.keys.iter().map(|key| key.0));
    }
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), 8 * 7 / 2);
    // AIDs and names differ, and reports match the proofs.
    let names: Vec<_> = air.nodes[0]
        .machine
        .shown()
        .map(|shown| shown.name)
        .collect();
    assert_eq!(names.len(), 7);
    assert!(names.iter().all(|name| name.len() == 15));
}

#[test]
fn frames_are_lost_and_it_takes_a_little_longer() {
    for loses in [10, 30, 50] {
        let mut air = Air::usual(3);
        air.loses = loses;
        air.run(20_000);
        assert!(air.is_whole(), "{loses}");
    }
}

/// A repeated hello is unchanged, so an answer to the first one is not too late.
#[test]
fn answers_that_take_long_are_answers() {
    let mut air = Air::usual(2);
    air.takes = 450;
    air.run(2100);
    assert!(air.is_whole());
    // Frames still in transit have no effect.
    air.run(CONFIRM[1] + 1000);
    assert!(air.is_whole() && air.nodes.iter().all(|node| node.keys.len() == 1));
    assert!(air.nodes.iter().all(|node| !node.listens));
}

/// Both nodes are slow, like machines with other work.
#[test]
fn an_end_of_a_handshake_that_takes_long_is_one() {
    let mut air = Air::usual(2);
    air.takes = 900;
    air.run(8000);
    assert!(air.is_whole());
}

#[test]
fn a_hello_that_is_said_again_later_does_not_keep_the_ear_open() {
    let mut air = Air::usual(2);
    air.run(CONFIRM[1] + 1000);
    let hello = air.frames[1].clone();
    let before = air.frames.len();
    air.happen(1, Event::Frame(&hello));
    air.run(1000);
    assert_eq!(air.frames.len(), before, "nobody is answered");
    assert!(air.nodes.iter().all(|node| !node.listens));
}

#[test]
fn a_name_stays_when_either_side_begins_anew_and_the_gap_is_short() {
    for which in [0, 1] {
        let mut air = Air::usual(2);
        air.run(1000);
        let before: Vec<_> = air.nodes.iter().map(|node| node.devices.clone()).collect();
        air.restart(which);
        air.run(500);
        assert!(air.is_whole());
        let after: Vec<_> = air.nodes.iter().map(|node| node.devices.clone()).collect();
        assert_eq!(before, after);
        assert_eq!(air.nodes[1 - which].removed, []);
    }
}

/// Beacons are lost in a flood of others'.
#[test]
fn whose_frames_come_with_the_key_is_there_without_beacons() {
    let mut air = Air::usual(2);
    air.run(1000);
    air.nodes[1].mute = true;
    air.run(20_000);
    assert!(air.is_whole());
    assert_eq!(air.nodes[0].removed, []);
    air.nodes[1].off = true;
    air.run(6_000);
    assert_eq!(air.nodes[0].removed, [(mac(2), EndReason::Inactive)]);
}

#[test]
fn who_is_gone_is_removed_and_comes_back() {
    let mut air = Air::usual(2);
    air.run(1000);
    air.nodes[1].off = true;
    air.run(3000);
    assert_eq!(air.nodes[0].removed, []);
    air.run(3000);
    assert_eq!(air.nodes[0].removed.len(), 1);
    assert_eq!(air.nodes[0].devices.len(), 0);
    air.run(10_000);
    assert_eq!(air.nodes[0].machine.shown().count(), 0);
    air.restart(1);
    air.run(1000);
    assert!(air.is_whole());
}

/// hostapd keeps running, and repeats its last element.
#[test]
fn whose_program_died_is_removed_though_its_beacons_go_on() {
    let mut air = Air::usual(2);
    air.run(1000);
    let stale = beacon(mac(2), SSID, &air.nodes[1].machine.element().octets());
    air.nodes[1].off = true;
    for _ in 0..70 {
        air.run(100);
        air.said(1, &stale);
    }
    assert_eq!(air.nodes[0].removed, [(mac(2), EndReason::Inactive)]);
    assert_ne!(air.state(0, 1), Some(State::Alive));
}

#[test]
fn an_access_point_that_lost_its_stations_says_so_by_its_beacon() {
    for which in [0, 1] {
        let mut air = Air::usual(3);
        air.run(1000);
        let before = air.nodes[which].machine.element();
        air.nodes[which].stations.clear();
        for other in (0..3).filter(|other| *other != which) {
            let mac = air.nodes[other].mac;
            air.happen(which, Event::Counted(mac, None));
        }
        assert_ne!(air.nodes[which].machine.element(), before);
        air.run(2000);
        assert!(air.is_whole(), "{which}");
    }
}

#[test]
fn keys_are_changed_without_a_new_device() {
    let rekey = |settings: &mut super::super::Settings| settings.rekey = 60_000;
    let mut air = Air::of(vec![(1, machine(1, rekey)), (2, machine(2, rekey))]);
    air.run(59_000);
    assert!(air.nodes[0].keys.len() == 1 && air.is_whole());
    air.run(130_000);
    assert!(air.is_whole());
    assert_eq!(air.nodes[0].keys.len(), 4);
    assert_eq!(air.nodes[0].keys, air.nodes[1].keys);
    assert!(air.nodes.iter().all(|node| node.removed.is_empty()));
}

#[test]
fn who_is_faint_waits_and_who_becomes_faint_goes_later() {
    let mut air = Air::usual(2);
    air.signal = -76;
    air.run(1000);
    assert_eq!(air.state(0, 1), Some(State::Waiting));
    assert!(air.frames.is_empty());
    air.signal = -74;
    air.run(3000);
    assert!(air.is_whole());
    air.signal = -84;
    air.run(5000);
    assert!(air.is_whole());
    // A node that restarts there stays, too.
    air.restart(1);
    air.run(100);
    air.signal = -90;
    air.run(10_000);
    assert_eq!(air.nodes[0].removed, [(mac(2), EndReason::Weak)]);
}

#[test]
fn why_one_waits_and_since_when_one_is_a_peer_is_told() {
    let rekey = |settings: &mut super::super::Settings| settings.rekey = 60_000;
    let mut air = Air::of(vec![(1, machine(1, rekey)), (2, machine(2, rekey))]);
    let told = |air: &Air| {
        let shown = air.shown(0, 1).expect("it is heard");
        (shown.waits, shown.since)
    };
    air.signal = -76;
    air.run(1000);
    assert_eq!(told(&air), (Some(WaitReason::Faint), None));
    air.signal = -74;
    air.run(3000);
    let (waits, since) = told(&air);
    assert_eq!(waits, None);
    assert!(since.is_some_and(|since| (1000..=4000).contains(&since)));
    // A new key does not make a new peer.
    air.run(130_000);
    assert!(air.nodes[0].keys.len() > 1);
    assert_eq!(told(&air), (None, since));
    // A node that left is not a peer any more.
    air.signal = -90;
    air.run(10_000);
    assert_eq!(told(&air), (Some(WaitReason::Faint), None));

    let one = |settings: &mut super::super::Settings| settings.most = 1;
    let mut air = Air::of(
        (1..=3)
            .map(|number| (number, machine(number, one)))
            .collect(),
    );
    air.run(3000);
    let waits = |at: usize, of: usize| air.shown(at, of).and_then(|shown| shown.waits);
    let all = [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)];
    assert!(
        all.iter()
            .any(|(at, of)| waits(*at, *of) == Some(WaitReason::Full))
    );
    assert!(
        all.iter()
            .all(|(at, of)| waits(*at, *of) != Some(WaitReason::Faint))
    );
}

#[test]
fn there_are_no_more_peers_than_may_be_and_none_that_may_not() {
    let few = |settings: &mut super::super::Settings| settings.most = 2;
    let mut air = Air::of(
        (1..=5)
            .map(|number| (number, machine(number, few)))
            .collect(),
    );
    air.run(3000);
    for node in &air.nodes {
        assert!(node.devices.len() <= 2);
    }
    assert!(
        air.nodes
            .iter()
            .filter(|node| node.devices.len() == 2)
            .count()
            >= 3
    );

    let deny = |settings: &mut super::super::Settings| settings.deny = vec![mac(2)];
    let allow = |settings: &mut super::super::Settings| settings.allow = vec![mac(1)];
    let all = vec![
        (1, machine(1, deny)),
        (2, machine(2, |_| {})),
        (3, machine(3, allow)),
    ];
    let mut air = Air::of(all);
    air.run(3000);
    let stations: Vec<Vec<_>> = air
        .nodes
        .iter()
        .map(|node| node.stations.keys().copied().collect())
        .collect();
    assert_eq!(stations, [vec![mac(3)], vec![], vec![mac(1)]]);
}

#[test]
fn a_bare_bridge_has_one_peer_and_says_why() {
    use attach::Mesh::{Babel, Batman, Bridge};
    assert_eq!(Bridge.most(8, false), 1);
    assert_eq!(Bridge.most(8, true), 8);
    assert_eq!((Batman.most(8, false), Babel.most(8, false)), (8, 8));
    assert!(attach::LOOP.contains("loop"));
}

/// 2,000 access points with our name: some forge the element, others repeat beacons of an honest
/// node, or claim to be this node.
#[test]
fn a_flood_is_not_remembered_and_honest_peers_stay() {
    let mut air = Air::usual(2);
    air.run(1000);
    let honest = air.nodes[1].machine.element();
    let ours = air.nodes[0].machine.element();
    for round in 0..3 {
        for number in 0..2000_u16 {
            let [high, low] = number.to_be_bytes();
            let from = [2, 1, round, 0, high, low];
            let element = match number % 3 {
                0 => forged(200, from),
                1 => honest,
                _ => ours,
            };
            air.said(1, &beacon(from, SSID, &element.octets()));
        }
        air.said(1, &beacon(mac(1), SSID, &ours.octets()));
        air.run(100);
    }
    assert_eq!(air.nodes[0].machine.shown().count(), 1);
    let refused = air.nodes[0].machine.refused;
    assert_eq!(refused.own, 3 * (666 + 1));
    assert_eq!(refused.unproven, 3 * (667 + 667));
    // A newcomer comes through.
    assert!(air.is_whole());
    assert_eq!(air.frames.len(), 5);
}

/// Even who knows the secret has no unbounded room.
#[test]
fn nodes_with_the_secret_are_bounded_and_the_loudest_stay() {
    let mut air = Air::usual(1);
    for number in 0..2000_u16 {
        let [high, low] = number.to_be_bytes();
        let from = [2, 1, 0, 0, high, low];
        let mut seed = [7; 32];
        seed[..2].copy_from_slice(&[high, low]);
        let public = NodeKey::from_seed(seed).public();
        let element = Element::new(&secret(), public, Instance([1; 8]), from, SSID);
        air.signal = -90 + i32::from(number % 40);
        let frame = beacon(from, SSID, &element.octets());
        let heard = Beacon::read(&frame).expect("a beacon");
        let signal = Some(air.signal);
        air.happen(0, Event::Beacon(&heard, signal));
    }
    assert_eq!(air.nodes[0].machine.shown().count(), 64);
    assert!(
        air.nodes[0]
            .machine
            .shown()
            .all(|shown| shown.signal > Some(-60))
    );
}

#[test]
fn what_the_kernel_refuses_is_taken_back_and_tried_again() {
    let mut air = Air::usual(2);
    air.nodes[1].refuses = true;
    air.run(3000);
    assert!(air.nodes[0].stations.is_empty() || air.state(0, 1) != Some(State::Alive));
    assert!(
        air.nodes[1]
            .removed
            .iter()
            .all(|(_, why)| *why == EndReason::Refused)
    );
    assert!(!air.nodes[1].removed.is_empty());
    air.nodes[1].refuses = false;
    air.run(12_000);
    assert!(air.is_whole());
}

#[test]
fn another_channel_ends_all_and_begins_anew() {
    let mut air = Air::usual(2);
    air.run(1000);
    air.happen(0, Event::Channel(FREQUENCY + 5));
    assert_eq!(air.nodes[0].removed, [(mac(2), EndReason::Channel)]);
    // The node is alone there, although it still receives frames of the other.
    air.run(3000);
    assert!(air.nodes[0].devices.is_empty());
    air.happen(1, Event::Channel(FREQUENCY + 5));
    air.run(6000);
    assert!(air.is_whole());
}
