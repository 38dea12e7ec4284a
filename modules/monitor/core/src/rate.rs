//! Bits a second, smoothed.

use crate::count::Counts;

/// Weight of a new measurement, in parts of [`WHOLE`]: after three measurements most of the old
/// value is gone.
const NEW: u64 = 2;
const WHOLE: u64 = 3;

/// Bits a second both ways, smoothed over some seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rate {
    /// Rate from the station.
    pub sent: u64,
    /// Rate to the station.
    pub received: u64,
    /// Bytes since the last turn: from the station, to it.
    fresh: [u64; 2],
}

impl Rate {
    /// Adds newly counted traffic.
    pub fn add(&mut self, more: Counts) {
        self.fresh[0] += more.sent.bytes;
        self.fresh[1] += more.received.bytes;
    }

    /// Updates the rate; `millis` milliseconds have passed since the last call.
    pub fn turn(&mut self, millis: u64) {
        let fresh = std::mem::take(&mut self.fresh);
        let smooth = |old: u64, octets: u64| {
            let bits = octets.saturating_mul(8_000) / millis.max(1);
            let mixed = (old * (WHOLE - NEW) + bits.saturating_mul(NEW)) / WHOLE;
            // Without traffic the rate drops to 0, and does not fade for ever.
            if octets == 0 && mixed < 1_000 {
                0
            } else {
                mixed
            }
        };
        self.sent = smooth(self.sent, fresh[0]);
        self.received = smooth(self.received, fresh[1]);
    }

    /// Returns this rate without a part of it.
    #[must_use]
    pub fn without(&self, part: &Self) -> Self {
        Self {
            sent: self.sent.saturating_sub(part.sent),
            received: self.received.saturating_sub(part.received),
            fresh: [0; 2],
        }
    }

    /// Returns true if there is neither traffic nor uncounted traffic.
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Count;

    #[test]
    fn settles_and_fades() {
        let mut rate = Rate::default();
        for _ in 0..10 {
            rate.add(Counts {
                sent: Count {
                    packets: 1,
                    bytes: 125_000,
                },
                received: Count::default(),
            });
            rate.turn(1000);
        }
        assert!((999_000..=1_000_000).contains(&rate.sent), "{}", rate.sent);
        for _ in 0..10 {
            rate.turn(1000);
        }
        assert!(rate.is_zero());
    }
}
