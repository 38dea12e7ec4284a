//! Bytes as hexadecimal digits, two each.

/// Writes bytes in lower case.
pub fn text(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads bytes from digits of either case; `None` for any other text.
pub fn parse(text: &str) -> Option<Vec<u8>> {
    let digit = |byte| char::from(byte).to_digit(16);
    let byte = |&[high, low]: &[u8; 2]| u8::try_from(digit(high)? << 4 | digit(low)?).ok();
    let (pairs, rest) = text.as_bytes().as_chunks();
    let bytes: Option<_> = pairs.iter().map(byte).collect();
    bytes.filter(|_| rest.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_two_digits_each() {
        assert_eq!(text(&[0, 0xab, 0xff]), "00abff");
        assert_eq!(parse("00aBFf"), Some(vec![0, 0xab, 0xff]));
        for bad in ["0", "000", "+0", "0x", " 00", "0g", "ä0"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
