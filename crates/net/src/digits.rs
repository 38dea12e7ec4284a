//! Numbers in untrusted text: digits and nothing else. `parse` and `from_str_radix` would accept a
//! sign.

use std::str::FromStr;

/// Parses a decimal number; `None` for anything but digits, or on overflow.
pub fn decimal<T: FromStr>(text: &str) -> Option<T> {
    let plain = text.bytes().all(|octet| octet.is_ascii_digit());
    plain.then(|| text.parse().ok())?
}

/// Parses a hexadecimal number, without `0x`.
pub fn hexadecimal(text: &str) -> Option<u64> {
    let plain = text.bytes().all(|octet| octet.is_ascii_hexdigit());
    plain.then(|| u64::from_str_radix(text, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_and_nothing_else() {
        assert_eq!(decimal("00080"), Some(80_u16));
        assert_eq!(hexadecimal("fFff"), Some(0xffff));
        for bad in ["", "+8", "-8", " 8", "8 ", "0x8", "65536", "٣"] {
            assert_eq!(decimal::<u16>(bad), None, "{bad}");
        }
        for bad in ["", "+f", "-f", "0xf", "g", "10000000000000000"] {
            assert_eq!(hexadecimal(bad), None, "{bad}");
        }
    }
}
