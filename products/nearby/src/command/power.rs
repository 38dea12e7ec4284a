//! Option of `run` for power.

use clap::ValueEnum;

use crate::power;

/// Power mode, by name.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Power {
    /// Scan for 5 s of each 30 s, or of each 15 s while no peer is near or a message waits; at once
    /// for a new message
    Low,
    /// Scan all the time, for 5 s each
    Balanced,
    /// Scan all the time, for 2 s each: lost peers are found sooner
    Fast,
}

impl From<Power> for power::Power {
    fn from(power: Power) -> Self {
        match power {
            Power::Low => Self::Low,
            Power::Balanced => Self::Balanced,
            Power::Fast => Self::Fast,
        }
    }
}
