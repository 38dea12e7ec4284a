//! Times for people, in the router's time zone: `2026-11-20 15:00`, as ISO 8601 has them, so that
//! they sort and are read everywhere.

use std::fmt;
use std::str::FromStr;

use jiff::Span as Step;
use jiff::civil::Date;

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
    /// Creates the moment `unix`, seconds since 1970, on clocks `offset` minutes ahead of UTC.
    pub fn new(unix: u64, offset: i32) -> Self {
        let seconds = i64::try_from(unix).unwrap_or(i64::MAX / 2);
        Self {
            seconds: seconds.saturating_add(i64::from(offset) * 60),
        }
    }

    /// Year, month and day.
    pub fn date(self) -> (i16, i8, i8) {
        let date = civil(self.seconds.div_euclid(DAY));
        (date.year(), date.month(), date.day())
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

    /// Returns the moment `seconds` before.
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
        i64::from(year) * 12 + i64::from(month) - 1
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.date();
        let (hour, minute) = self.time();
        write!(f, "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}")
    }
}

/// A typed time: the whole of a month, day, hour or minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// First moment of the span.
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
        if !YEARS.contains(&year) {
            return Err(NotADate);
        }
        let on = |day| self::date(year, month, day).ok_or(NotADate);
        let Some(day) = day else {
            let first = on(1)?;
            let after = day_of(first.last_of_month()) + 1;
            return match time {
                None => Ok(Self::of(day_of(first) * DAY, after * DAY)),
                Some(_) => Err(NotADate),
            };
        };
        let first = day_of(on(day)?);
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

fn date(year: i64, month: i64, day: i64) -> Option<Date> {
    let [month, day] = [month, day].map(i8::try_from);
    Date::new(year.try_into().ok()?, month.ok()?, day.ok()?).ok()
}

/// The first day that Unix counts.
const EPOCH: Date = Date::constant(1970, 1, 1);

/// Days since 1970 of a date.
fn day_of(date: Date) -> i64 {
    date.since(EPOCH)
        .map_or(0, |step| i64::from(step.get_days()))
}

/// Returns the date of a day since 1970: the inverse of [`day_of`]. Days beyond the calendar give
/// its last or first date.
fn civil(day: i64) -> Date {
    let step = Step::new().try_days(day);
    step.and_then(|step| EPOCH.checked_add(step))
        .unwrap_or(if day < 0 { Date::MIN } else { Date::MAX })
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
        fn days_and_dates_agree(day in -1_000_000i64..2_932_000) {
            prop_assert_eq!(day_of(civil(day)), day);
        }

        #[test]
        fn never_panics(text in "\\PC*", unix: u64, offset: i32) {
            let _ = (text.parse::<Span>(), Moment::new(unix, offset).to_string());
        }
    }
}
