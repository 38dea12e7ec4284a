//! Networks: addresses that begin alike.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// Address prefix with a length in bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Prefix {
    /// The address; bits behind the prefix are 0.
    pub address: IpAddr,
    /// Bits that count: up to 32 or 128.
    pub length: u8,
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

impl Prefix {
    /// Just this address.
    pub const fn host(address: IpAddr) -> Self {
        let length = match address {
            IpAddr::V4(_) => 32,
            IpAddr::V6(_) => 128,
        };
        Self { address, length }
    }

    /// The first bits of an address.
    pub fn truncated(address: IpAddr, length: u8) -> Self {
        let address = match address {
            IpAddr::V4(address) => {
                let mask = u32::MAX.checked_shl(32u32.saturating_sub(length.into()));
                IpAddr::V4((u32::from(address) & mask.unwrap_or(0)).into())
            }
            IpAddr::V6(address) => {
                let mask = u128::MAX.checked_shl(128u32.saturating_sub(length.into()));
                IpAddr::V6((u128::from(address) & mask.unwrap_or(0)).into())
            }
        };
        Self { address, length }
    }

    /// Returns true if an address begins with the prefix.
    pub fn contains(&self, address: &IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                let bits = u32::from(own) ^ u32::from(*other);
                self.length == 0 || bits >> (32 - u32::from(self.length.min(32))) == 0
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                let bits = u128::from(own) ^ u128::from(*other);
                self.length == 0 || bits >> (128 - u32::from(self.length.min(128))) == 0
            }
            _ => false,
        }
    }
}

/// Text that is no network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a network such as 198.51.100.0/24 or 2001:db8::/32")]
pub struct PrefixError(String);

impl FromStr for Prefix {
    type Err = PrefixError;

    /// `ADDRESS/LENGTH`, or one address. Bits behind the length are taken as 0.
    fn from_str(text: &str) -> Result<Self, PrefixError> {
        let wrong = || PrefixError(text.to_owned());
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length)),
            None => (text, None),
        };
        let whole = Self::host(address.parse().map_err(|_| wrong())?);
        let Some(length) = length else {
            return Ok(whole);
        };
        let digits = !length.is_empty() && length.bytes().all(|octet| octet.is_ascii_digit());
        match length.parse() {
            Ok(length) if digits && length <= whole.length => {
                Ok(Self::truncated(whole.address, length))
            }
            _ => Err(wrong()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_read() {
        for (text, read) in [
            ("10.1.2.3/8", "10.0.0.0/8"),
            ("10.1.2.3", "10.1.2.3/32"),
            ("0.0.0.0/0", "0.0.0.0/0"),
            ("fd00:1::1/16", "fd00::/16"),
            ("::1", "::1/128"),
            ("2001:db8::/0", "::/0"),
        ] {
            assert_eq!(text.parse::<Prefix>().expect(text).to_string(), read);
        }
        for text in [
            "",
            "/",
            "10.0.0.0/33",
            "10.0.0.0/",
            "10.0.0/8",
            "::/129",
            "::/-1",
            "::/+1",
            "10.0.0.0/8/8",
        ] {
            assert!(text.parse::<Prefix>().is_err(), "{text}");
        }
    }

    #[test]
    fn prefixes_hold_addresses() {
        let prefix = |address: &str, length| Prefix {
            address: address.parse().expect("an address"),
            length,
        };
        let at = |address: &str| address.parse::<IpAddr>().expect("an address");
        assert!(prefix("192.0.2.0", 24).contains(&at("192.0.2.255")));
        assert!(!prefix("192.0.2.0", 24).contains(&at("192.0.3.0")));
        assert!(prefix("0.0.0.0", 0).contains(&at("255.0.0.1")));
        assert!(!prefix("0.0.0.0", 0).contains(&at("::1")));
        assert!(
            prefix("::1", 128).contains(&at("::1")) && !prefix("::1", 128).contains(&at("::2"))
        );
    }
}
