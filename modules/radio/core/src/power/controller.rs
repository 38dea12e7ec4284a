//! Weir's own search.

mod hold;
mod reference;
mod trial;

use super::ladder::{Ladder, NoLadder};
use super::log::{Entry, Reason};
use super::reading::{Mac, Reading};
use super::settings::Settings;
use super::stations::Stations;

/// Rate control takes so long to find its rates after power rose or something came between, ms: its
/// windows have 50 ms (net/mac80211/rc80211_minstrel_ht.c), and it tries others now and then.
const CLIMB: u64 = 1000;
/// After somebody got less than he did, powers are chosen with care for so long, ms.
const RESTLESS: u64 = 8000;
/// Back-offs double this often at most.
const DOUBLE: u32 = 20;

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
    /// Until then, it is restless: something came between, or somebody moves.
    restless: u64,
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
            restless: 0,
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

    /// Whether there is nobody to send to.
    pub fn is_idle(&self) -> bool {
        self.phase == Phase::Full(Reason::Idle)
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
            self.stations.mislead(&mac, self.less(self.place));
            if self.phase == Phase::Trial {
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
        self.restless = now.saturating_add(RESTLESS);
        let mut entry = self.look_at_top(now, Reason::Wall);
        entry.station = Some(mac);
        entry
    }

    /// How many dB less than all of the power a level is.
    fn less(&self, place: usize) -> i32 {
        self.ladder.power(self.ladder.top()) - self.ladder.power(place)
    }

    /// The least level at which all would hear us loud. `None`: the greatest, or it is restless.
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

    /// A level failed: the longer before it is tried again, the more often it did.
    fn failed(&mut self, now: u64, place: usize) {
        self.bar(now, place, self.settings.back_off);
    }

    fn bar(&mut self, now: u64, place: usize, back_off: u64) {
        let memory = &mut self.memory[place];
        let times = memory.failures.min(DOUBLE);
        memory.failures += 1;
        let wait = back_off << times;
        memory.until = now.saturating_add(wait.min(self.settings.back_off_most));
    }

    /// Things are better: what failed may not, now.
    fn forget(&mut self) {
        self.memory.fill(Memory::default());
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
}
