//! State of a path, from its probes: health, round trip, and capacity.
//!
//! Each end probes independently, and estimates its own sending by the answers. A path with an
//! answer overdue is *suspect*: its packets go by another path as well. After [`MISSING`] more
//! missing answers the path is *down*. The first answer brings it up again; but a path that fails
//! repeatedly has to answer for longer and longer before.

use std::collections::VecDeque;

use super::body::{Answer, Micros};
use super::lag::Lag;
use super::queue::OUTER;
use super::rate::{Capacity, HIGH, Sample};

/// Intervals of probes, microseconds: with traffic on the path; while an answer is overdue; idle,
/// and idle on a metered path.
const BUSY: Micros = 100_000;
const QUICK: Micros = 40_000;
const REST: Micros = 1_000_000;
const REST_METERED: Micros = 10_000_000;
/// Intervals of probes while the path is down, microseconds: for a time, then for good.
const DOWN: Micros = 250_000;
const DOWN_LONG: Micros = 750_000;
const DOWN_FOR: Micros = 30_000_000;
/// Age of traffic that counts as present, microseconds.
const RECENT: Micros = 300_000;
/// Time after which an overdue answer counts as lost, and the path as down, microseconds. With the
/// wait for a probe to be sent and the slack it stays below 350 ms.
pub const MISSING: Micros = 150_000;
/// Bounds of the slack that answers have, microseconds.
const LEAST_SLACK: Micros = 10_000;
const MOST_SLACK: Micros = 40_000;
/// A path that was up for less than this is unsteady, microseconds.
const STEADY: Micros = 10_000_000;
/// First and longest time that an unsteady path must answer for, microseconds.
const FIRST_HOLD: Micros = 500_000;
const LONGEST_HOLD: Micros = 16_000_000;
/// Loss that makes a path poor, per mille, and the least time that it stays so, microseconds.
const POOR: u32 = 250;
const POOR_FOR: Micros = 5_000_000;
/// Most probes under way: more than a second of quick ones.
const MOST_OUTSTANDING: usize = 64;

/// Health of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The path has never answered.
    New,
    /// The path answers.
    Up,
    /// Answers are overdue.
    Suspect,
    /// The path does not answer.
    Down,
}

/// Action for the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send a probe: call [`Path::probe`] when it leaves.
    Probe,
    /// The path can be used.
    Up,
    /// The path cannot be used any more.
    Down,
}

/// A probe under way, and the counts when it left.
#[derive(Clone, Copy, Debug)]
struct Probe {
    at: Micros,
    packets: u64,
    octets: u64,
    full: Micros,
}

/// The previous answered probe.
#[derive(Clone, Copy, Debug)]
struct Before {
    probe: Probe,
    answer: Answer,
}

/// Datagrams and their bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Count {
    /// Datagrams.
    pub packets: u64,
    /// Bytes of the datagrams, with 48 each for UDP and IP, of either version.
    pub octets: u64,
}

impl Count {
    fn add(&mut self, octets: usize) {
        self.packets += 1;
        self.octets += octets as u64;
    }
}

/// Round trips, microseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct RoundTrip {
    /// Smoothed (RFC 6298).
    pub smoothed: Micros,
    /// Mean variation.
    pub varies: Micros,
    /// Least of all.
    pub least: Micros,
}

/// State of a path at one end.
#[derive(Clone, Debug)]
pub struct Path {
    metered: bool,
    /// Probes while the path is down too; the other end waits until it receives something.
    asks: bool,
    state: State,
    since: Micros,
    round_trip: Option<RoundTrip>,
    /// Lag of sent datagrams.
    pub out: Lag,
    /// Lag of received datagrams.
    pub back: Lag,
    /// Capacity of the path.
    pub capacity: Capacity,
    /// Counts of sent datagrams.
    pub sent: Count,
    /// Counts of received datagrams.
    pub received: Count,
    outstanding: VecDeque<Probe>,
    before: Option<Before>,
    probed: Option<Micros>,
    rest: Micros,
    used: Option<Micros>,
    heard: bool,
    /// True if the path was ever down; the time for which it must answer, and the start of its
    /// answers.
    fell: bool,
    hold: Micros,
    answers: Option<Micros>,
    /// Recently lost and sent datagrams: halved each second.
    lost: (u64, u64),
    halved: Micros,
    poor: Micros,
}

