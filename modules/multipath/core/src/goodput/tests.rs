//! Tests in virtual time, with a model of lines: each has a rate, and with a distant one in use all
//! carry only a part of their rates.

use std::net::Ipv4Addr;

use super::*;

const STEP: Duration = Duration::from_millis(500);

struct Line {
    /// Bytes a second.
    rate: f64,
    rtt: u32,
    octets: f64,
    used: bool,
    /// Total duration of pauses so far.
    rested: Duration,
}

struct Model {
    guard: GoodputMonitor,
    lines: Vec<Line>,
    /// A line farther than this (milliseconds) slows the others down: all together carry this part
    /// of the first line's rate.
    held_up: (u32, f64),
    /// Time until a line pauses after the request.
    hears: Duration,
    /// Bytes a second that are wanted.
    wanted: f64,
    now: Duration,
    all: f64,
    actions: Vec<(Duration, Action)>,
}

fn address(number: usize) -> IpAddr {
    Ipv4Addr::new(10, 0, 0, number as u8).into()
}

impl Model {
    /// Lines of so many Mbit/s and milliseconds.
    fn new(lines: &[(f64, u32)], held_up: (u32, f64)) -> Self {
        let lines = lines.iter().map(|(mbit, ms)| Line {
            rate: mbit * 125_000.0,
            rtt: ms * 1000,
            octets: 0.0,
            used: true,
            rested: Duration::ZERO,
        });
        Self {
            guard: GoodputMonitor::default(),
            lines: lines.collect(),
            held_up,
            hears: Duration::ZERO,
            wanted: f64::INFINITY,
            now: Duration::ZERO,
            all: 0.0,
            actions: Vec::new(),
        }
    }

    /// Runs for so long; returns the Mbit/s that arrived.
    fn run(&mut self, time: Duration) -> f64 {
        let (end, before) = (self.now + time, self.all);
        while self.now < end {
            self.step();
        }
        (self.all - before) / 125_000.0 / time.as_secs_f64()
    }

    fn step(&mut self) {
        self.now += STEP;
        let time = STEP.as_secs_f64();
        let can: f64 = self.lines.iter().filter(|l| l.used).map(|l| l.rate).sum();
        let far = self.lines.iter().any(|l| l.used && l.rtt > self.held_up.0);
        let most = match far {
            true => self.lines[0].rate * self.held_up.1,
            false => can,
        };
        let carried = most.min(self.wanted);
        self.all += carried * time;
        for line in self.lines.iter_mut().filter(|line| line.used) {
            line.octets += carried * time * line.rate / can;
        }
        let samples = self.lines.iter().enumerate();
        let samples: Vec<_> = samples
            .map(|(number, line)| Sample {
                address: address(number),
                sent: 0,
                received: line.octets as u64,
                rtt: Some(line.rtt),
            })
            .collect();
        for action in self.guard.update([0, self.all as u64], &samples, self.now) {
            self.actions.push((self.now, action));
        }
        for (number, line) in self.lines.iter_mut().enumerate() {
            line.rested = match self.guard.is_paused(address(number)) {
                true => line.rested + STEP,
                false => Duration::ZERO,
            };
            line.used = line.rested <= self.hears;
        }
    }

    /// Uses the first line alone, for long enough to measure it.
    fn alone_first(&mut self) {
        let held_up = std::mem::replace(&mut self.held_up, (u32::MAX, 1.0));
        self.run(3 * STEP);
        self.held_up = held_up;
    }
}

const NEVER: (u32, f64) = (u32::MAX, 1.0);

#[test]
fn where_the_sum_is_better_nothing_is_done() {
    let cases: [&[(f64, u32)]; 5] = [
        &[(20.0, 10), (20.0, 10)],
        &[(40.0, 10), (40.0, 60)],
        &[(20.0, 10), (20.0, 20), (20.0, 200)],
        &[(40.0, 10), (4.0, 110)],
        &[(10.0, 10)],
    ];
    for lines in cases {
        let mut model = Model::new(lines, NEVER);
        let sum: f64 = lines.iter().map(|(mbit, _)| mbit).sum();
        let rate = model.run(Duration::from_secs(600));
        assert!((rate - sum).abs() < 0.01, "{lines:?}: {rate} Mbit/s");
        assert_eq!(model.actions, [], "{lines:?}");
    }
}

