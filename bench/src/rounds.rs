//! How long and how often something is measured, and what many measurements come to.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How long and how often.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Rounds over all rows.
    pub rounds: u32,
    /// Seconds for each measurement.
    pub seconds: f64,
    /// Seconds of warm-up before it.
    pub warm: f64,
}

impl Plan {
    /// How long one measurement takes.
    pub fn piece(&self) -> Duration {
        Duration::from_secs_f64(self.warm + self.seconds)
    }
}

/// What the same measurement gave, made several times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// The one in the middle.
    pub median: f64,
    /// The least.
    pub min: f64,
    /// The most.
    pub max: f64,
}

impl Spread {
    /// `None` of nothing.
    pub fn of(values: &[f64]) -> Option<Self> {
        let sorted = sorted(values);
        Some(Self {
            median: median(&sorted),
            min: *sorted.first()?,
            max: *sorted.last()?,
        })
    }
}

/// The least first.
pub fn sorted(values: &[f64]) -> Vec<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values
}

/// Of sorted values; NaN of none.
pub fn median(sorted: &[f64]) -> f64 {
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(&[1.0, 2.0, 9.0]), 2.0);
        assert_eq!(median(&[1.0, 2.0, 4.0, 9.0]), 3.0);
        assert!(median(&[]).is_nan());
        assert_eq!(Spread::of(&[]), None);
        let spread = Spread::of(&[4.0, 1.0, 2.0]).expect("three");
        assert_eq!((spread.median, spread.min, spread.max), (2.0, 1.0, 4.0));
    }
}
