//! Scenarios of `weir bench radio` in a moment: with rate control like the kernel's, and as few
//! frames as an emulated machine sends.

use super::air::Air;
use crate::power::{Controller, PowerLevels, Predecessor, Settings};

/// Warm-up time before the measurement, and the interval of changes in the scenario, ms.
const WARM: u64 = 3000;
const TIME: u64 = 20_000;
const PIECE: u64 = 100;
/// 2 Mbit/s in frames of 1,400 bytes.
const FRAMES: f64 = 178.0;
/// Number of random seeds.
const SEEDS: u64 = 9;

/// Path loss, dB, after this share of the time.
type Way = fn(f64) -> f64;

/// Equal to the other scenario, so that the worst case leaves equal rates.
const SCENARIOS: [(&str, Way); 5] = [
    ("near", |_| 67.0),
    ("middle", |_| 79.0),
    ("far", |_| 91.5),
    ("walls", |share| if share < 0.5 { 79.0 } else { 93.2 }),
    ("moving", |share| {
        let metres = 5.0 + 35.0 * (1.0 - (2.0 * share - 1.0).abs());
        46.3 + 30.0 * f64::log10(metres)
    }),
];

/// Medians over all seeds of the carried kbit/s and the mean power in mW, and the least carried.
fn medians(way: Way, mut begin: impl FnMut() -> Box<dyn FnMut(&mut Air)>) -> (f64, f64, f64) {
    let (mut carried, mut power) = (Vec::new(), Vec::new());
    for seed in 1..=SEEDS {
        let mut piece = begin();
        let mut air = Air::of(&[way(0.0)]).with_kernel(seed);
        air.acks = true;
        air.all[0].frames = FRAMES;
        for _ in 0..WARM / PIECE {
            piece(&mut air);
        }
        air.count_anew();
        for number in 0..TIME / PIECE {
            air.all[0].loss = way((number * PIECE) as f64 / TIME as f64);
            piece(&mut air);
        }
        carried.push(air.carried_by_kernel());
        power.push(air.radiated / TIME as f64);
    }
    carried.sort_by(f64::total_cmp);
    power.sort_by(f64::total_cmp);
    (
        carried[carried.len() / 2],
        power[power.len() / 2],
        carried[0],
    )
}

/// With slowly adapting rates and few frames, measured throughput is below the possible one: a
/// search that relies on it steps down too far.
#[test]
fn rate_control_that_climbs_does_not_mislead() {
    let powers = || PowerLevels::between(1, 20, 2).powers().to_vec();
    for (name, way) in SCENARIOS {
        let most = medians(way, || Box::new(|air| air.run_free(PIECE)));
        let ours = medians(way, || {
            let mut control = Controller::new(Settings::default(), powers()).unwrap();
            Box::new(move |air| air.run(&mut control, PIECE))
        });
        let theirs = medians(way, || {
            let mut control = Predecessor::new(powers()).unwrap();
            Box::new(move |air| air.run_predecessor(&mut control, PIECE))
        });
        let told = format!(
            "{name}: {:.3} with {:.2} mW, at least {:.3}; the predecessor {:.3} with {:.2} mW",
            ours.0 / most.0,
            ours.1,
            ours.2 / most.0,
            theirs.0 / most.0,
            theirs.1
        );
        println!("{told}");
        let keep = Settings::default().keep * most.0;
        assert!(ours.0 >= keep, "{told}");
        assert!(ours.2 >= 0.9 * most.0, "{told}");
        assert!(theirs.0 < keep || ours.1 < theirs.1, "{told}");
    }
}
