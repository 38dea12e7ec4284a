//! What a voucher is good for, as it is written on the command line.

use crate::config::{Octets, Rate};

/// Seconds of a time: `90s`, `30m`, `2h`, `7d`.
pub(super) fn time(text: &str) -> Result<u64, String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let each = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return Err("a time is a whole number and s, m, h or d, such as 2h".to_owned()),
    };
    let number: u64 = number.parse().map_err(|_| "such as 2h".to_owned())?;
    match number.checked_mul(each) {
        Some(0) | None => Err("a time from 1s on".to_owned()),
        // A hundred years: beyond that it is for ever.
        Some(seconds) if seconds > 3_155_760_000 => Err("use --permanent".to_owned()),
        Some(seconds) => Ok(seconds),
    }
}

/// Bytes: `500MB`, `2GiB`.
pub(super) fn size(text: &str) -> Result<u64, String> {
    match Octets::parse(text) {
        Some(Octets(0)) | None => {
            Err("a size is a whole number and kB, MB, GB or KiB, MiB, GiB, such as 500MB".into())
        }
        Some(Octets(bytes)) => Ok(bytes),
    }
}

/// Bits a second: `500kbit`, `10Mbit`.
pub(super) fn rate(text: &str) -> Result<u64, String> {
    let allowed = "a rate is a whole number and kbit, Mbit or Gbit, from 64kbit on, such as 10Mbit";
    let rate = Rate::parse(text).ok_or_else(|| allowed.to_owned())?;
    Ok(rate.0)
}

/// The end of a day, seconds since 1970.
pub(super) fn day(text: &str) -> Result<u64, String> {
    let wrong = |_| "a day is written as 2026-12-31".to_owned();
    let day: jiff::civil::Date = text.parse().map_err(wrong)?;
    let end = day
        .tomorrow()
        .map_err(wrong)?
        .to_zoned(jiff::tz::TimeZone::UTC)
        .map_err(wrong)?;
    u64::try_from(end.timestamp().as_second()).map_err(|_| "a day after 1970".to_owned())
}
