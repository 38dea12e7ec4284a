//! Round-trip times of marked packets.

use serde::{Deserialize, Serialize};

/// Samples kept; later ones are left out.
pub const MOST: usize = 200_000;
/// Answers requested a second, about.
const ANSWERS: f64 = 1000.0;

/// Round-trip times in microseconds, through the router and both machines. The way back carries
/// only the answers, hence a small load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Answers that arrived.
    pub answers: u64,
    /// Median.
    pub p50: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p999: f64,
    /// Longest time.
    pub max: f64,
}

impl Latency {
    /// Returns the percentiles of times in nanoseconds, or `None` without any.
    pub fn of(mut times: Vec<u64>) -> Option<Self> {
        times.sort_unstable();
        let last = *times.last()?;
        let at = |share: f64| {
            // Nearest-rank percentile.
            let rank = (share * times.len() as f64).ceil() as usize;
            times[rank.clamp(1, times.len()) - 1] as f64 / 1e3
        };
        Some(Self {
            answers: times.len() as u64,
            p50: at(0.5),
            p99: at(0.99),
            p999: at(0.999),
            max: last as f64 / 1e3,
        })
    }
}

/// Returns `n`, so that marking each `n`th packet at this rate gives `ANSWERS`.
pub fn one_of(rate: f64) -> u32 {
    (rate / ANSWERS).ceil().max(1.0) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks() {
        assert_eq!(Latency::of(Vec::new()), None);
        let found = Latency::of((1..=1000).rev().map(|n| n * 1000).collect()).expect("some");
        assert_eq!(
            (found.p50, found.p99, found.p999, found.max),
            (500.0, 990.0, 999.0, 1000.0)
        );
        let found = Latency::of(vec![7_000]).expect("one");
        assert_eq!((found.answers, found.p50, found.p999), (1, 7.0, 7.0));
    }

    #[test]
    fn marks_are_few() {
        assert_eq!(one_of(10.0), 1);
        assert_eq!(one_of(1000.0), 1);
        assert_eq!(one_of(1e6), 1000);
    }
}
