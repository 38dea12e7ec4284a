//! Weir's own search.

use super::ladder::{Ladder, NoLadder};
use super::log::{Entry, Reason};
use super::reading::{Mac, Reading};
use super::settings::Settings;
use super::stations::{Known, Stations};
use super::tally::Verdict;

/// More than this share of the former reference: things are better, and what failed may not.
const BETTER: f64 = 1.2;
/// Rate control takes so long to find its rates after power rose or something came between, ms: its
/// windows have 50 ms (net/mac80211/rc80211_minstrel_ht.c), and it tries others now and then.
const CLIMB: u64 = 1000;
/// Levels that a trial goes down at once, at most: while nothing fails they double.
const FARTHEST: usize = 4;
/// Where a trial loses next to nothing, so many standard errors are enough: if that
/// was chance, it is seen while it is held.
const LIKELY: f64 = 0.7;
/// What is held is judged by so many watches.
const LONG: u32 = 10;
/// Back-offs double this often at most.
const DOUBLE: u32 = 20;
/// Looks at the greatest power that find nothing become rarer: doubled this often at most.
const CALM: u32 = 5;

/// What is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// All of the power, for this reason.
    Full(Reason),
    /// The greatest power is looked at.
    Reference,
    /// A lower power is tried.
    Trial,
    /// What is enough is held.
    Hold,
}

/// How often a level failed, and when it is tried again.
#[derive(Clone, Copy, Debug, Default)]
struct Memory {
    failures: u32,
    until: u64,
}

/// Finds the least power at which nobody loses. Times are milliseconds of one clock.
#[derive(Clone, Debug)]
pub struct Controller {
    settings: Settings,
    ladder: Ladder,
    /// What is set, and since when.
    place: usize,
    since: u64,
    /// What is enough.
    optimum: usize,
    /// Levels from one trial down to the next.
    stride: usize,
    phase: Phase,
    /// Watches since the greatest power was looked at.
    watches: u32,
    /// Looks there, one after the other, that found nothing.
    calm: u32,
    watched: u64,
    /// Until then, rate control looks for its rates.
    climbs: u64,
    memory: Vec<Memory>,
    stations: Stations,
    /// Where to begin, by what was right before.
    prior: Option<usize>,
    begun: bool,
}

