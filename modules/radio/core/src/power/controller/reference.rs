//! The greatest power, to compare with.

use super::{Controller, Phase, RESTLESS};
use crate::power::log::{Entry, Reason};
use crate::power::stations::Known;
use crate::power::tally::Verdict;

/// More than this share of the former reference: things are better, and what failed may not.
const BETTER: f64 = 1.2;
/// A reference that others are compared with for the first time has a standard error of this share,
/// at most.
const SURE: f64 = 0.04;
/// Looks at the greatest power that find nothing become rarer: doubled this often at most.
const CALM: u32 = 5;

impl Controller {
    pub(super) fn look_at_top(&mut self, now: u64, reason: Reason) -> Entry {
        self.set(now, self.ladder.top(), Phase::Reference);
        self.entry(now, reason, None)
    }

    /// Whether what was seen at this power tells enough of each station to compare with it.
    pub(super) fn sure(&self) -> bool {
        let frames = self.settings.frames;
        let mut found = self.stations.each().filter_map(|it| it.tally.estimate());
        found.all(|it| it.frames >= frames && it.error <= SURE * it.throughput)
    }

    /// What was seen at the greatest power is what others are compared with, that it became worse
    /// only where that is `settled`. Says whether somebody gets much more than he did.
    pub(super) fn learn(&mut self, settled: bool) -> bool {
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

    pub(super) fn reference(&mut self, now: u64) -> Option<Entry> {
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
        // A short look at it does not tell that it became worse: rates have to climb first.
        let settled = self.optimum == self.ladder.top() || self.climbs >= self.since;
        // Whom a trial can hardly take anything from needs no sure reference.
        if settled && !must && self.loud(now).is_none() && !self.sure() {
            return None;
        }
        let better = self.learn(settled);
        if self.stations.each().all(|known| known.reference.is_none()) {
            // Too little is sent to tell anything: all of the power, and nobody loses.
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
        // What was held last, beside what it could be.
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
                // Twice within a while: whoever it is moves, and is followed too late from below.
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
}
