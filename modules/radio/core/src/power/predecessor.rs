//! The earlier logic, kept for comparison.

use super::levels::{NoPowers, PowerLevels};

/// The predecessor's search: its only input is the throughput that the driver expects, which
/// follows a change of power with a delay. The predecessor has constants of its own.
///
/// The search begins with the greatest power, and steps down a level at a time. A level is kept if
/// expected throughput is at least [`KEEP`](Self::KEEP) of its value a level higher; otherwise the
/// previous level is the optimum. Every tenth round checks the greatest power for 60 ms; if the
/// optimum gives less than that share of it, the search restarts from the second-highest.
#[derive(Clone, Debug)]
pub struct Predecessor {
    ladder: PowerLevels,
    /// Current level.
    place: usize,
    optimum: usize,
    phase: Phase,
    /// Expected throughput of the level above, or of the optimum before a measurement of the
    /// greatest.
    before: f64,
    rounds: u32,
    until: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Top,
    Down,
    Hold,
    Probe,
}

impl Predecessor {
    /// Share of the throughput that has to stay.
    pub const KEEP: f64 = 0.9;
    /// Rounds between two measurements of the greatest power.
    pub const EVERY: u32 = 10;
    /// Duration of the check at the greatest power, ms.
    pub const PROBE: u64 = 60;
    /// Duration of a watch at another level, ms.
    pub const WATCH: u64 = 140;

    /// Creates a search for a radio with these powers, dBm.
    ///
    /// # Errors
    /// The list of powers is empty.
    pub fn new(powers: Vec<i32>) -> Result<Self, NoPowers> {
        let ladder = PowerLevels::new(powers)?;
        Ok(Self {
            place: ladder.top(),
            optimum: ladder.top(),
            ladder,
            phase: Phase::Top,
            before: 0.0,
            rounds: 0,
            until: 0,
        })
    }

    /// Returns the power to set, where `expected` is the throughput that the driver expects,
    /// kbit/s.
    pub fn step(&mut self, now: u64, expected: f64) -> i32 {
        if self.until == 0 {
            self.go(now, self.ladder.top(), Phase::Top);
        } else if now >= self.until {
            self.round(now, expected);
        }
        self.ladder.power(self.place)
    }

    fn round(&mut self, now: u64, expected: f64) {
        let enough = expected >= Self::KEEP * self.before;
        match self.phase {
            Phase::Top => {
                self.before = expected;
                self.go(now, self.ladder.second(), Phase::Down);
            }
            Phase::Down if enough && self.place > 0 => {
                self.before = expected;
                self.optimum = self.place;
                self.go(now, self.place - 1, Phase::Down);
            }
            Phase::Down => {
                self.optimum = if enough {
                    self.place
                } else {
                    (self.place + 1).min(self.ladder.top())
                };
                self.rounds = 0;
                self.go(now, self.optimum, Phase::Hold);
            }
            Phase::Hold => {
                self.rounds += 1;
                if self.rounds >= Self::EVERY {
                    self.rounds = 0;
                    self.before = expected;
                    self.go(now, self.ladder.top(), Phase::Probe);
                } else {
                    self.go(now, self.optimum, Phase::Hold);
                }
            }
            Phase::Probe if self.before < Self::KEEP * expected => {
                self.before = expected;
                self.go(now, self.ladder.second(), Phase::Down);
            }
            Phase::Probe => self.go(now, self.optimum, Phase::Hold),
        }
    }

    fn go(&mut self, now: u64, place: usize, phase: Phase) {
        (self.place, self.phase) = (place, phase);
        let time = match phase {
            Phase::Probe => Self::PROBE,
            _ => Self::WATCH,
        };
        self.until = now.saturating_add(time);
    }
}
