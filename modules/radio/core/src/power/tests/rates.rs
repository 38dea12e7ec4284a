//! Simulates the kernel's rate control (net/mac80211/rc80211_minstrel_ht.c, one group of eight
//! rates): windows of 50 ms through a filter of second order, a frame at another rate each 20 ms,
//! and a chain of three rates for each frame.

use super::air::RATES;

/// Of a window, and from one frame at another rate to the next, ms.
const WINDOW: u64 = 50;
const SAMPLE: u64 = 20;
/// `MINSTREL_AVG_COEFF1` to 3: weights of the new value, and of the two results before it.
const FILTER: [f64; 3] = [0.287, 1.287, -0.574];
/// More than this of the tries is as good as all of them.
const ALL: f64 = 0.9;
/// Tries with one rate.
const TRIES: usize = 6;

#[derive(Clone, Copy, Default)]
struct Rate {
    tries: u32,
    here: u32,
    share: f64,
    before: f64,
}

/// Result of a frame.
pub struct Sent {
    /// Retries after the first try.
    pub retries: u32,
    pub here: bool,
    /// The rate of the last try, Mbit/s.
    pub rate: u32,
    /// Airtime of all tries, ms.
    pub airtime: f64,
}

#[derive(Clone)]
pub struct RateControl {
    all: [Rate; RATES.len()],
    /// The two that carry most, and the surest.
    chain: [usize; 3],
    window: u64,
    sample: u64,
    turn: usize,
}

impl RateControl {
    pub fn new() -> Self {
        Self {
            all: [Rate::default(); RATES.len()],
            chain: [0; 3],
            window: 0,
            sample: 0,
            turn: 0,
        }
    }

    fn worth(&self, rate: usize) -> f64 {
        match self.all[rate].share {
            share if share < 0.1 => 0.0,
            share => share.min(ALL) / Self::time(rate),
        }
    }

    /// Throughput that the driver expects, kbit/s.
    pub fn expected(&self) -> f64 {
        self.worth(self.chain[0]) * 9600.0
    }

    /// Airtime of a try, ms.
    fn time(rate: usize) -> f64 {
        0.18 + 9.6 / f64::from(RATES[rate].0)
    }

    fn end_of_window(&mut self) {
        for rate in &mut self.all {
            if rate.tries == 0 {
                continue;
            }
            let now = f64::from(rate.here) / f64::from(rate.tries);
            let last = rate.share;
            rate.share = match last > 0.0 {
                true => FILTER[0] * now + FILTER[1] * last + FILTER[2] * rate.before,
                false => now,
            }
            .clamp(0.0002, 1.0);
            rate.before = match last > 0.0 {
                true => last,
                false => now,
            };
            (rate.tries, rate.here) = (0, 0);
        }
        let mut order: Vec<usize> = (0..RATES.len()).collect();
        order.sort_by(|a, b| self.worth(*b).total_cmp(&self.worth(*a)));
        let sure = order.iter().find(|rate| self.all[**rate].share > 0.95);
        let likely = |a: &&usize, b: &&usize| self.all[**a].share.total_cmp(&self.all[**b].share);
        let surest = sure.or(order.iter().max_by(likely));
        self.chain = [order[0], order[1], surest.copied().unwrap_or(0)];
    }

    /// Returns another rate if a trial is due: the next one, any faster one, or a slower one.
    fn other(&mut self, now: u64, chance: f64) -> Option<usize> {
        if now < self.sample {
            return None;
        }
        self.sample = now + SAMPLE;
        self.turn = (self.turn + 1) % 4;
        let best = self.chain[0];
        let faster = RATES.len() - 1 - best;
        match self.turn {
            0 => (faster > 0).then_some(best + 1),
            2 => {
                let open: Vec<usize> = (0..best).filter(|it| self.all[*it].share < 0.95).collect();
                open.get((chance * open.len() as f64) as usize).copied()
            }
            _ => (faster > 0).then(|| best + 1 + (chance * faster as f64) as usize),
        }
    }

    /// Sends a frame. `arrives`: the share of successful tries at each rate.
    pub fn send(
        &mut self,
        now: u64,
        arrives: [f64; RATES.len()],
        chance: &mut dyn FnMut() -> f64,
    ) -> Sent {
        if now >= self.window + WINDOW {
            self.window = now;
            self.end_of_window();
        }
        let other = self.other(now, chance()).map(|rate| (rate, 1));
        let chain = self.chain.map(|rate| (rate, TRIES));
        let mut sent = Sent {
            retries: 0,
            here: false,
            rate: 0,
            airtime: 0.0,
        };
        let mut tries = 0;
        let rates = other.into_iter().chain(chain);
        for rate in rates.flat_map(|(rate, count)| std::iter::repeat_n(rate, count)) {
            if tries == 11 || sent.here {
                break;
            }
            tries += 1;
            sent.here = chance() < arrives[rate];
            self.all[rate].tries += 1;
            self.all[rate].here += u32::from(sent.here);
            sent.airtime += Self::time(rate);
            sent.rate = RATES[rate].0;
        }
        sent.retries = tries - 1;
        sent
    }
}
