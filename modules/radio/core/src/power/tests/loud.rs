//! Stations with loud acknowledgements: near, or with much power of their own.

use super::air::Air;
use crate::power::{Controller, PowerLevels, Reason, Settings};

const TIME: u64 = 20_000;

/// Runs a station behind this loss, dB, received at `ack` dBm. Returns the first power tried, the
/// last one, and the share of the full power's throughput.
fn run(loss: f64, ack: i8, seed: u64) -> (i32, i32, f64) {
    let mut air = Air::of(&[loss]).seeded(seed);
    air.all[0].frames = 178.0;
    air.all[0].station.ack_signal = Some(ack);
    let powers = PowerLevels::between(1, 20, 2).powers().to_vec();
    let mut control = Controller::new(Settings::default(), powers).unwrap();
    air.run(&mut control, TIME);
    let first = air.log.iter().find(|it| it.reason == Reason::Trial);
    (
        first.map_or(20, |it| it.power),
        air.power,
        air.carried / air.could,
    )
}

#[test]
fn who_is_loud_is_tried_with_little_at_once() {
    // 20 dBm less 11 dB leave -58 dBm.
    let (first, last, share) = run(67.0, -47, 1);
    assert_eq!(first, 10);
    assert!(last < 10 && share >= 0.98, "{last} dBm, {share}");
    // Signals that are too faint, unknown, or counted from noise.
    for ack in [-59, 0, 40] {
        assert_eq!(run(67.0, ack, 1).0, 18, "{ack}");
    }
}

/// A station that sends with much more than we do seems as loud as a near one.
#[test]
fn who_is_only_loud_himself_loses_nothing() {
    for (loss, seed) in [(84.0, 1), (86.0, 2), (88.0, 3), (90.0, 4), (92.0, 5)] {
        let (first, last, share) = run(loss, -45, seed);
        let usual = run(loss, 0, seed);
        println!("{loss} dB: from {first} to {last} dBm, {share:.3}; {usual:?}");
        assert!(first < 18 && share >= 0.95, "{loss}: {last} dBm, {share}");
    }
}
