//! Networks around the router: which addresses are beyond its uplinks.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;

use kernel::Prefix;

/// Destination of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// The router itself.
    Local,
    /// A network that the router is in.
    OnLink,
    /// A network behind another router of a LAN, or nowhere.
    Inside,
    /// Hosts in the network of this uplink, by the index of the device. Stations in that network
    /// reach these hosts without the router.
    UplinkNetwork(u32),
    /// Beyond an uplink.
    Internet,
}

/// Network devices above a port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UpperDevices {
    /// The port itself, and all devices on it, by index.
    pub all: BTreeSet<u32>,
    /// The bridges among them.
    pub bridges: BTreeSet<u32>,
}

/// Returns true for a route to the Internet: a default route, one of the two halves that programs
/// add beside an existing default route, or the route to the global addresses of IPv6.
pub fn is_default(to: &Prefix) -> bool {
    let widest = match to.address {
        IpAddr::V4(_) => 1,
        IpAddr::V6(_) => 3,
    };
    to.length <= widest
}

/// Routes of the router, as far as they show which networks are beyond an uplink.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Networks {
    routes: HashMap<Prefix, Destination>,
    /// Lengths of the prefixes of IPv4 and of IPv6, the longest first.
    lengths: [Vec<u8>; 2],
    ports: HashMap<u32, UpperDevices>,
    uplink: bool,
}

impl Networks {
    /// Adds a route. Of several to one network the first counts.
    pub fn route(&mut self, to: Prefix, leads: Destination) {
        self.uplink |= is_default(&to) && leads == Destination::Internet;
        self.routes.entry(to).or_insert(leads);
        let lengths = &mut self.lengths[usize::from(to.address.is_ipv6())];
        let longer = lengths.partition_point(|length| *length > to.length);
        if lengths.get(longer) != Some(&to.length) {
            lengths.insert(longer, to.length);
        }
    }

    /// Sets the devices above a port.
    pub fn port(&mut self, port: u32, above: UpperDevices) {
        self.ports.insert(port, above);
    }

    /// Returns true if a default route leads out. Without one nothing crosses an uplink.
    pub fn has_uplink(&self) -> bool {
        self.uplink
    }

    /// Returns the destination of the route to an address: the route with the longest prefix.
    fn leads(&self, address: IpAddr) -> Option<Destination> {
        let lengths = &self.lengths[usize::from(address.is_ipv6())];
        let around = |length: &u8| self.routes.get(&Prefix::truncated(address, *length));
        lengths.iter().find_map(around).copied()
    }

    /// Returns true if an address is the router's own.
    pub(crate) fn is_own(&self, address: IpAddr) -> bool {
        self.leads(address) == Some(Destination::Local)
    }

    /// Returns true if an address is in a network that the router is in.
    pub(crate) fn is_on_link(&self, address: IpAddr) -> bool {
        !stays_here(&address) && self.leads(address) == Some(Destination::OnLink)
    }

    /// Returns true if packets between a station at this port and this address cross an uplink.
    pub fn crosses(&self, port: u32, far: IpAddr) -> bool {
        if !self.uplink || stays_here(&far) {
            return false;
        }
        match self.leads(far) {
            Some(Destination::Internet) => true,
            Some(Destination::UplinkNetwork(link)) => {
                let above = self.ports.get(&port);
                !above.is_some_and(|above| above.all.contains(&link))
            }
            Some(Destination::Local | Destination::OnLink | Destination::Inside) | None => false,
        }
    }

    /// Returns true if two ports are in one bridge.
    pub(crate) fn bridged(&self, one: u32, other: u32) -> bool {
        let bridges = |port| self.ports.get(&port).map(|above| &above.bridges);
        bridges(one)
            .zip(bridges(other))
            .is_some_and(|(one, other)| !one.is_disjoint(other))
    }
}

/// Returns true if an address may be a host of the Internet: not in a private or shared range (RFC
/// 1918, RFC 6598, RFC 4193), link-local or a group.
pub(crate) fn is_global(address: &IpAddr) -> bool {
    let private = match address {
        IpAddr::V4(address) => {
            // 100.64.0.0/10
            let [first, second, ..] = address.octets();
            address.is_private() || (first == 100 && second & 0xc0 == 64)
        }
        IpAddr::V6(address) => address.is_unique_local(),
    };
    !private && !stays_here(address)
}

