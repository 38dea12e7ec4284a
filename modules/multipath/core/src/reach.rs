//! Destinations that a partner permits to its routers: pure. A partner must not open the networks
//! that it is itself in.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{PoisonError, RwLock};

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

/// Addresses that mean another host in each network: private, link-local, of this machine (RFC
/// 6890), multicast.
pub const LOCAL: [Prefix; 13] = [
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
    v6([0xfc00, 0, 0], 0, 7),
    v6([0xfe80, 0, 0], 0, 10),
    v6([0xff00, 0, 0], 0, 8),
];

/// Addresses of NAT64, which each network has of its own: also lead to the above (RFC 6052, 8215).
pub const NAT64: [Prefix; 2] = [v6([0x64, 0xff9b, 0], 0, 96), v6([0x64, 0xff9b, 1], 0, 48)];

/// Other addresses that are not hosts of the Internet: of protocols (RFC 6890), of measurements
/// between networks (RFC 2544), IPv6 with an embedded IPv4 address of the above (RFC 3056, 4380),
/// and deprecated site-local ones (RFC 3879).
const STRANGE: [Prefix; 6] = [
    v4(192, 0, 0, 0, 24),
    v4(192, 88, 99, 0, 24),
    v4(198, 18, 0, 0, 15),
    v6([0x2001, 0, 0], 0, 32),
    v6([0x2002, 0, 0], 0, 16),
    v6([0xfec0, 0, 0], 0, 10),
];

/// Metadata services of clouds, which give a machine its secrets: those of Amazon and most others,
/// Azure, Alibaba, Oracle, and by IPv6 Amazon and Google.
const SECRETS: [IpAddr; 6] = [
    IpAddr::V4(Ipv4Addr::new(169, 254, 169, 254)),
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V4(Ipv4Addr::new(192, 0, 0, 192)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V6(Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)),
];

/// Port at which mail servers receive mail from each other (RFC 5321); also the port for spam.
pub const SMTP: u16 = 25;

/// Permitted destinations.
#[derive(Debug, Default)]
pub struct Reach {
    /// Permits port [`SMTP`] too: mail sent there is sent in the partner's name.
    pub smtp: bool,
    /// Local networks that are permitted nevertheless. They never include the partner itself, its
    /// routers or a cloud's secrets, unless such an address is listed individually.
    pub allowed: Vec<Prefix>,
    /// Networks of the tunnel: each router has an address there.
    pub tunnel: Vec<Prefix>,
    /// The partner's own addresses: its services may trust connections from them.
    own: RwLock<BTreeSet<IpAddr>>,
}

impl Reach {
    /// Permits these local networks; the tunnel has the other ones.
    pub fn new(allowed: Vec<Prefix>, tunnel: Vec<Prefix>) -> Self {
        Self {
            smtp: false,
            allowed,
            tunnel,
            own: RwLock::default(),
        }
    }

    /// Sets the partner's current addresses.
    pub fn own(&self, addresses: impl IntoIterator<Item = IpAddr>) {
        let mut own = self.own.write().unwrap_or_else(PoisonError::into_inner);
        *own = addresses.into_iter().collect();
    }

    /// Returns true if a TCP connection to this destination is permitted.
    pub fn permits_tcp(&self, to: SocketAddr) -> bool {
        (self.smtp || to.port() != SMTP) && self.permits(to.ip())
    }

    /// Returns true if packets to this address are permitted.
    pub fn permits(&self, to: IpAddr) -> bool {
        if self.allowed.contains(&Prefix::host(to)) {
            return true;
        }
        let holds = |prefixes: &[Prefix]| prefixes.iter().any(|prefix| prefix.contains(&to));
        let own = self.own.read().unwrap_or_else(PoisonError::into_inner);
        if own.contains(&to) || SECRETS.contains(&to) || holds(&self.tunnel) {
            return false;
        }
        holds(&self.allowed) || ![&LOCAL[..], &NAT64, &STRANGE].iter().any(|it| holds(it))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_way_into_the_partners_own_networks() {
        let parsed = |all: &[&str]| all.iter().map(|it| it.parse().unwrap()).collect();
        let allowed = ["10.0.0.0/9", "fd00::/8", "10.93.0.7/32", "10.20.0.2/32"];
        let reach = Reach::new(parsed(&allowed), parsed(&["10.93.0.0/16"]));
        reach.own(["203.0.113.5", "10.20.0.1", "10.20.0.2"].map(|it| it.parse().unwrap()));
        for (to, permitted) in [
            ("198.51.100.7", true),
            ("2001:db8::1", true),
            ("10.20.3.4", true),
            ("10.200.3.4", false),
            // Permitted networks exclude the partner and its routers, unless listed by themselves.
            ("10.20.0.1", false),
            ("10.20.0.2", true),
            ("10.93.0.1", false),
            ("10.93.0.7", true),
            ("fd12::1", true),
            ("fd00:ec2::254", false),
            ("fd20:ce::254", false),
            ("168.63.129.16", false),
            ("168.63.129.17", true),
            ("100.100.100.200", false),
            ("192.0.0.192", false),
            ("192.0.0.8", false),
            ("198.18.0.1", false),
            ("198.20.0.1", true),
            ("2001:0:1::1", false),
            ("2002:a00:1::1", false),
            ("fec0::1", false),
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
            ("fc12::1", false),
            ("fe80::1", false),
            ("ff02::1", false),
        ] {
            assert_eq!(reach.permits(to.parse().unwrap()), permitted, "{to}");
        }
        for (to, smtp, permitted) in [
            ("198.51.100.8:25", false, false),
            ("198.51.100.8:25", true, true),
            ("198.51.100.8:587", false, true),
            ("192.168.1.1:25", true, false),
        ] {
            let reach = Reach {
                smtp,
                ..Reach::default()
            };
            assert_eq!(reach.permits_tcp(to.parse().unwrap()), permitted, "{to}");
        }
        // The partner's address has changed.
        reach.own(["198.51.100.7".parse().unwrap()]);
        assert!(!reach.permits("198.51.100.7".parse().unwrap()));
        assert!(reach.permits("203.0.113.5".parse().unwrap()));
    }
}
