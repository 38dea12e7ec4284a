//! Tests of rates, losses and errors.

use kernel::hwsim::{HT, Rate as Told, SHORT_GUARD, VHT, WIDTH_40, WIDTH_80};
use proptest::prelude::*;

use super::super::{Position, Rate, Scene, Wall, milliwatts, noise, right};
use super::CHANNEL;

fn mcs(index: i8, flags: u16) -> Rate {
    let told = Told {
        index,
        flags,
        count: 1,
    };
    Rate::of(&told, CHANNEL).expect("a rate")
}

fn legacy(index: usize) -> Rate {
    Rate::legacy(index, CHANNEL).expect("a rate")
}

/// Values of IEEE 802.11-2020, tables 17-4, 19-27, 19-31 and 21-47; 17.4.3 for the airtime of 1,536
/// bytes with 54 Mbit/s, and of acknowledgements.
#[test]
fn rates_are_those_of_the_standard() {
    let speeds = [
        (legacy(0), 6.0),
        (legacy(7), 54.0),
        (mcs(0, HT), 6.5),
        (mcs(7, HT | SHORT_GUARD), 72.2),
        (mcs(15, HT | SHORT_GUARD | WIDTH_40), 300.0),
        (mcs(0x19, VHT | SHORT_GUARD | WIDTH_80), 866.7),
    ];
    for (rate, megabits) in speeds {
        assert!((rate.megabits() - megabits).abs() < 0.1, "{rate:?}");
    }
    assert_eq!(legacy(7).airtime(1536), 248_000);
    assert_eq!(legacy(4).airtime(14), 28_000);
    assert_eq!(legacy(0).airtime(14), 44_000);
    assert_eq!(Rate::legacy(8, CHANNEL), None);
    let dsss = Rate::legacy(3, 2412).expect("11 Mbit/s");
    assert_eq!(dsss.airtime(1100), 192_000 + 800_000);
    let too_much = Told {
        index: 10,
        flags: VHT,
        count: 1,
    };
    assert_eq!(Rate::of(&too_much, CHANNEL), None);
}

#[test]
fn answers_are_as_fast_as_what_is_answered() {
    let answers = |rate: Rate| rate.of_answers(CHANNEL).megabits();
    assert_eq!(answers(legacy(0)), 6.0);
    assert_eq!(answers(legacy(3)), 12.0);
    assert_eq!(answers(legacy(7)), 24.0);
    assert_eq!(answers(mcs(15, HT)), 24.0);
    let dsss = Rate::legacy(2, 2412).expect("5.5 Mbit/s");
    assert_eq!(dsss.of_answers(2412).megabits(), 2.0);
    // The kernel gets 54 Mbit/s for 65 Mbit/s of HT.
    assert_eq!(mcs(7, HT).shown(CHANNEL), 7);
    assert_eq!(mcs(1, HT).shown(CHANNEL), 2);
}

/// Returns the ratio in dB at which a tenth of frames of 1,000 bytes is lost.
fn needed(rate: &Rate) -> f64 {
    let lost = |ratio: f64| 1.0 - (right(rate, milliwatts(ratio)) * 8000.0).exp();
    let mut ratio = -20.0;
    while lost(ratio) > 0.1 {
        ratio += 0.05;
    }
    ratio
}

/// The required sensitivity (table 17-18: -82 to -65 dBm) includes 10 dB for receiver noise and 5
/// dB for implementation (17.3.10.2). The remainder is the need of the rate itself. The model
/// decides bit by bit and lies within 3 dB of this need.
#[test]
fn each_rate_needs_about_what_the_standard_says() {
    let sensitivity = [-82, -81, -79, -77, -74, -70, -66, -65].map(f64::from);
    let mut last = f64::NEG_INFINITY;
    for (index, least) in sensitivity.into_iter().enumerate() {
        let ratio = needed(&legacy(index));
        let standard = least - 15.0 - noise(20, 0.0);
        println!("{index}: {ratio:.1} dB, the standard's {standard:.1}");
        assert!((ratio - standard).abs() < 3.0, "{index}: {ratio}");
        // 9 Mbit/s need as much as 12 Mbit/s.
        assert!(ratio > last - 1.0);
        last = ratio;
    }
    // Two streams share the power.
    let (one, two) = (needed(&mcs(7, HT)), needed(&mcs(15, HT)));
    assert!((two - one - 3.0).abs() < 0.2, "{one} and {two}");
    // The slowest DSSS rate works below the noise.
    let dsss = |index| needed(&Rate::legacy(index, 2412).expect("a rate"));
    assert!(dsss(0) < -1.0 && dsss(0) < dsss(1) && dsss(1) < dsss(2) && dsss(2) < dsss(3));
}

