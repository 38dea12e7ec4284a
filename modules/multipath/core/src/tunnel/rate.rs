//! How much a path carries, from what arrived and how late.
//!
//! As long as something waits in the path, what arrives is what it carries: then the estimate is
//! exact. While nothing does, it can only be too low, and grows step by step as long as there is
//! something to send. Each time a queue has built in the path, sending holds back until it is gone:
//! packets are to wait in the tunnel, where they can be chosen from, and not in the modem.

use super::body::Micros;

/// Slowest and fastest estimate, bytes per second.
const SLOWEST: u64 = 16_000;
const FASTEST: u64 = 12_500_000_000;
/// First guess where nothing is hinted, bytes per second: 4 Mbit/s.
const FIRST: u64 = 500_000;
/// A queue that may stand, microseconds.
const LOW: Micros = 5_000;
/// A queue that is too long, microseconds.
pub const HIGH: Micros = 15_000;
/// How long an estimate stands before it is tried whether more goes, microseconds.
const STANDS: Micros = 2_000_000;
/// The same where it fell to less than half: what a machine that was busy for a moment looks like.
const DOUBTED: Micros = 300_000;
/// A queue that takes more holding back, and the longest time of it, microseconds.
const DEEP: Micros = 100_000;
const LONGEST_DRAIN: Micros = 400_000;
/// How long a queue that others fill is taken as given, microseconds.
const FOREIGN: Micros = 5_000_000;
/// Loss beyond the usual that means that too much was sent, per mille; of fewer packets it tells
/// nothing.
const LOSS: u32 = 100;
const FEWEST: u64 = 50;
/// First and largest step of growth, per mille.
const STEP: u64 = 20;
const LARGEST_STEP: u64 = 125;

/// What two answered probes tell of the time between them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    /// When the first of the two probes left.
    pub from: Micros,
    /// Bytes per second that were sent, by one's own clock.
    pub sent: u64,
    /// Bytes per second that arrived, by the other end's clock.
    pub arrived: u64,
    /// Whether something waited in the tunnel all the while.
    pub full: bool,
    /// What waits in the path, microseconds.
    pub queue: Micros,
    /// Packets that were sent.
    pub packets: u64,
    /// What of them did not arrive, per mille.
    pub loss: u32,
}

/// Estimate of what a path carries.
#[derive(Clone, Debug)]
pub struct Capacity {
    hint: Option<u64>,
    rate: u64,
    /// Nothing stood in the way yet: doubles.
    starts: bool,
    step: u64,
    /// Not to grow before.
    stands: Micros,
    /// What it was before it fell, and where it goes back to soon, if nothing stands in the way; 0:
    /// it did not, or that was tried.
    former: u64,
    /// Holds back until then, by so many quarters.
    drains: Micros,
    quarters: u64,
    /// Only what was sent after this counts.
    settled: Micros,
    /// A queue that does not go when this end holds back is not its own.
    foreign: (Micros, Micros),
    /// What the queue will be at most, if it is its own.
    own: Option<Micros>,
    usual_loss: u32,
}

impl Capacity {
    /// With what the path is said to carry at most, bytes per second.
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

    /// Another rate is said. What was found out stays, as far as it is below.
    pub fn settle(&mut self, hint: Option<u64>) {
        if self.hint == hint {
            return;
        }
        self.hint = hint;
        self.rate = hint.unwrap_or(self.rate).clamp(SLOWEST, FASTEST);
    }

    /// Bytes per second that the path carries.
    pub fn rate(&self) -> u64 {
        self.rate
    }

    /// Bytes per second to send now.
    pub fn pace(&self, now: Micros) -> u64 {
        if now < self.drains {
            self.rate * (4 - self.quarters) / 4
        } else {
            self.rate
        }
    }

    /// Whether quick answers help: the estimate is still looked for.
    pub fn seeks(&self) -> bool {
        self.starts || self.step != STEP || self.rate < self.former
    }

    fn set(&mut self, rate: u64, now: Micros) {
        let most = self.hint.unwrap_or(FASTEST);
        self.rate = rate.clamp(SLOWEST, most.max(SLOWEST));
        self.settled = now;
    }

    /// Takes the rate for what just arrived, and lets the path's queue run empty.
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
            // Half of what should go must have gone.
            self.own = Some(sample.queue - (time * self.quarters / 8).min(queue));
        }
    }

    /// Something was measured.
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
        // Flows that wait for acknowledgements keep the path full without anything waiting here. A
        // few packets beside the queue of others tell nothing.
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
            // What arrived bounds it: the tunnel may not have got to send at the rate.
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

    /// A path of a rate, with a queue without end: half a second of samples with always something
    /// to send.
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
