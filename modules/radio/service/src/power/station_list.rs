//! Chooses the stations for a reading: a report on one station costs the kernel some 45,000
//! instructions, with or without traffic.

use std::collections::BTreeMap;

use kernel::nl80211::Station;

/// All are read this often, ms; meanwhile those that are sent to.
const ALL: u64 = 1000;
/// A station without traffic for this time, ms, is read only with all others.
const QUIET: u64 = 2000;

/// An address.
type Mac = [u8; 6];

/// The stations of a device. Times are milliseconds of one clock.
#[derive(Debug, Default)]
pub struct StationList {
    all: BTreeMap<Mac, Known>,
    /// Time of the last full read; `None`: a station came or went since.
    read: Option<u64>,
}

#[derive(Debug)]
struct Known {
    station: Station,
    /// Time of the last frame to the station.
    sent: u64,
}

impl StationList {
    /// Requests a full read: a station came or went.
    pub fn is_stale(&mut self) {
        self.read = None;
    }

    /// Returns true if a full read is due.
    pub fn is_due(&self, now: u64) -> bool {
        self.read.is_none_or(|read| now.saturating_sub(read) >= ALL)
    }

    /// Lists the stations to read between full reads: their devices and addresses.
    pub fn busy(&self, now: u64) -> Vec<(u32, Mac)> {
        let busy = |known: &&Known| now.saturating_sub(known.sent) < QUIET;
        let busy = self.all.values().filter(busy);
        busy.map(|known| (known.station.link, known.station.mac))
            .collect()
    }

    /// Handles a reading of all stations. New stations may get frames.
    pub fn read_all(&mut self, now: u64, stations: Vec<Station>) {
        let mut before = std::mem::take(&mut self.all);
        for station in stations {
            let known = before.remove(&station.mac);
            self.note(now, known, station);
        }
        self.read = Some(now);
    }

    /// Records the read of a station. `None`: the station is gone.
    pub fn read(&mut self, now: u64, mac: Mac, station: Option<Station>) {
        let known = self.all.remove(&mac);
        match station {
            Some(station) => self.note(now, known, station),
            None => self.is_stale(),
        }
    }

    fn note(&mut self, now: u64, known: Option<Known>, station: Station) {
        let same = known.filter(|known| known.station.frames == station.frames);
        let sent = same.map_or(now, |known| known.sent);
        self.all.insert(station.mac, Known { station, sent });
    }

    /// Returns all stations, as last read.
    pub fn stations(&self) -> Vec<Station> {
        self.all.values().map(|known| known.station).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn station(number: u8, frames: u32) -> Station {
        Station {
            link: 7,
            mac: [2, 0, 0, 0, 0, number],
            frames: Some(frames),
            ..Station::default()
        }
    }

    fn busy(roster: &StationList, now: u64) -> Vec<u8> {
        let busy = roster.busy(now);
        busy.into_iter().map(|(_, mac)| mac[5]).collect()
    }

    #[test]
    fn who_is_sent_to_is_read_at_each_look_and_all_once_a_second() {
        let mut roster = StationList::default();
        assert!(roster.is_due(0) && roster.busy(0).is_empty());
        roster.read_all(0, vec![station(1, 5), station(2, 9)]);
        // New ones may be sent to.
        assert_eq!(busy(&roster, 50), [1, 2]);
        assert!(!roster.is_due(999) && roster.is_due(1000));
        roster.read(500, station(1, 6).mac, Some(station(1, 6)));
        roster.read(500, station(2, 9).mac, Some(station(2, 9)));
        roster.read_all(1000, vec![station(1, 6), station(2, 9)]);
        assert_eq!(busy(&roster, 2100), [1]);
        assert_eq!(roster.stations(), [station(1, 6), station(2, 9)]);
        assert!(busy(&roster, 2600).is_empty());
        // The second station gets frames: detected when all are read, and from then on in each
        // reading.
        roster.read_all(2600, vec![station(1, 6), station(2, 10)]);
        assert_eq!(busy(&roster, 2700), [2]);
    }

    #[test]
    fn who_comes_or_goes_has_all_read_at_once() {
        let mut roster = StationList::default();
        roster.read_all(0, vec![station(1, 5), station(2, 9)]);
        roster.is_stale();
        assert!(roster.is_due(1));
        roster.read_all(1, vec![station(1, 5), station(2, 9), station(3, 0)]);
        assert!(!roster.is_due(2));
        assert_eq!(
            busy(&roster, 2000),
            [3],
            "the others are quiet since the begin"
        );
        // The end of a station had no event: the read did not find it.
        roster.read(10, station(3, 0).mac, None);
        assert!(roster.is_due(11));
        assert_eq!(roster.stations().len(), 2);
        roster.read_all(11, vec![station(2, 9)]);
        assert_eq!(roster.stations(), [station(2, 9)]);
    }
}