#[test]
fn a_wall_takes_what_it_is_said_to_take() {
    let mut scene = Scene::default();
    let (a, b) = (Position::new(0.0, 0.0), Position::new(10.0, 0.0));
    // ITU-R P.1238 with N = 30: 20 log 5180 + 30 - 28.
    let free = scene.loss(a, b, CHANNEL);
    assert!((free - 76.29).abs() < 0.01, "{free}");
    let wall = |x: f64| Wall {
        ends: [Position::new(x, -1.0), Position::new(x, 1.0)],
        loss: 10.0,
    };
    scene.walls.insert("between".into(), wall(5.0));
    assert!((scene.loss(a, b, CHANNEL) - free - 10.0).abs() < 1e-9);
    scene.walls.insert("behind".into(), wall(11.0));
    assert!((scene.loss(a, b, CHANNEL) - free - 10.0).abs() < 1e-9);
    // The path passes the end of the wall.
    let aside = Position::new(10.0, 30.0);
    let (with, without) = (scene.loss(a, aside, CHANNEL), Scene::default());
    assert_eq!(with, without.loss(a, aside, CHANNEL));
    // Model D of TGn: free space up to 10 m.
    let model = Scene {
        exponent: 3.5,
        breakpoint: 10.0,
        ..Scene::default()
    };
    assert!((model.loss(a, b, CHANNEL) - 66.29).abs() < 0.01);
    let far = model.loss(a, Position::new(100.0, 0.0), CHANNEL);
    assert!((far - 101.29).abs() < 0.01, "{far}");
}

fn place() -> impl Strategy<Value = Position> {
    (-100.0..100.0, -100.0..100.0).prop_map(|(x, y)| Position::new(x, y))
}

proptest! {
    #[test]
    fn losses_are_the_same_both_ways_and_grow(
        a in place(), b in place(), ends in (place(), place()), further in 1.0..3.0f64,
    ) {
        let mut scene = Scene::default();
        let plain = scene.loss(a, b, CHANNEL);
        let end = Position::new(a.x + (b.x - a.x) * further, a.y + (b.y - a.y) * further);
        prop_assert!(scene.loss(a, end, CHANNEL) >= plain - 1e-9);
        prop_assert!(scene.loss(a, b, 5180) > scene.loss(a, b, 2412));
        let wall = Wall { ends: [ends.0, ends.1], loss: 7.0 };
        scene.walls.insert("wall".into(), wall);
        prop_assert_eq!(scene.loss(a, b, CHANNEL), scene.loss(b, a, CHANNEL));
        prop_assert!(scene.loss(a, b, CHANNEL) >= plain);
    }

    #[test]
    fn a_better_ratio_is_never_worse(
        ratio in -20.0..40.0f64, more in 0.0..5.0f64, index in 0..8usize,
    ) {
        let chance = |ratio| right(&legacy(index), milliwatts(ratio));
        let (worse, better) = (chance(ratio), chance(ratio + more));
        prop_assert!(worse <= better + 1e-12 && better <= 0.0);
    }

    #[test]
    fn more_octets_take_longer(index in 0..12usize, octets in 14..2304usize) {
        let rate = Rate::legacy(index, 2412).expect("a rate");
        prop_assert!(rate.airtime(octets) <= rate.airtime(octets + 1));
        prop_assert!(rate.airtime(octets) > rate.preamble());
    }
}
