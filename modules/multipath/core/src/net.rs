//! The tunnel's network at the partner: the addresses of its routers. Pure.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use kernel::Prefix;

/// The networks of a tunnel; its first address is the partner's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TunnelNet {
    /// A network of IPv4.
    pub ipv4: Prefix,
    /// A network of IPv6; `None`: the partner forwards no IPv6.
    pub ipv6: Option<Prefix>,
}

/// An address and the length of its network's prefix; `None`: no address.
pub type Own<A> = Option<(A, u8)>;

impl TunnelNet {
    /// Returns a host of the network; 0 is the partner. `None`: the network is too small.
    fn host(prefix: Prefix, number: usize) -> Option<IpAddr> {
        let number = u32::try_from(number).ok()?.checked_add(1)?;
        let address = match prefix.address {
            // Skips the network's own address and the broadcast address.
            IpAddr::V4(own) => IpAddr::V4(Ipv4Addr::from_bits(own.to_bits().checked_add(number)?)),
            IpAddr::V6(own) => IpAddr::V6(Ipv6Addr::from_bits(
                own.to_bits().checked_add(number.into())?,
            )),
        };
        let last = match (prefix.address, address) {
            (IpAddr::V4(own), IpAddr::V4(address)) => {
                let rest = u32::MAX.checked_shr(prefix.length.into()).unwrap_or(0);
                own.to_bits() | rest == address.to_bits()
            }
            _ => false,
        };
        (prefix.contains(&address) && !last).then_some(address)
    }

    /// Returns the partner's addresses, with their networks' lengths.
    pub fn partner(&self) -> Vec<Prefix> {
        let four = Self::host(self.ipv4, 0).map(|address| (address, self.ipv4.length));
        let six = self
            .ipv6
            .and_then(|net| Some((Self::host(net, 0)?, net.length)));
        let both = [four, six].into_iter().flatten();
        both.map(|(address, length)| Prefix { address, length })
            .collect()
    }

    /// Returns the number of routers that fit into the IPv4 network.
    pub fn places(&self) -> usize {
        let hosts = 1_u64 << 32_u8.saturating_sub(self.ipv4.length);
        // Without the network's own address, the broadcast address, and the partner's.
        usize::try_from(hosts.saturating_sub(3)).unwrap_or(usize::MAX)
    }

    /// Returns the addresses of the router with this place.
    pub fn router(&self, place: usize) -> (Own<Ipv4Addr>, Own<Ipv6Addr>) {
        let number = place.saturating_add(1);
        let four = match Self::host(self.ipv4, number) {
            Some(IpAddr::V4(address)) => Some((address, self.ipv4.length)),
            _ => None,
        };
        let six = self.ipv6.and_then(|net| match Self::host(net, number)? {
            IpAddr::V6(address) => Some((address, net.length)),
            IpAddr::V4(_) => None,
        });
        (four, six)
    }
}

/// Address from a partner that a router does not accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// Not a host's address.
    #[error("the partner assigns {0} to this router, which is not a host's address")]
    Nobody(IpAddr),
    /// An address in one of the router's own networks.
    #[error(
        "the partner assigns {0} to this router, which is in the router's own network {1}: choose \
            another with `weir multipath serve --tunnel` there"
    )]
    Taken(IpAddr, Prefix),
}

/// Checks an address from the partner. The router uses only this address, whatever network the
/// partner states, and only if it is in none of the router's own networks.
///
/// # Errors
/// The address is not acceptable.
pub fn given(address: IpAddr, own: &[Prefix]) -> Result<Prefix, AddressError> {
    let is_nobody = match address {
        IpAddr::V4(it) => {
            it.is_unspecified() || it.is_loopback() || it.is_link_local() || it.octets()[0] >= 224
        }
        IpAddr::V6(it) => {
            let mapped = it.to_ipv4_mapped().is_some();
            mapped
                || it.is_unspecified()
                || it.is_loopback()
                || it.is_multicast()
                || it.is_unicast_link_local()
        }
    };
    if is_nobody {
        return Err(AddressError::Nobody(address));
    }
    match own.iter().find(|network| network.contains(&address)) {
        Some(network) => Err(AddressError::Taken(address, *network)),
        None => Ok(Prefix::host(address)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partner_gives_a_router_no_place_in_its_own_networks() {
        let own: Vec<Prefix> = ["192.168.1.0/24", "fd12::/64"]
            .map(|it| it.parse().expect("a network"))
            .to_vec();
        let given = |text: &str| {
            let address = text.parse().expect("an address");
            given(address, &own).map(|it| it.to_string())
        };
        assert_eq!(given("10.93.0.2"), Ok("10.93.0.2/32".to_owned()));
        assert_eq!(given("fd93::2"), Ok("fd93::2/128".to_owned()));
        for taken in ["192.168.1.7", "fd12::7"] {
            assert!(
                matches!(given(taken), Err(AddressError::Taken(..))),
                "{taken}"
            );
        }
        for nobody in [
            "0.0.0.0",
            "127.0.0.5",
            "169.254.1.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "ff02::1",
            "fe80::1",
            "::ffff:10.0.0.1",
        ] {
            assert!(
                matches!(given(nobody), Err(AddressError::Nobody(_))),
                "{nobody}"
            );
        }
    }

    #[test]
    fn addresses_go_by_the_place() {
        let net = TunnelNet {
            ipv4: "10.93.0.0/29".parse().expect("a network"),
            ipv6: Some("fd93::/64".parse().expect("a network")),
        };
        let text: Vec<_> = net.partner().iter().map(ToString::to_string).collect();
        assert_eq!(text, ["10.93.0.1/29", "fd93::1/64"]);
        let (four, six) = net.router(0);
        assert_eq!(four, Some(("10.93.0.2".parse().expect("one"), 29)));
        assert_eq!(six, Some(("fd93::2".parse().expect("one"), 64)));
        assert_eq!(
            net.router(4).0,
            Some(("10.93.0.6".parse().expect("one"), 29))
        );
        assert_eq!(net.places(), 5);
        // The broadcast address and addresses beyond the network belong to no router.
        assert_eq!((net.router(5).0, net.router(6).0), (None, None));
        assert_eq!(net.router(usize::MAX), (None, None));
    }
}
