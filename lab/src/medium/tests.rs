//! Tests of the model without a kernel.

mod access;
mod aggregates;
mod formulas;

use std::collections::HashMap;

use kernel::Mac;
use kernel::hwsim::{ACKNOWLEDGED, NO_ACK, Rate as Told, TransmittedFrame};

use super::{Action, MediumModel, Scene};

/// Nanoseconds per second.
pub(super) const SECOND: u64 = 1_000_000_000;
/// Channel 36, MHz.
pub(super) const CHANNEL: u32 = 5180;
/// Rate indices at 5 GHz.
pub(super) const SLOW: i8 = 0;
pub(super) const FAST: i8 = 7;

/// Outcomes of sent frames.
#[derive(Debug, Default)]
pub(super) struct Results {
    /// Acknowledged and failed frames of each radio.
    pub acknowledged: HashMap<usize, u64>,
    pub failed: HashMap<usize, u64>,
    /// Sender, cookie, tries and signal of each reported frame.
    pub told: Vec<(usize, u64, [Told; 4], i32)>,
    /// Receiver, number (the last eight bytes of the frame) and signal of each decoded frame.
    pub heard: Vec<(usize, u64, i32)>,
}

/// The model, its clock and the outcomes.
pub(super) struct World {
    pub air: MediumModel,
    pub now: u64,
    pub seen: Results,
    next: u64,
    waiting: HashMap<usize, usize>,
}

pub(super) fn mac(radio: usize) -> Mac {
    [2, 0, 0, 0, radio as u8, 0]
}

/// Builds a QoS data frame of best effort, `octets` bytes long with its check sum.
pub(super) fn data(from: usize, to: usize, octets: usize) -> Vec<u8> {
    let mut frame = vec![0x88, 2, 0, 0];
    frame.extend(mac(to));
    frame.extend(mac(from));
    frame.extend(mac(from));
    frame.resize(octets - 4, 0);
    frame
}

pub(super) fn rate(index: i8, count: u8, flags: u16) -> [Told; 4] {
    let none = Told {
        index: -1,
        ..Told::default()
    };
    let first = Told {
        index,
        count,
        flags,
    };
    [first, none, none, none]
}

impl World {
    pub fn new(scene: Scene, seed: u64) -> Self {
        let names: Vec<String> = scene.places.keys().cloned().collect();
        let mut air = MediumModel::new(scene, seed);
        for (radio, name) in names.iter().enumerate() {
            air.join(name, mac(radio));
        }
        Self {
            air,
            now: 0,
            seen: Results::default(),
            next: 1,
            waiting: HashMap::new(),
        }
    }

    /// Sends a frame and returns its number, which replaces the frame's last bytes.
    pub fn send(&mut self, radio: usize, mut frame: Vec<u8>, rates: [Told; 4]) -> u64 {
        let cookie = self.next;
        self.next += 1;
        let length = frame.len();
        if length >= 40 {
            frame[length - 8..].copy_from_slice(&cookie.to_be_bytes());
        }
        let group = frame[4] & 1 == 1;
        let sent = TransmittedFrame {
            radio: mac(radio),
            cookie,
            flags: if group { NO_ACK } else { 0 },
            frequency: CHANNEL,
            rates,
            frame,
        };
        *self.waiting.entry(radio).or_default() += 1;
        let mut actions = Vec::new();
        self.air.send(radio, sent, self.now, &mut actions);
        self.note(actions);
        cookie
    }

    /// Advances the clock by `time` ns.
    pub fn pass(&mut self, time: u64) {
        self.now += time;
        let mut actions = Vec::new();
        self.air.advance(self.now, &mut actions);
        self.note(actions);
    }

    /// Keeps the queue of each pair's sender full for `time` ns.
    pub fn saturate(
        &mut self,
        pairs: &[(usize, usize)],
        octets: usize,
        rates: [Told; 4],
        time: u64,
    ) {
        let end = self.now + time;
        while self.now < end {
            for (from, to) in pairs {
                while self.waiting.get(from).copied().unwrap_or_default() < 70 {
                    self.send(*from, data(*from, *to, octets), rates);
                }
            }
            self.pass(500_000);
        }
    }

    fn note(&mut self, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Told {
                    radio,
                    cookie,
                    flags,
                    rates,
                    signal,
                } => {
                    *self.waiting.entry(radio).or_default() -= 1;
                    let all = match flags & ACKNOWLEDGED {
                        0 => &mut self.seen.failed,
                        _ => &mut self.seen.acknowledged,
                    };
                    *all.entry(radio).or_default() += 1;
                    self.seen.told.push((radio, cookie, rates, signal));
                }
                Action::Heard { hearers, frame, .. } => {
                    let number = frame[frame.len() - 8..].try_into().expect("eight octets");
                    for (radio, signal) in hearers {
                        self.seen
                            .heard
                            .push((radio, u64::from_be_bytes(number), signal));
                    }
                }
            }
        }
    }

    pub fn acknowledged(&self, radio: usize) -> f64 {
        self.seen
            .acknowledged
            .get(&radio)
            .copied()
            .unwrap_or_default() as f64
    }

    pub fn failed(&self, radio: usize) -> f64 {
        self.seen.failed.get(&radio).copied().unwrap_or_default() as f64
    }

    /// Saturates the pairs for one second.
    pub fn run(scene: Scene, pairs: &[(usize, usize)], rates: [Told; 4]) -> Self {
        let mut world = Self::new(scene, 7);
        world.saturate(pairs, 1536, rates, SECOND);
        world
    }
}
