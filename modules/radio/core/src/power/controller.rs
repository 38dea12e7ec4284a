//! Weir's own search.

mod failed_levels;

use super::levels::{NoPowers, PowerLevels};
use super::log::{Entry, Reason};
use super::reading::{Mac, Reading};
use super::settings::Settings;
use super::stations::{StationState, Stations};
use super::tally::Verdict;
use failed_levels::FailedLevels;

/// Time that rate control needs to find its rates after power rose or conditions changed, ms: its
/// windows have 50 ms (net/mac80211/rc80211_minstrel_ht.c), and rate control tries others
/// occasionally.
const CLIMB: u64 = 1000;
/// After the throughput of a station fell, powers are chosen with care for this time, ms.
const RESTLESS: u64 = 8000;
/// Growth over the old reference above which conditions have improved, and failed levels may work.
const BETTER: f64 = 1.2;
/// A reference that others are compared with for the first time has a standard error of this share,
/// at most.
const SURE: f64 = 0.04;
/// Maximum number of doublings of the interval, after tests of the greatest power without a result.
const CALM: u32 = 5;
/// Maximum number of levels of one step down: while nothing fails, steps double.
const FARTHEST: usize = 4;
/// If a trial loses almost nothing, this number of standard errors suffices: the error shows while
/// the level is held.
const LIKELY: f64 = 0.7;
/// Standard errors that prove a loss for a station with a strong signal.
const SURELY: f64 = 2.5;
/// If the standard error of a comparison exceeds this share, a failure by no more than the error
/// proves little,
const DIM: f64 = 0.08;
/// and the level is tried again after this part of the time.
const SOON: u64 = 4;
/// Number of watches for the judgement of a held level.
const LONG: u32 = 10;

/// Phase of the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// All of the power, for this reason.
    Full(Reason),
    /// The greatest power is measured.
    Reference,
    /// A lower power is tried.
    Trial,
    /// The sufficient power is held.
    Hold,
}

/// Finds the least power at which no station loses. Times are milliseconds of one clock.
#[derive(Clone, Debug)]
pub struct Controller {
    settings: Settings,
    ladder: PowerLevels,
    /// Current level, and the time at which it was set.
    place: usize,
    since: u64,
    /// Sufficient level.
    optimum: usize,
    /// Levels from one trial down to the next.
    stride: usize,
    phase: Phase,
    /// Watches since the greatest power was measured.
    watches: u32,
    /// Consecutive measurements of the greatest power without a result.
    calm: u32,
    watched: u64,
    /// Time until which rate control adapts its rates.
    climbs: u64,
    /// End of the restless time: something interfered, or a station moves.
    restless: u64,
    barred: FailedLevels,
    stations: Stations,
    /// Level to begin with, from earlier days.
    prior: Option<usize>,
    begun: bool,
}

impl Controller {
    /// Creates a search for a radio with these powers, dBm.
    ///
    /// # Errors
    /// The list of powers is empty.
    pub fn new(settings: Settings, powers: Vec<i32>) -> Result<Self, NoPowers> {
        let ladder = PowerLevels::new(powers)?;
        Ok(Self {
            settings,
            place: ladder.top(),
            since: 0,
            optimum: ladder.top(),
            stride: 1,
            phase: Phase::Full(Reason::Begin),
            watches: 0,
            calm: 0,
            watched: 0,
            climbs: 0,
            restless: 0,
            barred: FailedLevels::new(ladder.powers().len()),
            stations: Stations::default(),
            prior: None,
            begun: false,
            ladder,
        })
    }

    /// Sets the earlier sufficient power for this time: the search begins a level above it.
    pub fn expect(&mut self, power: Option<i32>) {
        self.prior = power.map(|power| self.ladder.place(power));
    }

    /// Returns the present power, dBm.
    pub fn power(&self) -> i32 {
        self.ladder.power(self.place)
    }

