//! Times as directories write them.

use jiff::civil::DateTime;
use jiff::fmt::strtime::BrokenDownTime;
use jiff::tz::{Offset, TimeZone};

/// Years from 1971 to 2199 are believed.
const BELIEVED: std::ops::Range<i64> = 31_536_000..7_258_118_400;

/// Seconds since 1970 of a number: seconds, or thousandths of them.
fn of_number(number: f64) -> Option<i64> {
    let seconds = if number.abs() > 1e11 {
        number / 1000.0
    } else {
        number
    };
    believed(seconds as i64)
}

/// Parses a time as seconds since 1970: ISO 8601, with a blank instead of the `T` too; a number; or
/// one of `formats`. Without a zone the time is in `zone`.
pub(crate) fn of_text(text: &str, zone: &TimeZone, formats: &[String]) -> Option<i64> {
    let text = text.trim();
    // Longer texts are not times.
    if text.len() > 64 {
        return None;
    }
    if let Some((at, offset)) = iso(text.as_bytes()) {
        return believed(seconds(at, offset, zone)?);
    }
    let number = text.parse().ok().and_then(of_number);
    let of_formats = || {
        formats.iter().find_map(|format| {
            let broken = BrokenDownTime::parse(format, text).ok()?;
            let at = broken
                .to_datetime()
                .or_else(|_| Ok::<_, jiff::Error>(broken.to_date()?.at(0, 0, 0, 0)))
                .ok()?;
            believed(seconds(at, broken.offset(), zone)?)
        })
    };
    number.or_else(of_formats)
}

/// Returns true for a time that may have a zone.
pub(crate) fn names_zone(text: &str) -> bool {
    let behind_date = text.trim().as_bytes().get(10..).unwrap_or_default();
    let clock = behind_date
        .first()
        .is_some_and(|octet| b" Tt".contains(octet));
    !clock || behind_date.iter().any(|octet| b"Zz+-".contains(octet))
}

fn believed(seconds: i64) -> Option<i64> {
    BELIEVED.contains(&seconds).then_some(seconds)
}

fn seconds(at: DateTime, offset: Option<Offset>, zone: &TimeZone) -> Option<i64> {
    let at = match offset {
        Some(offset) => offset.to_timestamp(at),
        None => zone.to_timestamp(at),
    };
    Some(at.ok()?.as_second())
}

/// Parses a timestamp. Millions of entries have two each: jiff's own parsers take five times as
/// long.
fn iso(text: &[u8]) -> Option<(DateTime, Option<Offset>)> {
    let digits = |from: usize, count: usize| {
        let digits = text.get(from..from + count)?;
        digits.iter().try_fold(0_i16, |sum, digit| {
            let digit = digit.is_ascii_digit().then(|| i16::from(digit - b'0'))?;
            Some(sum * 10 + digit)
        })
    };
    let two = |from: usize| digits(from, 2).map(|value| value as i8);
    let is = |at: usize, octet: u8| text.get(at) == Some(&octet);

    let year = digits(0, 4)?;
    if !is(4, b'-') || !is(7, b'-') {
        return None;
    }
    let (month, day) = (two(5)?, two(8)?);
    let (mut hour, mut minute, mut second) = (0, 0, 0);
    let mut at = 10;
    if at < text.len() {
        if !(is(at, b'T') || is(at, b' ') || is(at, b't')) || !is(13, b':') {
            return None;
        }
        (hour, minute) = (two(11)?, two(14)?);
        at = 16;
        if is(at, b':') {
            // A leap second.
            second = two(17)?.min(if two(17)? == 60 { 59 } else { i8::MAX });
            at = 19;
        }
        if is(at, b'.') || is(at, b',') {
            at += 1;
            at += text[at..].iter().take_while(|o| o.is_ascii_digit()).count();
        }
    }
    let offset = match text.get(at..)? {
        [] => None,
        [b'Z' | b'z'] => Some(Offset::UTC),
        [sign @ (b'+' | b'-'), rest @ ..] => {
            let width = if rest.contains(&b':') { 3 } else { 2 };
            let minutes = match rest.len() {
                2 => 0,
                len if len == width + 2 => i32::from(two(at + 1 + width)?),
                _ => return None,
            };
            let seconds = i32::from(two(at + 1)?) * 3600 + minutes * 60;
            let seconds = if *sign == b'-' { -seconds } else { seconds };
            Some(Offset::from_seconds(seconds).ok()?)
        }
        _ => return None,
    };
    let at = DateTime::new(year, month, day, hour, minute, second, 0).ok()?;
    Some((at, offset))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<i64> {
        let formats = ["%d.%m.%Y".to_owned(), "%Y-%m-%d:%H:%M".to_owned()];
        of_text(text, &TimeZone::UTC, &formats)
    }

    #[test]
    fn times() {
        let at = Some(1_546_470_018);
        for same in [
            "2019-01-02T23:00:18.354457Z",
            "2019-01-02 23:00:18",
            " 2019-01-02T23:00:18 ",
            "2019-01-03T00:00:18+01:00",
            "2019-01-03T00:00:18.1+0100",
            "2019-01-02T20:00:18-03",
            "1546470018",
            "1546470018000",
            "1546470018.7",
        ] {
            assert_eq!(read(same), at, "{same}");
        }
        assert_eq!(read("2019-01-02"), Some(1_546_387_200));
        assert_eq!(read("02.01.2019"), Some(1_546_387_200));
        assert_eq!(read("2019-01-02T23:00"), Some(1_546_470_000));
        assert_eq!(read("2019-01-02:23:00"), Some(1_546_470_000));
        assert_eq!(read("2016-12-31T23:59:60Z"), Some(1_483_228_799));
    }

    #[test]
    fn no_times() {
        for wrong in [
            "",
            "gestern",
            "2019-02-30",
            "2019-01-02T25:00:00",
            "2019-01-02T23:00:18X",
            "2019-01-02T23:00:18+99:99",
            "0000-00-00 00:00:00",
            "1969-01-01",
            "9999-12-31",
            "0",
            "-5",
            "1e400",
            "99999999999999999999999999",
            "2019-01-0é",
            "2019-01-02T23:00:18+é",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
        assert_eq!(of_number(f64::NAN), None);
        assert_eq!(of_number(f64::INFINITY), None);
    }
}