impl Path {
    /// Creates an untried path. `asks`: probes while it is down, which one of the two ends does.
    pub fn new(metered: bool, asks: bool, rate: Option<u64>, now: Micros) -> Path {
        Path {
            metered,
            asks,
            state: State::New,
            since: now,
            round_trip: None,
            out: Lag::default(),
            back: Lag::default(),
            capacity: Capacity::new(rate),
            sent: Count::default(),
            received: Count::default(),
            outstanding: VecDeque::new(),
            before: None,
            probed: None,
            rest: BUSY,
            used: None,
            heard: false,
            fell: false,
            hold: 0,
            answers: None,
            lost: (0, 0),
            halved: now,
            poor: 0,
        }
    }

    /// Sets whether the path is metered, and the hint of its capacity, bytes per second.
    pub fn settle(&mut self, metered: bool, rate: Option<u64>) {
        self.metered = metered;
        self.capacity.settle(rate);
    }

    /// Returns the health of the path.
    pub fn state(&self) -> State {
        self.state
    }

    /// Returns round trips, once there was one.
    pub fn round_trip(&self) -> Option<RoundTrip> {
        self.round_trip
    }

    /// Returns the recent loss, per mille.
    pub fn loss(&self) -> u32 {
        let (lost, sent) = self.lost;
        (lost * 1000).checked_div(sent).unwrap_or(0) as u32
    }

    /// Returns true if the loss is so high that any other path is better.
    pub fn is_poor(&self, now: Micros) -> bool {
        now < self.poor
    }

    /// Counts a sent datagram. `carries`: traffic, not upkeep.
    pub fn sends(&mut self, octets: usize, carries: bool, now: Micros) {
        self.sent.add(octets + OUTER);
        if carries {
            self.uses(now);
        }
    }

    /// Counts a received and authentic datagram.
    pub fn receives(&mut self, octets: usize, carries: bool, now: Micros) {
        self.received.add(octets + OUTER);
        self.heard = true;
        if carries {
            self.uses(now);
        }
    }

    fn uses(&mut self, now: Micros) {
        self.used = Some(now);
        self.rest = BUSY;
    }

    /// Records a probe that leaves now, and returns its stamp. `full`: total time that packets have
    /// waited for this path so far, microseconds.
    pub fn probe(&mut self, full: Micros, now: Micros) -> Micros {
        if self.outstanding.len() == MOST_OUTSTANDING {
            self.outstanding.pop_front();
        }
        // Stamps must be unique, even within one microsecond.
        let at = self
            .outstanding
            .back()
            .map_or(now, |last| now.max(last.at + 1));
        self.outstanding.push_back(Probe {
            at,
            packets: self.sent.packets,
            octets: self.sent.octets,
            full,
        });
        if !self.busy(now) {
            let most = if self.metered { REST_METERED } else { REST };
            self.rest = (2 * self.rest).min(most);
        }
        self.probed = Some(now);
        self.heard = false;
        at
    }

    /// Takes an answer. An answer to an unknown probe changes nothing.
    pub fn answered(&mut self, answer: &Answer, now: Micros) -> Option<Action> {
        let index = self
            .outstanding
            .iter()
            .position(|probe| probe.at == answer.stamp)?;
        let probe = self.outstanding[index];
        self.outstanding.drain(..=index);
        let waited = Micros::from(answer.waited);
        self.measure(now.saturating_sub(probe.at).saturating_sub(waited).max(1));
        self.out.add(probe.at, answer.came, now);
        self.back.add(answer.came.wrapping_add(waited), now, now);
        self.compare(probe, answer, now);
        match self.state {
            State::Up => None,
            State::Suspect => {
                self.state = State::Up;
                None
            }
            State::New | State::Down => {
                let since = *self.answers.get_or_insert(now);
                (now - since >= self.hold).then(|| {
                    self.state = State::Up;
                    self.since = now;
                    Action::Up
                })
            }
        }
    }

    fn measure(&mut self, took: Micros) {
        let trip = self.round_trip.get_or_insert(RoundTrip {
            smoothed: took,
            varies: took / 2,
            least: took,
        });
        trip.varies = (3 * trip.varies + trip.smoothed.abs_diff(took)) / 4;
        trip.smoothed = (7 * trip.smoothed + took) / 8;
        trip.least = trip.least.min(took);
    }