    /// Returns the sufficient power, dBm; `None` until one is found.
    pub fn enough(&self) -> Option<i32> {
        let found = matches!(self.phase, Phase::Hold | Phase::Trial);
        (found && self.optimum < self.ladder.top()).then(|| self.ladder.power(self.optimum))
    }

    /// Returns true if no station needs frames.
    pub fn is_idle(&self) -> bool {
        self.phase == Phase::Full(Reason::Idle)
    }

    /// Returns the milliseconds until the next step is due.
    pub fn soon(&self) -> u64 {
        match self.phase {
            Phase::Full(_) => self.settings.watch,
            Phase::Reference => (self.settings.reference / 3).max(1),
            Phase::Trial | Phase::Hold => (self.settings.watch / 3).max(1),
        }
    }

    /// Handles a reading of all stations. Returns the decision; the caller sets the power if it
    /// differs.
    pub fn step(&mut self, now: u64, reading: &Reading) -> Option<Entry> {
        let mut entry = self.decide(now, reading)?;
        entry.rate = entry.station.and_then(|mac| reading.rate(mac));
        Some(entry)
    }

    fn decide(&mut self, now: u64, reading: &Reading) -> Option<Entry> {
        self.stations.know(now, reading, self.begun);
        if let Some((reason, mac)) = self.stations.guard(now, reading, &self.settings) {
            let same = self.phase == Phase::Full(reason) && self.begun;
            self.begun = true;
            self.optimum = self.ladder.top();
            self.set(now, self.ladder.top(), Phase::Full(reason));
            return (!same).then(|| self.entry(now, reason, mac));
        }
        self.begun = true;
        if let Phase::Full(_) = self.phase {
            return Some(self.look_at_top(now, Reason::Reference));
        }
        if now < self.since.saturating_add(self.settings.settle) {
            return None;
        }
        self.stations.look(reading);
        let lower = self.place < self.ladder.top();
        let wall = self.stations.wall(now, lower, self.settings.certainty);
        if let Some(mac) = wall {
            self.failed(now, self.place);
            self.stations.mislead(&mac, self.less(self.place));
            if self.phase == Phase::Trial {
                // The tried level does not suffice; the held level shows the wall again.
                self.give_up_trial(now);
                return Some(self.entry(now, Reason::Lost, Some(mac)));
            }
            return Some(self.came_between(now, mac));
        }
        match self.phase {
            Phase::Reference => self.reference(now),
            Phase::Trial => self.trial(now),
            Phase::Hold => self.hold(now),
            Phase::Full(_) => None,
        }
    }

    /// Handles a sharp fall of throughput: returns to full power and drops all earlier results.
    fn came_between(&mut self, now: u64, mac: Mac) -> Entry {
        for known in self.stations.each_mut() {
            known.reference = None;
        }
        self.optimum = self.ladder.top();
        self.calm = 0;
        self.climbs = now.saturating_add(CLIMB);
        self.restless = now.saturating_add(RESTLESS);
        let mut entry = self.look_at_top(now, Reason::Wall);
        entry.station = Some(mac);
        entry
    }

    /// Returns the difference between the greatest power and a level, dB.
    fn less(&self, place: usize) -> i32 {
        self.ladder.power(self.ladder.top()) - self.ladder.power(place)
    }

    /// Returns the lowest level at which all stations would receive a strong signal. `None`: the
    /// greatest level, or the level is unsteady.
    fn loud(&self, now: u64) -> Option<usize> {
        let room = self.stations.room(now, &self.settings)?;
        let loud = |place: &usize| now >= self.restless && self.less(*place) <= room;
        (0..self.ladder.top()).find(loud)
    }

    /// Watches for so long, at least. Says whether that is over, and whether it has to be.
    fn watched(&self, now: u64, time: u64) -> (bool, bool) {
        let begin = self
            .since
            .saturating_add(self.settings.settle)
            .max(self.watched);
        let passed = now.saturating_sub(begin);
        (passed >= time, passed >= self.settings.longest)
    }

    /// Records a failed level: the interval until its next trial grows with each failure.
    fn failed(&mut self, now: u64, place: usize) {
        self.barred.bar(now, place, &self.settings, 1);
    }

