//! Numbers for people. Bytes in powers of 1024 (IEC: KiB, MiB), packets in powers of 1000 (SI: k,
//! M); JSON has them in full.

/// `1.5 MiB`
pub fn bytes(number: u64) -> String {
    scaled(
        number,
        1024,
        &[" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"],
    )
}

/// `1.5M`
pub fn count(number: u64) -> String {
    scaled(number, 1000, &["", "k", "M", "G", "T", "P", "E"])
}

fn scaled(number: u64, base: u64, units: &[&str]) -> String {
    let mut unit = 0;
    let mut divisor = 1u64;
    while unit + 1 < units.len() && number / divisor >= base {
        divisor = divisor.saturating_mul(base);
        unit += 1;
    }
    if unit == 0 {
        return format!("{number}{}", units[0]);
    }
    // Cut off, not rounded: 999.96 must not become 1000.0.
    let tenths = u128::from(number) * 10 / u128::from(divisor);
    format!("{}.{}{}", tenths / 10, tenths % 10, units[unit])
}

/// `1.5 Mbit/s`
pub fn rate(bits: u64) -> String {
    scaled(
        bits,
        1000,
        &[
            " bit/s", " kbit/s", " Mbit/s", " Gbit/s", " Tbit/s", " Pbit/s", " Ebit/s",
        ],
    )
}

/// `<0.1`, `3.2`, `24`: milliseconds, to two digits or more. What was measured does not become 0.0.
pub fn milliseconds(time: f64) -> String {
    // The value comes from outside: a longer time is shown as a minute and a half.
    let time = time.clamp(0.0, 99_999.0);
    match time {
        ..0.05 => "<0.1".to_owned(),
        ..9.95 => format!("{time:.1}"),
        _ => format!("{time:.0}"),
    }
}

/// `3d 4h`, `5m 6s`, `7s`: the two largest units.
pub fn duration(seconds: u64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match () {
        () if days > 0 => format!("{days}d {}h", hours % 24),
        () if hours > 0 => format!("{hours}h {}m", minutes % 60),
        () if minutes > 0 => format!("{minutes}m {}s", seconds % 60),
        () => format!("{seconds}s"),
    }
}

/// `99.9 %` of a share from 0 to 1, cut off.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", (share * 1000.0).floor() / 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales() {
        for (number, iec, si) in [
            (0, "0 B", "0"),
            (999, "999 B", "999"),
            (1000, "1000 B", "1.0k"),
            (1023, "1023 B", "1.0k"),
            (1024, "1.0 KiB", "1.0k"),
            (1536, "1.5 KiB", "1.5k"),
            (999_999, "976.5 KiB", "999.9k"),
            (1_048_575, "1023.9 KiB", "1.0M"),
            (u64::MAX, "15.9 EiB", "18.4E"),
        ] {
            assert_eq!((bytes(number).as_str(), count(number).as_str()), (iec, si));
        }
    }

    #[test]
    fn rates_and_times() {
        for (bits, text) in [
            (0, "0 bit/s"),
            (999, "999 bit/s"),
            (34_190_000, "34.1 Mbit/s"),
        ] {
            assert_eq!(rate(bits), text);
        }
        for (time, text) in [
            (0.0, "<0.1"),
            (0.049, "<0.1"),
            (0.05, "0.1"),
            (9.94, "9.9"),
            (9.96, "10"),
            (123.4, "123"),
        ] {
            assert_eq!(milliseconds(time), text);
        }
    }

    #[test]
    fn durations_have_two_units() {
        for (seconds, text) in [
            (0, "0s"),
            (59, "59s"),
            (60, "1m 0s"),
            (3661, "1h 1m"),
            (90_000, "1d 1h"),
        ] {
            assert_eq!(duration(seconds), text);
        }
    }
}
