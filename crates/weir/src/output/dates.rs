//! Times for people, in the router's time zone: `2026-11-20 15:00`, as ISO 8601 has them, so that
//! they sort and are read everywhere.

use std::fmt;
use std::str::FromStr;

/// Seconds of a day.
const DAY: i64 = 86_400;
/// Years that can be written; beyond them is a mistake, or a broken clock.
const YEARS: std::ops::RangeInclusive<i64> = 1970..=9999;

/// A moment on the clock and calendar of some time zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    /// Seconds since 1970-01-01 00:00 of that clock.
    seconds: i64,
}

impl Moment {
    /// This many seconds since 1970 in UTC, where clocks are `offset` minutes ahead of it.
    pub fn new(unix: u64, offset: i32) -> Self {
        let seconds = i64::try_from(unix).unwrap_or(i64::MAX / 2);
        Self {
            seconds: seconds.saturating_add(i64::from(offset) * 60),
        }
    }

    /// Year, month and day.
    pub fn date(self) -> (i64, u32, u32) {
        civil(self.seconds.div_euclid(DAY))
    }

    /// Hour and minute.
    pub fn time(self) -> (i64, i64) {
        let second = self.seconds.rem_euclid(DAY);
        (second / 3600, second % 3600 / 60)
    }

    /// Seconds since the 1st of January 1970 on this clock.
    pub fn seconds(self) -> i64 {
        self.seconds
    }

    /// So many seconds before.
    pub fn earlier(self, seconds: i64) -> Self {
        Self {
            seconds: self.seconds.saturating_sub(seconds),
        }
    }

    /// The day's number since 1970.
    pub fn day(self) -> i64 {
        self.seconds.div_euclid(DAY)
    }

    /// The month's number since the year 0.
    pub fn month(self) -> i64 {
        let (year, month, _) = self.date();
        year * 12 + i64::from(month) - 1
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.date();
        let (hour, minute) = self.time();
        write!(f, "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}")
    }
}

/// What somebody typed for a time: the whole of a month, day, hour or minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its first moment.
    pub start: Moment,
    /// The first moment after it.
    pub end: Moment,
}

/// The text is no [`Span`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a date: write 2026-11-20, \"2026-11-20 15:00\", or 2026-11 for a month")]
pub struct NotADate;

impl FromStr for Span {
    type Err = NotADate;

    fn from_str(text: &str) -> Result<Self, NotADate> {
        let (date, time) = match text.split_once([' ', 'T']) {
            Some((date, time)) => (date, Some(time)),
            None => (text, None),
        };
        let mut parts = date.split('-');
        let mut part = |length: usize| {
            parts
                .next()
                .map(|digits| number(digits, length))
                .transpose()
        };
        let (year, month, day) = (part(4)?, part(2)?, part(2)?);
        let (Some(year), Some(month), None) = (year, month, parts.next()) else {
            return Err(NotADate);
        };
        if !YEARS.contains(&year) || !(1..=12).contains(&month) {
            return Err(NotADate);
        }
        let after = if month == 12 {
            days(year + 1, 1, 1)
        } else {
            days(year, month + 1, 1)
        };
        let Some(day) = day else {
            return if time.is_none() {
                Ok(Self::of(days(year, month, 1) * DAY, after * DAY))
            } else {
                Err(NotADate)
            };
        };
        let first = days(year, month, 1) + day - 1;
        if day < 1 || first >= after {
            return Err(NotADate);
        }
        let Some(time) = time else {
            return Ok(Self::of(first * DAY, (first + 1) * DAY));
        };
        let (hour, minute) = match time.split_once(':') {
            Some((hour, minute)) => (number(hour, 2)?, Some(number(minute, 2)?)),
            None => (number(time, 2)?, None),
        };
        if hour > 23 || minute.is_some_and(|minute| minute > 59) {
            return Err(NotADate);
        }
        let start = first * DAY + hour * 3600 + minute.unwrap_or(0) * 60;
        Ok(Self::of(
            start,
            start + if minute.is_some() { 60 } else { 3600 },
        ))
    }
}

impl Span {
    fn of(start: i64, end: i64) -> Self {
        let [start, end] = [start, end].map(|seconds| Moment { seconds });
        Self { start, end }
    }
}

fn number(digits: &str, length: usize) -> Result<i64, NotADate> {
    if digits.len() == length && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        digits.parse().map_err(|_| NotADate)
    } else {
        Err(NotADate)
    }
}

/// Days of four centuries, after which the Gregorian calendar begins anew.
const ERA: i64 = 146_097;

/// Days since 1970 of a date of the Gregorian calendar. Years are counted from March, so that the
/// leap day is the last.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month < 3 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    // 719,468 days lie between the 1st of March of the year 0 and 1970.
    era * ERA + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The date of a day since 1970: the inverse of [`days`].
fn civil(day: i64) -> (i64, u32, u32) {
    let day = day.saturating_add(719_468);
    let (era, of_era) = (day.div_euclid(ERA), day.rem_euclid(ERA));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let date = of_year - (153 * from_march + 2) / 5 + 1;
    let month = (from_march + 2) % 12 + 1;
    let year = era * 400 + year + i64::from(month < 3);
    (
        year,
        u32::try_from(month).unwrap_or(1),
        u32::try_from(date).unwrap_or(1),
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn span(text: &str) -> Option<(String, String)> {
        let span: Span = text.parse().ok()?;
        Some((span.start.to_string(), span.end.to_string()))
    }

    #[test]
    fn moments_are_as_date_prints_them() {
        for (unix, offset, text) in [
            (0, 0, "1970-01-01 00:00"),
            (0, -60, "1969-12-31 23:00"),
            (951_782_399, 0, "2000-02-28 23:59"),
            (951_782_400, 0, "2000-02-29 00:00"),
            (1_795_186_800, 60, "2026-11-20 16:00"),
            (4_107_542_400, 0, "2100-03-01 00:00"),
            (253_402_300_799, 0, "9999-12-31 23:59"),
        ] {
            assert_eq!(Moment::new(unix, offset).to_string(), text);
        }
    }

    #[test]
    fn spans_cover_what_was_typed() {
        for (text, start, end) in [
            ("2026-11", "2026-11-01 00:00", "2026-12-01 00:00"),
            ("2026-12", "2026-12-01 00:00", "2027-01-01 00:00"),
            ("2024-02-29", "2024-02-29 00:00", "2024-03-01 00:00"),
            ("2026-11-20 15", "2026-11-20 15:00", "2026-11-20 16:00"),
            ("2026-11-20T15:30", "2026-11-20 15:30", "2026-11-20 15:31"),
        ] {
            assert_eq!(span(text), Some((start.into(), end.into())), "{text}");
        }
        for wrong in [
            "",
            "2026",
            "26-11-20",
            "2026-13",
            "2026-00",
            "2026-02-29",
            "2026-11-31",
            "2026-11-00",
            "2026-11-20 24",
            "2026-11-20 15:60",
            "2026-11 15",
            "+026-11-20",
            "2026-11-20-1",
            "1969-12-31",
            "2026-11-20 ",
            "x",
        ] {
            assert_eq!(span(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn days_and_dates_agree(day in -1_000_000i64..4_000_000) {
            let (year, month, date) = civil(day);
            prop_assert_eq!(days(year, i64::from(month), i64::from(date)), day);
            prop_assert!((1..=12).contains(&month) && (1..=31).contains(&date));
        }

        #[test]
        fn never_panics(text in "\\PC*", unix: u64, offset: i32) {
            let _ = (text.parse::<Span>(), Moment::new(unix, offset).to_string());
        }
    }
}