#[test]
fn what_holds_the_others_up_rests_longer_and_longer() {
    let mut model = Model::new(&[(40.0, 10), (4.0, 500)], (400_000, 0.4));
    model.alone_first();
    model.run(Duration::from_secs(10));
    let rests = |model: &Model| -> Vec<u64> {
        let actions = model.actions.iter();
        let rests = actions.filter_map(|(_, action)| match action {
            Action::Rest { rest, .. } => Some(rest.as_secs()),
            _ => None,
        });
        rests.collect()
    };
    assert_eq!(rests(&model), [30], "{:?}", model.actions);
    let rate = model.run(Duration::from_secs(3600));
    assert!(rate > 39.2, "{rate} Mbit/s: {:?}", model.actions);
    assert_eq!(
        rests(&model),
        [30, 60, 120, 240, 480, 600, 600, 600, 600, 600]
    );
    // The path gets better: it is used again, and stays in use.
    model.held_up = NEVER;
    model.run(Duration::from_secs(3600));
    assert!(!model.guard.is_paused(address(1)));
    let before = model.actions.len();
    assert!(model.run(Duration::from_secs(600)) > 43.9);
    assert_eq!(model.actions.len(), before);
}

/// The partner learns late to send by another path: bytes that arrive until then prove nothing.
#[test]
fn a_trial_waits_until_the_path_rests() {
    for (hears, rests) in [(0, true), (5, true), (3600, false)] {
        let mut model = Model::new(&[(40.0, 10), (4.0, 500)], (400_000, 0.4));
        model.hears = Duration::from_secs(hears);
        model.alone_first();
        model.run(Duration::from_secs(20));
        assert_eq!(
            model.guard.is_paused(address(1)),
            rests,
            "{hears} s: {:?}",
            model.actions
        );
        assert_eq!(model.actions.len(), 2, "{hears} s: {:?}", model.actions);
    }
}

/// Without demand for more, a trial shows nothing, costs nothing, and is not repeated endlessly.
#[test]
fn who_wants_little_gets_it() {
    let mut model = Model::new(&[(40.0, 10), (4.0, 110)], NEVER);
    model.run(Duration::from_secs(10));
    model.wanted = 10.0 * 125_000.0;
    let rate = model.run(Duration::from_secs(3600));
    assert!((rate - 10.0).abs() < 0.01, "{rate} Mbit/s");
    assert!(model.actions.len() <= 2, "{:?}", model.actions);
    // And the full rate as soon as demand rises.
    model.wanted = f64::INFINITY;
    assert!(model.run(Duration::from_secs(60)) > 43.9);
}

/// A connection that becomes fast slowly, while the path's capacity is known.
#[test]
fn what_rises_by_itself_is_left_alone() {
    let mut model = Model::new(&[(40.0, 10), (4.0, 110)], NEVER);
    model.run(Duration::from_secs(20));
    model.wanted = 0.0;
    model.run(Duration::from_secs(20));
    model.wanted = 2.0 * 125_000.0;
    for _ in 0..40 {
        model.run(STEP);
        model.wanted *= 1.1;
    }
    assert_eq!(model.actions, []);
}

/// The fast path has become slow: one trial shows that no other path is the cause.
#[test]
fn a_path_that_gets_slower_is_not_held_against_the_others() {
    let mut model = Model::new(&[(40.0, 10), (10.0, 110)], NEVER);
    model.run(Duration::from_secs(10));
    model.lines[0].rate = 10.0 * 125_000.0;
    let rate = model.run(Duration::from_secs(600));
    assert!(rate > 19.5, "{rate} Mbit/s: {:?}", model.actions);
    assert!(model.actions.len() <= 2, "{:?}", model.actions);
}

#[test]
fn of_several_that_hold_up_each_rests() {
    let lines = [(40.0, 10), (4.0, 500), (4.0, 600)];
    let mut model = Model::new(&lines, (400_000, 0.4));
    model.alone_first();
    model.run(Duration::from_secs(30));
    let rate = model.run(Duration::from_secs(3600));
    assert!(rate > 38.0, "{rate} Mbit/s: {:?}", model.actions);
}

#[test]
fn of_a_path_that_is_gone_nothing_is_left() {
    let mut model = Model::new(&[(40.0, 10), (4.0, 500)], (400_000, 0.4));
    model.alone_first();
    model.run(Duration::from_secs(10));
    assert!(model.guard.is_paused(address(1)));
    model.lines.pop();
    model.run(STEP);
    assert!(!model.guard.is_paused(address(1)));
}
