//! How many packets are due: evenly, and in no larger bursts than are stated.
//!
//! A sender that was away from its processor has to make up for it, or it never reaches its rate;
//! but not at once, or it measures the router's queues. So it makes up for no more than [`DEBT`],
//! at no more than a quarter above the rate, and never more than [`Pace::burst`] at a time. What is
//! older is not sent: it is missing from what was sent, and the trial tells.

/// Nanoseconds of packets that are made up for.
pub const DEBT: u64 = 10_000_000;
/// Nanoseconds of packets that may be sent at once, where that is more than [`LEAST_BURST`]
/// packets.
const BURST: f64 = 250_000.0;
/// Packets that may be sent at once, at least, and at most.
const LEAST_BURST: f64 = 16.0;
const MOST_BURST: f64 = 256.0;
/// How much faster than the rate it makes up.
const HASTE: f64 = 1.25;

/// One sender's share of a rate.
#[derive(Clone, Debug)]
pub struct Pace {
    /// Packets a nanosecond.
    rate: f64,
    burst: f64,
    last: u64,
    /// Packets that the rate allows by now.
    owed: f64,
    /// Packets that the haste allows by now.
    bucket: f64,
}

impl Pace {
    /// At a rate in packets a second, from time 0.
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

    /// Packets at once, at most.
    pub fn burst(&self) -> u32 {
        self.burst as u32
    }

    /// Packets to be sent now, in nanoseconds since the begin; they are taken as sent.
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

    /// What was due, and could not be sent.
    pub fn give_back(&mut self, packets: u32) {
        self.owed += f64::from(packets);
        self.bucket += f64::from(packets);
    }

    /// Nanoseconds until one more is due.
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
        // 5 ms away: 500 packets.
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
