//! How long marked packets took to the receiver and back.

use serde::{Deserialize, Serialize};

/// Samples that are kept: what comes after is left out.
pub const MOST: usize = 200_000;
/// Answers a second that are asked for, about.
const ANSWERS: f64 = 1000.0;

/// Times of a round trip, microseconds: through the router and back, and through both machines. The
/// way back is only the answers, hence a small load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Answers that came.
    pub answers: u64,
    /// Half of them took no longer.
    pub p50: f64,
    /// 99 of 100.
    pub p99: f64,
    /// 999 of 1000.
    pub p999: f64,
    /// The longest.
    pub max: f64,
}

impl Latency {
    /// Of times in nanoseconds. `None` of none.
    pub fn of(mut times: Vec<u64>) -> Option<Self> {
        times.sort_unstable();
        let last = *times.last()?;
        let at = |share: f64| {
            // The nearest rank.
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

/// One packet in so many is marked, at this rate.
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
