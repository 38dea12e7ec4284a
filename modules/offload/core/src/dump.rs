//! A dump of one source of events.

use crate::time::Millis;

/// Time after which a dump without an end is requested again. A million connections take some
/// seconds on a slow router.
const PATIENCE: Millis = 60_000;

/// The state of the dumps of one source.
#[derive(Default)]
pub(crate) struct Dump {
    /// Time of the request, while the end is awaited.
    running: Option<Millis>,
    /// Events were lost meanwhile, so the dump shows not everything.
    again: bool,
    /// Number of the dump; reports from its start on carry this number.
    generation: u32,
    /// Time of the last request.
    last: Millis,
}

impl Dump {
    /// Asks for a dump. Returns true if the request has to go out now: the kernel answers a second
    /// request on the same socket with EBUSY, so another dump follows the one that runs.
    pub(crate) fn ask(&mut self, now: Millis) -> bool {
        if self.running.is_some() {
            self.again = true;
            return false;
        }
        self.running = Some(now);
        self.last = now;
        self.again = false;
        self.generation = self.generation.wrapping_add(1);
        true
    }

    /// Ends a dump. Returns true if this dump was requested; other dumps prove nothing about
    /// missing entries.
    pub(crate) fn end(&mut self) -> bool {
        self.running.take().is_some()
    }

    /// Gives up on a dump without an end. Returns true if there was one.
    pub(crate) fn give_up(&mut self, now: Millis) -> bool {
        let late = |since| now.saturating_sub(since) >= PATIENCE;
        let late = self.running.is_some_and(late);
        if late {
            self.running = None;
        }
        late
    }

    /// Events were lost while the dump ran.
    pub(crate) fn is_partial(&self) -> bool {
        self.again
    }

    /// Returns true if the end of a dump is pending.
    pub(crate) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Returns the number of the last dump.
    pub(crate) fn generation(&self) -> u32 {
        self.generation
    }

    /// Returns true if the last request is as old as this.
    pub(crate) fn rested(&self, pause: Millis, now: Millis) -> bool {
        now.saturating_sub(self.last) >= pause
    }
}