    /// Handles improved conditions: failed levels may work now.
    fn forget(&mut self) {
        self.barred.clear();
        self.calm = 0;
    }

    fn set(&mut self, now: u64, place: usize, phase: Phase) {
        if place != self.place || phase != self.phase {
            self.stations.begin(now);
            (self.since, self.watched) = (now, now);
        }
        (self.place, self.phase) = (place, phase);
    }

    fn entry(&self, at: u64, reason: Reason, station: Option<Mac>) -> Entry {
        Entry {
            at,
            power: self.power(),
            reason,
            station,
            throughput: None,
            reference: None,
            rate: None,
        }
    }

    fn look_at_top(&mut self, now: u64, reason: Reason) -> Entry {
        self.set(now, self.ladder.top(), Phase::Reference);
        self.entry(now, reason, None)
    }

    /// Returns true if the watch at this power has enough data of each station for a comparison.
    fn sure(&self) -> bool {
        let frames = self.settings.frames;
        let mut found = self.stations.each().filter_map(|it| it.tally.estimate());
        found.all(|it| it.frames >= frames && it.error <= SURE * it.throughput)
    }

    /// Takes the watch at the greatest power as the reference; a lower value only if `settled`.
    /// Returns true if a station gets much more than before.
    fn learn(&mut self, settled: bool) -> bool {
        let mut better = false;
        let (frames, certainty) = (self.settings.frames, self.settings.certainty);
        for known in self.stations.each_mut() {
            let Some(found) = known.tally.estimate().filter(|it| it.frames >= frames) else {
                continue;
            };
            let was = known.reference;
            better |= was.is_some_and(|was| found.share(&was) > BETTER);
            let worse = !settled && was.is_some_and(|was| found.share(&was) < 1.0);
            known.reference = match was.and_then(|was| was.with(&found, certainty)) {
                None if worse => was,
                same => Some(same.unwrap_or(found)),
            };
        }
        better
    }

    fn reference(&mut self, now: u64) -> Option<Entry> {
        if now < self.climbs {
            self.stations.begin(now);
            self.watched = now;
            return None;
        }
        let (over, must) = self.watched(now, self.settings.reference);
        let frames = self.settings.frames;
        let few = |known: &StationState| {
            let count = known.tally.sum().frames;
            count > 0 && count < frames
        };
        if !over || (self.stations.each().any(few) && !must) {
            return None;
        }
        // A short measurement does not prove a loss: rates have to adapt first.
        let settled = self.optimum == self.ladder.top() || self.climbs >= self.since;
        // A station at no risk from a trial needs no precise reference.
        if settled && !must && self.loud(now).is_none() && !self.sure() {
            return None;
        }
        let better = self.learn(settled);
        if self.stations.each().all(|known| known.reference.is_none()) {
            // Too few frames for any estimate: full power, and no station loses.
            self.watched = now;
            for known in self.stations.each_mut() {
                known.tally = known.tally.onward();
            }
            return None;
        }
        if better {
            self.forget();
        }
        self.watches = 0;
        if self.optimum == self.ladder.top() {
            let second = self.ladder.second();
            let loud = || self.loud(now).unwrap_or(second);
            let place = self.prior.map_or_else(loud, |prior| prior + 1).min(second);
            return Some(self.down(now, place));
        }
        // The last result of the held level, compared with its potential.
        let lost = self.stations.worst(&self.settings, |known| known.held);
        let keep = self.settings.keep;
        let lost = lost.filter(|(_, held, was, verdict)| match verdict {
            Verdict::Loses => true,
            Verdict::Open => now < self.restless && held.share(was) < keep,
            Verdict::Keeps => false,
        });
        if let Some((mac, held, was, _)) = lost {
            self.failed(now, self.optimum);
            let again = now < self.restless;
            self.restless = now.saturating_add(RESTLESS);
            self.optimum = self.ladder.top();
            self.calm = 0;
            let second = self.ladder.second();
            if again {
                // Twice within a while: a station moves, and a search from below follows too late.
                self.failed(now, second);
            }
            let mut entry = self.down(now, second);
            entry.reason = Reason::Worse;
            (entry.station, entry.throughput) = (Some(mac), Some(held.throughput));
            entry.reference = Some(was.throughput);
            return Some(entry);
        }
        if now >= self.restless {
            self.calm = (self.calm + 1).min(CALM);
        }
        self.set(now, self.optimum, Phase::Hold);
        Some(self.entry(now, Reason::Return, None))
    }

