//! Lag of a path's datagrams, in one direction.
//!
//! A stamp of the other end, subtracted from the local time, is the one-way delay plus the
//! difference of the two clocks. That difference is equal for all paths between the two ends: so
//! lags compare paths with one another, and a path with its past, but a single lag has no meaning.

use super::body::Micros;

/// Shortest validity of the least lag, microseconds. Two clocks drift apart by some 6 ms in twice
/// that time at most.
const HOLDS: Micros = 30_000_000;

/// Lag of one way of a path.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lag {
    last: Option<i64>,
    /// Mean variation from one lag to the next, microseconds.
    varies: i64,
    /// Least lag of this period, and of the one before.
    least: [Option<i64>; 2],
    period: Micros,
}

impl Lag {
    /// Adds a stamp `sent` of one clock, received at `received` of the other.
    pub fn add(&mut self, sent: Micros, received: Micros, now: Micros) {
        let lag = received.wrapping_sub(sent).cast_signed();
        if let Some(last) = self.last {
            let step = lag.saturating_sub(last).saturating_abs();
            self.varies = self
                .varies
                .saturating_add((step.saturating_sub(self.varies)) / 8);
        }
        self.last = Some(lag);
        if now >= self.period.saturating_add(HOLDS) {
            self.least = [None, self.least[0]];
            self.period = now;
        }
        self.least[0] = Some(self.least[0].map_or(lag, |least| least.min(lag)));
    }

    /// Returns the last lag, microseconds, with the difference of the clocks.
    pub fn last(&self) -> Option<i64> {
        self.last
    }

    /// Returns the variation, microseconds.
    pub fn varies(&self) -> Micros {
        self.varies.unsigned_abs()
    }

    /// Returns the delay of the last datagram beyond the least, microseconds: the wait in the
    /// path's queues.
    pub fn queue(&self) -> Micros {
        let least = self.least.iter().flatten().min();
        match (self.last, least) {
            (Some(last), Some(least)) => last.saturating_sub(*least).max(0).unsigned_abs(),
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clocks_do_not_matter() {
        for offset in [0, 1 << 40, u64::MAX - 5] {
            let mut lag = Lag::default();
            for (now, delay) in [(0, 10_000), (100_000, 12_000), (200_000, 35_000)] {
                lag.add(now, offset.wrapping_add(now + delay), now);
            }
            assert_eq!(lag.queue(), 25_000);
        }
    }

    #[test]
    fn a_longer_way_is_no_queue_for_ever() {
        let mut lag = Lag::default();
        lag.add(0, 10_000, 0);
        for second in 1..=61 {
            let now = second * 1_000_000;
            lag.add(now, now + 50_000, now);
        }
        assert_eq!(lag.queue(), 0);
    }
}
