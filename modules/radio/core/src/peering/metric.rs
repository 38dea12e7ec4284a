//! Metric of a link for a routing protocol. Rate control changes its choice all the time; a route
//! that follows each change flaps, and each change is announced to the whole network.

use kernel::nl80211::Station;

/// Weight of earlier readings: half of a change is visible after some three readings.
const WEIGHT: u64 = 4;
/// The metric follows the mean when they differ by more than one part in this number.
const TURN: u64 = 8;
/// Number of readings without a value after which the metric is dropped.
const FORGET: u32 = 10;

/// Returns the throughput to a station, in bit/s, as far as the driver reports it. If the radio
/// does rate control, only the last rate is known: a third of that, as in batman-adv
/// (`batadv_v_elp_get_throughput`, net/batman-adv/bat_v_elp.c).
pub fn expected(station: &Station) -> Option<u64> {
    station.expected.or(station.rate_to.map(|rate| rate / 3))
}

/// Announced throughput of a link, bits a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Metric {
    mean: Option<u64>,
    told: Option<u64>,
    /// Readings in a row without a value.
    unknown: u32,
}

impl Metric {
    /// Adds the reading of a second. `None`: the throughput is unknown; the announced value stays
    /// for some seconds.
    pub fn look(&mut self, expected: Option<u64>) {
        let Some(now) = expected else {
            self.unknown = self.unknown.saturating_add(1);
            if self.unknown >= FORGET {
                (self.mean, self.told) = (None, None);
            }
            return;
        };
        self.unknown = 0;
        let before = self.mean.unwrap_or(now);
        let mean = before - before / WEIGHT + now / WEIGHT;
        self.mean = Some(mean);
        let off = |told: u64| told.abs_diff(mean) > told / TURN;
        if self.told.is_none_or(off) {
            self.told = Some(mean);
        }
    }

    /// Returns the announced throughput.
    pub fn told(&self) -> Option<u64> {
        self.told
    }
}
