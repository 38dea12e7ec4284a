//! Length and number of measurements, and their summary.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Length and number of measurements.
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
    /// Returns the time of a measurement with its warm-up.
    pub fn piece(&self) -> Duration {
        Duration::from_secs_f64(self.warm + self.seconds)
    }
}

/// Summary of repeated measurements.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Median.
    pub median: f64,
    /// Lowest value.
    pub min: f64,
    /// Highest value.
    pub max: f64,
}

impl Spread {
    /// Summarises values; returns `None` without any.
    pub fn of(values: &[f64]) -> Option<Self> {
        let sorted = sorted(values);
        Some(Self {
            median: median(&sorted),
            min: *sorted.first()?,
            max: *sorted.last()?,
        })
    }
}

/// Returns the values in ascending order.
pub fn sorted(values: &[f64]) -> Vec<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values
}

/// Returns the median of sorted values; NaN without any.
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
