//! Simulated air: stations at a distance, and the frames that arrive.

use super::rates::RateControl;
use crate::power::{Controller, Counters, Entry, Mac, Predecessor, Reading, Settings, Station};

/// Rates of 11a, Mbit/s, and the SNR at which nine of ten frames of them arrive, dB.
pub const RATES: [(u32, f64); 8] = [
    (6, 5.0),
    (9, 7.0),
    (12, 9.0),
    (18, 12.0),
    (24, 15.0),
    (36, 19.0),
    (48, 23.0),
    (54, 25.0),
];
/// Noise, dBm.
const NOISE: f64 = -95.0;

/// Milliseconds of a step.
pub const STEP: u64 = 10;

/// A station behind this loss, dB, with this many frames a second.
#[derive(Clone)]
pub struct Somebody {
    pub loss: f64,
    pub frames: f64,
    pub station: Station,
    /// Frames that are due.
    owed: f64,
    /// Power for this station alone, dBm, if it differs from the common power.
    own: Option<i32>,
    /// The SNR that rate control believes in, dB, where it lags.
    believed: Option<f64>,
    /// Rate control of the kernel, if simulated.
    kernel: Option<RateControl>,
}

/// A neighbour that sends in bursts: meanwhile this share of the tries is lost.
#[derive(Clone, Copy, Default)]
pub struct Neighbour {
    /// The share of time that he sends, in bursts of some 60 ms.
    pub busy: f64,
    pub loses: f64,
    sends: bool,
}

impl Neighbour {
    /// The share of tries that he leaves.
    fn leaves(&mut self, chance: f64) -> f64 {
        let end = STEP as f64 / 60.0;
        let turn = match self.sends {
            true => end,
            false => end * self.busy / (1.0 - self.busy),
        };
        self.sends ^= chance < turn;
        match self.sends {
            true => 1.0 - self.loses,
            false => 1.0,
        }
    }
}

pub struct Air {
    pub now: u64,
    pub power: i32,
    pub all: Vec<Somebody>,
    pub log: Vec<Entry>,
    random: u64,
    /// Power over time, mW by ms.
    pub radiated: f64,
    pub arrived: u64,
    /// Bits carried to the first station, and with 20 dBm.
    pub carried: f64,
    pub could: f64,
    /// Expectation of the driver for both, kbit/s.
    expected: f64,
    expects: f64,
    /// Time after a change of power in which nothing arrives, ms: the worst effect of a queue.
    pub deaf: u64,
    /// True if rate control lags: falls a fifth of the way each 50 ms, and climbs a tenth.
    pub lags: bool,
    /// Interference of a neighbour.
    pub neighbour: Neighbour,
    /// True if the driver reports the signal of acknowledgements, which stations send with 20 dBm.
    pub acks: bool,
    set: u64,
    /// Time of the controller's next call.
    asked: u64,
    /// To the first station: bits that arrived, and their airtime, ms.
    sent: (f64, f64),
}

impl Air {
    pub fn of(losses: &[f64]) -> Self {
        let somebody = |(number, loss): (usize, &f64)| Somebody {
            loss: *loss,
            frames: 2000.0,
            station: Station {
                mac: Mac([2, 0, 0, 0, 0, number as u8]),
                connected: 60,
                ..Station::default()
            },
            owed: 0.0,
            own: None,
            believed: None,
            kernel: None,
        };
        Self {
            // Late enough that no station counts as new.
            now: 100_000,
            power: 20,
            all: losses.iter().enumerate().map(somebody).collect(),
            log: Vec::new(),
            random: 88_172_645_463_325_252,
            radiated: 0.0,
            arrived: 0,
            carried: 0.0,
            could: 0.0,
            expected: 0.0,
            expects: 0.0,
            deaf: 0,
            lags: false,
            neighbour: Neighbour::default(),
            acks: false,
            set: 0,
            asked: 0,
            sent: (0.0, 0.0),
        }
    }

