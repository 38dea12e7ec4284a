//! Lower powers, and whether they are enough.

use super::{Controller, Memory, Phase};
use crate::power::log::{Entry, Reason};
use crate::power::reading::Mac;
use crate::power::tally::Verdict;

/// Levels that a trial goes down at once, at most: while nothing fails they double.
const FARTHEST: usize = 4;
/// Where a trial loses next to nothing, so many standard errors are enough: if that
/// was chance, it is seen while it is held.
const LIKELY: f64 = 0.7;
/// A station that is loud loses where it does by so many.
const SURELY: f64 = 2.5;
/// Where a comparison has a standard error of more than this share, one that failed by no more than
/// that tells little,
const DIM: f64 = 0.08;
/// and the level is tried again after this part of the time.
const SOON: u64 = 4;

impl Controller {
    /// Tries a level, or the least above it that may be tried.
    pub(super) fn down(&mut self, now: u64, place: usize) -> Entry {
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

    pub(super) fn trial(&mut self, now: u64) -> Option<Entry> {
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
                // It is lost to something else, more likely.
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
            // Nobody was sent to, or to too few frames.
            None if must => (Verdict::Open, None),
            None => return None,
        };
        let reason = match verdict {
            Verdict::Keeps => {
                // Where somebody moves, a level more than is enough now.
                self.optimum = self.place + usize::from(restless);
                self.memory[self.place] = Memory::default();
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
                self.bar(now, self.place, self.settings.back_off / part);
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
    pub(super) fn below(&self, now: u64) -> Option<usize> {
        let may = |place: &usize| self.memory[*place].until <= now;
        let all = (0..self.place).rev().take(self.stride);
        all.take_while(may).last()
    }

    /// What was tried is not enough: what is between it and what is, is tried, if something is.
    pub(super) fn give_up_trial(&mut self, now: u64) {
        self.stride = 1;
        let between = self.place + (self.optimum - self.place) / 2;
        let may = between > self.place && now >= self.restless && self.memory[between].until <= now;
        match may && self.optimum < self.ladder.top() {
            true => self.set(now, between, Phase::Trial),
            false => self.set(now, self.optimum, Phase::Hold),
        }
    }
}
