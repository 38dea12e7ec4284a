//! Addresses of IPv4 with the length of their network.

use std::fmt;
use std::net::Ipv4Addr;

/// An address in a network: `192.168.1.1/24`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv4Cidr {
    /// The address.
    pub address: Ipv4Addr,
    /// The network's length in bits, 1 to 32.
    pub length: u8,
}

impl Ipv4Cidr {
    /// Reads an address that a device can have: not a multicast, loopback, unspecified or reserved
    /// address, nor the network's first or last one.
    pub fn read(text: &str) -> Option<Ipv4Cidr> {
        let inside = Ipv4Cidr::read_network(text)?;
        let address = inside.address;
        if address.is_multicast() || address.is_loopback() || address.octets()[0] == 0 {
            return None;
        }
        if inside.is_first_or_last(address) || address.octets()[0] >= 240 {
            return None;
        }
        Some(inside)
    }

    /// Reads a network, or an address in one.
    pub fn read_network(text: &str) -> Option<Ipv4Cidr> {
        let (address, length) = text.split_once('/')?;
        if length.len() > 2 || !length.bytes().all(|c| c.is_ascii_digit()) {
            return None;
        }
        let length: u8 = length.parse().ok()?;
        (1..=32).contains(&length).then_some(Ipv4Cidr {
            address: address.parse().ok()?,
            length,
        })
    }

    /// Combines an address and a mask, `255.255.255.0`.
    pub fn of_mask(address: &str, mask: &str) -> Option<Ipv4Cidr> {
        let mask = u32::from(mask.parse::<Ipv4Addr>().ok()?);
        let length = u8::try_from(mask.leading_ones()).ok()?;
        let whole = mask.count_ones() == mask.leading_ones();
        (whole && length > 0).then_some(Ipv4Cidr {
            address: address.parse().ok()?,
            length,
        })
    }

    fn mask(self) -> u32 {
        u32::MAX << (32 - u32::from(self.length))
    }

    /// Returns the network's mask, `255.255.255.0`.
    pub fn netmask(self) -> Ipv4Addr {
        Ipv4Addr::from(self.mask())
    }

    /// Returns the network's first address.
    pub fn network(self) -> Ipv4Addr {
        Ipv4Addr::from(u32::from(self.address) & self.mask())
    }

    /// Returns the first address of the network that a device can have.
    pub fn first(self) -> Ipv4Cidr {
        let first = u32::from(self.network()).saturating_add(1);
        let address = Ipv4Addr::from(first);
        Ipv4Cidr { address, ..self }
    }

    /// Returns the number of addresses that the network has for devices.
    pub fn host_count(self) -> u64 {
        let all = 1_u64 << (32 - u32::from(self.length));
        all.saturating_sub(2).max(1)
    }

    /// Returns true if an address is in the network.
    pub fn contains(self, address: Ipv4Addr) -> bool {
        u32::from(address) & self.mask() == u32::from(self.address) & self.mask()
    }

    /// Returns true for the first and the last address of the network: no device has these.
    pub fn is_first_or_last(self, address: Ipv4Addr) -> bool {
        let host = u32::from(address) & !self.mask();
        self.length < 31 && self.contains(address) && (host == 0 || host == !self.mask())
    }

    /// Returns true if the address is one of the public Internet: not for private networks
    /// (RFC 1918), nor shared, link-local, for benchmarks or documentation (RFC 6890).
    pub fn is_public(self) -> bool {
        let [a, b, ..] = self.address.octets();
        !(self.address.is_private()
            || self.address.is_loopback()
            || self.address.is_link_local()
            || self.address.is_documentation()
            || (a == 100 && (64..128).contains(&b))
            || (a == 198 && matches!(b, 18 | 19)))
    }

    /// Returns true if two networks have an address in common.
    pub fn overlaps(self, other: Ipv4Cidr) -> bool {
        self.contains(other.network()) || other.contains(self.network())
    }
}

impl fmt::Display for Ipv4Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}
