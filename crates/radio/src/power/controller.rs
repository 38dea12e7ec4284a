//! Weir's own search.

use std::collections::BTreeMap;

use super::ladder::{Ladder, NoLadder};
use super::log::{Entry, Reason};
use super::reading::{Counters, Mac, Reading, Station};
use super::settings::Settings;
use super::tally::{Estimate, Tally, Verdict};

/// A wall is looked for in pieces of so long, ms,
const PIECE: u64 = 100;
/// of so many frames,
const PIECE_FRAMES: u32 = 8;
/// and is one where less than this share of the reference arrives.
const WALL: f64 = 0.5;
/// More than this share of the former reference: things are better, and what failed may not.
const BETTER: f64 = 1.2;
/// Back-offs double this often at most.
const DOUBLE: u32 = 20;
/// Looks at the greatest power that find nothing become rarer: doubled this often at most.
const CALM: u32 = 3;

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

/// What is known of a station.
#[derive(Clone, Debug)]
struct Known {
    /// When it came.
    since: u64,
    counters: Counters,
    /// When something was sent to it last.
    sent: Option<u64>,
    /// At the power that is set, since what was queued before has gone.
    tally: Tally,
    /// The last piece of that.
    piece: Tally,
    /// What arrives at the greatest power.
    reference: Option<Estimate>,
    /// What arrived at the power that is held, when it was watched last.
    held: Option<Estimate>,
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
    phase: Phase,
    /// Watches since the greatest power was looked at.
    watches: u32,
    /// Looks there, one after the other, that found nothing.
    calm: u32,
    watched: u64,
    piece: u64,
    memory: Vec<Memory>,
    stations: BTreeMap<Mac, Known>,
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
            phase: Phase::Full(Reason::Begin),
            watches: 0,
            calm: 0,
            watched: 0,
            piece: 0,
            memory: vec![Memory::default(); ladder.powers().len()],
            stations: BTreeMap::new(),
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
        self.know(now, reading);
        if let Some((reason, mac)) = self.guard(now, reading) {
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
        for station in &reading.stations {
            if let Some(known) = self.stations.get_mut(&station.mac) {
                known.tally.look(station);
                known.piece.look(station);
            }
        }
        if let Some(mac) = self.wall(now) {
            for known in self.stations.values_mut() {
                known.reference = None;
            }
            self.failed(now, self.place);
            self.optimum = self.ladder.top();
            self.calm = 0;
            let mut entry = self.look_at_top(now, Reason::Wall);
            entry.station = Some(mac);
            return Some(entry);
        }
        match self.phase {
            Phase::Reference => self.reference(now),
            Phase::Trial => self.trial(now),
            Phase::Hold => self.hold(now),
            Phase::Full(_) => None,
        }
    }

    /// Who is there, and who is new.
    fn know(&mut self, now: u64, reading: &Reading) {
        self.stations
            .retain(|mac, _| reading.stations.iter().any(|station| station.mac == *mac));
        for station in &reading.stations {
            let counters = station.counters;
            let known = self.stations.get_mut(&station.mac);
            let more = known.as_ref().and_then(|it| counters.since(it.counters));
            if let (Some(known), Some(more)) = (known, more) {
                known.counters = counters;
                if more.frames > 0 {
                    known.sent = Some(now);
                }
                continue;
            }
            // Those that were there before weir are nobody new.
            let ago = match self.begun {
                true => 0,
                false => u64::from(station.connected).saturating_mul(1000),
            };
            let known = Known {
                since: now.saturating_sub(ago),
                counters,
                sent: None,
                tally: Tally::default(),
                piece: Tally::default(),
                reference: None,
                held: None,
            };
            self.stations.insert(station.mac, known);
        }
    }

    /// Why all of the power is needed, and whose sake it is.
    fn guard(&self, now: u64, reading: &Reading) -> Option<(Reason, Option<Mac>)> {
        let settings = &self.settings;
        let new = |station: &&Station| {
            let known = self.stations.get(&station.mac);
            known.is_some_and(|it| now.saturating_sub(it.since) < settings.newcomer)
        };
        if let Some(station) = reading.stations.iter().find(new) {
            return Some((Reason::Newcomer, Some(station.mac)));
        }
        let active = |mac: &Mac| self.active(now, mac);
        let lost = |station: &&Station| {
            active(&station.mac) && u64::from(station.silent) >= settings.silent
        };
        if let Some(station) = reading.stations.iter().find(lost) {
            return Some((Reason::Silent, Some(station.mac)));
        }
        let edge = |station: &&Station| {
            // 0 is what drivers say that do not know.
            let faint = station.ack_signal.filter(|&signal| signal != 0);
            active(&station.mac) && faint.is_some_and(|signal| signal < settings.floor)
        };
        if let Some(station) = reading.stations.iter().find(edge) {
            return Some((Reason::Edge, Some(station.mac)));
        }
        let idle = !self.stations.keys().any(active);
        idle.then_some((Reason::Idle, None))
    }

