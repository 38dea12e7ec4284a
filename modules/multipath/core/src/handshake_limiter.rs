//! Limits the rate of handshakes. Their causes are not authenticated: an attacker on the path could
//! trigger them without end.

use std::time::{Duration, Instant};

/// Pause between two handshakes: at first, and at most.
const GAP: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(8)];
/// Handshakes in a row at the first gap, before it doubles: a partner is restarted a few times
/// while it is set up.
const FEW: u32 = 4;
/// Lifetime of a session that shows that all is well.
const CALM: Duration = Duration::from_secs(30);

/// See the module. Begins without a handshake.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pace {
    last: Option<Instant>,
    /// Number of handshakes in a row, without a session that lasted.
    quick: u32,
}

impl Pace {
    /// Returns how long the next handshake has to wait.
    pub fn wait(&self, now: Instant) -> Duration {
        self.last.map_or(Duration::ZERO, |last| {
            (last + self.gap()).saturating_duration_since(now)
        })
    }

    /// Notes a handshake.
    pub fn made(&mut self, now: Instant) {
        let lasted = self.last.map(|last| now.duration_since(last));
        self.quick = match lasted {
            Some(lasted) if lasted < CALM => self.quick.saturating_add(1),
            _ => 0,
        };
        self.last = Some(now);
    }

    fn gap(&self) -> Duration {
        let doubled = 2u32.saturating_pow(self.quick.saturating_add(1).saturating_sub(FEW));
        GAP[0].saturating_mul(doubled).min(GAP[1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handshakes_that_are_asked_for_all_the_time_become_rare() {
        let (mut pace, begin) = (Pace::default(), Instant::now());
        let mut now = begin;
        let mut at = Vec::new();
        for _ in 0..9 {
            now += pace.wait(now);
            pace.made(now);
            at.push(now.duration_since(begin).as_secs());
        }
        assert_eq!(at, [0, 1, 2, 3, 4, 6, 10, 18, 26]);
    }

    #[test]
    fn a_session_that_lasted_is_followed_at_once() {
        let (mut pace, begin) = (Pace::default(), Instant::now());
        for second in [0, 1, 2, 3, 4] {
            pace.made(begin + Duration::from_secs(second));
        }
        let later = begin + Duration::from_secs(4) + CALM;
        assert_eq!(pace.wait(later), Duration::ZERO);
        pace.made(later);
        assert_eq!(pace.wait(later), GAP[0]);
    }
}
