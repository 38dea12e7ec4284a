//! Evenly spaced packets, in bursts of a stated size at most.
//!
//! A sender that lost its processor has to catch up, or it never reaches its rate. Catching up at
//! once would measure the router's queues. So [`Pace`] catches up on [`DEBT`] at most, a quarter
//! above the rate at most, and [`Pace::burst`] packets at a time at most. Older packets are not
//! sent, and the trial shows them as missing.

/// Nanoseconds of packets that are caught up on.
pub const DEBT: u64 = 10_000_000;
/// Nanoseconds of packets that may be sent at once, if that exceeds [`LEAST_BURST`] packets.
const BURST: f64 = 250_000.0;
/// Bounds of the packets that may be sent at once.
const LEAST_BURST: f64 = 16.0;
const MOST_BURST: f64 = 256.0;
/// Factor on the rate while catching up.
const HASTE: f64 = 1.25;

/// Pace of a single sending thread.
#[derive(Clone, Debug)]
pub struct Pace {
    /// Packets a nanosecond.
    rate: f64,
    burst: f64,
    last: u64,
    /// Packets that the rate allows by now.
    owed: f64,
    /// Packets that the rate times [`HASTE`] allows by now.
    bucket: f64,
}

impl Pace {
    /// Starts at time 0, with a rate in packets a second.
    pub fn new(rate: f64) -> Self {
        let rate = rate / 1e9;
        Self {
            rate,
            burst: (rate * BURST).clamp(LEAST_BURST, MOST_BURST),
            last: 0,
            owed: 0.0,
            bucket: 1.0,
        }
    }

    /// Returns the most packets at once.
    pub fn burst(&self) -> u32 {
        self.burst as u32
    }

    /// Returns the packets to send `now` nanoseconds after the start, and books them as sent.
    pub fn due(&mut self, now: u64) -> u32 {
        let passed = now.saturating_sub(self.last) as f64;
        self.last = self.last.max(now);
        let debt = (self.rate * DEBT as f64).max(self.burst);
        self.owed = (self.owed + passed * self.rate).min(debt);
        self.bucket = (self.bucket + passed * self.rate * HASTE).min(self.burst);
        let due = self.owed.min(self.bucket).floor().max(0.0);
        self.owed -= due;
        self.bucket -= due;
        due as u32
    }

    /// Books packets as due again that could not be sent.
    pub fn give_back(&mut self, packets: u32) {
        self.owed += f64::from(packets);
        self.bucket += f64::from(packets);
    }

    /// Returns the nanoseconds until the next packet is due.
    pub fn wait(&self) -> u64 {
        let owed = (1.0 - self.owed).max(0.0) / self.rate;
        let bucket = (1.0 - self.bucket).max(0.0) / (self.rate * HASTE);
        owed.max(bucket).ceil() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(pace: &mut Pace, times: impl Iterator<Item = u64>) -> (u64, u32) {
        let due: Vec<_> = times.map(|time| pace.due(time)).collect();
        (
            due.iter().map(|due| u64::from(*due)).sum(),
            due.into_iter().max().unwrap_or(0),
        )
    }

    #[test]
    fn sends_what_was_asked_for() {
        for rate in [1.0, 100.0, 14_881.0, 1e6, 20e6] {
            let mut pace = Pace::new(rate);
            let (sent, most) = sent(&mut pace, (0..=1_000_000).map(|step| step * 2_000));
            let asked = 2.0 * rate;
            assert!(
                (sent as f64 - asked).abs() <= 1.0 + asked * 0.001,
                "{sent} of {asked}"
            );
            assert!(most <= pace.burst());
        }
    }

    #[test]
    fn makes_up_for_a_short_absence_without_a_burst() {
        let mut pace = Pace::new(100_000.0);
        let before = sent(&mut pace, (0..1000).map(|step| step * 10_000)).0;
        // The sender is away for 5 ms: 500 packets.
        let times = (1500..4500).map(|step| step * 10_000);
        let (after, most) = sent(&mut pace, times);
        assert!(most <= 25, "{most} at once");
        let asked = 4500.0;
        assert!(
            ((before + after) as f64 - asked).abs() < 5.0,
            "{before} and {after}"
        );
    }

    #[test]
    fn makes_up_at_no_more_than_a_quarter_above() {
        let mut pace = Pace::new(100_000.0);
        pace.due(0);
        let (sent, _) = sent(
            &mut pace,
            (0..1000).map(|step| 1_000_000_000 + step * 10_000),
        );
        assert!((1200..=1275).contains(&sent), "{sent} in 10 ms");
    }

    #[test]
    fn a_long_absence_is_not_made_up_for() {
        let mut pace = Pace::new(100_000.0);
        let times = (0..100_000).map(|step| 1_000_000_000 + step * 10_000);
        let (sent, _) = sent(&mut pace, times);
        assert!((100_900..=101_100).contains(&sent), "{sent}");
    }

    #[test]
    fn waits_for_the_next() {
        let mut pace = Pace::new(1000.0);
        while pace.due(0) > 0 {}
        let wait = pace.wait();
        assert!((900_000..=1_000_000).contains(&wait), "{wait}");
        assert_eq!(pace.due(wait - 1_000), 0);
        assert_eq!(pace.due(wait + 1), 1);
        pace.give_back(1);
        assert_eq!(pace.due(wait + 1), 1);
    }

    #[test]
    fn a_clock_that_steps_back_does_no_harm() {
        let mut pace = Pace::new(1e6);
        pace.due(1_000_000);
        assert_eq!(pace.due(0), 0);
    }
}
