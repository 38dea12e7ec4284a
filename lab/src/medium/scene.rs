//! Places of radios, and the obstacles between them.

use std::collections::BTreeMap;

/// A position in a plane, metres.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Position {
    /// To the east.
    pub x: f64,
    /// To the north.
    pub y: f64,
}

impl Position {
    /// Returns the position with these coordinates.
    pub fn new(x: f64, y: f64) -> Self {
        Self { x, y }
    }

    fn distance(self, other: Self) -> f64 {
        (self.x - other.x).hypot(self.y - other.y)
    }
}

/// A wall, from one position to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wall {
    /// Its ends.
    pub ends: [Position; 2],
    /// Loss of a signal that crosses the wall, dB. ITU-R P.2040-3 at 5 GHz, for walls of some 10
    /// cm: plasterboard 2 to 4, wood 6, brick 10, concrete 20.
    pub loss: f64,
}

/// A source of interference outside the simulated radios. An interferer sends for a share of each
/// period, on all channels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interferer {
    /// Position of the interferer.
    pub at: Position,
    /// Transmit power, dBm in 20 MHz.
    pub power: f64,
    /// Share of time, 0 to 1. A microwave oven sends during half of each mains period.
    pub duty: f64,
    /// The period, ms.
    pub period: f64,
}

/// Parameters of propagation and receivers.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    /// Places by name.
    pub places: BTreeMap<String, Position>,
    /// Walls by name.
    pub walls: BTreeMap<String, Wall>,
    /// Interferers.
    pub interferers: Vec<Interferer>,
    /// Path loss exponent: the loss grows by 10 times this many dB for each decade of distance.
    /// Free space has 2; ITU-R P.1238-10 (table 2) has 2.8 to 3.1 for homes and offices.
    pub exponent: f64,
    /// End of free-space propagation, metres: 1 in ITU-R P.1238, 5 in the models B and C of IEEE
    /// 802.11-03/940r4 (TGn), 10 in its model D, which has an exponent of 3.5.
    pub breakpoint: f64,
    /// Noise that receivers add to thermal noise, dB.
    pub noise_figure: f64,
    /// Fading from frame to frame, dB: the standard deviation of a normal distribution (shadowing,
    /// as in 802.11-03/940r4, 4.1). 0 turns fading off.
    pub fading: f64,
    /// Least Wi-Fi signal that makes the channel busy, dBm: -82 in IEEE 802.11-2020, 17.3.10.6.
    pub busy: f64,
    /// Least other signal that makes the channel busy, dBm: 20 dB more in the standard.
    pub busy_by_energy: f64,
    /// Delivers frames for others too, as to a radio in monitor mode. Costs a message per radio and
    /// frame.
    pub overhear: bool,
    /// Allows A-MPDUs.
    pub aggregate: bool,
}

impl Default for Scene {
    fn default() -> Self {
        Self {
            places: BTreeMap::new(),
            walls: BTreeMap::new(),
            interferers: Vec::new(),
            exponent: 3.0,
            breakpoint: 1.0,
            noise_figure: 7.0,
            fading: 0.0,
            busy: -82.0,
            busy_by_energy: -62.0,
            overhear: false,
            aggregate: true,
        }
    }
}

impl Scene {
    /// Adds a radio at this position.
    pub fn with(mut self, name: &str, x: f64, y: f64) -> Self {
        self.places.insert(name.to_owned(), Position::new(x, y));
        self
    }

    /// Returns the loss in dB between two places at this frequency in MHz, with all crossed walls.
    /// ITU-R P.1238-10, 3.1: `20 log f + N log d - 28`, `N` = 20 up to the breakpoint.
    pub fn loss(&self, from: Position, to: Position, frequency: u32) -> f64 {
        let distance = from.distance(to).max(1.0);
        let near = distance.min(self.breakpoint.max(1.0));
        let walls = self.walls.values();
        let crossed = walls.filter(|wall| crosses(from, to, wall.ends));
        20.0 * f64::from(frequency.max(1)).log10() - 28.0
            + 20.0 * near.log10()
            + 10.0 * self.exponent * (distance / near).log10()
            + crossed.map(|wall| wall.loss).sum::<f64>()
    }
}

/// Returns true if two segments cross; touching segments do not cross.
fn crosses(a: Position, b: Position, [c, d]: [Position; 2]) -> bool {
    let side = |from: Position, to: Position, of: Position| {
        (to.x - from.x) * (of.y - from.y) - (to.y - from.y) * (of.x - from.x)
    };
    side(a, b, c) * side(a, b, d) < 0.0 && side(c, d, a) * side(c, d, b) < 0.0
}