    /// Tries a level, or the least above it that may be tried.
    fn down(&mut self, now: u64, place: usize) -> Entry {
        let top = self.ladder.top();
        let may = |place: &usize| self.barred.may(now, *place);
        let place = (place..top).find(may).unwrap_or(top);
        if place == top {
            self.set(now, top, Phase::Hold);
            return self.entry(now, Reason::Kept, None);
        }
        self.stride = 1;
        self.set(now, place, Phase::Trial);
        self.entry(now, Reason::Trial, None)
    }

    fn trial(&mut self, now: u64) -> Option<Entry> {
        let (over, must) = self.watched(now, self.settings.watch);
        if !over {
            return None;
        }
        let found = self
            .stations
            .worst(&self.settings, |known| known.tally.estimate());
        let restless = now < self.restless;
        let certainty = self.settings.certainty;
        let keep = self.settings.keep;
        let loud = |mac: &Mac| !restless && self.stations.is_loud(mac, self.less(self.place));
        let found = found.map(|(mac, now, was, verdict)| {
            let likely = !restless
                && now.share(&was) >= 1.0 - (1.0 - keep) / 5.0
                && now.against(&was, keep, LIKELY) == Verdict::Keeps;
            let loud = loud(&mac);
            let unlikely = !loud && now.against(&was, keep, LIKELY) == Verdict::Loses;
            let surely = now.against(&was, keep, SURELY) == Verdict::Loses;
            match verdict {
                // Another cause of the loss is more likely.
                Verdict::Loses if loud && !must && !surely => (mac, now, was, Verdict::Open),
                Verdict::Open if likely => (mac, now, was, Verdict::Keeps),
                Verdict::Open if unlikely => (mac, now, was, Verdict::Loses),
                verdict => (mac, now, was, verdict),
            }
        });
        let dim = found.as_ref().is_some_and(|(mac, now, was, verdict)| {
            let error = now.error.hypot(keep * was.error);
            let loses = now.against(was, keep, certainty) == Verdict::Loses;
            let open = *verdict == Verdict::Open;
            !restless && (open || loud(mac) || !loses && error > DIM * was.throughput)
        });
        let (verdict, told) = match found {
            Some((mac, now, was, Verdict::Open)) if must => {
                let enough = loud(&mac) || !restless && now.share(&was) >= keep;
                let verdict = if enough {
                    Verdict::Keeps
                } else {
                    Verdict::Loses
                };
                (verdict, Some((mac, now, was)))
            }
            Some((_, _, _, Verdict::Open)) => return None,
            Some((mac, now, was, verdict)) => (verdict, Some((mac, now, was))),
            // No station had traffic, or too few frames.
            None if must => (Verdict::Open, None),
            None => return None,
        };
        let reason = match verdict {
            Verdict::Keeps => {
                // If a station moves, a level more is sufficient now.
                self.optimum = self.place + usize::from(restless);
                self.barred.free(self.place);
                for known in self.stations.each_mut() {
                    known.held = known.tally.estimate();
                    // All of the power would give no less.
                    let more = known.held.zip(known.reference).is_some_and(|(now, was)| {
                        now.against(&was, 1.0, certainty) == Verdict::Keeps
                    });
                    if more {
                        known.reference = known.held;
                    }
                }
                let next = self.below(now);
                self.stride = match restless {
                    true => 1,
                    false => (self.stride * 2).min(FARTHEST),
                };
                match next {
                    Some(place) => self.set(now, place, Phase::Trial),
                    None => self.set(now, self.optimum, Phase::Hold),
                }
                Reason::Kept
            }
            Verdict::Loses => {
                if let Some((mac, ..)) = &told {
                    self.stations.mislead(mac, self.less(self.place));
                }
                let part = if dim { SOON } else { 1 };
                self.barred.bar(now, self.place, &self.settings, part);
                self.give_up_trial(now);
                Reason::Lost
            }
            Verdict::Open => {
                self.set(now, self.optimum, Phase::Hold);
                Reason::Return
            }
        };
        let mut entry = self.entry(now, reason, told.map(|told| told.0));
        entry.throughput = told.map(|told| told.1.throughput);
        entry.reference = told.map(|told| told.2.throughput);
        Some(entry)
    }

