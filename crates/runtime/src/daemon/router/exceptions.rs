//! Exceptions of routes: path MTUs and gateways of single destinations that the kernel learned.

use std::time::{Duration, Instant};

use kernel::io::Exceptions;
use tracing::{debug, info};

/// Reading takes at most one part in this many of the time.
const SHARE: u32 = 50;
/// Pause between two checks of the exceptions ([`Watch::changed`]).
const LOOK: Duration = Duration::from_secs(1);
/// Pause between two readings of exceptions that cannot be read each second. The proofs end each
/// second then, so a reading only shows whether it is quick again.
const REST: Duration = Duration::from_secs(60);
/// Number of consecutive failures that lead to this pause. A single reading may fail while many
/// routes come and go.
const FAILURES: u32 = 3;

/// The times of readings.
#[derive(Debug, Default)]
struct Pace {
    /// The next reading is not before.
    rests: Option<Instant>,
    /// Readings that failed in a row.
    failures: u32,
}

impl Pace {
    fn rests(&self, now: Instant) -> bool {
        self.rests.is_some_and(|until| now < until)
    }

    /// A reading began at this time, and took so long. Returns true if a pause came before it.
    fn read(&mut self, begun: Instant, took: Duration, failed: bool) -> bool {
        self.failures = match failed {
            true => self.failures.saturating_add(1),
            false => 0,
        };
        let rest = took.saturating_mul(SHARE);
        let until = match rest > LOOK || self.failures >= FAILURES {
            true => Some(begun + rest.max(REST)),
            false => None,
        };
        std::mem::replace(&mut self.rests, until).is_some()
    }
}

/// Watch of the exceptions: reads them, and reports changes.
pub(super) struct Watch {
    /// `None`: the kernel cannot list them.
    kernel: Option<Exceptions>,
    seen: Option<u64>,
    pace: Pace,
    /// The log has it that they cannot be read.
    said: bool,
}

impl Watch {
    pub fn open() -> Self {
        let kernel = Exceptions::open()
            .inspect_err(|error| debug!(%error, "cannot read exceptions of routes"))
            .ok();
        Self {
            kernel,
            seen: None,
            pace: Pace::default(),
            said: false,
        }
    }

    /// Returns true if exceptions changed since the last call, or may have; due every second.
    pub fn changed(&mut self) -> bool {
        let begun = Instant::now();
        if self.pace.rests(begun) {
            return true;
        }
        let Some(kernel) = &mut self.kernel else {
            return false;
        };
        let read = kernel.read();
        // After a pause, changes of the last second are unknown.
        let rested = self.pace.read(begun, begun.elapsed(), read.is_err());
        match read {
            Ok(now) => {
                let changed = self.seen.replace(now).is_some_and(|before| before != now);
                changed || rested
            }
            Err(error) => {
                debug!(%error, "cannot read exceptions of routes");
                if self.pace.failures >= FAILURES && !self.said {
                    self.said = true;
                    info!(%error, "cannot read exceptions of routes: proofs end each second");
                }
                true
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUICK: Duration = Duration::from_millis(1);

    #[test]
    fn a_slow_reading_is_made_once_a_minute() {
        let (mut pace, begun) = (Pace::default(), Instant::now());
        assert!(!pace.read(begun, QUICK, false));
        assert!(!pace.rests(begun));
        assert!(!pace.read(begun, Duration::from_millis(50), false));
        assert!(pace.rests(begun + Duration::from_secs(59)));
        assert!(!pace.rests(begun + REST));
        // Two percent of the time at most.
        let begun = begun + REST;
        assert!(
            pace.read(begun, Duration::from_secs(2), false),
            "a pause ended"
        );
        assert!(pace.rests(begun + Duration::from_secs(99)));
        // The reading is quick again.
        let begun = begun + Duration::from_secs(100);
        assert!(pace.read(begun, QUICK, false));
        assert!(!pace.rests(begun));
        assert!(!pace.read(begun, QUICK, false));
    }

    #[test]
    fn failures_in_a_row_make_a_pause() {
        let (mut pace, begun) = (Pace::default(), Instant::now());
        for failed in [true, true, false, true, true] {
            pace.read(begun, QUICK, failed);
            assert!(!pace.rests(begun));
        }
        pace.read(begun, QUICK, true);
        assert!(pace.rests(begun + Duration::from_secs(59)));
        // A failure after the pause is one in a row with those before it.
        let begun = begun + REST;
        assert!(pace.read(begun, QUICK, true));
        assert!(pace.rests(begun));
        pace.read(begun + REST, QUICK, false);
        assert!(!pace.rests(begun + REST));
    }
}
