//! What a link is worth to a routing protocol. Rate control changes its mind all the time; a route
//! that follows each of its turns flaps, and each turn is told to the whole network.

use kernel::nl80211::Station;

/// A look counts one part in so many: half of a change is seen after some three looks.
const WEIGHT: u64 = 4;
/// What is told follows the mean once that is off by one part in so many.
const TURN: u64 = 8;
/// After so many looks at which nobody knew anything, what was known is worth nothing.
const FORGET: u32 = 10;

/// What gets through to a station, bits a second, as far as its driver tells. Where rate control is
/// the radio's own, all that is known is the last rate: a third of that, as batman-adv takes it
/// (`batadv_v_elp_get_throughput`, net/batman-adv/bat_v_elp.c).
pub fn expected(station: &Station) -> Option<u64> {
    station.expected.or(station.rate_to.map(|rate| rate / 3))
}

/// Throughput of a link as it is told, bits a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Metric {
    mean: Option<u64>,
    told: Option<u64>,
    /// Looks in a row at which nobody knew anything.
    unknown: u32,
}

impl Metric {
    /// The link was looked at, once a second. `None`: nobody knows what gets through; what was told
    /// stays for some seconds.
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

    /// What is told.
    pub fn told(&self) -> Option<u64> {
        self.told
    }
}
