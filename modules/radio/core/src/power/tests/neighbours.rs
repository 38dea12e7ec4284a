//! Two access points on a channel that disturb each other while each receives the other: few frames
//! are sent then, and losses occur in bursts.

use super::air::Air;
use crate::power::{Controller, PowerLevels, Settings};

const TIME: u64 = 20_000;
/// A sender with less power, dBm, does not reach the other access point.
const HEARD: i32 = 12;
/// Frames a second to each station where both send in turn, and where they do not.
const TURNS: f64 = 35.0;
const ALONE: f64 = 70.0;
const SEEDS: u64 = 20;

/// Throughput of both, and the mean power of one from the fifth second to the tenth, mW.
fn run(seed: u64, (busy, loses): (f64, f64), acks: bool, controls: bool) -> (f64, f64) {
    let powers = PowerLevels::between(1, 20, 2).powers().to_vec();
    let mut both = [0, 1].map(|number| {
        let mut air = Air::of(&[62.0]).seeded(2 * seed + number);
        air.neighbour.busy = busy;
        air.acks = acks;
        (
            air,
            Controller::new(Settings::default(), powers.clone()).unwrap(),
        )
    });
    let mut before = [0.0; 2];
    for now in (0..TIME).step_by(10) {
        let heard = [1, 0].map(|other: usize| both[other].0.power >= HEARD);
        for ((air, control), heard) in both.iter_mut().zip(heard) {
            (air.all[0].frames, air.neighbour.loses) = match heard {
                true => (TURNS, loses),
                false => (ALONE, 0.0),
            };
            match controls {
                true => air.run(control, 10),
                false => air.run_free(10),
            }
        }
        let radiated = both[0].0.radiated + both[1].0.radiated;
        if now < 5000 {
            before[0] = radiated;
        }
        if now < 10_000 {
            before[1] = radiated;
        }
    }
    let arrived = both[0].0.arrived + both[1].0.arrived;
    (arrived as f64, (before[1] - before[0]) / 2.0 / 5000.0)
}

/// Mean over all seeds: the share of the full power's throughput, and the power.
fn mean(air: (f64, f64), acks: bool) -> (f64, f64) {
    let (mut carried, mut could, mut power) = (0.0, 0.0, 0.0);
    for seed in 1..=SEEDS {
        let (arrived, radiated) = run(seed, air, acks, true);
        carried += arrived;
        power += radiated / SEEDS as f64;
        could += run(seed, air, acks, false).0;
    }
    (carried / could, power)
}

#[test]
fn power_goes_down_soon_where_a_neighbour_disturbs() {
    for (busy, loses, most) in [
        (0.5, 0.1, 23.0),
        (0.3, 0.3, 36.0),
        (0.3, 0.7, 60.0),
        (0.5, 0.5, 50.0),
        (0.7, 0.8, 50.0),
    ] {
        let (share, power) = mean((busy, loses), false);
        let told = format!("{busy} of the time {loses}: {share:.2} with {power:.1} mW");
        println!("{told}");
        assert!(share >= 1.1 && power <= most, "{told}");
        // The driver reports that the stations are near.
        let (share, power) = mean((busy, loses), true);
        let told = format!("{told}; loud: {share:.2} with {power:.1} mW");
        println!("{told}");
        assert!(share >= 1.8 && power <= 15.0, "{told}");
    }
}
