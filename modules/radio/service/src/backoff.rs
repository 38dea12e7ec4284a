//! Schedules another try of a failed action, without a clock of its own.

use std::time::{Duration, Instant};

/// The longest pause.
const LONGEST: Duration = Duration::from_secs(30);

/// Pauses between attempts, which grow until an attempt lasted as long as the longest pause.
#[derive(Debug)]
pub struct Backoff {
    rest: Duration,
    at: Option<Instant>,
    held: Option<Instant>,
}

impl Backoff {
    /// The first pause; each is twice the previous one.
    pub const SHORTEST: Duration = Duration::from_millis(200);

    /// Creates a backoff without a failure.
    pub fn new() -> Self {
        Self {
            rest: Self::SHORTEST,
            at: None,
            held: None,
        }
    }

    /// Records a failure, or the end of a success. Returns the pause before the next try.
    pub fn failed(&mut self, now: Instant) -> Duration {
        let held = self.held.take();
        if held.is_some_and(|since| now.duration_since(since) >= LONGEST) {
            self.rest = Self::SHORTEST;
        }
        let rest = self.rest;
        self.at = Some(now + rest);
        self.rest = (rest * 2).min(LONGEST);
        rest
    }

    /// Records a success.
    pub fn done(&mut self, now: Instant) {
        self.at = None;
        self.held = Some(now);
    }

    /// Returns true if a try is allowed now.
    pub fn may(&self, now: Instant) -> bool {
        self.at.is_none_or(|at| now >= at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rests_grow_and_are_short_again_after_something_that_held() {
        let begun = Instant::now();
        let mut again = Backoff::new();
        assert!(again.may(begun));
        let mut now = begun;
        let mut rests = Vec::new();
        for _ in 0..10 {
            again.failed(now);
            assert!(!again.may(now));
            let tenths = (1..).find(|n| again.may(now + Duration::from_millis(100 * n)));
            let rest = Duration::from_millis(100 * tenths.expect("one day"));
            rests.push(rest.as_millis());
            now += rest;
        }
        let grow = [
            200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000,
        ];
        assert_eq!(rests, grow);
        // A success that ends at once counts as a failure.
        again.done(now);
        assert!(again.may(now));
        again.failed(now + Backoff::SHORTEST);
        assert!(!again.may(now + LONGEST));
        // After a long success, a new attempt may follow soon.
        again.done(now);
        now += LONGEST;
        again.failed(now);
        assert!(again.may(now + Backoff::SHORTEST));
    }
}
