//! Statistics per day.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use answers::{PortalDay, PortalFigures};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use kernel::Mac;
use net::clock::unix_seconds;
use portal_core::statistics::{Date, Day, Statistics};
use tokio::sync::oneshot;
use tracing::warn;

use super::schedule::BUILT;
use crate::statistics_file::StatisticsFile;

/// Interval of writes of used time and online guests: flash wears out.
pub const NOTED: Duration = Duration::from_secs(60);

/// Totals by day, and events not added yet.
pub struct DailyStatistics {
    statistics: Statistics,
    file: StatisticsFile,
    zone: TimeZone,
    /// Devices with traffic since the last check, and the time of that check.
    active: HashSet<Mac>,
    looked: Instant,
}

impl DailyStatistics {
    /// Starts with the stored totals. Reads the zone: to be called with all rights.
    pub fn new((file, figures): (StatisticsFile, Statistics)) -> Self {
        Self {
            statistics: figures,
            file,
            zone: history_core::zone::system().zone,
            active: HashSet::new(),
            looked: Instant::now(),
        }
    }

    /// Starts the writing thread.
    pub fn start(&mut self) {
        self.file.start();
        self.update_date();
        // The rewrite drops devices of earlier days, and damaged lines.
        self.file.replace(self.statistics.file());
    }

    /// Returns the file of statistics, if the last ones could not be written.
    pub fn unwritten(&self) -> Option<String> {
        self.file.unwritten()
    }

    /// Completes after an attempt to write all pending statistics.
    pub fn settled(&self) -> oneshot::Receiver<()> {
        self.file.settled()
    }

    /// Starts a new day if the date changed.
    fn update_date(&mut self) {
        let date = date(&self.zone, unix_seconds());
        let key = || {
            let mut key = [0; 16];
            if let Err(error) = getrandom::fill(&mut key) {
                warn!(%error, "no random key for the devices of this day: the key can be guessed");
            }
            key
        };
        if self.statistics.start_day(date, key) {
            self.file.replace(self.statistics.file());
        }
    }

    /// Counts a log-in.
    pub fn logged_in(&mut self, mac: &Mac) {
        self.update_date();
        self.statistics.logged_in(mac);
    }

    /// Counts sold vouchers.
    pub fn sold(&mut self, vouchers: usize) {
        self.update_date();
        self.statistics.sold(vouchers as u64);
    }

    /// Adds traffic of a guest.
    pub fn moved(&mut self, mac: &Mac, bytes: u64) {
        self.active.insert(*mac);
        self.statistics.moved(bytes);
    }

    /// Counts devices online since the last check.
    pub fn count_active(&mut self) {
        self.update_date();
        let seconds = self.looked.elapsed().min(2 * NOTED).as_secs();
        self.looked = Instant::now();
        for mac in self.active.drain() {
            self.statistics.was_online(&mac, seconds);
        }
        if let Some(news) = self.statistics.take_unwritten() {
            self.file.append(news);
        }
    }

    /// Returns the statistics of all days for the API.
    pub fn statistics(&self) -> PortalFigures {
        let days = self.statistics.days();
        let shown = |(date, day): (&Date, &Day)| PortalDay {
            day: date.to_string(),
            guests: day.guests,
            log_ins: day.log_ins,
            seconds: day.seconds,
            bytes: day.bytes,
            sold: day.sold,
        };
        PortalFigures {
            days: days.map(shown).collect(),
        }
    }
}

/// Returns the date; `None`: the clock is wrong.
fn date(zone: &TimeZone, wall: u64) -> Option<Date> {
    let at = i64::try_from(wall).ok().filter(|_| wall >= BUILT)?;
    let at = Timestamp::from_second(at).ok()?.to_zoned(zone.clone());
    Some(Date {
        year: u16::try_from(at.year()).ok()?,
        month: u8::try_from(at.month()).ok()?,
        day: u8::try_from(at.day()).ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A Tuesday, 23:30 UTC.
    const LATE: u64 = 1_795_563_000;

    #[test]
    fn a_day_is_that_of_the_zone() {
        let shown = |zone: &TimeZone, wall| date(zone, wall).map(|date| date.to_string());
        let berlin = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").expect("a zone");
        for (zone, day) in [(&TimeZone::UTC, "2026-11-24"), (&berlin, "2026-11-25")] {
            assert_eq!(shown(zone, LATE).as_deref(), Some(day));
        }
        for wrong in [0, BUILT - 1, u64::MAX] {
            assert_eq!(shown(&berlin, wrong), None, "{wrong}");
        }
    }

    #[test]
    fn who_moved_something_was_online_since_the_last_look() {
        let path = std::env::temp_dir().join(format!("weir-days-{}", std::process::id()));
        let mut days = DailyStatistics::new(StatisticsFile::open(&path).expect("opened"));
        days.update_date();
        let mac = [2, 0, 0, 0, 0, 1];
        let mut look = |moved: &[u64], minutes: u32| {
            for bytes in moved {
                days.moved(&mac, *bytes);
            }
            let before = Instant::now().checked_sub(NOTED * minutes);
            days.looked = before.expect("the machine runs that long");
            days.count_active();
            let shown = days.statistics().days.pop().expect("a day");
            (shown.guests, shown.seconds, shown.bytes)
        };
        assert_eq!(look(&[], 1), (0, 0, 0));
        assert_eq!(look(&[1000, 24], 1), (1, 60, 1024));
        assert_eq!(look(&[], 1), (1, 60, 1024), "silent");
        // A machine that slept.
        assert_eq!(look(&[1], 3), (1, 180, 1025));
    }
}
