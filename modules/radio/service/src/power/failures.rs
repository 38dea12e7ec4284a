//! Failures of an access point that may end.

use std::time::{Duration, Instant};

use kernel::nl80211::Setting;

use super::super::backoff::Backoff;

/// Current failure, and the work it left undone.
#[derive(Debug)]
pub struct Failures {
    again: Backoff,
    fails: bool,
    /// Setting that must still be restored.
    pub owed: Option<Setting>,
}

impl Failures {
    /// Creates the record without a failure.
    pub fn new() -> Self {
        Self {
            again: Backoff::new(),
            fails: false,
            owed: None,
        }
    }

    /// Records a failure. Returns the pause, and true for the first failure of late.
    pub fn failed(&mut self, now: Instant) -> (Duration, bool) {
        self.fails = true;
        let rest = self.again.failed(now);
        (rest, rest == Backoff::SHORTEST)
    }

    /// Records a success. Returns true if it failed before.
    pub fn works(&mut self, now: Instant) -> bool {
        let failed = std::mem::take(&mut self.fails);
        if failed {
            self.again.done(now);
        }
        failed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_is_tried_more_and_more_seldom_and_told_once() {
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let mut failures = Failures::new();
        assert!(!failures.works(begin));
        assert_eq!(failures.failed(at(0)), (Backoff::SHORTEST, true));
        assert_eq!(failures.failed(at(1)), (2 * Backoff::SHORTEST, false));
        assert!(failures.works(at(2)));
        assert!(!failures.works(at(3)), "once");
        assert_eq!(failures.failed(at(4)), (4 * Backoff::SHORTEST, false));
        assert!(failures.works(at(5)));
        assert!(!failures.works(at(90)));
        assert_eq!(failures.failed(at(91)), (Backoff::SHORTEST, true));
    }
}
