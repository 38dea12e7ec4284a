//! Hours, days and months, all UTC, as numbers.

use jiff::Timestamp;
use jiff::civil::{Date, date};
use jiff::tz::TimeZone;

/// Unit of a point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unit {
    /// An hour.
    Hour,
    /// Day, from midnight to midnight.
    Day,
    /// Calendar month.
    #[default]
    Month,
}

impl Unit {
    /// Returns the word in addresses.
    pub fn word(self) -> &'static str {
        match self {
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Month => "month",
        }
    }

    /// Returns the number of the hour, day or month of `hour`: hours and days since 1970, months
    /// since the year 0.
    pub fn number(self, hour: i64) -> i64 {
        match self {
            Self::Hour => hour,
            Self::Day => hour.div_euclid(24),
            Self::Month => {
                let day = day(hour);
                i64::from(day.year()) * 12 + i64::from(day.month()) - 1
            }
        }
    }

    /// Returns the first hour of number `number`.
    pub fn begin(self, number: i64) -> i64 {
        match self {
            Self::Hour => number,
            Self::Day => number.saturating_mul(24),
            Self::Month => {
                let year = number.div_euclid(12).clamp(-9999, 9999) as i16;
                hour_of(date(year, number.rem_euclid(12) as i8 + 1, 1))
            }
        }
    }
}

/// Returns the day of an hour.
pub fn day(hour: i64) -> Date {
    let second = hour.saturating_mul(3600);
    let (least, most) = (Timestamp::MIN.as_second(), Timestamp::MAX.as_second());
    let at = Timestamp::from_second(second.clamp(least, most)).unwrap_or_default();
    at.to_zoned(TimeZone::UTC).date()
}

/// Returns the first hour of a day.
pub fn hour_of(day: Date) -> i64 {
    let at = day.to_zoned(TimeZone::UTC);
    at.map_or(0, |at| at.timestamp().as_second().div_euclid(3600))
}

/// Formats an hour: `2019-10-17T22:00:00Z`.
pub fn iso(hour: i64) -> String {
    format!("{}T{:02}:00:00Z", day(hour), hour.rem_euclid(24))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_days_and_months() {
        let hour = hour_of(date(2019, 10, 17)) + 22;
        assert_eq!(iso(hour), "2019-10-17T22:00:00Z");
        assert_eq!(Unit::Month.number(hour), 2019 * 12 + 9);
        assert_eq!(Unit::Month.begin(2019 * 12 + 9), hour_of(date(2019, 10, 1)));
        assert_eq!(Unit::Day.begin(Unit::Day.number(hour)), hour - 22);
        for number in [i64::MIN, i64::MAX, -1, 0] {
            for unit in [Unit::Hour, Unit::Day, Unit::Month] {
                let _ = (unit.number(number), iso(unit.begin(number)));
            }
        }
        for number in 0..12 * 3000 {
            assert_eq!(Unit::Month.number(Unit::Month.begin(number)), number);
        }
    }
}
