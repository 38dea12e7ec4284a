//! Spans of time as people write them.

use jiff::civil::{Date, date};

use crate::time::{Unit, day, hour_of, iso};

/// Years that are read: those of a directory, and some more.
const YEARS: std::ops::RangeInclusive<i16> = 1970..=2199;

/// Allowed forms of a time, for errors.
pub(super) const ALLOWED: &str =
    "a year, month, day or hour from 1970 to 2199, UTC: 2019, 2019-10, 2019-10-17, 2019-10-17T22";

/// A span of time as people write it: `2019`, `2019-10`, `2019-10-17`, `2019-10-17T22`; also with
/// minutes, seconds and `Z`, which are read and left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    /// First hour, since 1970.
    pub begin: i64,
    /// First hour after the span.
    pub end: i64,
}

impl Span {
    /// Parses a span; `None` for an invalid text.
    pub fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        let (day, time) = match text.split_once(['T', 't', ' ']) {
            Some((day, time)) => (day, Some(time)),
            None => (text, None),
        };
        let mut parts = day.split('-');
        let year = number(parts.next()?, 4)?;
        if !YEARS.contains(&year) {
            return None;
        }
        let month = parts.next().map(|part| number(part, 2));
        let of_month = parts.next().map(|part| number(part, 2));
        if parts.next().is_some() {
            return None;
        }
        match (month, of_month, time) {
            (None, None, None) => Some(Self::of_days(date(year, 1, 1), date(year + 1, 1, 1))),
            (Some(month), None, None) => {
                let month = u8::try_from(month?).ok().filter(|m| (1..=12).contains(m))?;
                let number = i64::from(year) * 12 + i64::from(month) - 1;
                Some(Self::of(Unit::Month, number))
            }
            (Some(month), Some(of_month), time) => {
                let of_month = i8::try_from(of_month?).ok()?;
                let begin = hour_of(Date::new(year, i8::try_from(month?).ok()?, of_month).ok()?);
                match time {
                    None => Some(Self::of(Unit::Day, begin.div_euclid(24))),
                    Some(time) => Some(Self::of(Unit::Hour, begin + hour(time)?)),
                }
            }
            _ => None,
        }
    }

    /// Returns the hour, day or month with that number.
    pub fn of(unit: Unit, number: i64) -> Self {
        Self {
            begin: unit.begin(number),
            end: unit.begin(number.saturating_add(1)),
        }
    }

    fn of_days(begin: Date, end: Date) -> Self {
        Self {
            begin: hour_of(begin),
            end: hour_of(end),
        }
    }

    /// Returns the text form: the year, month, day or hour, otherwise the first hour.
    pub fn word(self) -> String {
        let begin = day(self.begin);
        let year = begin.year();
        if self == Self::of_days(date(year, 1, 1), date(year.min(9998) + 1, 1, 1)) {
            return format!("{year:04}");
        }
        let [month, one_day] = [Unit::Month, Unit::Day].map(|unit| {
            let number = unit.number(self.begin);
            Self::of(unit, number)
        });
        if self == month {
            format!("{year:04}-{:02}", begin.month())
        } else if self == one_day {
            begin.to_string()
        } else {
            iso(self.begin)[..13].to_owned()
        }
    }

    /// Returns the longest unit with the same begin: where only the begin counts, `2019`, `2019-01`
    /// and `2019-01-01` are equal.
    pub(super) fn as_from(self) -> Self {
        let units = [Unit::Month, Unit::Day, Unit::Hour];
        let spans = units.map(|unit| Self::of(unit, unit.number(self.begin)));
        let same = spans.into_iter().find(|span| span.begin == self.begin);
        same.unwrap_or(self)
    }

    /// Returns the shortest span with the same end.
    pub(super) fn as_to(self) -> Self {
        let units = [Unit::Month, Unit::Day, Unit::Hour];
        let spans = units.map(|unit| Self::of(unit, unit.number(self.end - 1)));
        let same = spans.into_iter().find(|span| span.end == self.end);
        same.unwrap_or(self)
    }
}

/// Parses the hour of `22`, `22:30`, `22:30:15`, `22:30:15.5`, each also with a `Z`.
fn hour(text: &str) -> Option<i64> {
    let text = text.strip_suffix(['Z', 'z']).unwrap_or(text);
    let mut parts = text.split(':');
    let hour = number(parts.next()?, 2).filter(|hour| *hour < 24)?;
    let minute = parts.next().map_or(Some(0), |part| number(part, 2))?;
    let second = match parts.next() {
        Some(part) => {
            let (whole, parts) = part.split_once('.').unwrap_or((part, "0"));
            let plain = !parts.is_empty() && parts.bytes().all(|octet| octet.is_ascii_digit());
            number(whole, 2).filter(|_| plain)?
        }
        None => 0,
    };
    let whole = parts.next().is_none() && minute < 60 && second < 60;
    whole.then_some(i64::from(hour))
}

/// Parses exactly `digits` digits.
fn number(text: &str, digits: usize) -> Option<i16> {
    let plain = text.len() == digits && text.bytes().all(|octet| octet.is_ascii_digit());
    plain.then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn years_months_days_and_hours() {
        for (text, begin, hours) in [
            ("2019", "2019-01-01T00:00:00Z", 365 * 24),
            ("2020-02", "2020-02-01T00:00:00Z", 29 * 24),
            ("2019-12", "2019-12-01T00:00:00Z", 31 * 24),
            ("2019-10-17", "2019-10-17T00:00:00Z", 24),
            ("2019-10-17T22", "2019-10-17T22:00:00Z", 1),
        ] {
            let span = Span::read(text).expect(text);
            assert_eq!(iso(span.begin), begin, "{text}");
            assert_eq!(span.end - span.begin, hours, "{text}");
            assert_eq!(span.word(), text);
        }
        for same in [
            "2019-10-17T22:00",
            "2019-10-17T22:30:15Z",
            "2019-10-17 22:59:59.250Z",
            " 2019-10-17t22z ",
        ] {
            assert_eq!(Span::read(same), Span::read("2019-10-17T22"), "{same}");
        }
    }

    #[test]
    fn what_is_no_time_is_none() {
        for text in [
            "",
            "19",
            "02019",
            "+019",
            "2019-",
            "2019-1",
            "2019-13",
            "2019-00",
            "2019-02-29",
            "2019-10-17-1",
            "2019T10",
            "2019-10T10",
            "2019-10-17T",
            "2019-10-17T24",
            "2019-10-17T22:60",
            "2019-10-17T22:00:00.",
            "2019-10-17T22:00:00+02:00",
            "2019-10-17T22:00:00:00",
            "1969",
            "2200",
            "9999",
            "２０１９",
        ] {
            assert_eq!(Span::read(text), None, "{text}");
        }
    }
}
