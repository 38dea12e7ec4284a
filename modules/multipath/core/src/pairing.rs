//! Pairing line: all data that a router needs about its partner, in one word.
//!
//! `weir2-KEY@HOST:PORT`, where KEY is the base64url form of the key's id (8 bytes), the key (32),
//! the partner's public key (32) and a check (4) over the whole line. The line has no special
//! character of TOML, nor of a shell except the brackets of an IPv6 address, which a shell leaves
//! unchanged if no file has a matching name. The line is a secret until its router has used it:
//! from then on no other router can use it.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use ring::digest::{Context, SHA256};
use subtle::ConstantTimeEq;

use crate::PORT;
use crate::key::{Key, KeyId, PublicKey};

/// Version of the lines that this weir reads.
const VERSION: u32 = 2;
const PREFIX: &str = "weir2-";

/// Bytes of the check.
const CHECK: usize = 4;

/// Bytes of id, key, public key and check, and the characters of their encoding.
const OCTETS: usize = 8 + 32 + 32 + CHECK;
const CHARACTERS: usize = (OCTETS * 4).div_ceil(3);

/// A partner, and the key for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pairing {
    /// An IP address, or a DNS name in lower case.
    pub host: String,
    /// Port of the partner, TCP and UDP.
    pub port: u16,
    /// Key that the router shares with the partner.
    pub key: Key,
}

/// Error of a malformed pairing line. No variant shows the key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PairingError {
    /// Not a pairing line at all.
    #[error(
        "not a pairing line: it must begin with {PREFIX:?}; copy the line that the partner prints"
    )]
    Prefix,
    /// Line of a later weir.
    #[error(
        "the pairing line has version {0}, but this weir reads version {VERSION}; update weir on \
            this router"
    )]
    Newer(u32),
    /// Line of an earlier weir.
    #[error(
        "the pairing line has version {0}, of an earlier weir; print a new one at the partner: \
            `weir multipath rotate`"
    )]
    Older(u32),
    /// Line that is cut off.
    #[error("the pairing line is cut off {0}; copy all of it, up to the partner's port")]
    CutOff(&'static str),
    /// More than one word.
    #[error("the pairing line contains a blank; copy it as one word")]
    Blank,
    /// Key with too many characters.
    #[error(
        "the key in the pairing line has {0} characters instead of {CHARACTERS}; copy the line \
            again"
    )]
    Long(usize),
    /// Character that is not valid in a key.
    #[error(
        "the pairing line has the invalid character {character:?} at position {place}; copy the line again"
    )]
    Character {
        /// Position in the line, from 1.
        place: usize,
        /// The character.
        character: char,
    },
    /// Wrong check.
    #[error(
        "the key or the address in the pairing line was changed; copy the line again, and for \
            another address of the partner print a new line there"
    )]
    Changed,
    /// Neither an address nor a name.
    #[error("invalid host {0:?}: use an IPv4 address, an IPv6 address in brackets, or a DNS name")]
    Host(String),
    /// Not a valid port.
    #[error("invalid port {0:?}: use 1 to 65535")]
    Port(String),
}

impl Pairing {
    /// Creates a pairing with a valid host: an IP address (IPv6 without brackets) or a DNS name.
    pub fn new(host: &str, port: u16, key: Key) -> Result<Self, PairingError> {
        if port == 0 {
            return Err(PairingError::Port("0".to_owned()));
        }
        let host = match host.parse::<Ipv6Addr>() {
            Ok(address) => address.to_string(),
            Err(_) => name_or_ipv4(host)?,
        };
        Ok(Self { host, port, key })
    }

    /// Creates a pairing from a typed address, with [`PORT`] by default: `partner.example.net`,
    /// `203.0.113.5:443`, `[2001:db8::5]:9349`; IPv6 without a port needs no brackets.
    pub fn at(address: &str, key: Key) -> Result<Self, PairingError> {
        if address.is_empty() {
            return Err(PairingError::Host(String::new()));
        }
        let (host, port) = match address.parse::<Ipv6Addr>() {
            Ok(_) => (address, PORT),
            Err(_) => read_address(address)?,
        };
        Self::new(host, port, key)
    }

    /// Returns a description without the key.
    pub fn redacted(&self) -> String {
        format!("{} with key {}", self.address(), self.key.id())
    }

    /// Returns the address as in the line.
    pub fn address(&self) -> String {
        match self.host.parse() {
            Ok(IpAddr::V6(address)) => format!("[{address}]:{}", self.port),
            _ => format!("{}:{}", self.host, self.port),
        }
    }

    fn check(&self) -> [u8; CHECK] {
        let mut hash = Context::new(&SHA256);
        hash.update(b"weir2 pairing");
        hash.update(&self.key.id().0);
        hash.update(self.key.secret());
        hash.update(&self.key.partner().0);
        hash.update(self.address().as_bytes());
        let hash = hash.finish();
        *hash.as_ref().first_chunk().expect("32 bytes")
    }
}