    /// Returns the level to try after this one was sufficient: a step below, and above failed
    /// levels.
    fn below(&self, now: u64) -> Option<usize> {
        let may = |place: &usize| self.barred.may(now, *place);
        let all = (0..self.place).rev().take(self.stride);
        all.take_while(may).last()
    }

    /// Handles a tried level that does not suffice: tries the level halfway to the sufficient one,
    /// if any.
    fn give_up_trial(&mut self, now: u64) {
        self.stride = 1;
        let between = self.place + (self.optimum - self.place) / 2;
        let may = between > self.place && now >= self.restless && self.barred.may(now, between);
        match may && self.optimum < self.ladder.top() {
            true => self.set(now, between, Phase::Trial),
            false => self.set(now, self.optimum, Phase::Hold),
        }
    }

    fn hold(&mut self, now: u64) -> Option<Entry> {
        if !self.watched(now, self.settings.watch).0 {
            return None;
        }
        self.watched = now;
        self.watches += 1;
        if self.place == self.ladder.top() {
            return self.hold_all(now);
        }
        let frames = self.settings.frames;
        for known in self.stations.each_mut() {
            if known.tally.sum().frames >= frames {
                known.held = known.tally.estimate();
            }
            // Old watches are forgotten; few frames are added to the next watch.
            if self.watches.is_multiple_of(LONG) && known.tally.sum().frames >= frames {
                known.tally = known.tally.onward();
            }
        }
        let worst = self.stations.worst(&self.settings, |known| known.held);
        let lost = worst.filter(|it| it.3 == Verdict::Loses);
        if let Some((mac, ..)) = lost {
            if self.stations.gave_up(&mac) {
                self.failed(now, self.place);
                return Some(self.came_between(now, mac));
            }
            self.climbs = now.saturating_add(CLIMB);
        }
        if lost.is_some() || self.watches >= self.settings.every.saturating_mul(1 << self.calm) {
            return Some(self.look_at_top(now, Reason::Reference));
        }
        self.stride = 1;
        let below = self.worth_a_trial(now)?;
        self.set(now, below, Phase::Trial);
        Some(self.entry(now, Reason::Trial, None))
    }

    /// Holds full power, which is needed: throughput meanwhile is the reference for other powers.
    fn hold_all(&mut self, now: u64) -> Option<Entry> {
        if !self.sure() && self.watches < LONG {
            return None;
        }
        self.stride = 1;
        let below = self.worth_a_trial(now);
        if below.is_none() && self.watches < LONG {
            return None;
        }
        if self.learn(true) {
            self.forget();
        }
        self.watches = 0;
        for known in self.stations.each_mut() {
            known.tally = known.tally.onward();
        }
        self.set(now, below?, Phase::Trial);
        Some(self.entry(now, Reason::Trial, None))
    }

    /// Returns the level below, if a trial of it can change the held level: while that is unsteady,
    /// the held level is one above the sufficient one, so the level below the sufficient one has to
    /// be tried, too.
    fn worth_a_trial(&self, now: u64) -> Option<usize> {
        let below = self.below(now)?;
        let next = below.checked_sub(1);
        let changes = next.is_some_and(|place| self.barred.may(now, place));
        (now >= self.restless || changes).then_some(below)
    }
}
