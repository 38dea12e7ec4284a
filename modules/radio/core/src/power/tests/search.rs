//! Results of the search.

use super::air::Air;
use crate::power::{Controller, Entry, Estimate, Reason, Settings};

const POWERS: [i32; 11] = [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20];

fn control() -> Controller {
    Controller::new(Settings::default(), POWERS.to_vec()).unwrap()
}

/// Median of the power in `time`, sampled every 100 ms.
fn median(air: &mut Air, control: &mut Controller, time: u64) -> i32 {
    let mut all: Vec<i32> = (0..time / 100)
        .map(|_| {
            air.run(control, 100);
            air.power
        })
        .collect();
    all.sort_unstable();
    all[all.len() / 2]
}

#[test]
fn the_least_power_at_which_nobody_loses_is_found() {
    for losses in [
        &[60.0][..],
        &[75.0],
        &[83.0],
        &[88.0],
        &[95.0],
        &[104.0],
        &[70.0, 88.0],
        &[60.0, 60.0, 86.0],
    ] {
        let (mut air, mut control) = (Air::of(losses), control());
        air.run(&mut control, 10_000);
        let found = median(&mut air, &mut control, 10_000);
        let right = air.enough(&POWERS);
        assert!(
            (found - right).abs() <= 2,
            "{losses:?}: {found} dBm, and {right} would be enough: {:#?}",
            &air.log[air.log.len().saturating_sub(20)..]
        );
    }
}

#[test]
fn a_level_that_fails_is_tried_more_and_more_seldom() {
    let (mut air, mut control) = (Air::of(&[83.0]), control());
    air.run(&mut control, 120_000);
    let lost: Vec<u64> = air
        .log
        .iter()
        .filter(|entry| entry.reason == Reason::Lost)
        .map(|entry| entry.at)
        .collect();
    assert!(lost.len() >= 3, "{lost:?}");
    let gaps: Vec<u64> = lost.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let last = gaps.last().copied().unwrap_or_default();
    assert!(last > 20_000, "{gaps:?}");
}

#[test]
fn a_wall_is_answered_within_half_a_second() {
    for wall in [8.0, 12.0, 20.0] {
        let (mut air, mut control) = (Air::of(&[70.0]), control());
        air.run(&mut control, 20_000);
        assert!(air.power <= 10, "{}", air.power);
        let held = air.power;
        air.all[0].loss += wall;
        let before = Air::rate(held, 70.0);
        let behind = Air::rate(held, 70.0 + wall);
        let begin = air.now;
        while air.power == held && air.now < begin + 3000 {
            air.run(&mut control, 10);
        }
        let took = air.now - begin;
        let much = f64::from(behind.0) * behind.1 < 0.4 * f64::from(before.0) * before.1;
        assert!(!much || took <= 500, "{wall} dB: {took} ms");
    }
}

#[test]
fn power_goes_down_by_strides_and_level_by_level_after_it_was_not_enough() {
    let (mut air, mut control) = (Air::of(&[60.0]), control());
    air.run(&mut control, 20_000);
    let steepest = |log: &[Entry]| {
        let pairs = log.windows(2).filter(|pair| pair[1].reason == Reason::Kept);
        pairs.map(|pair| pair[0].power - pair[1].power).max()
    };
    assert_eq!(steepest(&air.log), Some(8));
    let (before, begin) = (air.log.len(), air.now);
    air.all[0].loss += 20.0;
    while air.now < begin + 7000 {
        air.run(&mut control, 10);
    }
    let after = &air.log[before..];
    let fell = |entry: &Entry| matches!(entry.reason, Reason::Wall | Reason::Worse);
    assert!(after.iter().any(fell));
    assert_eq!(steepest(after), Some(2));
}

