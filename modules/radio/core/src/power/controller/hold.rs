//! What is enough, as long as it is.

use super::{CLIMB, Controller, Phase};
use crate::power::log::{Entry, Reason};
use crate::power::tally::Verdict;

/// What is held is judged by so many watches.
const LONG: u32 = 10;

impl Controller {
    pub(super) fn hold(&mut self, now: u64) -> Option<Entry> {
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
            // What was long ago is forgotten, few frames are added to what follows them.
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

    /// All of the power is needed: what arrives meanwhile is what others are compared with.
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

    /// The level below, where a trial of it can change what is held: while it is restless that is
    /// a level more than is enough, so that the one below that has to be tried, too.
    fn worth_a_trial(&self, now: u64) -> Option<usize> {
        let below = self.below(now)?;
        let next = below.checked_sub(1);
        let changes = next.is_some_and(|place| self.memory[place].until <= now);
        (now >= self.restless || changes).then_some(below)
    }
}