impl Controller {
    /// Of a radio with these powers, dBm.
    ///
    /// # Errors
    /// There is none.
    pub fn new(settings: Settings, powers: Vec<i32>) -> Result<Self, NoLadder> {
        let ladder = Ladder::new(powers)?;
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
            memory: vec![Memory::default(); ladder.powers().len()],
            stations: Stations::default(),
            prior: None,
            begun: false,
            ladder,
        })
    }

    /// What was enough at this time of former days: the search begins a level above it.
    pub fn expect(&mut self, power: Option<i32>) {
        self.prior = power.map(|power| self.ladder.place(power));
    }

    /// The power that is set, dBm.
    pub fn power(&self) -> i32 {
        self.ladder.power(self.place)
    }

    /// What was found to be enough, dBm; `None` as long as nothing was.
    pub fn enough(&self) -> Option<i32> {
        let found = matches!(self.phase, Phase::Hold | Phase::Trial);
        (found && self.optimum < self.ladder.top()).then(|| self.ladder.power(self.optimum))
    }

    /// Milliseconds until it wants to be asked again.
    pub fn soon(&self) -> u64 {
        match self.phase {
            Phase::Full(_) => self.settings.watch,
            Phase::Reference => (self.settings.reference / 3).max(1),
            Phase::Trial | Phase::Hold => (self.settings.watch / 3).max(1),
        }
    }

    /// A look at all stations. Gives what was decided; the power is to be set where it is another.
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
            if self.phase == Phase::Trial && self.optimum < self.ladder.top() {
                // What was tried is not enough; a wall is seen again by what is held.
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

    /// Much less arrives than did: all of the power, and nothing that was known is true any more.
    fn came_between(&mut self, now: u64, mac: Mac) -> Entry {
        for known in self.stations.each_mut() {
            known.reference = None;
        }
        self.optimum = self.ladder.top();
        self.calm = 0;
        self.climbs = now.saturating_add(CLIMB);
        let mut entry = self.look_at_top(now, Reason::Wall);
        entry.station = Some(mac);
        entry
    }

    fn look_at_top(&mut self, now: u64, reason: Reason) -> Entry {
        self.set(now, self.ladder.top(), Phase::Reference);
        self.entry(now, reason, None)
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

    fn reference(&mut self, now: u64) -> Option<Entry> {
        if now < self.climbs {
            self.stations.begin(now);
            self.watched = now;
            return None;
        }
        let (over, must) = self.watched(now, self.settings.reference);
        let frames = self.settings.frames;
        let few = |known: &Known| {
            let count = known.tally.sum().frames;
            count > 0 && count < frames
        };
        if !over || (self.stations.each().any(few) && !must) {
            return None;
        }
        let mut better = false;
        let certainty = self.settings.certainty;
        let settled = self.optimum == self.ladder.top() || self.climbs >= self.since;
        for known in self.stations.each_mut() {
            let Some(found) = known.tally.estimate().filter(|it| it.frames >= frames) else {
                continue;
            };
            better |= known
                .reference
                .is_some_and(|was| found.share(&was) > BETTER);
            // A short look at it does not tell that it became worse: rates have to climb first.
            let worse = !settled && known.reference.is_some_and(|was| found.share(&was) < 1.0);
            let same = known.reference.and_then(|was| was.with(&found, certainty));
            known.reference = match same {
                None if worse => known.reference,
                same => Some(same.unwrap_or(found)),
            };
        }
        if self.stations.each().all(|known| known.reference.is_none()) {
            // Too little is sent to tell anything: all of the power, and nobody loses.
            self.watched = now;
            for known in self.stations.each_mut() {
                known.tally = known.tally.onward();
            }
            return None;
        }
        if better {
            self.memory.fill(Memory::default());
            self.calm = 0;
        }
        self.watches = 0;
        if self.optimum == self.ladder.top() {
            let begin = self.prior.map_or(self.ladder.second(), |prior| prior + 1);
            let place = begin.min(self.ladder.second());
            return Some(self.down(now, place));
        }
        // What was held last, beside what it could be.
        let lost = self.stations.worst(&self.settings, |known| known.held);
        if let Some((mac, held, was, Verdict::Loses)) = lost {
            self.failed(now, self.optimum);
            self.optimum = self.ladder.top();
            self.calm = 0;
            let mut entry = self.down(now, self.ladder.second());
            entry.reason = Reason::Worse;
            (entry.station, entry.throughput) = (Some(mac), Some(held.throughput));
            entry.reference = Some(was.throughput);
            return Some(entry);
        }
        self.calm = (self.calm + 1).min(CALM);
        self.set(now, self.optimum, Phase::Hold);
        Some(self.entry(now, Reason::Return, None))
    }

    /// Tries a level, or the least above it that may be tried.
    fn down(&mut self, now: u64, place: usize) -> Entry {
        let top = self.ladder.top();
        let may = |place: &usize| self.memory[*place].until <= now;
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
        let found = found.map(|(mac, now, was, verdict)| {
            let keep = self.settings.keep;
            let likely = now.share(&was) >= 1.0 - (1.0 - keep) / 5.0
                && now.against(&was, keep, LIKELY) == Verdict::Keeps;
            match verdict {
                Verdict::Open if likely => (mac, now, was, Verdict::Keeps),
                verdict => (mac, now, was, verdict),
            }
        });
        let (verdict, told) = match found {
            Some((mac, now, was, Verdict::Open)) if must => {
                let enough = now.share(&was) >= self.settings.keep;
                let verdict = if enough {
                    Verdict::Keeps
                } else {
                    Verdict::Loses
                };
                (verdict, Some((mac, now, was)))
            }
            Some((_, _, _, Verdict::Open)) => return None,
            Some((mac, now, was, verdict)) => (verdict, Some((mac, now, was))),
            // Nobody was sent to, or to too few frames.
            None if must => (Verdict::Open, None),
            None => return None,
        };
        let reason = match verdict {
            Verdict::Keeps => {
                self.optimum = self.place;
                self.memory[self.place] = Memory::default();
                for known in self.stations.each_mut() {
                    known.held = known.tally.estimate();
                }
                let next = self.below(now);
                self.stride = (self.stride * 2).min(FARTHEST);
                match next {
                    Some(place) => self.set(now, place, Phase::Trial),
                    None => self.set(now, self.optimum, Phase::Hold),
                }
                Reason::Kept
            }
            Verdict::Loses => {
                self.failed(now, self.place);
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

    /// The level that is tried after this one was enough: a stride below, and above what failed.
    fn below(&self, now: u64) -> Option<usize> {
        let may = |place: &usize| self.memory[*place].until <= now;
        let all = (0..self.place).rev().take(self.stride);
        all.take_while(may).last()
    }

    /// What was tried is not enough: what is between it and what is, is tried, if something is.
    fn give_up_trial(&mut self, now: u64) {
        self.stride = 1;
        let between = self.place + (self.optimum - self.place) / 2;
        let may = between > self.place && self.memory[between].until <= now;
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
        let frames = self.settings.frames;
        for known in self.stations.each_mut() {
            if known.tally.sum().frames >= frames {
                known.held = known.tally.estimate();
            }
            // What was long ago is forgotten, few frames are added to what follows them.
            if self.watches.is_multiple_of(LONG) && known.tally.sum().frames >= frames {
                known.tally = known.tally.onward();
            }
        }
        let worst = self.stations.worst(&self.settings, |known| known.held);
        let lower = self.place < self.ladder.top();
        let lost = worst.filter(|it| it.3 == Verdict::Loses && lower);
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
        let below = self.below(now)?;
        self.set(now, below, Phase::Trial);
        Some(self.entry(now, Reason::Trial, None))
    }

    /// A level failed: the longer before it is tried again, the more often it did.
    fn failed(&mut self, now: u64, place: usize) {
        let memory = &mut self.memory[place];
        let times = memory.failures.min(DOUBLE);
        memory.failures += 1;
        let wait = self.settings.back_off << times;
        memory.until = now.saturating_add(wait.min(self.settings.back_off_most));
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
}
