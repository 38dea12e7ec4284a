//! Where a partner connects to for its routers, and where not: pure. It is no way into the networks
//! that it is itself in.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use kernel::Prefix;

const fn v4(a: u8, b: u8, c: u8, d: u8, length: u8) -> Prefix {
    let address = IpAddr::V4(Ipv4Addr::new(a, b, c, d));
    Prefix { address, length }
}

const fn v6(first: [u16; 3], sixth: u16, length: u8) -> Prefix {
    let [a, b, c] = first;
    let address = IpAddr::V6(Ipv6Addr::new(a, b, c, 0, 0, sixth, 0, 0));
    Prefix { address, length }
}

/// Addresses that mean another host in each network: private, of a link, of this machine (RFC
/// 6890), of many.
pub const LOCAL: [Prefix; 15] = [
    v4(0, 0, 0, 0, 8),
    v4(10, 0, 0, 0, 8),
    v4(100, 64, 0, 0, 10),
    v4(127, 0, 0, 0, 8),
    v4(169, 254, 0, 0, 16),
    v4(172, 16, 0, 0, 12),
    v4(192, 168, 0, 0, 16),
    v4(224, 0, 0, 0, 3),
    v6([0; 3], 0, 96),
    v6([0; 3], 0xffff, 96),
    // NAT64 would lead to any of the above (RFC 6052, 8215).
    v6([0x64, 0xff9b, 0], 0, 96),
    v6([0x64, 0xff9b, 1], 0, 48),
    v6([0xfc00, 0, 0], 0, 7),
    v6([0xfe80, 0, 0], 0, 10),
    v6([0xff00, 0, 0], 0, 8),
];

/// Where connections may lead.
#[derive(Clone, Debug, Default)]
pub struct Reach {
    /// Of the local ones, those that are allowed all the same.
    pub allowed: Vec<Prefix>,
    /// The partner's own addresses: what listens there may take who comes from there for a friend.
    pub own: Vec<IpAddr>,
}

impl Reach {
    /// Whether a connection may lead there.
    pub fn permits(&self, to: IpAddr) -> bool {
        if self.allowed.iter().any(|prefix| prefix.holds(&to)) {
            return true;
        }
        !self.own.contains(&to) && !LOCAL.iter().any(|prefix| prefix.holds(&to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_way_into_the_partners_own_networks() {
        let reach = Reach {
            allowed: vec!["10.20.0.0/16".parse().unwrap()],
            own: vec!["203.0.113.5".parse().unwrap()],
        };
        for (to, permitted) in [
            ("198.51.100.7", true),
            ("2001:db8::1", true),
            ("10.20.3.4", true),
            ("10.21.3.4", false),
            ("203.0.113.5", false),
            ("127.0.0.1", false),
            ("0.0.0.0", false),
            ("192.168.1.1", false),
            ("172.31.0.1", false),
            ("172.32.0.1", true),
            ("100.100.0.1", false),
            ("169.254.169.254", false),
            ("224.0.0.1", false),
            ("255.255.255.255", false),
            ("::1", false),
            ("::", false),
            ("::ffff:127.0.0.1", false),
            ("64:ff9b::a00:1", false),
            ("fd12::1", false),
            ("fe80::1", false),
            ("ff02::1", false),
        ] {
            assert_eq!(reach.permits(to.parse().unwrap()), permitted, "{to}");
        }
    }
}