impl fmt::Display for Pairing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let octets = [
            &self.key.id().0[..],
            self.key.secret(),
            &self.key.partner().0,
            &self.check(),
        ];
        let octets = octets.concat();
        write!(
            formatter,
            "{PREFIX}{}@{}",
            BASE64.encode(octets),
            self.address()
        )
    }
}

impl FromStr for Pairing {
    type Err = PairingError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        let Some(rest) = text.strip_prefix(PREFIX) else {
            return Err(foreign(text));
        };
        if text.contains(char::is_whitespace) {
            return Err(PairingError::Blank);
        }
        let (key, address) = rest
            .split_once('@')
            .ok_or(PairingError::CutOff("before the partner's address"))?;
        let (key, check) = read_key(key)?;
        let (host, port) = read_address(address)?;
        let pairing = Self::new(host, port, key)?;
        if bool::from(pairing.check().ct_eq(&check)) {
            Ok(pairing)
        } else {
            Err(PairingError::Changed)
        }
    }
}

/// Returns the cause why a line without the prefix is refused.
fn foreign(text: &str) -> PairingError {
    if !text.is_empty() && PREFIX.starts_with(text) {
        return PairingError::CutOff("within its first characters");
    }
    let version = text.strip_prefix("weir").and_then(|rest| {
        let (version, _) = rest.split_once('-')?;
        version.parse().ok()
    });
    match version {
        Some(version) if version > VERSION => PairingError::Newer(version),
        Some(version) if (1..VERSION).contains(&version) => PairingError::Older(version),
        _ => PairingError::Prefix,
    }
}

fn read_key(text: &str) -> Result<(Key, [u8; CHECK]), PairingError> {
    let fits = |character: char| character.is_ascii_alphanumeric() || "-_".contains(character);
    if let Some((place, character)) = text
        .chars()
        .enumerate()
        .find(|&(_, character)| !fits(character))
    {
        let place = PREFIX.len() + place + 1;
        return Err(PairingError::Character { place, character });
    }
    if text.len() < CHARACTERS {
        return Err(PairingError::CutOff("within the key"));
    }
    if text.len() > CHARACTERS {
        return Err(PairingError::Long(text.len()));
    }
    // A failure here is a last character with bits beyond the last byte.
    let octets = BASE64.decode(text).map_err(|_| PairingError::Changed)?;
    let octets: [u8; OCTETS] = octets.try_into().map_err(|_| PairingError::Changed)?;
    let (id, rest) = octets.split_first_chunk().expect("76 bytes");
    let (secret, rest) = rest.split_first_chunk().expect("68 bytes");
    let (partner, check) = rest.split_first_chunk().expect("36 bytes");
    let check = check.first_chunk().expect("4 bytes");
    Ok((Key::new(KeyId(*id), *secret, PublicKey(*partner)), *check))
}

/// Splits into host without brackets, and port.
fn read_address(text: &str) -> Result<(&str, u16), PairingError> {
    let wrong = || PairingError::Host(text.to_owned());
    if text.is_empty() {
        return Err(PairingError::CutOff("before the partner's address"));
    }
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest
                .split_once(']')
                .ok_or(PairingError::CutOff("within the partner's address"))?;
            host.parse::<Ipv6Addr>().map_err(|_| wrong())?;
            match rest.strip_prefix(':') {
                None if rest.is_empty() => (host, None),
                None => return Err(wrong()),
                port => (host, port),
            }
        }
        // Without brackets, address and port would be ambiguous.
        None if text.parse::<Ipv6Addr>().is_ok() => return Err(wrong()),
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    match port {
        None => Ok((host, PORT)),
        Some("") => Err(PairingError::CutOff("before the partner's port")),
        Some(port) if port.bytes().all(|octet| octet.is_ascii_digit()) => match port.parse() {
            Ok(number) if number != 0 => Ok((host, number)),
            _ => Err(PairingError::Port(port.to_owned())),
        },
        Some(port) => Err(PairingError::Port(port.to_owned())),
    }
}

