//! IPv4 networks: overlaps and free networks.

use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

/// A network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Network {
    address: u32,
    length: u8,
}

impl Network {
    /// Returns the network of an address with this prefix length; at most 32.
    pub fn new(address: Ipv4Addr, length: u8) -> Self {
        let length = length.min(32);
        Self {
            address: u32::from(address) & mask(length),
            length,
        }
    }

    /// Returns the smallest network that contains all addresses, with at most this prefix length.
    pub fn containing(addresses: impl IntoIterator<Item = Ipv4Addr>, longest: u8) -> Option<Self> {
        let mut addresses = addresses.into_iter();
        let first = u32::from(addresses.next()?);
        let differ = addresses.fold(0, |differ, one| differ | (first ^ u32::from(one)));
        let length = (differ.leading_zeros() as u8).min(longest);
        Some(Self::new(first.into(), length))
    }

    /// Returns the network address.
    pub fn address(&self) -> Ipv4Addr {
        self.address.into()
    }

    /// Returns the prefix length.
    pub fn length(&self) -> u8 {
        self.length
    }

    /// Returns true if an address is in both networks.
    pub fn overlaps(&self, other: &Self) -> bool {
        (self.address ^ other.address) & mask(self.length.min(other.length)) == 0
    }

    /// Returns true if the network contains the address.
    pub fn contains(&self, address: Ipv4Addr) -> bool {
        self.overlaps(&Self::new(address, 32))
    }

    /// Returns a private network (RFC 1918) of 256 addresses that overlaps none of these.
    pub fn free(taken: &[Self]) -> Option<Self> {
        // Most devices use 192.168.0 or 192.168.1 by default: the next device would conflict again.
        let usual = (2..=254).map(|third| Ipv4Addr::new(192, 168, third, 0));
        let large = (0..=255).map(|second| Ipv4Addr::new(10, second, 77, 0));
        let middle = (16..=31).map(|second| Ipv4Addr::new(172, second, 77, 0));
        let all = usual.chain(large).chain(middle);
        let mut all = all.map(|address| Self::new(address, 24));
        all.find(|network| !taken.iter().any(|taken| taken.overlaps(network)))
    }
}

fn mask(length: u8) -> u32 {
    u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0)
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address(), self.length)
    }
}

impl FromStr for Network {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const HOW: &str = "a network is written 192.168.1.0/24";
        let (address, length) = text.split_once('/').ok_or(HOW)?;
        let length = length
            .parse()
            .ok()
            .filter(|&length| length <= 32)
            .ok_or(HOW)?;
        Ok(Self::new(address.parse().map_err(|_| HOW)?, length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(text: &str) -> Network {
        text.parse().expect("a network")
    }

    #[test]
    fn overlaps_either_way_round() {
        let lan = network("192.168.1.1/24");
        assert_eq!(lan.to_string(), "192.168.1.0/24");
        for (other, expected) in [
            ("192.168.0.0/16", true),
            ("192.168.1.128/25", true),
            ("192.168.2.0/24", false),
            ("0.0.0.0/0", true),
        ] {
            assert_eq!(lan.overlaps(&network(other)), expected, "{other}");
            assert_eq!(network(other).overlaps(&lan), expected, "{other}");
        }
        assert!("192.168.1.0".parse::<Network>().is_err());
        assert!("192.168.1.0/33".parse::<Network>().is_err());
    }

    #[test]
    fn a_free_one_overlaps_nothing() {
        assert_eq!(
            Network::free(&[]).map(|it| it.to_string()).as_deref(),
            Some("192.168.2.0/24")
        );
        let taken = [network("192.168.0.0/16")];
        assert_eq!(Network::free(&taken), Some(network("10.0.77.0/24")));
        let taken = [taken[0], network("10.0.0.0/8")];
        assert_eq!(Network::free(&taken), Some(network("172.16.77.0/24")));
        let taken = [taken[0], taken[1], network("172.16.0.0/12")];
        assert_eq!(Network::free(&taken), None);
    }

    #[test]
    fn one_around_addresses() {
        let around = |addresses: &[[u8; 4]]| {
            let addresses = addresses.iter().map(|&octets| Ipv4Addr::from(octets));
            Network::containing(addresses, 24).map(|network| network.to_string())
        };
        assert_eq!(
            around(&[[10, 0, 0, 1], [10, 0, 0, 9]]).as_deref(),
            Some("10.0.0.0/24")
        );
        assert_eq!(
            around(&[[10, 0, 0, 1], [10, 0, 3, 9]]).as_deref(),
            Some("10.0.0.0/22")
        );
        assert_eq!(around(&[]), None);
    }
}