    /// The kernel's rate control decides on rates, and chances are those of a seed.
    pub fn with_kernel(mut self, seed: u64) -> Self {
        self = self.seeded(seed);
        for one in &mut self.all {
            one.kernel = Some(RateControl::new());
        }
        self
    }

    /// Chances are those of a seed.
    pub fn seeded(mut self, seed: u64) -> Self {
        self.random = self
            .random
            .wrapping_add(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))
            | 1;
        self
    }

    /// Lets time pass at full power.
    pub fn run_free(&mut self, time: u64) {
        let end = self.now + time;
        while self.now < end {
            self.step();
        }
    }

    /// Resets the sums of sent and radiated.
    pub fn count_anew(&mut self) {
        (self.sent, self.radiated) = ((0.0, 0.0), 0.0);
    }

    /// Throughput of the first station by its airtime, kbit/s.
    pub fn carried_by_kernel(&self) -> f64 {
        self.sent.0 / self.sent.1
    }

    fn chance(&mut self) -> f64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) as f64 / (1u64 << 53) as f64
    }

    /// The share of tries that arrive: nine of ten at the rate's SNR, and steeper around it than
    /// any card is.
    fn arrives(snr: f64, wanted: f64) -> f64 {
        1.0 / (1.0 + (-1.5 * (snr - wanted) - 2.2).exp())
    }

    /// The best of the rates, as minstrel finds it in the end.
    pub fn rate(power: i32, loss: f64) -> (u32, f64) {
        Self::best(f64::from(power) - loss - NOISE)
    }

    fn best(snr: f64) -> (u32, f64) {
        let all = RATES.map(|(rate, wanted)| (rate, Self::arrives(snr, wanted)));
        let worth = |(rate, share): (u32, f64)| f64::from(rate) * share;
        all.into_iter().fold(
            all[0],
            |best, one| {
                if worth(one) > worth(best) { one } else { best }
            },
        )
    }

    /// Throughput at a power, in the long run, as a share of that at another.
    pub fn share(power: i32, most: i32, loss: f64) -> f64 {
        Self::carries(power, loss) / Self::carries(most, loss)
    }

    /// Throughput of continuous sending, bits by ms.
    fn carries(power: i32, loss: f64) -> f64 {
        Self::carried(Self::rate(power, loss))
    }

    fn carried((rate, share): (u32, f64)) -> f64 {
        9600.0 * share / (0.18 + 9600.0 / (f64::from(rate) * 1000.0))
    }

    /// Returns the rate used for a station, and the share of tries that arrive.
    fn used(&mut self, number: usize) -> (u32, f64) {
        let power = self.all[number].own.unwrap_or(self.power);
        let snr = f64::from(power) - self.all[number].loss - NOISE;
        if !self.lags {
            return Self::best(snr);
        }
        let believed = self.all[number].believed.get_or_insert(snr);
        if self.now.is_multiple_of(50) {
            let way = if snr < *believed { 0.2 } else { 0.1 };
            *believed += way * (snr - *believed);
        }
        let (rate, _) = Self::best(*believed);
        let wanted = RATES.iter().find(|it| it.0 == rate).map_or(0.0, |it| it.1);
        (rate, Self::arrives(snr, wanted))
    }

    /// Sets the power for one station from now on, dBm.
    pub fn own(&mut self, mac: Mac, power: i32) {
        for one in self.all.iter_mut().filter(|one| one.station.mac == mac) {
            one.own = Some(power);
        }
    }

    pub fn step(&mut self) -> Reading {
        self.now += STEP;
        self.radiated += 10f64.powf(f64::from(self.power) / 10.0) * STEP as f64;
        self.could += Self::carries(20, self.all[0].loss) * STEP as f64;
        // Without a neighbour, the sequence of random numbers stays as before.
        let left = match self.neighbour.loses > 0.0 {
            true => {
                let chance = self.chance();
                self.neighbour.leaves(chance)
            }
            false => 1.0,
        };
        for number in 0..self.all.len() {
            if self.acks {
                self.all[number].station.ack_signal = Some((20.0 - self.all[number].loss) as i8);
            }
            let frames = self.all[number].frames;
            let (mut rate, mut share) = self.used(number);
            if number == 0 {
                self.carried += Self::carried((rate, share)) * STEP as f64;
                self.expects = f64::from(rate * 1000) * share;
            }
            share *= left;
            if self.now.saturating_sub(self.set) <= self.deaf {
                share = 0.0;
            }
            let mut owed = self.all[number].owed + frames * STEP as f64 / 1000.0;
            let mut counters = self.all[number].station.counters;
            let snr = f64::from(self.power) - self.all[number].loss - NOISE;
            let mut kernel = self.all[number].kernel.take();
            if kernel.is_some() {
                rate = self.all[number].station.rate.unwrap_or(6000) / 1000;
            }
            while owed >= 1.0 {
                owed -= 1.0;
                counters.frames = counters.frames.wrapping_add(1);
                if let Some(kernel) = &mut kernel {
                    let arrives = RATES.map(|(_, wanted)| left * Self::arrives(snr, wanted));
                    let sent = kernel.send(self.now, arrives, &mut || self.chance());
                    counters.retries = counters.retries.wrapping_add(sent.retries);
                    counters.failed = counters.failed.wrapping_add(u32::from(!sent.here));
                    if number == 0 {
                        self.sent.0 += 9600.0 * f64::from(u8::from(sent.here));
                        self.sent.1 += sent.airtime;
                    }
                    self.arrived += u64::from(sent.here);
                    if sent.here {
                        rate = sent.rate;
                    }
                    continue;
                }
                let mut tries = 0;
                let mut here = false;
                while tries < 8 && !here {
                    tries += 1;
                    here = self.chance() < share;
                }
                counters.retries = counters.retries.wrapping_add(tries - 1);
                counters.failed = counters.failed.wrapping_add(u32::from(!here));
                self.arrived += u64::from(here);
            }
            let one = &mut self.all[number];
            one.kernel = kernel;
            (one.owed, one.station.counters) = (owed, counters);
            one.station.rate = Some(rate * 1000);
        }
        Reading {
            stations: self.all.iter().map(|one| one.station).collect(),
        }
    }

    /// Lets time pass under control.
    pub fn run(&mut self, controller: &mut Controller, time: u64) {
        let end = self.now + time;
        while self.now < end {
            let reading = self.step();
            if self.now < self.asked {
                continue;
            }
            if let Some(entry) = controller.step(self.now, &reading) {
                self.log.push(entry);
            }
            if self.all[0].kernel.is_some() {
                self.asked = self.now + controller.soon();
            }
            if self.power != controller.power() {
                (self.power, self.set) = (controller.power(), self.now);
            }
        }
    }

    /// Lets time pass under the predecessor's logic. The driver's own number follows the
    /// throughput, a quarter of the way every 50 ms, as minstrel does.
    pub fn run_predecessor(&mut self, control: &mut Predecessor, time: u64) {
        let end = self.now + time;
        while self.now < end {
            self.step();
            if let Some(kernel) = &self.all[0].kernel {
                self.expected = kernel.expected();
            } else if self.now.is_multiple_of(50) {
                self.expected += 0.25 * (self.expects - self.expected);
            }
            self.power = control.step(self.now, self.expected);
        }
    }

    /// True optimum: no station loses more than the settings allow.
    pub fn enough(&self, powers: &[i32]) -> i32 {
        let most = *powers.last().unwrap();
        let keep = Settings::default().keep;
        let good = |power: &&i32| {
            self.all
                .iter()
                .all(|one| Self::share(**power, most, one.loss) >= keep)
        };
        // From above: a level that is not enough ends the way down.
        *powers.iter().rev().take_while(good).last().unwrap()
    }

    pub fn counters(&mut self, number: usize) -> &mut Counters {
        &mut self.all[number].station.counters
    }
}
