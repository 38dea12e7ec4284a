//! Arrivals over time.

use std::ops::Range;
use std::time::Duration;

/// Length of a slot, over which bytes are summed.
pub const SLOT: Duration = Duration::from_millis(50);
/// Shortest recorded gap between arrivals.
const GAP: Duration = Duration::from_millis(10);
/// Slots per window of [`Series::reaches`]: single slots vary with the machine's scheduling.
const WINDOW: usize = 4;

/// Bytes over time at the receiver. Times count from the start of the measurement.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    slots: Vec<u64>,
    gaps: Vec<Range<Duration>>,
    last: Duration,
    end: Duration,
    order: Order,
}

/// Arrival order of numbered datagrams.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Order {
    seen: Vec<bool>,
    /// Datagrams that arrived, each counted once.
    pub received: u64,
    /// Datagrams that arrived after one sent later.
    pub late: u64,
    /// Duplicates.
    pub twice: u64,
}

impl Order {
    /// Counts a datagram.
    pub fn add(&mut self, number: u32) {
        let at = number as usize;
        if at >= self.seen.len() {
            self.seen.resize(at + 1, false);
        } else if !self.seen[at] {
            self.late += 1;
        }
        match std::mem::replace(&mut self.seen[at], true) {
            true => self.twice += 1,
            false => self.received += 1,
        }
    }

    /// Returns the datagrams sent before the last arrival that never arrived.
    pub fn lost(&self) -> u64 {
        self.seen.len() as u64 - self.received
    }
}

impl Series {
    /// Adds bytes that arrived at `now`. `now` never decreases.
    pub fn add(&mut self, now: Duration, octets: u64) {
        self.note_gap(now);
        let slot = (now.as_nanos() / SLOT.as_nanos()) as usize;
        if slot >= self.slots.len() {
            self.slots.resize(slot + 1, 0);
        }
        self.slots[slot] += octets;
        self.last = now;
        self.end = now;
    }

    /// Counts a numbered datagram.
    pub fn number(&mut self, number: u32) {
        self.order.add(number);
    }

    /// Sets the end of the series: the time since the last arrival counts as silence.
    pub fn end(&mut self, now: Duration) {
        self.note_gap(now);
        self.end = now;
        self.last = now;
    }

    fn note_gap(&mut self, now: Duration) {
        if now > self.last + GAP {
            self.gaps.push(self.last..now);
        }
    }

    /// Returns the sum of all bytes.
    pub fn total(&self) -> u64 {
        self.slots.iter().sum()
    }

    /// Returns the bytes in each [`SLOT`], up to the last slot with an arrival.
    pub fn slots(&self) -> &[u64] {
        &self.slots
    }

    /// Returns the order of datagrams; empty for streams.
    pub fn order(&self) -> &Order {
        &self.order
    }

    /// Returns the mean bit/s over the whole slots of a time; 0 without a whole slot.
    pub fn rate(&self, time: Range<Duration>) -> f64 {
        let slot = SLOT.as_nanos();
        let first = time.start.as_nanos().div_ceil(slot) as usize;
        let behind = (time.end.as_nanos() / slot) as usize;
        if behind <= first {
            return 0.0;
        }
        let octets: u64 = self.slots.iter().take(behind).skip(first).sum();
        octets as f64 * 8.0 / ((behind - first) as f64 * SLOT.as_secs_f64())
    }

    /// Returns the longest time without arrivals within `time`.
    pub fn silence(&self, time: Range<Duration>) -> Duration {
        let within = |gap: &Range<Duration>| {
            let (begin, end) = (gap.start.max(time.start), gap.end.min(time.end));
            end.saturating_sub(begin)
        };
        self.gaps.iter().map(within).max().unwrap_or_default()
    }

    /// Returns the start of the first 200 ms window, at `from` or later, whose rate reaches
    /// `bits_per_second`.
    pub fn reaches(&self, bits_per_second: f64, from: Duration) -> Option<Duration> {
        let first = from.as_nanos().div_ceil(SLOT.as_nanos()) as usize;
        let least = bits_per_second / 8.0 * WINDOW as f64 * SLOT.as_secs_f64();
        let windows = self.slots.get(first..)?.windows(WINDOW);
        let found = windows
            .enumerate()
            .find(|(_, window)| window.iter().sum::<u64>() as f64 >= least);
        found.map(|(at, _)| SLOT * (first + at) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// 1000 bytes every 10 ms from 100 ms to 1 s, with a silence from 500 to 800 ms; the series
    /// ends 50 ms later.
    fn cut() -> Series {
        let mut series = Series::default();
        for at in (100..500).chain(800..1000).step_by(10) {
            series.add(ms(at), 1000);
        }
        series.end(ms(1050));
        series
    }

    #[test]
    fn rates_are_those_of_whole_slots() {
        let series = cut();
        assert_eq!(series.total(), 60_000);
        assert_eq!(series.rate(ms(100)..ms(500)), 800e3);
        assert_eq!(series.rate(ms(0)..ms(200)), 400e3);
        // From 450 to 850 ms: two of eight slots are full.
        assert_eq!(series.rate(ms(401)..ms(899)), 200e3);
        assert_eq!(series.rate(ms(110)..ms(140)), 0.0);
        assert_eq!(series.rate(ms(5000)..ms(6000)), 0.0);
    }

    #[test]
    fn silences_are_exact_and_cut_to_the_time_asked_for() {
        let series = cut();
        assert_eq!(series.silence(ms(600)..ms(700)), ms(100));
        assert_eq!(series.silence(ms(0)..ms(1050)), ms(310));
        assert_eq!(series.silence(ms(110)..ms(490)), ms(0));
        assert_eq!(series.silence(ms(810)..ms(1050)), ms(60));
        let mut nothing = Series::default();
        nothing.end(ms(300));
        assert_eq!(nothing.silence(ms(0)..ms(300)), ms(300));
        assert_eq!(nothing.total(), 0);
    }

    #[test]
    fn a_rate_is_reached_again() {
        let series = cut();
        assert_eq!(series.reaches(800e3, ms(0)), Some(ms(100)));
        assert_eq!(series.reaches(800e3, ms(450)), Some(ms(800)));
        assert_eq!(series.reaches(800e3, ms(810)), None);
        assert_eq!(series.reaches(900e3, ms(0)), None);
    }

    #[test]
    fn datagrams_are_counted_by_their_numbers() {
        let mut order = Order::default();
        for number in [0, 2, 1, 1, 5] {
            order.add(number);
        }
        assert_eq!(
            (order.received, order.late, order.twice, order.lost()),
            (4, 1, 1, 2)
        );
    }
}
