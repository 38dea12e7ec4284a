//! Walled garden: networks and names that every device may reach. For names in the walled garden,
//! devices without a log-in get true addresses, unlike for all other names ([`crate::names`]).
//! Pure; [`crate::upstream`] parses the answers of name servers.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use kernel::Prefix;

use crate::names::{HEADER, name_length};

/// Addresses of one answer: as many of IPv6 fit into 512 bytes, behind the longest name.
pub const MOST: usize = 8;

/// Types of questions.
pub(crate) const A: u16 = 1;
pub(crate) const AAAA: u16 = 28;
pub(crate) const IN: u16 = 1;

/// Response codes (RFC 1035, section 4.1.1): no error, server failure, non-existent name.
pub const WELL: u8 = 0;
/// See [`WELL`].
pub const FAILED: u8 = 2;
/// See [`WELL`].
pub const NO_NAME: u8 = 3;

/// Response, and recursion was to be had.
const RESPONSE: u16 = 0x8080;
const RD: u16 = 0x0100;

/// Pattern of a name in the walled garden.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamePattern {
    /// Lower case, without a dot at its end.
    text: String,
    /// True if the name itself is excluded.
    below: bool,
}

/// The text is not a valid name pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a name such as example.org or *.example.net")]
pub struct InvalidNamePattern;

impl FromStr for NamePattern {
    type Err = InvalidNamePattern;

    /// Parses a pattern. `example.org` matches the name and all names below, `*.example.org` only
    /// names below. A name of one label is invalid: all names of the world below `org` would match.
    fn from_str(text: &str) -> Result<Self, InvalidNamePattern> {
        let (name, below) = match text.strip_prefix("*.") {
            Some(name) => (name, true),
            None => (text, false),
        };
        let name = name.strip_suffix('.').unwrap_or(name);
        let fits = is_host(name) && name.contains('.');
        // An address, mistyped.
        let last = name.rsplit('.').next().unwrap_or_default();
        let numeric = last.bytes().all(|octet| octet.is_ascii_digit());
        (fits && !numeric)
            .then(|| Self {
                text: name.to_ascii_lowercase(),
                below,
            })
            .ok_or(InvalidNamePattern)
    }
}

impl fmt::Display for NamePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let star = if self.below { "*." } else { "" };
        write!(f, "{star}{}", self.text)
    }
}

impl NamePattern {
    /// Returns the name, without the `*.` of a wildcard.
    pub fn host(&self) -> &str {
        &self.text
    }

    /// Returns true if the entry covers this lower-case name.
    pub fn holds(&self, name: &str) -> bool {
        match name.strip_suffix(&self.text) {
            Some("") => !self.below,
            Some(before) => before.ends_with('.'),
            None => false,
        }
    }
}

/// Returns true if a text is a valid host name: name servers get only queries for host names.
pub fn is_host(name: &str) -> bool {
    let label = |label: &str| {
        let octets = label.bytes();
        (1..=63).contains(&label.len())
            && octets
                .into_iter()
                .all(|octet| octet.is_ascii_alphanumeric() || b"-_".contains(&octet))
    };
    name.len() <= 253 && name.split('.').all(label)
}

/// Entry of the walled garden.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WalledGardenEntry {
    /// A network.
    Network(Prefix),
    /// A name.
    Name(NamePattern),
}

impl FromStr for WalledGardenEntry {
    type Err = InvalidNamePattern;

    fn from_str(text: &str) -> Result<Self, InvalidNamePattern> {
        match text.parse() {
            Ok(network) => Ok(Self::Network(network)),
            Err(_) => text.parse().map(Self::Name),
        }
    }
}

impl fmt::Display for WalledGardenEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Network(network) => network.fmt(f),
            Self::Name(name) => name.fmt(f),
        }
    }
}

/// A question for the addresses of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// Lower case, without a dot at its end.
    pub name: String,
    /// For those of IPv6.
    pub ipv6: bool,
}

