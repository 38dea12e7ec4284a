//! Reception of a signal by a radio amid all other signals on the air.

use super::rate::{CHECK_SUM, Rate};
use super::reception::{decibels, milliwatts, noise, right};
use super::scene::{Position, Scene};
use crate::random::Random;

/// Preamble bits that must be right: the SIGNAL field (17.3.4).
const SIGNAL_BITS: f64 = 24.0;

/// Sender of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    Radio(usize),
    /// An interferer of the scene.
    Interferer(usize),
}

/// A present or past signal on the air.
#[derive(Clone, Copy, Debug)]
pub struct Signal {
    pub by: Source,
    /// Centre frequency in MHz; `None` means all channels.
    pub frequency: Option<u32>,
    pub at: Position,
    /// Transmit power, dBm.
    pub power: f64,
    /// Start and end, ns.
    pub from: u64,
    pub to: u64,
}

/// All signals, and the radios that receive them.
#[derive(Debug)]
pub struct Spectrum {
    scene: Scene,
    random: Random,
    /// Names of radios, by number.
    radios: Vec<String>,
    signals: Vec<Signal>,
}

impl Spectrum {
    /// Returns a spectrum without signals.
    pub fn new(scene: Scene, seed: u64) -> Self {
        Self {
            scene,
            random: Random::new(seed),
            radios: Vec::new(),
            signals: Vec::new(),
        }
    }

    /// Adds a radio at the position of this name.
    pub fn join(&mut self, name: &str) {
        self.radios.push(name.to_owned());
    }

    /// Returns the names of all radios.
    pub fn radios(&self) -> impl Iterator<Item = &str> {
        self.radios.iter().map(String::as_str)
    }

    /// Returns the scene.
    pub fn scene(&self) -> &Scene {
        &self.scene
    }

    /// Returns the scene for changes.
    pub fn scene_mut(&mut self) -> &mut Scene {
        &mut self.scene
    }

    /// Returns all stored signals.
    pub fn signals(&self) -> &[Signal] {
        &self.signals
    }

    /// Adds a signal.
    pub fn add(&mut self, signal: Signal) {
        self.signals.push(signal);
    }

    /// Drops signals that ended more than `over` ns before `at`.
    pub fn forget(&mut self, at: u64, over: u64) {
        self.signals.retain(|signal| signal.to + over > at);
    }

    /// Draws a random number between `least` and `most`.
    pub fn draw(&mut self, least: usize, most: usize) -> usize {
        self.random.between(least, most)
    }

    /// Returns the radio's signal that ends at `at`.
    pub fn signal_of(&self, radio: usize, at: u64) -> Signal {
        let mut signals = self.signals.iter().rev();
        let found = signals.find(|signal| signal.by == Source::Radio(radio) && signal.to == at);
        found.copied().unwrap_or(Signal {
            by: Source::Radio(radio),
            frequency: None,
            at: self.place(radio),
            power: f64::NEG_INFINITY,
            from: at,
            to: at,
        })
    }

    /// Returns the level in dBm if the radio decodes the whole signal of `octets` bytes.
    pub fn understands(
        &mut self,
        radio: usize,
        signal: &Signal,
        rate: &Rate,
        octets: usize,
    ) -> Option<f64> {
        let begins = (signal.from + rate.preamble()).min(signal.to);
        let fade = self.fade();
        let level = self.detects(radio, signal, rate, fade)?;
        let span = (begins, signal.to);
        let bits = octets.max(CHECK_SUM) as f64 * 8.0;
        self.survives(radio, signal, rate, level, span, bits)
            .then_some(level)
    }

    /// Returns the level in dBm if the radio finds the signal's preamble; a sending radio finds
    /// none. The stronger of two overlapping signals wins, even if the stronger one began later.
    pub fn detects(
        &mut self,
        radio: usize,
        signal: &Signal,
        rate: &Rate,
        fade: f64,
    ) -> Option<f64> {
        let frequency = signal.frequency?;
        let own = |other: &&Signal| other.by == Source::Radio(radio);
        let overlaps = |other: &Signal| other.from < signal.to && other.to > signal.from;
        if self.signals.iter().filter(own).any(overlaps) {
            return None;
        }
        let level = self.level(radio, signal, frequency) + fade;
        let slowest = rate.of_preamble(frequency);
        let span = (signal.from, (signal.from + rate.preamble()).min(signal.to));
        self.survives(radio, signal, &slowest, level, span, SIGNAL_BITS)
            .then_some(level)
    }

    /// Decides at random if `bits` spread over this time are all right.
    pub fn survives(
        &mut self,
        radio: usize,
        signal: &Signal,
        rate: &Rate,
        level: f64,
        (from, to): (u64, u64),
        bits: f64,
    ) -> bool {
        // The ratio changes where other signals begin or end.
        let mut edges: Vec<u64> = (self.signals.iter())
            .filter(|other| other.by != signal.by)
            .flat_map(|other| [other.from, other.to])
            .filter(|edge| *edge > from && *edge < to)
            .chain([from, to])
            .collect();
        edges.sort_unstable();
        let whole = to.saturating_sub(from).max(1) as f64;
        let logarithm: f64 = (edges.windows(2))
            .map(|edge| {
                let floor = self.floor(radio, rate.width, signal, (edge[0], edge[1]));
                let share = (edge[1] - edge[0]) as f64 / whole;
                right(rate, milliwatts(level - floor)) * bits * share
            })
            .sum();
        self.chance() < logarithm.exp()
    }

    /// Draws the fading of one frame, dB: a normal distribution by the Box-Muller transform.
    pub fn fade(&mut self) -> f64 {
        if self.scene.fading == 0.0 {
            return 0.0;
        }
        let (radius, turn) = (1.0 - self.chance(), self.chance());
        let normal = (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * turn).cos();
        self.scene.fading * normal
    }

    /// Noise plus interference at the radio, dBm.
    fn floor(&self, radio: usize, width: u32, signal: &Signal, at: (u64, u64)) -> f64 {
        let noise = noise(width, self.scene.noise_figure);
        decibels(milliwatts(noise) + self.interference(radio, signal, at.0, at.1))
    }

    /// Power of all other signals at the radio between `from` and `to`, mW.
    fn interference(&self, radio: usize, signal: &Signal, from: u64, to: u64) -> f64 {
        let others = self.signals.iter().filter(|other| {
            other.from < to
                && other.to > from
                && other.by != signal.by
                && (other.frequency.is_none() || other.frequency == signal.frequency)
        });
        let frequency = signal.frequency.unwrap_or(2412);
        others
            .map(|other| milliwatts(self.level(radio, other, frequency)))
            .sum()
    }

    /// Returns the signal's level at the radio, dBm.
    pub fn level(&self, radio: usize, signal: &Signal, frequency: u32) -> f64 {
        signal.power - self.scene.loss(signal.at, self.place(radio), frequency)
    }

    /// Returns the radio's position.
    pub fn place(&self, radio: usize) -> Position {
        let places = &self.scene.places;
        places.get(&self.radios[radio]).copied().unwrap_or_default()
    }

    /// Draws a number from 0 to 1.
    fn chance(&mut self) -> f64 {
        (self.random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }
}
