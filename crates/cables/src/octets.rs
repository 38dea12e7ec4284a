//! Octets from a stranger: read from the front, never beyond the end; text made harmless.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use detect::Mac;

/// Characters that are kept of a text.
pub const LETTERS: usize = 64;
/// A tag of 802.1Q; one of 802.1ad.
const TAGS: [u16; 2] = [0x8100, 0x88a8];

/// Reads from the front.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    /// So many octets.
    pub fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, left) = self.0.split_at_checked(count)?;
        self.0 = left;
        Some(taken)
    }

    /// So many as the array has.
    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    /// One octet.
    pub fn octet(&mut self) -> Option<u8> {
        self.array().map(|[octet]| octet)
    }

    /// 16 bits, as on the wire.
    pub fn half(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    /// 32 bits, as on the wire.
    pub fn word(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }
}

/// What is in an Ethernet frame with at most one tag: its EtherType, or its length, and the rest.
pub fn payload(frame: &[u8]) -> Option<(u16, &[u8])> {
    let mut reader = Reader(frame);
    reader.take(12)?;
    let mut kind = reader.half()?;
    if TAGS.contains(&kind) {
        reader.half()?;
        kind = reader.half()?;
    }
    Some((kind, reader.0))
}

/// Text as a stranger wrote it, without what a terminal or a page would obey, and cut where it is
/// long: letters, digits and ASCII's signs stay, all else becomes `?`.
pub fn text(octets: &[u8]) -> String {
    let end = octets.iter().rposition(|&octet| octet != 0);
    let octets = &octets[..end.map_or(0, |last| last + 1)];
    clean(&String::from_utf8_lossy(octets))
}

/// The same of what is text already.
pub fn clean(text: &str) -> String {
    let harmless = |letter: char| match letter {
        ' '..='~' => letter,
        _ if letter.is_alphanumeric() => letter,
        _ => '?',
    };
    text.chars().take(LETTERS).map(harmless).collect()
}

/// As people write it: `02:00:…`.
pub fn shown(mac: &Mac) -> String {
    mac.map(|octet| format!("{octet:02x}")).join(":")
}

/// An address of the family that IANA has given a number (1: IPv4, 2: IPv6).
pub fn address(family: u8, octets: &[u8]) -> Option<IpAddr> {
    match family {
        1 => Some(Ipv4Addr::from(<[u8; 4]>::try_from(octets).ok()?).into()),
        2 => Some(Ipv6Addr::from(<[u8; 16]>::try_from(octets).ok()?).into()),
        _ => None,
    }
}
