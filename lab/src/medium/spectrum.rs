//! What a radio makes of a signal, with all that is on the air beside it.

use super::rate::{CHECK_SUM, Rate};
use super::reception::{decibels, milliwatts, noise, right};
use super::scene::{Place, Scene};
use crate::random::Random;

/// Bits of the preamble that have to be right: the SIGNAL field (17.3.4).
const SIGNAL_BITS: f64 = 24.0;

/// Who sends a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    Radio(usize),
    /// One of the scene's interferers.
    Interferer(usize),
}

/// What is or was on the air.
#[derive(Clone, Copy, Debug)]
pub struct Signal {
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

/// All signals, and the places from which radios hear them.
#[derive(Debug)]
pub struct Spectrum {
    scene: Scene,
    random: Random,
    /// Names of radios, by their numbers.
    radios: Vec<String>,
    signals: Vec<Signal>,
}

impl Spectrum {
    /// Nothing on the air yet.
    pub fn new(scene: Scene, seed: u64) -> Self {
        Self {
            scene,
            random: Random::new(seed),
            radios: Vec::new(),
            signals: Vec::new(),
        }
    }

    /// One more radio, which is at the place of this name.
    pub fn join(&mut self, name: &str) {
        self.radios.push(name.to_owned());
    }

    /// Names of all radios.
    pub fn radios(&self) -> impl Iterator<Item = &str> {
        self.radios.iter().map(String::as_str)
    }

    /// The scene.
    pub fn scene(&self) -> &Scene {
        &self.scene
    }

    /// The scene, to change it.
    pub fn scene_mut(&mut self) -> &mut Scene {
        &mut self.scene
    }

    /// All signals that are remembered.
    pub fn signals(&self) -> &[Signal] {
        &self.signals
    }

    /// A signal begins.
    pub fn add(&mut self, signal: Signal) {
        self.signals.push(signal);
    }

    /// Forgets signals that have been over for so long.
    pub fn forget(&mut self, at: u64, over: u64) {
        self.signals.retain(|signal| signal.to + over > at);
    }

    /// A random number between these.
    pub fn draw(&mut self, least: usize, most: usize) -> usize {
        self.random.between(least, most)
    }

    /// The signal of a radio that ends now.
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

    /// Whether a radio understands a whole signal of so many octets; with which level, dBm.
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

    /// Whether a radio, which does not send itself meanwhile, finds the preamble of a signal; its
    /// level, dBm. Where two overlap it takes the stronger one, whenever it came.
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

    /// Whether so many bits, spread over this time, are all right.
    pub fn survives(
        &mut self,
        radio: usize,
        signal: &Signal,
        rate: &Rate,
        level: f64,
        (from, to): (u64, u64),
        bits: f64,
    ) -> bool {
        // Where others begin or end the ratio changes.
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

    /// How much this frame fades, dB: Box and Muller's way to a normal distribution.
    pub fn fade(&mut self) -> f64 {
        if self.scene.fading == 0.0 {
            return 0.0;
        }
        let (radius, turn) = (1.0 - self.chance(), self.chance());
        let normal = (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * turn).cos();
        self.scene.fading * normal
    }

    /// Noise and interference that a radio has, dBm.
    fn floor(&self, radio: usize, width: u32, signal: &Signal, at: (u64, u64)) -> f64 {
        let noise = noise(width, self.scene.noise_figure);
        decibels(milliwatts(noise) + self.interference(radio, signal, at.0, at.1))
    }

    /// What else a radio hears at a time between these, mW.
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

    /// With which signal a radio hears it, dBm.
    pub fn level(&self, radio: usize, signal: &Signal, frequency: u32) -> f64 {
        signal.power - self.scene.loss(signal.at, self.place(radio), frequency)
    }

    /// Where a radio is.
    pub fn place(&self, radio: usize) -> Place {
        let places = &self.scene.places;
        places.get(&self.radios[radio]).copied().unwrap_or_default()
    }

    /// A chance, 0 to 1.
    fn chance(&mut self) -> f64 {
        (self.random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }
}
