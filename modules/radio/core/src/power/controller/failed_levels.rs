//! Levels that failed, and are not tried for a while.

use crate::power::settings::Settings;

/// Back-offs double this often at most.
const DOUBLE: u32 = 20;

/// Failures of a level, and the time of its next trial.
#[derive(Clone, Copy, Debug, Default)]
struct Memory {
    failures: u32,
    until: u64,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct FailedLevels(Vec<Memory>);

impl FailedLevels {
    /// Creates a table of `levels` levels without a failure.
    pub fn new(levels: usize) -> Self {
        Self(vec![Memory::default(); levels])
    }

    /// Returns true if a level may be tried.
    pub fn may(&self, now: u64, place: usize) -> bool {
        self.0[place].until <= now
    }

    /// Bars a failed level: each failure doubles the time; `part` divides it.
    pub fn bar(&mut self, now: u64, place: usize, settings: &Settings, part: u64) {
        let memory = &mut self.0[place];
        let times = memory.failures.min(DOUBLE);
        memory.failures += 1;
        let wait = (settings.back_off / part) << times;
        memory.until = now.saturating_add(wait.min(settings.back_off_most));
    }

    /// Records a sufficient level.
    pub fn free(&mut self, place: usize) {
        self.0[place] = Memory::default();
    }

    /// Permits trials of all levels.
    pub fn clear(&mut self) {
        self.0.fill(Memory::default());
    }
}
