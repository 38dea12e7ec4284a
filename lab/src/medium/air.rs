//! The air between radios: who may send when, and what comes of it. Pure: `(frame, now) → actions`;
//! times are ns since it began, chance comes from a seed.
//!
//! Channel access is that of IEEE 802.11-2020, 10.3 and 10.23.2 (EDCA), by events: a radio sends
//! when the channel was idle for its interframe space and the slots that it drew; another in the
//! same slot collides with it.

use std::collections::HashMap;

use kernel::Mac;
use kernel::hwsim::{RATES, Rate as Told, Sent};

use super::counts::Counts;
use super::exchange::Exchange;
use super::queue::{Waiting, address, release};
use super::radio::Radio;
use super::reception::milliwatts;
use super::scene::{Place, Scene};
use crate::random::Random;

/// How long it takes to notice that somebody sends, ns (17.4.4).
const NOTICE: u64 = 4000;
/// Nothing lasts longer: 2,304 octets with 1 Mbit/s take 19 ms.
const LONGEST: u64 = 25_000_000;
/// Addresses of radios that are remembered.
const MOST_ADDRESSES: usize = 1024;

/// What the medium says to radios.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// What became of a frame of a radio.
    Told {
        /// By its number.
        radio: usize,
        /// That of the frame.
        cookie: u64,
        /// Those of the frame, and whether it was acknowledged.
        flags: u32,
        /// How often it was tried with each rate.
        rates: [Told; RATES],
        /// Of the acknowledgement, dBm.
        signal: i32,
    },
    /// A frame was understood.
    Heard {
        /// By these, each with its signal, dBm.
        hearers: Vec<(usize, i32)>,
        /// The frame.
        frame: Vec<u8>,
        /// Index of its rate among those of the band.
        rate: u32,
        /// Its channel's centre, MHz.
        frequency: u32,
    },
}

/// Who sends a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Radio(usize),
    /// One of the scene's interferers.
    Interferer(usize),
}

/// What is or was on the air.
#[derive(Clone, Copy, Debug)]
pub(super) struct Signal {
    pub by: Source,
    /// `None`: on all channels.
    pub frequency: Option<u32>,
    pub at: Place,
    /// dBm.
    pub power: f64,
    /// ns.
    pub from: u64,
    pub to: u64,
}

/// All of it.
#[derive(Debug)]
pub struct Air {
    scene: Scene,
    pub(super) random: Random,
    pub(super) radios: Vec<Radio>,
    addresses: HashMap<Mac, usize>,
    pub(super) exchanges: Vec<Exchange>,
    pub(super) signals: Vec<Signal>,
    /// When each interferer begins next.
    noises: Vec<u64>,
    now: u64,
}

impl Air {
    /// Nothing on the air yet.
    pub fn new(scene: Scene, seed: u64) -> Self {
        Self {
            noises: vec![0; scene.interferers.len()],
            scene,
            random: Random::new(seed),
            radios: Vec::new(),
            addresses: HashMap::new(),
            exchanges: Vec::new(),
            signals: Vec::new(),
            now: 0,
        }
    }

    /// Adds a radio, which is at the place of this name (at none: at 0, 0), and has this address.
    /// Others are learned from what it sends. Gives its number.
    pub fn join(&mut self, name: &str, mac: Mac) -> usize {
        let radio = self.radios.len();
        self.addresses.insert(mac, radio);
        self.radios.push(Radio::new(name));
        radio
    }

    /// The scene.
    pub fn scene(&self) -> &Scene {
        &self.scene
    }

    /// Changes the scene, from now on.
    pub fn change(&mut self, change: impl FnOnce(&mut Scene)) {
        change(&mut self.scene);
        self.noises.resize(self.scene.interferers.len(), self.now);
        self.sense(self.now);
    }

    /// A radio sends with this from now on, dBm.
    pub fn set_power(&mut self, radio: usize, power: f64) {
        self.radios[radio].power = power;
    }

    /// What each radio did, by its number.
    pub fn counts(&self) -> impl Iterator<Item = (&str, Counts)> {
        let radios = self.radios.iter();
        radios.map(|radio| (radio.name.as_str(), radio.counts))
    }

    /// When something happens next, if nobody sends before; ns.
    pub fn next(&self) -> Option<u64> {
        let ends = self.exchanges.iter().map(|exchange| exchange.until);
        let fires = self.radios.iter().filter_map(Radio::fires);
        let passing = |signal: &&Signal| matches!(signal.by, Source::Interferer(_));
        let signals = self.signals.iter().filter(passing);
        let quiet = signals.map(|signal| signal.to).filter(|to| *to > self.now);
        let loud = self.noises.iter().copied();
        ends.chain(fires).chain(quiet).chain(loud).min()
    }

    /// A radio has a frame to send.
    pub fn send(&mut self, radio: usize, sent: Sent, now: u64, out: &mut Vec<Action>) {
        self.advance(now, out);
        // Acknowledgements have no second address.
        let from = address(&sent.frame, 10);
        if from != Mac::default() && self.addresses.len() < MOST_ADDRESSES {
            self.addresses.insert(from, radio);
        }
        let at = &mut self.radios[radio];
        at.frequency = Some(sent.frequency);
        at.counts.frames += 1;
        at.give_up();
        let frame = Waiting::new(sent, now);
        at.queues[frame.category()].push_back(frame);
        if at.slots == 0 && !at.engaged && (at.busy || at.reserved > now) {
            self.draw(radio, self.radios[radio].turn().unwrap_or_default());
        }
        self.advance(now, out);
    }

