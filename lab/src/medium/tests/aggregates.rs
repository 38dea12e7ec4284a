//! Tests of A-MPDUs.

use std::collections::HashMap;

use kernel::hwsim::{HT, VHT, WIDTH_80};
use proptest::prelude::*;

use super::super::Scene;
use super::{SECOND, World, data, rate};

fn pair(metres: f64) -> Scene {
    Scene::default().with("a", 0.0, 0.0).with("b", 0.0, metres)
}

fn megabits(scene: Scene, index: i8, flags: u16) -> f64 {
    let world = World::run(scene, &[(0, 1)], rate(index, 4, flags));
    world.acknowledged(0) * 1536.0 * 8.0 / 1e6
}

/// A single frame of 1,536 bytes at 65 Mbit/s takes 0.4 ms including its overhead. In an A-MPDU of
/// 4 ms, 21 frames share the overhead.
#[test]
fn together_they_are_faster() {
    let single = Scene {
        aggregate: false,
        ..pair(5.0)
    };
    let (alone, together) = (megabits(single, 7, HT), megabits(pair(5.0), 7, HT));
    println!("{alone:.1} alone, {together:.1} Mbit/s together");
    assert!((30.0..36.0).contains(&alone), "{alone}");
    assert!((56.0..64.0).contains(&together), "{together}");
    let wide = megabits(pair(5.0), 0x18, VHT | WIDTH_80);
    println!("{wide:.1} Mbit/s with 702 of VHT");
    assert!(wide > 250.0, "{wide}");
}

/// If a frame of an A-MPDU is lost, the receiver holds the later ones until the retry.
#[test]
fn they_arrive_once_and_in_order() {
    // At 29 m some of a hundred frames are lost.
    let scene = Scene {
        fading: 1.0,
        ..pair(29.0)
    };
    let mut world = World::new(scene, 5);
    world.saturate(&[(0, 1)], 1536, rate(7, 20, HT), SECOND);
    let numbers: Vec<u64> = world.seen.heard.iter().map(|heard| heard.1).collect();
    let again = |told: &&(usize, u64, [kernel::hwsim::Rate; 4], i32)| told.2[0].count > 1;
    let again = world.seen.told.iter().filter(again).count();
    println!("{} arrived, {again} were sent again", numbers.len());
    assert!(
        numbers.len() > 500 && again > 50,
        "{} and {again}",
        numbers.len()
    );
    assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]));
}

/// The medium alters a request for a block acknowledgement session so that receivers refuse, unless
/// the request is encrypted.
#[test]
fn a_session_is_refused_by_the_receiver_itself() {
    let mut request = data(0, 1, 64);
    request[0] = 0xd0;
    request[24..29].copy_from_slice(&[3, 0, 1, 0b0000_0011, 0x10]);
    for protected in [false, true] {
        let mut world = World::new(pair(5.0), 1);
        let mut sent = request.clone();
        if protected {
            sent[1] |= 0x40;
        }
        let mut actions = Vec::new();
        let sent = kernel::hwsim::TransmittedFrame {
            radio: super::mac(0),
            cookie: 1,
            flags: 0,
            frequency: super::CHANNEL,
            rates: rate(0, 4, 0),
            frame: sent,
        };
        world.air.send(0, sent, 0, &mut actions);
        world.air.advance(SECOND, &mut actions);
        let heard = actions.iter().find_map(|action| match action {
            super::Action::Heard { frame, .. } => Some(frame[27]),
            super::Action::Told { .. } => None,
        });
        let expected = if protected { 0b11 } else { 0b01 };
        assert_eq!(heard, Some(expected), "protected: {protected}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Each frame is reported once or dropped, and arrives at most once. Frames from one radio to
    /// another arrive in order within each category.
    #[test]
    fn nothing_is_told_twice(
        seed: u64,
        metres in 1.0..80.0f64,
        sent in prop::collection::vec(
            (0..3usize, 0..4usize, 0..8i8, 1..5u8, 0..3usize, 60..1500usize, 0..400_000u64, 0..8u8),
            1..200,
        ),
    ) {
        let scene = Scene { fading: 2.0, ..pair(metres) }.with("c", metres, 0.0);
        let mut world = World::new(scene, seed);
        let mut order = HashMap::new();
        for (from, to, index, count, kind, octets, pause, priority) in sent {
            let mut frame = data(from, to, octets);
            frame[24] = priority;
            if to == from {
                frame[4..10].fill(0xff);
            }
            let flags = [0, HT, HT | kernel::hwsim::USE_RTS][kind];
            let cookie = world.send(from, frame, rate(index, count, flags));
            order.insert(cookie, (from, priority));
            world.pass(pause);
        }
        world.pass(20 * SECOND);
        prop_assert_eq!(world.air.next(), None);
        let given_up: u64 = world.air.counts().map(|(_, counts)| counts.given_up).sum();
        let mut told: Vec<u64> = world.seen.told.iter().map(|told| told.1).collect();
        prop_assert_eq!(told.len() as u64 + given_up, order.len() as u64);
        told.sort_unstable();
        told.dedup();
        prop_assert_eq!(told.len() as u64 + given_up, order.len() as u64);
        let mut last: HashMap<(usize, usize, u8), u64> = HashMap::new();
        for (radio, number, signal) in &world.seen.heard {
            let (from, priority) = order[number];
            prop_assert!(from != *radio && *signal <= 20);
            let before = last.insert((*radio, from, priority), *number);
            prop_assert!(before.is_none_or(|before| before < *number), "{number} after {before:?}");
        }
    }
}
