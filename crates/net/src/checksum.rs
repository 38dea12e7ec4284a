//! The Internet checksum (RFC 1071).

/// Returns the checksum of `bytes`, beginning with the sum `start`.
pub fn checksum(start: u32, bytes: &[u8]) -> u16 {
    !fold(start, bytes)
}

/// Returns the one's complement sum, folded. 0xffff or 0 over everything including the checksum
/// means that the checksum is right.
pub fn fold(start: u32, bytes: &[u8]) -> u16 {
    let mut sum = bytes.chunks(2).fold(u64::from(start), |sum, pair| {
        let low = pair.get(1).copied().unwrap_or(0);
        sum + u64::from(u16::from_be_bytes([pair[0], low]))
    });
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_the_example_of_rfc_1071() {
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(fold(0, &bytes), 0xddf2);
        assert_eq!(fold(fold(0, &bytes[..4]).into(), &bytes[4..]), 0xddf2);
        assert_eq!(checksum(0, &bytes[..7]), !0xdcfb);
    }
}