/// Checks a host: a DNS name, in lower case, or an IPv4 address as it is.
fn name_or_ipv4(host: &str) -> Result<String, PairingError> {
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label
                .bytes()
                .all(|octet| octet.is_ascii_alphanumeric() || b"-_".contains(&octet))
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    // No top-level domain begins with a digit, so such a host must be an IPv4 address.
    let last = host.rsplit('.').next().unwrap_or_default();
    let name = host.len() <= 253
        && host.split('.').all(label)
        && !last.starts_with(|character: char| character.is_ascii_digit());
    if name || host.parse::<Ipv4Addr>().is_ok() {
        Ok(host.to_ascii_lowercase())
    } else {
        Err(PairingError::Host(host.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pairing(host: &str, port: u16) -> Pairing {
        let key = Key::new(KeyId([1; 8]), [2; 32], PublicKey([3; 32]));
        Pairing::new(host, port, key).expect("a host")
    }

    #[test]
    fn what_is_written_is_read() {
        for (host, port, address) in [
            ("192.0.2.7", 9349, "@192.0.2.7:9349"),
            ("2001:DB8:0::1", 443, "@[2001:db8::1]:443"),
            ("VPS.Example.org", 1, "@vps.example.org:1"),
            ("partner", 65535, "@partner:65535"),
        ] {
            let pairing = pairing(host, port);
            let line = pairing.to_string();
            assert!(line.ends_with(address), "{line}");
            assert_eq!(line.parse(), Ok(pairing.clone()));
            assert_eq!(format!(" {line}\n").parse(), Ok(pairing), "as in a file");
        }
    }

    #[test]
    fn the_default_port_may_be_left_out() {
        for host in ["192.0.2.7", "2001:db8::1", "partner.example"] {
            let line = pairing(host, PORT).to_string();
            let short = line.strip_suffix(":9349").expect("the port");
            assert_eq!(short.parse(), Ok(pairing(host, PORT)));
        }
        let line = pairing("192.0.2.7", 443).to_string();
        let short = line.strip_suffix(":443").expect("the port");
        assert_eq!(short.parse::<Pairing>(), Err(PairingError::Changed));
    }

    #[test]
    fn each_error_is_named() {
        let line = pairing("192.0.2.7", 443).to_string();
        let key = &line[..line.find('@').expect("an address")];
        let parse = |text: &str| text.parse::<Pairing>().expect_err(text);
        for (text, error) in [
            (String::new(), PairingError::Prefix),
            ("192.0.2.7:443".to_owned(), PairingError::Prefix),
            ("weir-abc".to_owned(), PairingError::Prefix),
            (line.replace("weir2", "weir3"), PairingError::Newer(3)),
            (line.replace("weir2", "weir1"), PairingError::Older(1)),
            (line.replace("-A", "- A"), PairingError::Blank),
            (
                "weir".to_owned(),
                PairingError::CutOff("within its first characters"),
            ),
            (
                key.to_owned(),
                PairingError::CutOff("before the partner's address"),
            ),
            (
                format!("{key}@"),
                PairingError::CutOff("before the partner's address"),
            ),
            (
                format!("{key}@[2001:db8:"),
                PairingError::CutOff("within the partner's address"),
            ),
            (
                format!("{key}@192.0.2.7:"),
                PairingError::CutOff("before the partner's port"),
            ),
            (
                line.replace("-A", "-"),
                PairingError::CutOff("within the key"),
            ),
            (line.replace("-A", "-AA"), PairingError::Long(103)),
            (
                line.replace("-A", "-+"),
                PairingError::Character {
                    place: 7,
                    character: '+',
                },
            ),
            (line.replace("-A", "-B"), PairingError::Changed),
            (line.replace(":443", ":44"), PairingError::Changed),
            (line.replace(".7:", ".8:"), PairingError::Changed),
            (
                format!("{key}@192.0.2.7:0"),
                PairingError::Port("0".to_owned()),
            ),
            (
                format!("{key}@192.0.2.7:+1"),
                PairingError::Port("+1".to_owned()),
            ),
            (
                format!("{key}@192.0.2:443"),
                PairingError::Host("192.0.2".to_owned()),
            ),
            (
                format!("{key}@2001:db8::1"),
                PairingError::Host("2001:db8::1".to_owned()),
            ),
            (
                format!("{key}@[192.0.2.7]:1"),
                PairingError::Host("[192.0.2.7]:1".to_owned()),
            ),
            (format!("{key}@-a:1"), PairingError::Host("-a".to_owned())),
        ] {
            let found = parse(&text);
            assert_eq!(found, error, "{text}");
            assert!(
                !found.to_string().contains(&key[20..30]),
                "shows the key: {found}"
            );
        }
        assert_eq!(
            Pairing::new("a", 0, Key::new(KeyId([0; 8]), [0; 32], PublicKey([0; 32]))),
            Err(PairingError::Port("0".to_owned()))
        );
    }

    #[test]
    fn a_line_cut_off_anywhere_is_refused() {
        let line = pairing("partner.example.org", 19347).to_string();
        for length in 0..line.len() {
            assert!(
                line[..length].parse::<Pairing>().is_err(),
                "{}",
                &line[..length]
            );
        }
    }

    proptest! {
        #[test]
        fn any_key_is_read_as_written(id: [u8; 8], secret: [u8; 32], partner: [u8; 32], port in 1_u16.., host in "[a-z][a-z0-9]{0,20}(\\.[a-z]{1,9}){0,3}") {
            let pairing = Pairing::new(&host, port, Key::new(KeyId(id), secret, PublicKey(partner))).expect("a host");
            let line = pairing.to_string();
            prop_assert!(line.chars().all(|character| character.is_ascii_alphanumeric() || "-_@:.".contains(character)));
            prop_assert_eq!(line.parse(), Ok(pairing));
        }

        #[test]
        fn a_changed_character_is_found(place in 0_usize..120, character in "[A-Za-z0-9_.@:-]") {
            let line = pairing("192.0.2.7", 443).to_string();
            let place = place % line.len();
            prop_assume!(line[place..=place] != character);
            let changed = format!("{}{character}{}", &line[..place], &line[place + 1..]);
            prop_assert!(changed.parse::<Pairing>().is_err(), "{}", changed);
        }
    }
}
