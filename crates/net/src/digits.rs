//! Numbers in text that others wrote: digits and nothing else. `parse` and `from_str_radix` would
//! take a sign.

use std::str::FromStr;

/// A decimal number; `None` where there is anything but digits, or too much for its type.
pub fn decimal<T: FromStr>(text: &str) -> Option<T> {
    let plain = text.bytes().all(|octet| octet.is_ascii_digit());
    plain.then(|| text.parse().ok())?
}

/// A hexadecimal number, without `0x`.
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