    /// Compares the counts of two answered probes.
    fn compare(&mut self, probe: Probe, answer: &Answer, now: Micros) {
        let before = self.before.replace(Before {
            probe,
            answer: *answer,
        });
        let Some(Before {
            probe: first,
            answer: then,
        }) = before
        else {
            return;
        };
        let sent = probe.packets - first.packets;
        let came = answer.packets.saturating_sub(then.packets);
        let lost = sent.saturating_sub(came);
        // Loss during a queue results from sending too fast, as during the search for the capacity.
        let queued = self.out.queue() > HIGH;
        self.lost.0 += if queued { 0 } else { lost };
        self.lost.1 += sent;
        if self.loss() >= POOR && self.lost.1 >= 20 {
            self.poor = now + POOR_FOR;
            // Earlier losses have had their effect: while the path is idle, few datagrams arrive
            // that could outweigh them.
            self.lost = (0, 0);
        }
        if now - self.halved >= 1_000_000 {
            self.lost = (self.lost.0 / 2, self.lost.1 / 2);
            self.halved = now;
        }
        let took = probe.at - first.at;
        let arrived = answer.came.wrapping_sub(then.came);
        // Too short, or a clock that jumped: no sample.
        if sent < 2 || took < 5_000 || !(took / 8..took.saturating_mul(8)).contains(&arrived) {
            return;
        }
        let rate = |octets: u64, time: Micros| {
            (u128::from(octets) * 1_000_000 / u128::from(time)).min(u128::from(u64::MAX / 8)) as u64
        };
        let sample = Sample {
            from: first.at,
            sent: rate(probe.octets - first.octets, took),
            arrived: rate(answer.octets.saturating_sub(then.octets), arrived),
            full: probe.full.saturating_sub(first.full) * 10 >= took * 8,
            queue: self.out.queue(),
            packets: sent,
            loss: (lost * 1000 / sent) as u32,
        };
        self.capacity.sample(&sample, now);
    }

    fn busy(&self, now: Micros) -> bool {
        self.used
            .is_some_and(|used| now.saturating_sub(used) < RECENT)
    }

    /// Returns the time at which the answer to a probe is due.
    fn due(&self, probe: &Probe) -> Option<Micros> {
        let trip = self.round_trip?;
        let slack = (4 * trip.varies).clamp(LEAST_SLACK, MOST_SLACK);
        Some(probe.at + trip.smoothed + slack)
    }

    /// Returns the due time of the `count`th outstanding answer, the oldest first.
    fn overdue(&self, count: usize) -> Option<Micros> {
        self.due(self.outstanding.get(count - 1)?)
    }

    /// Returns the time of the next probe.
    fn next_probe(&self, now: Micros) -> Option<Micros> {
        let Some(probed) = self.probed else {
            return Some(now);
        };
        let wait = match self.state {
            State::Suspect => QUICK,
            State::Up if self.overdue(1).is_some_and(|due| due <= now) => QUICK,
            State::Up if self.busy(now) && self.capacity.seeks() => BUSY / 2,
            State::Up if self.busy(now) => BUSY,
            State::Up => self.rest,
            State::New | State::Down if !self.asks && !self.heard => return None,
            State::New | State::Down if self.answers.is_some() => BUSY,
            State::New | State::Down if now.saturating_sub(self.since) < DOWN_FOR => DOWN,
            State::New | State::Down if self.metered => REST_METERED,
            State::New | State::Down => DOWN_LONG,
        };
        let next = probed + wait;
        match self.overdue(1) {
            Some(due) if self.state == State::Up => Some(next.min(due.max(probed + QUICK))),
            _ => Some(next),
        }
    }

    /// Returns the time at which the path is down, if no answer comes.
    fn falls(&self) -> Option<Micros> {
        self.overdue(1).map(|due| due + MISSING)
    }

    /// Returns the time at which [`Path::tick`] has work, at the latest.
    pub fn next(&self, now: Micros) -> Option<Micros> {
        let verdict = match self.state {
            State::Up => self.overdue(2),
            State::Suspect => self.falls(),
            State::Down if self.answers.is_some() => self.falls(),
            State::New | State::Down => None,
        };
        [self.next_probe(now), verdict].into_iter().flatten().min()
    }

    /// Handles the passing of time. To be called until it returns `None`.
    pub fn tick(&mut self, now: Micros) -> Option<Action> {
        if self.state == State::Up && self.overdue(2).is_some_and(|due| due <= now) {
            self.state = State::Suspect;
        }
        if self.falls().is_some_and(|at| at <= now) {
            match self.state {
                State::Suspect => return Some(self.fall(now)),
                State::Down => self.answers = None,
                State::New | State::Up => {}
            }
        }
        self.next_probe(now)
            .is_some_and(|at| at <= now)
            .then_some(Action::Probe)
    }

    fn fall(&mut self, now: Micros) -> Action {
        self.hold = if self.fell && now - self.since < STEADY {
            (2 * self.hold).clamp(FIRST_HOLD, LONGEST_HOLD)
        } else {
            0
        };
        self.fell = true;
        self.state = State::Down;
        self.since = now;
        self.answers = None;
        self.outstanding.clear();
        self.before = None;
        Action::Down
    }
}
