//! Option of `run` for power.

use clap::ValueEnum;

use crate::power;

/// As a word.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Power {
    /// Looks for 5 s of each 30 s, or 15 s where nobody is near; at once for a new message
    Low,
    /// Looks for others all the time, for 5 s each
    Balanced,
    /// The same for 2 s each: who was lost is heard again sooner
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