    /// All that happens until now.
    pub fn advance(&mut self, now: u64, out: &mut Vec<Action>) {
        while let Some(at) = self.next().filter(|at| *at <= now) {
            let at = at.max(self.now);
            self.now = at;
            self.step(at, out);
        }
        self.now = self.now.max(now);
    }

    fn step(&mut self, at: u64, out: &mut Vec<Action>) {
        while let Some(index) = self.exchanges.iter().position(|e| e.until <= at) {
            let exchange = self.exchanges.swap_remove(index);
            self.go_on(exchange, at, out);
        }
        for index in 0..self.noises.len() {
            if self.noises[index] <= at {
                self.disturb(index, at);
            }
        }
        self.signals.retain(|signal| signal.to + LONGEST > at);
        self.sense(at);
        // All that send in this slot; the first is not heard by the others in time.
        let radios = 0..self.radios.len();
        let first = |radio: &usize| self.radios[*radio].fires().is_some_and(|t| t <= at);
        if radios.clone().any(|radio| first(&radio)) {
            let soon = |radio: &usize| {
                let fires = self.radios[*radio].fires();
                fires.is_some_and(|fires| fires <= at + NOTICE)
            };
            for radio in radios.filter(soon).collect::<Vec<_>>() {
                self.begin(radio, at);
            }
            self.sense(at);
        }
    }

    /// An interferer begins.
    fn disturb(&mut self, index: usize, at: u64) {
        let interferer = self.scene.interferers[index];
        let period = (interferer.period.max(0.1) * 1e6) as u64;
        self.noises[index] = at + period;
        let loud = (period as f64 * interferer.duty.clamp(0.0, 1.0)) as u64;
        self.signals.push(Signal {
            by: Source::Interferer(index),
            frequency: None,
            at: interferer.at,
            power: interferer.power,
            from: at,
            to: at + loud,
        });
    }

    /// Who hears now that somebody sends.
    pub(super) fn sense(&mut self, at: u64) {
        for radio in 0..self.radios.len() {
            let busy = self
                .signals
                .iter()
                .any(|signal| self.notices(radio, signal, at));
            let this = &mut self.radios[radio];
            if this.busy && !busy {
                this.is_alone(at);
            } else if busy && !this.busy {
                this.is_disturbed(at);
                if this.slots == 0 && !this.engaged {
                    // It may not send at once when the channel is idle again.
                    let category = this.turn();
                    category.into_iter().for_each(|of| self.draw(radio, of));
                }
            }
        }
    }

    fn notices(&self, radio: usize, signal: &Signal, at: u64) -> bool {
        if signal.from > at || signal.to <= at {
            return false;
        }
        if signal.by == Source::Radio(radio) {
            return true;
        }
        let this = &self.radios[radio];
        let frequency = this.head().map(|frame| frame.sent.frequency);
        let frequency = frequency.or(this.frequency);
        if signal.frequency.is_some() && signal.frequency != frequency {
            return false;
        }
        let least = match signal.by {
            Source::Radio(_) => self.scene.busy,
            Source::Interferer(_) => self.scene.busy_by_energy,
        };
        self.level(radio, signal, frequency.unwrap_or(2412)) >= least
    }

    /// With which signal a radio hears it, dBm.
    pub(super) fn level(&self, radio: usize, signal: &Signal, frequency: u32) -> f64 {
        signal.power - self.scene.loss(signal.at, self.place(radio), frequency)
    }

    pub(super) fn place(&self, radio: usize) -> Place {
        let places = &self.scene.places;
        places
            .get(&self.radios[radio].name)
            .copied()
            .unwrap_or_default()
    }

    /// Whose address this is.
    pub(super) fn whose(&self, mac: &Mac) -> Option<usize> {
        self.addresses.get(mac).copied()
    }

    /// Draws slots anew, from the window of a category.
    pub(super) fn draw(&mut self, radio: usize, category: usize) {
        let window = self.radios[radio].windows[category] as usize;
        self.radios[radio].slots = self.random.between(0, window) as u64;
    }

    /// A chance, 0 to 1.
    pub(super) fn chance(&mut self) -> f64 {
        (self.random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Puts a signal of a radio on the air, and gives when it ends.
    pub(super) fn radiate(&mut self, radio: usize, frequency: u32, at: u64, time: u64) -> u64 {
        let power = self.radios[radio].power;
        let others = self.signals.iter().filter(|other| {
            matches!(other.by, Source::Radio(_)) && other.frequency == Some(frequency)
        });
        let over = others
            .map(|other| other.to.saturating_sub(at))
            .max()
            .unwrap_or_default();
        self.signals.push(Signal {
            by: Source::Radio(radio),
            frequency: Some(frequency),
            at: self.place(radio),
            power,
            from: at,
            to: at + time,
        });
        let counts = &mut self.radios[radio].counts;
        counts.airtime += time;
        counts.over_others += over.min(time);
        counts.energy += milliwatts(power) * time as f64 / 1e9;
        at + time
    }

    /// Frees what was told, in order.
    pub(super) fn release(&mut self, radio: usize, category: usize, out: &mut Vec<Action>) {
        release(&mut self.radios[radio].queues[category], out);
    }
}
