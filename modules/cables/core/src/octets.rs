//! Cleans untrusted data: sanitized text, and addresses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Characters that are kept of a text.
pub const LETTERS: usize = 64;

/// Returns untrusted text, up to the zeros at its end.
pub fn text(octets: &[u8]) -> String {
    let end = octets.iter().rposition(|&octet| octet != 0);
    let octets = &octets[..end.map_or(0, |last| last + 1)];
    clean(&String::from_utf8_lossy(octets))
}

/// Cleans data that is text already.
pub fn clean(text: &str) -> String {
    detect::clean(text, LETTERS)
}

/// Parses an address of the family with IANA's number (1: IPv4, 2: IPv6).
pub fn address(family: u8, octets: &[u8]) -> Option<IpAddr> {
    match family {
        1 => Some(Ipv4Addr::from(<[u8; 4]>::try_from(octets).ok()?).into()),
        2 => Some(Ipv6Addr::from(<[u8; 16]>::try_from(octets).ok()?).into()),
        _ => None,
    }
}
