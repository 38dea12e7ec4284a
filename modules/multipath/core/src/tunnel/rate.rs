//! Capacity of a path, estimated from the rate and lag of arrivals.
//!
//! While a queue exists in the path, the rate of arrivals is its capacity: the estimate is exact.
//! Without a queue, the estimate can only be too low, and grows step by step while packets wait.
//! Each time a queue has built in the path, sending slows down until the queue is empty: packets
//! should wait in the tunnel, where the scheduler can choose, and not in the modem.

use super::body::Micros;

/// Slowest and fastest estimate, bytes per second.
const SLOWEST: u64 = 16_000;
const FASTEST: u64 = 12_500_000_000;
/// First guess without a hint, bytes per second: 4 Mbit/s.
const FIRST: u64 = 500_000;
/// A tolerated queue, microseconds.
const LOW: Micros = 5_000;
/// A queue that is too long, microseconds.
pub const HIGH: Micros = 15_000;
/// Time for which an estimate holds before a higher rate is tried, microseconds.
const STANDS: Micros = 2_000_000;
/// As above, after a fall to less than half: the effect of a machine that was busy for a moment.
const DOUBTED: Micros = 300_000;
/// A queue that requires more slowing down, and its longest duration, microseconds.
const DEEP: Micros = 100_000;
const LONGEST_DRAIN: Micros = 400_000;
/// Time for which the queue of other senders is accepted, microseconds.
const FOREIGN: Micros = 5_000_000;
/// Loss beyond the usual that shows too high a rate, per mille; loss of fewer packets is not
/// significant.
const LOSS: u32 = 100;
const FEWEST: u64 = 50;
/// First and largest step of growth, per mille.
const STEP: u64 = 20;
const LARGEST_STEP: u64 = 125;

/// Measurement of the time between two answered probes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    /// Time at which the first of the two probes left.
    pub from: Micros,
    /// Bytes per second sent, by the local clock.
    pub sent: u64,
    /// Bytes per second arrived, by the other end's clock.
    pub arrived: u64,
    /// True if packets waited in the tunnel all the while.
    pub full: bool,
    /// Queue in the path, microseconds.
    pub queue: Micros,
    /// Packets that were sent.
    pub packets: u64,
    /// Loss of these packets, per mille.
    pub loss: u32,
}

/// Estimate of a path's capacity.
#[derive(Clone, Debug)]
pub struct Capacity {
    hint: Option<u64>,
    rate: u64,
    /// First phase, before any queue or loss: doubles.
    starts: bool,
    step: u64,
    /// Earliest time to grow.
    stands: Micros,
    /// Rate before a fall, to which it returns soon, unless a queue or loss appears; 0: no fall, or
    /// already tried.
    former: u64,
    /// End of holding back, and its depth in quarters.
    drains: Micros,
    quarters: u64,
    /// Only datagrams sent after this count.
    settled: Micros,
    /// A queue that stays while this end holds back is not its own: its length, and until when.
    foreign: (Micros, Micros),
    /// Longest remaining queue, if it is this end's own.
    own: Option<Micros>,
    usual_loss: u32,
}

impl Capacity {
    /// Creates an estimate with a hint of the highest rate, bytes per second.
    pub fn new(hint: Option<u64>) -> Capacity {
        Capacity {
            hint,
            rate: hint.unwrap_or(FIRST).clamp(SLOWEST, FASTEST),
            starts: hint.is_none(),
            step: STEP,
            stands: 0,
            former: 0,
            drains: 0,
            quarters: 1,
            settled: 0,
            foreign: (0, 0),
            own: None,
            usual_loss: 0,
        }
    }

    /// Sets another hint. A lower estimate stays.
    pub fn settle(&mut self, hint: Option<u64>) {
        if self.hint == hint {
            return;
        }
        self.hint = hint;
        self.rate = hint.unwrap_or(self.rate).clamp(SLOWEST, FASTEST);
    }

    /// Returns the capacity, bytes per second.
    pub fn rate(&self) -> u64 {
        self.rate
    }

    /// Returns the rate to send at now, bytes per second.
    pub fn pace(&self, now: Micros) -> u64 {
        if now < self.drains {
            self.rate * (4 - self.quarters) / 4
        } else {
            self.rate
        }
    }

    /// Returns true during the search for the capacity, when quick answers help.
    pub fn seeks(&self) -> bool {
        self.starts || self.step != STEP || self.rate < self.former
    }

    fn set(&mut self, rate: u64, now: Micros) {
        let most = self.hint.unwrap_or(FASTEST);
        self.rate = rate.clamp(SLOWEST, most.max(SLOWEST));
        self.settled = now;
    }

    /// Takes the rate of arrivals as the capacity, and lets the path's queue run empty.
    fn found(&mut self, sample: &Sample, queue: Micros, now: Micros) {
        let (before, tried) = (self.rate, self.former > 0);
        self.set(before.min(sample.arrived), now);
        let doubted = !self.starts && !tried && self.rate * 2 < before;
        self.former = if doubted { before } else { 0 };
        self.starts = false;
        self.step = STEP;
        self.stands = now + if doubted { DOUBTED } else { STANDS };
        if queue > LOW {
            self.quarters = if queue > DEEP { 2 } else { 1 };
            let time = (4 * queue / self.quarters).min(LONGEST_DRAIN);
            self.drains = now + time;
            self.settled = self.drains;
            // Half of the intended reduction must have happened.
            self.own = Some(sample.queue - (time * self.quarters / 8).min(queue));
        }
    }

