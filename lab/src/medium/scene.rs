//! Where radios are, and what is between them.

use std::collections::BTreeMap;

/// A place in a plane, metres.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Place {
    /// To the east.
    pub x: f64,
    /// To the north.
    pub y: f64,
}

impl Place {
    /// By both coordinates.
    pub fn new(x: f64, y: f64) -> Self {
        Self { x, y }
    }

    fn distance(self, other: Self) -> f64 {
        (self.x - other.x).hypot(self.y - other.y)
    }
}

/// A wall, from one place to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wall {
    /// Its ends.
    pub ends: [Place; 2],
    /// What it takes from a signal that crosses it, dB. ITU-R P.2040-3 has, for a wall of some
    /// 10 cm at 5 GHz: plasterboard 2 to 4, wood 6, brick 10, concrete 20.
    pub loss: f64,
}

/// Something that is heard, and is no radio of ours: it sends for a share of each period, on all
/// channels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interferer {
    /// Where it is.
    pub at: Place,
    /// What it sends with, dBm in 20 MHz.
    pub power: f64,
    /// The share of time, 0 to 1. A microwave oven has a half of each period of the mains.
    pub duty: f64,
    /// The period, ms.
    pub period: f64,
}

/// All that decides what is lost on the way, and how receivers are.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    /// Places by name.
    pub places: BTreeMap<String, Place>,
    /// Walls by name.
    pub walls: BTreeMap<String, Wall>,
    /// Interferers.
    pub interferers: Vec<Interferer>,
    /// How fast signals fade: loss grows with 10 times it for each decade of distance, dB. 2 is
    /// free space; ITU-R P.1238-10 (table 2) has 2.8 to 3.1 for homes and offices.
    pub exponent: f64,
    /// Up to this distance, metres, it is free space: 1 is ITU-R P.1238, 5 the models B and C of
    /// IEEE 802.11-03/940r4 (TGn), 10 its model D, with an exponent of 3.5.
    pub breakpoint: f64,
    /// What receivers add to thermal noise, dB.
    pub noise_figure: f64,
    /// How much the loss changes from frame to frame, dB: the standard deviation of a normal
    /// distribution (shadowing, as in 802.11-03/940r4, 4.1). 0: not at all.
    pub fading: f64,
    /// From which signal on a radio takes the channel for busy, dBm: -82 in IEEE 802.11-2020,
    /// 17.3.10.6.
    pub busy: f64,
    /// The same of what is no Wi-Fi, dBm: 20 dB more there.
    pub busy_by_energy: f64,
    /// Whether radios hear frames that are for others, as a radio that only listens does. Costs a
    /// message for each radio and frame.
    pub overhear: bool,
    /// Whether frames may be sent as A-MPDU.
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
    /// With a radio there.
    pub fn with(mut self, name: &str, x: f64, y: f64) -> Self {
        self.places.insert(name.to_owned(), Place::new(x, y));
        self
    }

    /// What is lost between two places on this frequency, MHz; dB. ITU-R P.1238-10, 3.1:
    /// `20 log f + N log d - 28`, with `N` 20 up to the breakpoint; and all walls that are crossed.
    pub fn loss(&self, from: Place, to: Place, frequency: u32) -> f64 {
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

/// Whether two segments cross. Those that only touch do not.
fn crosses(a: Place, b: Place, [c, d]: [Place; 2]) -> bool {
    let side = |from: Place, to: Place, of: Place| {
        (to.x - from.x) * (of.y - from.y) - (to.y - from.y) * (of.x - from.x)
    };
    side(a, b, c) * side(a, b, d) < 0.0 && side(c, d, a) * side(c, d, b) < 0.0
}
