//! Arbitrary frames through every program: only frames that the model forwards are forwarded, and
//! with the same bytes; passed frames stay unchanged; the witness changes nothing. Needs root.

use std::cell::RefCell;

use frames::exercise::Exercise;
use frames::mangle::{Place, mangled};
use frames::*;
use proptest::collection::vec;
use proptest::prelude::*;

#[test]
fn mangled_frames_are_forwarded_as_the_model_says_or_passed_unchanged() {
    let exercise = RefCell::new(Exercise::default());
    proptest!(ProptestConfig::with_cases(1500), |(choices in vec(any::<u8>(), 0..48))| {
        exercise.borrow_mut().run(&choices);
    });
    let forwarded = exercise.borrow().forwarded;
    assert!(
        forwarded > 5000,
        "only {forwarded} frames were forwarded at all"
    );
}

/// Random bytes alone: no part of a frame is ordinary.
#[test]
fn random_octets_are_passed_unchanged() {
    let router = RefCell::new(Router::standard());
    router.borrow_mut().prove_all();
    proptest!(ProptestConfig::with_cases(1500), |(octets in vec(any::<u8>(), 54..200), ipv6: bool, ours: bool)| {
        let mut router = router.borrow_mut();
        let mut frame = octets;
        frame[12..14].copy_from_slice(if ipv6 { &[0x86, 0xdd] } else { &[8, 0] });
        if ours {
            frame[..6].copy_from_slice(&ROUTER_LAN);
        }
        for hook in HOOKS {
            router.compare(hook, LAN, &frame);
        }
        router.leave(WAN, &frame);
    });
}

/// The choices reach every hook, and both verdicts: otherwise the tests above would show little.
#[test]
fn the_mangler_reaches_everything() {
    let connection = Connection {
        id: 1,
        original: tuple(Tcp, "192.168.1.2", 40000, "10.0.0.2", 443),
        reply: tuple(Tcp, "10.0.0.2", 443, "10.0.0.1", 50000),
    };
    let mut places = [0; 3];
    let mut ordinary = 0;
    for first in 0..=255 {
        let frame = mangled(&[first, 0, 100], &[connection]);
        match frame.place {
            Place::In(Hook::Xdp) => places[0] += 1,
            Place::In(Hook::Tc) => places[1] += 1,
            Place::Out => places[2] += 1,
        }
        ordinary += u32::from(frame.octets == connection.frame(Side::Original).bytes());
    }
    assert!(places.iter().all(|n| *n > 20), "{places:?}");
    assert!(ordinary > 50, "{ordinary}");
}