    /// Takes a measurement.
    pub fn sample(&mut self, sample: &Sample, now: Micros) {
        if sample.from < self.settled {
            return;
        }
        let own = self.own.take();
        if own.is_some_and(|own| sample.queue > own.max(HIGH)) {
            self.foreign = (sample.queue, now + FOREIGN);
        }
        let (foreign, until) = self.foreign;
        let queue = if now < until {
            sample.queue.saturating_sub(foreign)
        } else {
            sample.queue
        };
        // Flows that wait for acknowledgements keep the path full with an empty tunnel queue. A few
        // packets next to the queue of others are not significant.
        let share = if self.starts { 5 } else { 2 };
        let too_much = sample.full || sample.arrived * share >= self.rate;
        let tells = sample.packets >= FEWEST;
        let lost = tells && sample.full && sample.loss > self.usual_loss + LOSS;
        if tells {
            self.usual_loss = (3 * self.usual_loss + sample.loss) / 4;
        }
        if too_much && (queue > HIGH || lost) {
            self.found(sample, queue, now);
        } else if sample.full && queue <= LOW && now >= self.stands {
            // Bounded by the arrivals: the tunnel may not have sent at the full rate.
            let rate = if self.starts {
                self.rate.min(2 * sample.arrived) * 2
            } else if self.rate < self.former {
                (self.rate.min(2 * sample.arrived) * 2).min(self.former)
            } else {
                self.former = 0;
                let step = self.step;
                self.step = (2 * step).min(LARGEST_STEP);
                self.rate.min(sample.arrived * 5 / 4) * (1000 + step) / 1000
            };
            self.set(rate.max(self.rate), now);
        } else if sample.full && queue > LOW && (self.starts || self.step != STEP) {
            self.found(sample, queue, now);
        } else if !sample.full {
            self.step = STEP;
            if sample.arrived > self.rate {
                self.set(sample.arrived, now);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Simulates a path of a rate, with an endless queue: half a second of samples, with packets to
    /// send at any time.
    fn run(capacity: &mut Capacity, carries: u64, foreign: Micros, from: Micros, seconds: u64) {
        let mut waiting = 0u64;
        for turn in 0..seconds * 10 {
            let at = from + turn * 100_000;
            let sent = capacity.pace(at);
            let offered = waiting + sent / 10;
            let arrived = offered.min(carries / 10);
            waiting = offered - arrived;
            let sample = Sample {
                from: at,
                sent,
                arrived: arrived * 10,
                full: true,
                queue: waiting * 1_000_000 / carries + foreign,
                packets: 100,
                loss: 0,
            };
            capacity.sample(&sample, at + 100_000);
        }
    }

    fn near(capacity: &Capacity, wanted: u64) {
        let rate = capacity.rate();
        assert!(
            (wanted * 94 / 100..=wanted * 110 / 100).contains(&rate),
            "{rate} is not near {wanted}"
        );
    }

    #[test]
    fn it_finds_what_a_path_carries_and_follows() {
        let mut capacity = Capacity::new(None);
        run(&mut capacity, 5_000_000, 0, 0, 3);
        near(&capacity, 5_000_000);
        run(&mut capacity, 500_000, 0, 3_000_000, 10);
        near(&capacity, 500_000);
        run(&mut capacity, 5_000_000, 0, 13_000_000, 10);
        near(&capacity, 5_000_000);
    }

    #[test]
    fn it_does_not_starve_beside_a_full_queue_of_others() {
        let mut capacity = Capacity::new(None);
        run(&mut capacity, 5_000_000, 0, 0, 3);
        run(&mut capacity, 5_000_000, 80_000, 3_000_000, 20);
        near(&capacity, 5_000_000);
    }

    #[test]
    fn a_moment_in_which_nothing_came_is_soon_made_up_for() {
        let mut capacity = Capacity::new(None);
        run(&mut capacity, 5_000_000, 0, 0, 3);
        for from in [3_000_000, 5_000_000] {
            let stalled = Sample {
                from,
                sent: 5_000_000,
                arrived: 100_000,
                full: true,
                queue: 200_000,
                packets: 100,
                loss: 0,
            };
            capacity.sample(&stalled, from + 100_000);
            assert!(capacity.rate() < 500_000, "{}", capacity.rate());
            run(&mut capacity, 5_000_000, 0, from + 100_000, 2);
            near(&capacity, 5_000_000);
        }
    }

    #[test]
    fn a_hint_is_the_most() {
        let mut capacity = Capacity::new(Some(1_000_000));
        assert_eq!(capacity.rate(), 1_000_000);
        run(&mut capacity, 5_000_000, 0, 0, 10);
        assert_eq!(capacity.rate(), 1_000_000);
        run(&mut capacity, 400_000, 0, 10_000_000, 5);
        near(&capacity, 400_000);
    }

    #[test]
    fn loss_that_was_always_there_is_not_congestion() {
        let mut capacity = Capacity::new(Some(1_000_000));
        for turn in 0..100 {
            let sample = Sample {
                from: turn * 100_000,
                sent: capacity.rate(),
                arrived: capacity.rate() * 9 / 10,
                full: true,
                queue: 0,
                packets: 100,
                loss: 100 + if turn % 4 == 0 { 110 } else { 0 },
            };
            capacity.sample(&sample, turn * 100_000 + 50_000);
        }
        assert!(capacity.rate() > 700_000, "{}", capacity.rate());
    }

    #[test]
    fn a_path_that_is_hardly_used_keeps_its_rate() {
        let mut capacity = Capacity::new(Some(1_000_000));
        for turn in 0..50 {
            let sample = Sample {
                from: turn * 100_000,
                sent: 10_000,
                arrived: 10_000,
                queue: 40_000,
                ..Sample::default()
            };
            capacity.sample(&sample, turn * 100_000 + 50_000);
        }
        assert_eq!(capacity.rate(), 1_000_000);
    }
}