/// Returns true if no router hands packets to this address on: groups, broadcast, link-local.
fn stays_here(address: &IpAddr) -> bool {
    if address.is_multicast() || address.is_unspecified() || address.is_loopback() {
        return true;
    }
    match address {
        IpAddr::V4(address) => address.is_broadcast() || address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAN: u32 = 1;
    const OTHER_LAN: u32 = 2;
    const WAN: u32 = 3;
    const BRIDGE: u32 = 10;

    fn of(routes: &[(&str, Destination)]) -> Networks {
        let mut networks = Networks::default();
        for (to, leads) in routes {
            networks.route(to.parse().expect("a prefix"), *leads);
        }
        for port in [LAN, OTHER_LAN] {
            networks.port(
                port,
                UpperDevices {
                    all: [port, BRIDGE].into(),
                    bridges: [BRIDGE].into(),
                },
            );
        }
        let all = [WAN].into();
        let bridges = BTreeSet::new();
        networks.port(WAN, UpperDevices { all, bridges });
        networks
    }

    /// Builds a router with a LAN, a network of its uplink, and IPv6 without translation.
    fn router() -> Networks {
        of(&[
            ("0.0.0.0/0", Destination::Internet),
            ("::/0", Destination::Internet),
            ("10.88.0.0/24", Destination::UplinkNetwork(WAN)),
            ("10.0.0.0/8", Destination::Inside),
            ("192.168.1.0/24", Destination::OnLink),
            ("192.168.1.1", Destination::Local),
            ("203.0.113.7", Destination::Local),
            ("2001:db8:1::/48", Destination::Inside),
            ("2001:db8:1::1", Destination::Local),
        ])
    }

    #[test]
    fn only_what_is_beyond_an_uplink_crosses_one() {
        let router = router();
        for (far, crosses) in [
            ("198.51.100.1", true),
            ("2001:db8:2::1", true),
            // The network of the uplink, within a network that is inside.
            ("10.88.0.2", true),
            ("10.9.0.2", false),
            ("192.168.1.7", false),
            ("2001:db8:1:7::7", false),
            // The router itself, by its address outside, too.
            ("192.168.1.1", false),
            ("203.0.113.7", false),
            ("2001:db8:1::1", false),
            // Multicast and broadcast.
            ("239.255.255.250", false),
            ("ff02::fb", false),
            ("ff0e::1", false),
            ("255.255.255.255", false),
            ("192.168.1.255", false),
            ("169.254.7.7", false),
            ("fe80::7", false),
            ("0.0.0.0", false),
        ] {
            let address = far.parse().expect("an address");
            assert_eq!(router.crosses(LAN, address), crosses, "{far}");
        }
        assert!(router.is_own("203.0.113.7".parse().expect("an address")));
    }

    /// An access point with its own address in the LAN: the default route leaves by the bridge of
    /// all stations.
    #[test]
    fn neighbours_in_the_network_of_the_uplink_do_not_cross_it() {
        let access_point = of(&[
            ("0.0.0.0/0", Destination::Internet),
            ("192.168.1.0/24", Destination::UplinkNetwork(BRIDGE)),
        ]);
        let crosses = |far: &str| access_point.crosses(LAN, far.parse().expect("an address"));
        assert!(!crosses("192.168.1.9"));
        assert!(crosses("198.51.100.1"));
        assert!(access_point.bridged(LAN, OTHER_LAN));
        assert!(!access_point.bridged(LAN, WAN));
    }

    #[test]
    fn without_an_uplink_nothing_crosses_one() {
        let mut isolated = of(&[("192.168.1.0/24", Destination::Inside)]);
        let far = "198.51.100.1".parse().expect("an address");
        assert!(!isolated.crosses(LAN, far) && !isolated.has_uplink());
        // The network of a tunnel alone does not lead to the Internet.
        isolated.route(
            "198.51.0.0/16".parse().expect("a prefix"),
            Destination::Internet,
        );
        assert!(!isolated.crosses(LAN, far));
        isolated.route("::/0".parse().expect("a prefix"), Destination::Internet);
        assert!(isolated.crosses(LAN, far) && isolated.has_uplink());
        for wide in ["128.0.0.0/1", "2000::/3"] {
            assert!(of(&[(wide, Destination::Internet)]).has_uplink(), "{wide}");
        }
        for narrow in ["192.0.0.0/2", "224.0.0.0/4", "fc00::/7"] {
            assert!(
                !of(&[(narrow, Destination::Internet)]).has_uplink(),
                "{narrow}"
            );
        }
    }

    #[test]
    fn addresses_of_the_internet_are_global() {
        for (address, global) in [
            ("198.51.100.1", true),
            ("100.63.255.255", true),
            ("100.64.0.1", false),
            ("100.127.255.255", false),
            ("100.128.0.1", true),
            ("10.5.5.1", false),
            ("172.16.0.1", false),
            ("192.168.1.1", false),
            ("169.254.7.7", false),
            ("239.255.255.250", false),
            ("2001:db8::1", true),
            ("fd99::1", false),
            ("fe80::1", false),
            ("ff0e::1", false),
        ] {
            let parsed = address.parse().expect("an address");
            assert_eq!(is_global(&parsed), global, "{address}");
        }
    }

    #[test]
    fn the_first_route_to_a_network_counts() {
        let networks = of(&[
            ("0.0.0.0/0", Destination::Internet),
            ("198.51.100.0/24", Destination::Inside),
            ("198.51.100.0/24", Destination::Internet),
        ]);
        assert!(!networks.crosses(LAN, "198.51.100.1".parse().expect("an address")));
    }
}
