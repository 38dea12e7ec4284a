//! Terms of a voucher, as written on the command line.

use runtime::config::{ByteSize, Rate};
use runtime::output::dates::Span;

/// Seconds of a time: `90s`, `30m`, `2h`, `7d`.
pub(super) fn time(text: &str) -> Result<u64, String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let each = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return Err("use a whole number and s, m, h or d, such as 2h".to_owned()),
    };
    let number: u64 = number.parse().map_err(|_| "use a number, such as 2h")?;
    match number.checked_mul(each) {
        Some(0) | None => Err("use 1s or more".to_owned()),
        // A hundred years: beyond that it is for ever.
        Some(seconds) if seconds > 3_155_760_000 => Err("use --permanent".to_owned()),
        Some(seconds) => Ok(seconds),
    }
}

/// Parses a byte size: `500MB`, `2GiB`.
pub(super) fn size(text: &str) -> Result<u64, String> {
    match ByteSize::parse(text) {
        Some(ByteSize(0)) | None => {
            Err("use a whole number and kB, MB, GB or KiB, MiB, GiB, such as 500MB".into())
        }
        Some(ByteSize(bytes)) => Ok(bytes),
    }
}

/// Bits a second: `500kbit`, `10Mbit`.
pub(super) fn rate(text: &str) -> Result<u64, String> {
    let allowed = "use a whole number and kbit, Mbit or Gbit, at least 64kbit, such as 10Mbit";
    let rate = Rate::parse(text).ok_or_else(|| allowed.to_owned())?;
    Ok(rate.0)
}

/// Parses a time of a day, or the end of a day or a month: seconds since 1970, in UTC.
pub(super) fn until(text: &str) -> Result<u64, String> {
    let allowed = "use 2026-12-31, or \"2026-12-31 12:00\" for a time of that day (UTC)";
    let span: Span = text.parse().map_err(|_| allowed.to_owned())?;
    let end = match text.contains([' ', 'T']) {
        true => span.start,
        false => span.end,
    };
    u64::try_from(end.seconds()).map_err(|_| allowed.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_of_day_counts() {
        // 2026-12-31 00:00 UTC.
        const DAY: u64 = 1_798_675_200;
        for (text, seconds) in [
            ("2026-12-31", DAY + 86_400),
            ("2026-12", DAY + 86_400),
            ("2026-12-31 12:00", DAY + 12 * 3600),
            ("2026-12-31T12:30", DAY + 12 * 3600 + 1800),
            ("2026-12-31 00", DAY),
        ] {
            assert_eq!(until(text), Ok(seconds), "{text}");
        }
    }

    /// No parser ignores text after the value.
    #[test]
    fn nothing_behind_a_value_is_passed_over() {
        let takes = |text: &str| {
            (time(text).ok().or(size(text).ok())).or(rate(text).ok().or(until(text).ok()))
        };
        for good in ["2h", "500MB", "10Mbit", "2026-12-31", "2026-12-31 12:00"] {
            assert!(takes(good).is_some(), "{good}");
            for more in [
                "x", " 12:00x", " +1", ";", "[UTC]", "+02:00", "Z", ".5", "\n", " ", "2h",
            ] {
                let text = format!("{good}{more}");
                assert_eq!(takes(&text), None, "{text:?}");
            }
        }
        // A zone would not count: the time is that of UTC.
        assert!(until("2026-12-31 12:00:59").is_err());
    }
}
