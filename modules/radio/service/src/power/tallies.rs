//! Reports on stations.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use kernel::nl80211::Station;
use radio_core::power::{Mac, Reading, Tally};

use super::state::StationReport;

/// Interval of throughput reports, and of readings if nothing is changed.
pub const WATCHES: Duration = Duration::from_secs(1);

/// Throughput of each station, second by second, for reports.
#[derive(Default)]
pub struct StationTallies {
    all: BTreeMap<Mac, (Tally, Instant, Option<f64>)>,
}

impl StationTallies {
    /// Handles a reading of all stations.
    pub fn look(&mut self, reading: &Reading) {
        for station in &reading.stations {
            let fresh = || (Tally::default(), Instant::now(), None);
            let (tally, since, last) = self.all.entry(station.mac).or_insert_with(fresh);
            tally.look(station);
            if since.elapsed() >= WATCHES {
                *last = tally.estimate().map(|it| it.throughput);
                (*tally, *since) = (tally.onward(), Instant::now());
            }
        }
    }

    /// Reports on stations, without their power; forgets absent stations.
    pub fn heard(&mut self, stations: Vec<Station>) -> Vec<StationReport> {
        let mut before = std::mem::take(&mut self.all);
        let each = stations.into_iter().map(|station| {
            let mac = Mac(station.mac);
            let known = before.remove(&mac);
            let throughput = known.as_ref().and_then(|known| known.2);
            self.all.extend(known.map(|known| (mac, known)));
            StationReport {
                station,
                power: None,
                throughput,
            }
        });
        each.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_there_is_told_of_and_who_is_gone_is_forgotten() {
        let station = |number| Station {
            mac: [2, 0, 0, 0, 0, number],
            ..Station::default()
        };
        let told = |tallies: &mut StationTallies, all: &[u8]| {
            let stations = all.iter().copied().map(station).collect();
            let heard = tallies.heard(stations);
            heard.iter().map(|it| it.station.mac[5]).collect::<Vec<_>>()
        };
        let mut tallies = StationTallies::default();
        tallies.look(&Reading::of(&[station(1), station(2)]));
        // A station that was not read yet is listed all the same.
        assert_eq!(told(&mut tallies, &[1, 3]), [1, 3]);
        assert_eq!(tallies.all.len(), 1);
        assert_eq!(told(&mut tallies, &[1]), [1]);
        assert_eq!(told(&mut tallies, &[]), [0; 0]);
        assert!(tallies.all.is_empty());
    }
}