    /// Something was sent to it of late.
    fn active(&self, now: u64, mac: &Mac) -> bool {
        let sent = self.stations.get(mac).and_then(|known| known.sent);
        sent.is_some_and(|sent| now.saturating_sub(sent) < self.settings.silent)
    }

    /// Somebody to whom much less arrives than did, at a power that was enough.
    fn wall(&mut self, now: u64) -> Option<Mac> {
        if now.saturating_sub(self.piece) < PIECE {
            return None;
        }
        self.piece = now;
        let lower = self.place < self.ladder.top();
        let certainty = self.settings.certainty;
        let mut found = None;
        for (mac, known) in &mut self.stations {
            let piece = std::mem::take(&mut known.piece);
            known.piece = piece.onward();
            if !lower || piece.sum().frames < PIECE_FRAMES {
                continue;
            }
            let fell = piece
                .estimate()
                .zip(known.reference)
                .is_some_and(|(now, was)| {
                    now.throughput + certainty * now.error < WALL * was.throughput
                });
            if piece.unheard() || fell {
                found = found.or(Some(*mac));
            }
        }
        found
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
        let (over, must) = self.watched(now, self.settings.reference);
        let frames = self.settings.frames;
        let few = |known: &Known| {
            let count = known.tally.sum().frames;
            count > 0 && count < frames
        };
        if !over || (self.stations.values().any(few) && !must) {
            return None;
        }
        let mut better = false;
        for known in self.stations.values_mut() {
            let Some(found) = known.tally.estimate().filter(|it| it.frames >= frames) else {
                continue;
            };
            better |= known
                .reference
                .is_some_and(|was| found.share(&was) > BETTER);
            known.reference = Some(found);
        }
        if self
            .stations
            .values()
            .all(|known| known.reference.is_none())
        {
            // Too little is sent to tell anything: all of the power, and nobody loses.
            self.watched = now;
            for known in self.stations.values_mut() {
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
        let lost = self.worst(|known| known.held);
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
        self.set(now, place, Phase::Trial);
        self.entry(now, Reason::Trial, None)
    }

    fn trial(&mut self, now: u64) -> Option<Entry> {
        let (over, must) = self.watched(now, self.settings.watch);
        if !over {
            return None;
        }
        let found = self.worst(|known| known.tally.estimate());
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
                for known in self.stations.values_mut() {
                    known.held = known.tally.estimate();
                }
                let below = self.place.checked_sub(1);
                let may = below.filter(|&place| self.memory[place].until <= now);
                match may {
                    Some(place) => self.set(now, place, Phase::Trial),
                    None => self.set(now, self.optimum, Phase::Hold),
                }
                Reason::Kept
            }
            Verdict::Loses => {
                self.failed(now, self.place);
                self.set(now, self.optimum, Phase::Hold);
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

    fn hold(&mut self, now: u64) -> Option<Entry> {
        if !self.watched(now, self.settings.watch).0 {
            return None;
        }
        self.watched = now;
        self.watches += 1;
        let frames = self.settings.frames;
        for known in self.stations.values_mut() {
            // Few frames are added to what follows them.
            if known.tally.sum().frames >= frames {
                known.held = known.tally.estimate();
                known.tally = known.tally.onward();
            }
        }
        let lost = self.worst(|known| known.held);
        let lost = lost.is_some_and(|it| it.3 == Verdict::Loses) && self.place < self.ladder.top();
        if lost || self.watches >= self.settings.every.saturating_mul(1 << self.calm) {
            return Some(self.look_at_top(now, Reason::Reference));
        }
        let below = self.place.checked_sub(1)?;
        let may = self.memory[below].until <= now;
        may.then(|| {
            self.set(now, below, Phase::Trial);
            self.entry(now, Reason::Trial, None)
        })
    }

    /// The station that loses most, with what arrives there and its reference: of those that were
    /// sent enough to tell. `Open` where others cannot be told of yet.
    fn worst(
        &self,
        of: impl Fn(&Known) -> Option<Estimate>,
    ) -> Option<(Mac, Estimate, Estimate, Verdict)> {
        let settings = &self.settings;
        let told = self.stations.iter().filter_map(|(mac, known)| {
            let found = of(known).filter(|it| it.frames >= settings.frames)?;
            let was = known.reference?;
            let verdict = found.against(&was, settings.keep, settings.certainty);
            Some((*mac, found, was, verdict))
        });
        told.min_by(|a, b| {
            let rank = |verdict| match verdict {
                Verdict::Loses => 0,
                Verdict::Open => 1,
                Verdict::Keeps => 2,
            };
            let share = a.1.share(&a.2).total_cmp(&b.1.share(&b.2));
            rank(a.3).cmp(&rank(b.3)).then(share)
        })
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
            for known in self.stations.values_mut() {
                (known.tally, known.piece) = (Tally::default(), Tally::default());
            }
            (self.since, self.watched, self.piece) = (now, now, now);
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
        }
    }
}