impl Question {
    /// Parses a guest's query if it is a plain query for addresses.
    pub fn read(octets: &[u8]) -> Option<Self> {
        // No response, a usual question, and just one.
        let plain = octets.get(2)? & 0xf8 == 0 && octets.get(4..6)? == [0, 1];
        let rest = octets.get(HEADER..)?;
        let length = name_length(rest)?;
        let ipv6 = match rest.get(length..length + 4)? {
            [0, 1, 0, 1] => false,
            [0, 28, 0, 1] => true,
            _ => return None,
        };
        let mut labels = Vec::new();
        let mut left = &rest[..length];
        while let Some((&length @ 1.., more)) = left.split_first() {
            let (label, behind) = more.split_at_checked(usize::from(length))?;
            // A dot within a label does not separate labels.
            if label.contains(&b'.') {
                return None;
            }
            labels.push(str::from_utf8(label).ok()?);
            left = behind;
        }
        let name = labels.join(".").to_ascii_lowercase();
        (plain && is_host(&name)).then_some(Self { name, ipv6 })
    }

    /// Returns the wire format: name, type and class.
    pub(crate) fn encoded(&self) -> Vec<u8> {
        let mut octets = Vec::with_capacity(self.name.len() + 6);
        for label in self.name.split('.') {
            octets.push(label.len() as u8);
            octets.extend(label.as_bytes());
        }
        octets.push(0);
        octets.extend(self.kind().to_be_bytes());
        octets.extend(IN.to_be_bytes());
        octets
    }

    pub(crate) fn kind(&self) -> u16 {
        if self.ipv6 { AAAA } else { A }
    }
}

/// Builds the answer to a guest: these addresses, with a validity in seconds.
pub fn encode_answer(
    question: &[u8],
    code: u8,
    addresses: &[IpAddr],
    seconds: u32,
) -> Option<Vec<u8>> {
    let end = HEADER + name_length(question.get(HEADER..)?)?;
    let copied = question.get(HEADER..end + 4)?;
    let asked = u16::from_be_bytes([*question.get(2)?, *question.get(3)?]);
    let addresses = &addresses[..addresses.len().min(MOST)];
    let mut out = question[..2].to_vec();
    out.extend((RESPONSE | asked & RD | u16::from(code & 15)).to_be_bytes());
    out.extend([0, 1, 0, addresses.len() as u8, 0, 0, 0, 0]);
    out.extend(copied);
    for address in addresses {
        let (kind, octets) = match address {
            IpAddr::V4(address) => (A, address.octets().to_vec()),
            IpAddr::V6(address) => (AAAA, address.octets().to_vec()),
        };
        // The name of the question, by its place.
        out.extend((0xc000 | HEADER as u16).to_be_bytes());
        out.extend(kind.to_be_bytes());
        out.extend(IN.to_be_bytes());
        out.extend(seconds.to_be_bytes());
        out.extend((octets.len() as u16).to_be_bytes());
        out.extend(octets);
    }
    Some(out)
}

/// Returns true if an address can lie outside the local network: the owner of a name can point it
/// at your printer (RFC 6890). For a route to an IPv4 address, that address counts.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public4(address),
        IpAddr::V6(address) => is_public6(address),
    }
}

fn is_public4(address: Ipv4Addr) -> bool {
    let [first, second, third, _] = address.octets();
    let shared = first == 100 && second & 0xc0 == 64;
    let protocols = (first, second, third) == (192, 0, 0);
    let benchmark = first == 198 && second & 0xfe == 18;
    !(first == 0
        || first >= 224
        || address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || shared
        || protocols
        || benchmark)
}

