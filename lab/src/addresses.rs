//! Addresses of the gateway and of the hosts on both sides.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Client, IPv4.
pub const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 168, 1, 2));
/// Router, LAN side, IPv4.
pub const ROUTER_LAN: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 168, 1, 1));
/// Router, WAN side, IPv4.
pub const ROUTER_WAN: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
/// Server, IPv4.
pub const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
/// Client, IPv6.
pub const CLIENT6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, 2));
/// Router, LAN side, IPv6.
pub const ROUTER_LAN6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, 1));
/// Router, WAN side, IPv6.
pub const ROUTER_WAN6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 2, 0, 0, 0, 0, 1));
/// Server, IPv6.
pub const SERVER6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 2, 0, 0, 0, 0, 2));
/// Router and server on the second wire.
pub const SECOND: (IpAddr, IpAddr) = (
    IpAddr::V4(Ipv4Addr::new(10, 0, 1, 1)),
    IpAddr::V4(Ipv4Addr::new(10, 0, 1, 2)),
);
/// Router and server on the second wire, IPv6.
pub const SECOND6: (IpAddr, IpAddr) = (
    IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 3, 0, 0, 0, 0, 1)),
    IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 3, 0, 0, 0, 0, 2)),
);
/// An address of the server that is reachable over both wires, with `second_path`.
pub const SERVER_INNER: IpAddr = IpAddr::V4(Ipv4Addr::new(203, 0, 113, 1));
/// An IPv6 address of the server that is reachable over both wires.
pub const SERVER_INNER6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0x99, 0, 0, 0, 0, 1));

/// A LAN host that gets the packets for the router's WAN address, in the hairpin arrangement.
pub const NEIGHBOUR: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 168, 1, 3));
/// IPv6 address of this host.
pub const NEIGHBOUR6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, 3));
/// Destination of IGMPv3 reports (RFC 3376 section 4.2.14).
pub(crate) const ALL_IGMP_ROUTERS: IpAddr = IpAddr::V4(Ipv4Addr::new(224, 0, 0, 22));
/// Destination of MLDv2 reports (RFC 3810 section 5.2.14).
pub(crate) const ALL_MLD_ROUTERS: IpAddr =
    IpAddr::V6(Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0x16));
