//! Rate limit of the packet path's captures: a token bucket whose tokens the packet path uses.

use std::time::Duration;

/// Fraction of a second's packets that may come at once: one in this many.
const BURST: u32 = 10;

/// Tokens granted in turns. Unused tokens of a grant count for the next grant.
#[derive(Debug)]
pub struct TokenBucket {
    rate: u32,
    /// Millionths of a packet.
    credit: u64,
    granted: u32,
}

impl TokenBucket {
    /// Returns a bucket for this many packets per second; full at first.
    pub fn new(rate: u32) -> Self {
        let mut bucket = Self {
            rate,
            credit: 0,
            granted: 0,
        };
        bucket.credit = u64::from(bucket.burst()) * 1_000_000;
        bucket
    }

    /// Returns the most packets between two grants.
    pub fn burst(&self) -> u32 {
        (self.rate / BURST).max(1)
    }

    /// Returns the largest credit, just short of one more packet: a low rate earns fractions.
    fn most(&self) -> u64 {
        u64::from(self.burst()) * 1_000_000 + 999_999
    }

    /// Returns the number of packets until the next grant, after `elapsed` since the last one, of
    /// which `left` were not used.
    pub fn grant(&mut self, elapsed: Duration, left: u32) -> u32 {
        let used = u64::from(self.granted.saturating_sub(left)) * 1_000_000;
        let micros = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX);
        let earned = micros.saturating_mul(u64::from(self.rate));
        self.credit = self
            .credit
            .saturating_sub(used)
            .saturating_add(earned)
            .min(self.most());
        self.granted = (self.credit / 1_000_000) as u32;
        self.granted
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TURN: Duration = Duration::from_millis(50);

    #[test]
    fn a_low_rate_is_kept_too() {
        // Three a second: a grant of 50 ms has less than one packet.
        let mut bucket = TokenBucket::new(3);
        let mut taken = 0;
        let mut left = 0;
        for turn in 0..200 {
            let granted = bucket.grant(if turn == 0 { Duration::ZERO } else { TURN }, left);
            taken += granted;
            left = 0;
        }
        // Ten seconds, and the first packet at once.
        assert!((30..=31).contains(&taken), "{taken}");
    }

    #[test]
    fn what_is_not_used_is_not_lost_and_not_hoarded() {
        let mut bucket = TokenBucket::new(100);
        assert_eq!(bucket.grant(Duration::ZERO, 0), 10);
        assert_eq!(bucket.grant(TURN, 10), 10);
        assert_eq!(bucket.grant(TURN, 4), 9);
        assert_eq!(bucket.grant(Duration::from_secs(3600), 9), 10);
    }

    proptest! {
        #[test]
        fn never_more_than_the_rate_and_a_burst(
            rate in 1..50_000u32, turns in proptest::collection::vec((0..200_000u64, 0..=u32::MAX), 0..100)
        ) {
            let mut bucket = TokenBucket::new(rate);
            let (mut used, mut time, mut granted) = (0u64, 0u64, 0u32);
            for (micros, part) in turns {
                let taken = (u64::from(granted) * u64::from(part) / u64::from(u32::MAX)) as u32;
                used += u64::from(taken);
                time += micros;
                granted = bucket.grant(Duration::from_micros(micros), granted - taken);
                prop_assert!(granted <= bucket.burst());
                let most = u64::from(bucket.burst()) + time * u64::from(rate) / 1_000_000;
                prop_assert!(used + u64::from(granted) <= most, "{used} {granted} {most}");
            }
        }
    }
}
