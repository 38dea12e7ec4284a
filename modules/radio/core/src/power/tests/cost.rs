//! Processor time of the search.

use std::time::Instant;

use crate::power::{Controller, Counters, Mac, Reading, Settings, Station};

const STATIONS: u32 = 50;
/// Duration of the search, ms.
const TIME: u64 = 600_000;

/// Fifty stations are read at most fifty times a second, mostly 22 times. The test prints the
/// processor time; readings are simulated, so the time is that of the search alone.
#[test]
fn fifty_stations_are_looked_at_now_and_then() {
    let powers = (0..=20).step_by(2).collect();
    let mut control = Controller::new(Settings::default(), powers).expect("powers");
    let (mut now, mut took) = (0, Vec::new());
    while now < TIME {
        // Each second 40 frames to each; of one in ten a second try.
        let frames = u32::try_from(now / 25).unwrap_or(u32::MAX);
        let station = |number: u32| Station {
            mac: Mac([2, 0, 0, 0, 0, number as u8]),
            counters: Counters {
                frames: frames + number,
                retries: (frames + number) / 10,
                failed: 0,
            },
            rate: Some(54_000),
            connected: 60,
            ..Station::default()
        };
        let reading = Reading {
            stations: (0..STATIONS).map(station).collect(),
        };
        let begun = Instant::now();
        control.step(now, &reading);
        took.push(begun.elapsed());
        now += control.soon();
    }
    took.sort();
    // The median excludes other work of the machine.
    let one = took[took.len() / 2].as_secs_f64();
    let looks = took.len() as f64 * 1000.0 / TIME as f64;
    println!(
        "{looks:.1} looks a second, {:.0} µs each: {:.3} % of a processor",
        one * 1e6,
        looks * one * 100.0
    );
    assert!(looks <= 50.0, "{looks}");
    assert!(control.enough().is_some_and(|power| power <= 2));
}
