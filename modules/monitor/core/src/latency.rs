//! TCP waiting times: on either side of the router, idle and under load.

use std::collections::VecDeque;

use crate::reading::{Millis, RttStats};

/// Measurements that a median is taken of.
const LAST: usize = 31;
/// Fewest under load that something can be said of.
const LOADED: usize = 5;
/// Time for which a minimum is valid: routes change.
const LEAST_HOLDS: Millis = 600_000;
/// Growth under load up to which latency is good, and up to which it is fair, microseconds: beyond
/// the first a call begins to suffer, beyond the second all applications do (as the usual tests of
/// bufferbloat grade it).
const GOOD: u32 = 30_000;
const FAIR: u32 = 100_000;

/// On which side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Behind the router, seen from the station.
    Remote,
    /// Between router and station.
    Station,
}

/// Does waiting grow while something is transferred?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Hardly.
    Good,
    /// Noticeable.
    Fair,
    /// Disturbing.
    Bad,
}

/// Measurements of one side, microseconds.
#[derive(Clone, Debug, Default)]
struct RttSeries {
    last: VecDeque<u32>,
    loaded: VecDeque<u32>,
    loaded_at: Millis,
    least: Option<(u32, Millis)>,
}

impl RttSeries {
    fn add(&mut self, wait: u32, loaded: bool, now: Millis) {
        let push = |to: &mut VecDeque<u32>| {
            if to.len() == LAST {
                to.pop_front();
            }
            to.push_back(wait);
        };
        push(&mut self.last);
        if loaded {
            push(&mut self.loaded);
            self.loaded_at = now;
        } else if now.saturating_sub(self.loaded_at) >= LEAST_HOLDS {
            // The line, or the way, may be another by now.
            self.loaded.clear();
        }
        let old = self
            .least
            .filter(|(_, at)| now.saturating_sub(*at) < LEAST_HOLDS);
        if old.is_none_or(|(least, _)| wait <= least) {
            self.least = Some((wait, now));
        }
    }
}

fn median(waits: &VecDeque<u32>) -> Option<u32> {
    let mut sorted: Vec<u32> = waits.iter().copied().collect();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied()
}

/// All measurements of a station.
#[derive(Clone, Debug, Default)]
pub struct Latency {
    far: RttSeries,
    near: RttSeries,
    /// Retransmitted TCP segments.
    pub retransmits: u64,
}

impl Latency {
    fn side(&self, side: Side) -> &RttSeries {
        match side {
            Side::Remote => &self.far,
            Side::Station => &self.near,
        }
    }

    /// Adds a measurement. `loaded`: the device transferred much meanwhile.
    pub fn add(&mut self, side: Side, wait: u32, loaded: bool, now: Millis) {
        match side {
            Side::Remote => self.far.add(wait, loaded, now),
            Side::Station => self.near.add(wait, loaded, now),
        }
    }

    /// Returns the median of the last measurements, microseconds.
    pub fn median(&self, side: Side) -> Option<u32> {
        median(&self.side(side).last)
    }

    /// Returns the minimum of the last ten minutes or more, microseconds.
    pub fn min(&self, side: Side) -> Option<u32> {
        self.side(side).least.map(|(least, _)| least)
    }

    /// Returns true if nothing was measured.
    pub fn is_empty(&self) -> bool {
        self.far.last.is_empty() && self.near.last.is_empty() && self.retransmits == 0
    }

    /// Returns the growth of waiting times under load, in microseconds, on the worse side.
    pub fn growth(&self) -> Option<u32> {
        let growth = |waits: &RttSeries| {
            let (least, _) = waits.least?;
            let loaded = median(&waits.loaded).filter(|_| waits.loaded.len() >= LOADED)?;
            Some(loaded.saturating_sub(least))
        };
        growth(&self.far).max(growth(&self.near))
    }

    /// Returns the verdict on the worse side.
    pub fn verdict(&self) -> Option<Verdict> {
        Some(match self.growth()? {
            0..GOOD => Verdict::Good,
            GOOD..FAIR => Verdict::Fair,
            FAIR.. => Verdict::Bad,
        })
    }
}

/// Returns the changes since a record's times were last read: a round trip to the remote end, a
/// round trip to the station, and retransmitted segments, by the station and to the station.
pub fn changes(before: &RttStats, now: &RttStats) -> ([Option<u32>; 2], [u64; 2]) {
    let waits = [0, 1].map(|way| (before.count[way] != now.count[way]).then_some(now.last[way]));
    let again =
        [0, 1].map(|way| u64::from(now.retransmits[way].wrapping_sub(before.retransmits[way])));
    (waits, again)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_that_grows_is_told() {
        for (loaded, verdict) in [
            (21_000, Verdict::Good),
            (80_000, Verdict::Fair),
            (400_000, Verdict::Bad),
        ] {
            let mut latency = Latency::default();
            for now in 0..20 {
                latency.add(Side::Remote, 20_000, false, now);
            }
            assert_eq!(latency.verdict(), None, "nothing is known of load");
            for now in 20..40 {
                latency.add(Side::Remote, loaded, true, now);
            }
            assert_eq!(latency.verdict(), Some(verdict), "{loaded}");
            assert_eq!(latency.growth(), Some(loaded - 20_000));
            assert_eq!(latency.min(Side::Remote), Some(20_000));
        }
    }

    #[test]
    fn the_verdict_is_forgotten_with_the_least() {
        let mut latency = Latency::default();
        for now in 0..20 {
            latency.add(Side::Remote, 20_000, true, now);
        }
        latency.add(Side::Remote, 81_000, false, LEAST_HOLDS - 1);
        assert_eq!(latency.verdict(), Some(Verdict::Good));
        latency.add(Side::Remote, 81_000, false, LEAST_HOLDS + 20);
        assert_eq!(
            latency.verdict(),
            None,
            "it says nothing of the line of now"
        );
    }

    #[test]
    fn the_least_is_forgotten() {
        let mut latency = Latency::default();
        latency.add(Side::Station, 1_000, false, 0);
        latency.add(Side::Station, 9_000, false, LEAST_HOLDS + 1);
        assert_eq!(latency.min(Side::Station), Some(9_000));
    }
}
