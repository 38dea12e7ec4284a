//! Content of a frame, and the frames that a link carries.

use super::payload::HEADER;

/// Ethernet header, without the checksum.
const ETHERNET: u16 = 14;
const UDP: u16 = 8;
/// Shortest Ethernet frame without its checksum (IEEE 802.3: 64 bytes with it).
pub const SHORTEST: u16 = 60;
/// Frame with 1500 bytes of IP.
pub const LONGEST: u16 = 1514;
/// Bytes on the wire around a frame: checksum 4, preamble and start 8, gap 12.
const AROUND: f64 = 24.0;

/// Error: the frame is too short for the headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a frame of {asked} bytes is too short: {} need at least {least}", family(*.ipv6)
)]
pub struct TooShort {
    /// Requested length.
    pub asked: u16,
    /// Shortest length that fits.
    pub least: u16,
    /// Family of the headers.
    pub ipv6: bool,
}

fn family(ipv6: bool) -> &'static str {
    match ipv6 {
        true => "IPv6, UDP and weir's own header of 18 bytes",
        false => "IPv4, UDP and weir's own header of 18 bytes",
    }
}

/// Bytes of the Ethernet, IP and UDP headers.
fn headers(ipv6: bool) -> u16 {
    ETHERNET + UDP + if ipv6 { 40 } else { 20 }
}

/// Returns the shortest usable frame, without checksum: 60 with IPv4, 80 with IPv6.
pub fn shortest(ipv6: bool) -> u16 {
    SHORTEST.max(headers(ipv6) + HEADER as u16)
}

/// Returns the bytes that UDP carries in a frame of this length.
///
/// # Errors
/// The header does not fit.
pub fn payload(length: u16, ipv6: bool) -> Result<usize, TooShort> {
    let least = shortest(ipv6);
    match length < least {
        true => Err(TooShort {
            asked: length,
            least,
            ipv6,
        }),
        false => Ok(usize::from(length - headers(ipv6))),
    }
}

/// Returns the bytes of IP in a frame, which the MTU limits.
pub fn ip(length: u16) -> u16 {
    length - ETHERNET
}

/// Returns the packets a second that a link of `mbit` Mbit/s carries, with frames of `length` bytes
/// without checksum.
pub fn most(mbit: f64, length: u16) -> f64 {
    mbit * 1e6 / bits(length)
}

/// Returns the bits that a frame takes on the wire, with preamble, checksum and gap.
pub fn bits(length: u16) -> f64 {
    (f64::from(length.max(SHORTEST)) + AROUND) * 8.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_carry_what_is_well_known() {
        // RFC 5180 and many data sheets: 64 bytes with checksum.
        assert_eq!(most(10.0, 60) as u64, 14_880);
        assert_eq!(most(100.0, 60) as u64, 148_809);
        assert_eq!(most(1000.0, 60) as u64, 1_488_095);
        assert_eq!(most(10_000.0, 60) as u64, 14_880_952);
        assert_eq!(most(1000.0, 1514) as u64, 81_274);
    }

    #[test]
    fn lengths() {
        assert_eq!(payload(60, false), Ok(18));
        assert_eq!(payload(80, true), Ok(18));
        assert_eq!(payload(1514, false), Ok(1472));
        assert_eq!(payload(1514, true), Ok(1452));
        assert_eq!((shortest(false), shortest(true)), (60, 80));
        let told = payload(60, true).expect_err("too short").to_string();
        assert!(told.contains("60 bytes") && told.contains("IPv6") && told.contains("80"));
        assert_eq!(ip(1514), 1500);
    }
}
