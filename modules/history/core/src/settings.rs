//! Settings of the history.

use std::time::Duration;

use crate::Error;

/// The least file: some hours, days and months of a small network fit.
pub const SMALLEST: u64 = 256 * 1024;

/// Settings, with defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Minimum interval of writes, 10 minutes. A power failure loses newer data.
    pub flush: Duration,
    /// Days for which hours are kept, 14.
    pub hours_days: u32,
    /// Days for which days are kept, 400.
    pub days_days: u32,
    /// Years for which months are kept, 10.
    pub months_years: u32,
    /// Maximum size of the file in bytes, 16 MiB; beyond it the oldest hours are dropped, then
    /// days, then months.
    pub limit: u64,
    /// Maximum number of distinct devices in a period, 1024; the others are `other`.
    pub devices: usize,
    /// True to keep [`crate::StoreThread::usage`] up to date, which is the default; only quotas
    /// need it.
    pub usage: bool,
    /// The clock is believed from here on, seconds since 1970: routers without a battery begin in
    /// 1970. 2026-01-01.
    pub sane_from: i64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            flush: Duration::from_secs(600),
            hours_days: 14,
            days_days: 400,
            months_years: 10,
            limit: 16 * 1024 * 1024,
            devices: 1024,
            usage: true,
            sane_from: 1_767_225_600,
        }
    }
}

impl Settings {
    /// Checks that the settings are valid together.
    pub fn check(&self) -> Result<(), Error> {
        let wrong = |what: &str| Err(Error::Setting(what.to_owned()));
        if self.limit < SMALLEST {
            return wrong("limit is below 256 KiB: give the history more room, or switch it off");
        }
        if self.limit > 1 << 40 {
            return wrong("limit is above 1 TiB: use less");
        }
        if self.devices == 0 || self.devices > 65_536 {
            return wrong("devices must be from 1 to 65536");
        }
        if self.flush < Duration::from_secs(1) || self.flush > Duration::from_secs(86_400) {
            return wrong("flush must be from one second to one day");
        }
        if self.hours_days == 0 || self.days_days == 0 || self.months_years == 0 {
            return wrong(
                "hours and days must be kept for at least one day, months for at least one year",
            );
        }
        if self.days_days < 32 {
            return wrong(
                "days must be kept for at least 32 days: quotas of a month are their sum",
            );
        }
        Ok(())
    }

    /// Returns true if a time is plausible: not before [`Settings::sane_from`], nor after 2100.
    pub fn sane(&self, now: i64) -> bool {
        (self.sane_from..4_102_444_800).contains(&now)
    }

    /// Returns the maximum number of pending pairs of device and application, over all hours.
    pub(crate) fn entries(&self) -> usize {
        self.devices * 16
    }
}
