//! How soon a handshake may follow another. What leads to one is not authenticated: whoever sits on
//! the way could ask for them without end.

use std::time::{Duration, Instant};

/// Between two: at first, and at most.
const GAP: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(8)];
/// So many follow one another at the first gap, before it doubles: a partner that is being set up
/// is started a few times.
const FEW: u32 = 4;
/// A session that lasted so long shows that all is well.
const CALM: Duration = Duration::from_secs(30);

/// See the module. None was made yet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pace {
    last: Option<Instant>,
    /// How many followed one another, with no session that lasted.
    quick: u32,
}

impl Pace {
    /// How long the next has to wait, at this time.
    pub fn wait(&self, now: Instant) -> Duration {
        self.last.map_or(Duration::ZERO, |last| {
            (last + self.gap()).saturating_duration_since(now)
        })
    }

    /// One is made now.
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
