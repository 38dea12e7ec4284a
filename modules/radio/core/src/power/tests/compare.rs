//! Compares weir's search with the earlier logic, in scenarios of `weir bench radio`.

use super::air::Air;
use crate::power::{Controller, PowerLevels, Predecessor, Settings};

/// Time of a scenario, ms.
const TIME: u64 = 60_000;
/// Interval of changes in the scenario.
const PIECE: u64 = 100;

/// A scenario: how much is lost on the way, dB, after this share of the time.
type Way = fn(f64) -> f64;

const SCENARIOS: [(&str, Way); 7] = [
    ("near", |_| 66.0),
    ("middle", |_| 75.0),
    ("far", |_| 83.0),
    ("farther", |_| 88.0),
    ("farthest", |_| 95.0),
    ("walls", |share| if share < 0.5 { 70.0 } else { 82.0 }),
    ("moving", |share| {
        66.0 + 25.0 * (1.0 - (2.0 * share - 1.0).abs())
    }),
];

/// Returns the share of the greatest power's throughput, and the mean power, mW.
fn run(way: Way, frames: f64, lags: bool, mut piece: impl FnMut(&mut Air)) -> (f64, f64) {
    let mut air = Air::of(&[way(0.0)]);
    air.all[0].frames = frames;
    air.lags = lags;
    for number in 0..TIME / PIECE {
        air.all[0].loss = way((number * PIECE) as f64 / TIME as f64);
        piece(&mut air);
    }
    (air.carried / air.could, air.radiated / TIME as f64)
}

/// In each scenario no station loses more than allowed; if that also holds for the earlier logic,
/// the earlier logic radiates more. With few and many frames, and with slow rate control.
#[test]
fn no_less_is_carried_and_less_is_radiated() {
    let cases = [
        (150.0, false),
        (2000.0, false),
        (150.0, true),
        (2000.0, true),
    ];
    for (frames, lags) in cases {
        for (name, way) in SCENARIOS {
            let powers = || PowerLevels::between(1, 20, 2).powers().to_vec();
            let mut control = Controller::new(Settings::default(), powers()).unwrap();
            let ours = run(way, frames, lags, |air| air.run(&mut control, PIECE));
            let mut before = Predecessor::new(powers()).unwrap();
            let theirs = run(way, frames, lags, |air| {
                air.run_predecessor(&mut before, PIECE);
            });
            let told = format!(
                "{name}, {frames} frames a second, {lags}: {:.3} with {:.2} mW, the predecessor \
                 {:.3} with {:.2} mW",
                ours.0, ours.1, theirs.0, theirs.1
            );
            println!("{told}");
            let keep = Settings::default().keep;
            assert!(ours.0 >= keep, "{told}");
            assert!(theirs.0 < keep || ours.1 < theirs.1, "{told}");
        }
    }
}