/// Too few frames for a watch do not show a small loss, but they show a total loss.
#[test]
fn a_wall_is_seen_by_few_frames() {
    let (mut air, mut control) = (Air::of(&[60.0]), control());
    air.all[0].frames = 100.0;
    air.run(&mut control, 60_000);
    assert!(air.power <= 10, "{}", air.power);
    air.all[0].loss += 60.0;
    let steps = air.log.len();
    air.run(&mut control, 500);
    assert!(
        air.log[steps..]
            .iter()
            .any(|entry| entry.reason == Reason::Wall),
        "{:?}",
        &air.log[steps..]
    );
}

#[test]
fn what_was_queued_at_another_power_does_not_count() {
    let (mut air, mut control) = (Air::of(&[70.0]), control());
    air.deaf = Settings::default().settle - 10;
    air.run(&mut control, 20_000);
    let right = air.enough(&POWERS);
    assert!(
        (air.power - right).abs() <= 2,
        "{} dBm, not {right}",
        air.power
    );
    let wall = air.log.iter().find(|entry| entry.reason == Reason::Wall);
    assert_eq!(wall, None);
}

#[test]
fn what_was_right_at_this_hour_is_where_it_begins() {
    let (mut air, mut expecting) = (Air::of(&[70.0]), control());
    expecting.expect(Some(6));
    air.run(&mut expecting, 3000);
    let trial = air.log.iter().find(|entry| entry.reason == Reason::Trial);
    assert_eq!(trial.map(|entry| entry.power), Some(8));
}

#[test]
fn where_somebody_goes_further_away_the_power_rises() {
    let (mut air, mut control) = (Air::of(&[75.0]), control());
    air.run(&mut control, 10_000);
    let near = air.power;
    for _ in 0..100 {
        air.all[0].loss += 0.12;
        air.run(&mut control, 200);
    }
    let far = median(&mut air, &mut control, 10_000);
    assert!(far >= near + 8, "{near} dBm, then {far} dBm");
}

/// Throughput before rate control has found its rates is no reference.
#[test]
fn after_a_wall_rates_are_waited_for() {
    let (mut air, mut control) = (Air::of(&[70.0]), control());
    air.run(&mut control, 20_000);
    air.all[0].loss += 20.0;
    air.run(&mut control, 5000);
    let at = |reason| {
        let mut log = air.log.iter().rev();
        log.find(|entry| entry.reason == reason).map(|it| it.at)
    };
    let wall = at(Reason::Wall).unwrap();
    let mut after = air.log.iter().filter(|entry| entry.at > wall);
    let next = after.next().unwrap();
    assert!(next.at >= wall + 1000, "{wall}: {next:?}");
}

/// A trial of far too little power is not a wall: the sufficient power stays sufficient.
#[test]
fn a_trial_that_fails_goes_back_to_what_is_enough() {
    let mut air = Air::of(&[83.0]);
    let mut control = Controller::new(Settings::default(), vec![0, 16, 20]).unwrap();
    air.run(&mut control, 20_000);
    let lost: Vec<_> = air.log.iter().filter(|it| it.power == 16).collect();
    assert!(lost.iter().any(|it| it.reason == Reason::Lost), "{lost:?}");
    let wall = air.log.iter().find(|entry| entry.reason == Reason::Wall);
    assert_eq!(wall, None);
}

#[test]
fn looks_that_do_not_differ_are_one() {
    let look = |throughput, error, frames| Estimate {
        throughput,
        error,
        frames,
    };
    let (first, then) = (look(100.0, 3.0, 20), look(104.0, 3.0, 20));
    let both = first.with(&then, 1.6).unwrap();
    assert_eq!((both.throughput, both.frames), (102.0, 40));
    assert!(both.error < first.error, "{both:?}");
    assert_eq!(first.with(&look(110.0, 3.0, 20), 1.6), None);
    // Old samples do not outweigh new ones.
    let long = look(100.0, 3.0, 100_000).with(&then, 1.6).unwrap();
    assert!(long.throughput > 100.4, "{long:?}");
}
