//! Positions of the radios, obstacles between them, and drivers.

use lab::medium::{Interferer, Position, Scene, Wall};

/// Positions of radios, and events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scenario {
    /// A station nearby.
    Near,
    /// A distant station that receives only some of the rates.
    Far,
    /// A wall appears between after half of the time.
    Walls,
    /// Another sender is on the air.
    Interferer,
    /// A station walks away, and comes back.
    Moving,
    /// Two access points in range of each other.
    Two,
}

impl Scenario {
    /// All scenarios.
    pub const ALL: [Self; 6] = [
        Self::Near,
        Self::Far,
        Self::Walls,
        Self::Interferer,
        Self::Moving,
        Self::Two,
    ];

    /// Returns the name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Near => "near",
            Self::Far => "far",
            Self::Walls => "walls",
            Self::Interferer => "interferer",
            Self::Moving => "moving",
            Self::Two => "two",
        }
    }

    /// Returns the description.
    pub fn text(self) -> &'static str {
        match self {
            Self::Near => "a station 5 m away",
            Self::Far => "a station 35 m away",
            Self::Walls => "a station 12 m away, behind a wall of 15 dB in the second half",
            Self::Interferer => {
                "a station 12 m away, another sender on the air a fifth of the time"
            }
            Self::Moving => "a station that moves from 5 to 40 m, and back",
            Self::Two => "two access points 60 m apart, each with a station 5 m away",
        }
    }

    /// Returns the access points, each with its station.
    pub fn pairs(self) -> &'static [[&'static str; 2]] {
        match self {
            Self::Two => &[["ap", "sta"], ["other", "client"]],
            _ => &[["ap", "sta"]],
        }
    }

    /// Returns the channel in MHz, and the settings of hostapd.
    pub fn channel(self) -> (u32, &'static str) {
        match self {
            // An emulated machine fills the air only at 1 Mbit/s.
            Self::Two => (
                2412,
                "hw_mode=b\nchannel=1\nsupported_rates=10\nbasic_rates=10",
            ),
            _ => (5180, "hw_mode=a\nchannel=36"),
        }
    }

    /// Returns the rate sent to each station, bit/s.
    pub fn rate(self) -> u64 {
        match self {
            Self::Two => 850_000,
            _ => 2_000_000,
        }
    }

    /// Returns the time at which the wall appears, as a share of the whole.
    pub fn wall(self) -> Option<f64> {
        (self == Self::Walls).then_some(0.5)
    }

    /// Returns the scene after this share of the time.
    pub fn scene(self, share: f64) -> Scene {
        let at = |metres: f64| {
            let scene = Scene::default().with("ap", 0.0, 0.0);
            scene.with("sta", metres, 0.0)
        };
        match self {
            Self::Near => at(5.0),
            Self::Far => at(35.0),
            Self::Walls => {
                let mut scene = at(12.0);
                if self.wall().is_some_and(|begin| share >= begin) {
                    let ends = [Position::new(6.0, -5.0), Position::new(6.0, 5.0)];
                    let wall = Wall { ends, loss: 15.0 };
                    scene.walls.insert("wall".into(), wall);
                }
                scene
            }
            Self::Interferer => {
                let mut scene = at(12.0);
                // The interferer is faint enough for the access point to send meanwhile.
                scene.interferers.push(Interferer {
                    at: Position::new(30.0, 0.0),
                    power: 5.0,
                    duty: 0.2,
                    period: 20.0,
                });
                scene
            }
            Self::Moving => at(5.0 + 35.0 * (1.0 - (2.0 * share - 1.0).abs())),
            Self::Two => at(0.0)
                .with("sta", 0.0, 5.0)
                .with("other", 60.0, 0.0)
                .with("client", 60.0, 5.0),
        }
    }

    /// Returns whether the scene changes over time.
    pub fn changes(self) -> bool {
        matches!(self, Self::Walls | Self::Moving)
    }
}

/// Driver of power and rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Driver {
    /// Power search of weir.
    Weir,
    /// Predecessor of weir's search.
    Predecessor,
    /// Maximum power, and the kernel's rate control.
    Maximum,
    /// Maximum power, and the slowest rate.
    Slow,
}

impl Driver {
    /// All drivers.
    pub const ALL: [Self; 4] = [Self::Weir, Self::Predecessor, Self::Maximum, Self::Slow];

    /// Returns the name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Weir => "weir",
            Self::Predecessor => "predecessor",
            Self::Maximum => "maximum",
            Self::Slow => "slow",
        }
    }
}