fn is_public6(address: Ipv6Addr) -> bool {
    let within = |high: u16, low: u16| {
        let [(a, b), (c, d)] = [high, low].map(|word| ((word >> 8) as u8, word as u8));
        is_public4(Ipv4Addr::new(a, b, c, d))
    };
    match address.segments() {
        // NAT64, 6to4.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => within(high, low),
        // Teredo, and others of the registry of protocols.
        [0x2001, 0..0x200, ..] => false,
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_mean_what_is_below_them() {
        let holds =
            |garden: &str, name: &str| garden.parse::<NamePattern>().expect(garden).holds(name);
        assert!(holds("Example.org.", "example.org"));
        assert!(holds("example.org", "a.b.example.org"));
        assert!(!holds("example.org", "badexample.org"));
        assert!(!holds("example.org", "org") && !holds("example.org", "example.org.evil.net"));
        assert!(holds("*.example.net", "www.example.net"));
        assert!(!holds("*.example.net", "example.net"));
        for text in [
            "",
            ".",
            "org",
            "*",
            "*.",
            "*.org",
            "a..b",
            "-",
            "a b.org",
            "10.0.0",
            "10.0.0.256",
            "*.*.org",
            "w*.example.org",
            "b\u{fc}cher.example",
            "http://example.org",
        ] {
            assert!(text.parse::<WalledGardenEntry>().is_err(), "{text}");
        }
        let long = format!("{}.org", "a".repeat(64));
        assert!(long.parse::<WalledGardenEntry>().is_err());
        assert!(matches!(
            "2001:db8::/32".parse(),
            Ok(WalledGardenEntry::Network(_))
        ));
        let text = "*.example.net";
        assert_eq!(
            text.parse::<WalledGardenEntry>().expect(text).to_string(),
            text
        );
    }

    fn asked(name: &[u8], kind: u16, class: u16) -> Vec<u8> {
        let mut octets = vec![0xab, 0xcd, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        octets.extend(name);
        octets.extend(kind.to_be_bytes());
        octets.extend(class.to_be_bytes());
        octets
    }

    #[test]
    fn only_plain_questions_for_addresses_are_such() {
        let name = b"\x03WWW\x07example\x03org\x00";
        let question = Question::read(&asked(name, A, IN)).expect("plain");
        assert_eq!((&*question.name, question.ipv6), ("www.example.org", false));
        assert_eq!(
            question.encoded(),
            asked(b"\x03www\x07example\x03org\x00", A, IN)[12..]
        );
        assert!(Question::read(&asked(name, AAAA, IN)).expect("plain").ipv6);
        // HTTPS, any, of another class.
        for (kind, class) in [(65, IN), (255, IN), (A, 255), (16, IN)] {
            assert_eq!(Question::read(&asked(name, kind, class)), None);
        }
        for (at, octet) in [(2, 0x81), (2, 0x28), (5, 2), (5, 0)] {
            let mut other = asked(name, A, IN);
            other[at] = octet;
            assert_eq!(Question::read(&other), None, "{at}");
        }
        for name in [
            &b"\x00"[..],
            b"\x03a.b\x03org\x00",
            b"\x02\xc3\xbc\x00",
            b"\x01 \x00",
            b"\xc0\x0c",
        ] {
            assert_eq!(Question::read(&asked(name, A, IN)), None, "{name:?}");
        }
        let whole = asked(name, A, IN);
        for end in 0..whole.len() {
            assert_eq!(Question::read(&whole[..end]), None, "{end}");
        }
    }

    #[test]
    fn an_answer_has_what_is_open_and_fits() {
        let label = [&[63; 1][..], &[b'a'; 63]].concat();
        let name = [&label[..], &label, &label, b"\x3d", &[b'b'; 61], b"\x00"].concat();
        let question = asked(&name, AAAA, IN);
        let many = [IpAddr::from(Ipv6Addr::LOCALHOST); 20];
        let answer = encode_answer(&question, WELL, &many, 300).expect("an answer");
        assert!(answer.len() <= 512, "{}", answer.len());
        assert_eq!(answer[..8], [0xab, 0xcd, 0x81, 0x80, 0, 1, 0, 8]);
        let four = [IpAddr::from([198, 51, 100, 7])];
        let answer =
            encode_answer(&asked(b"\x01a\x00", A, IN), WELL, &four, 300).expect("an answer");
        assert_eq!(
            answer[19..],
            [0xc0, 12, 0, 1, 0, 1, 0, 0, 1, 44, 0, 4, 198, 51, 100, 7]
        );
        assert_eq!(encode_answer(&[0; 5], WELL, &[], 1), None);
    }

    #[test]
    fn what_is_here_is_not_public() {
        let public = |text: &str| is_public(text.parse().expect("an address"));
        for text in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "169.254.169.254",
            "172.31.0.1",
            "192.168.1.1",
            "192.0.0.8",
            "198.19.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:8.8.8.8",
            "::8.8.8.8",
            "fe80::1",
            "fd00::1",
            "ff02::1",
            "2001::1",
            "64:ff9b::192.168.1.1",
            "2002:c0a8:101::1",
            "64:ff9b:1::1",
            "fec0::1",
        ] {
            assert!(!public(text), "{text}");
        }
        for text in [
            "198.51.100.7",
            "172.32.0.1",
            "100.128.0.1",
            "2001:db8::1",
            "2a00::1",
            "64:ff9b::8.8.8.8",
            "2002:808:808::1",
        ] {
            assert!(public(text), "{text}");
        }
    }
}
