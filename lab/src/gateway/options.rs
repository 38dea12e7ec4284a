//! Options of a gateway.

use crate::arrangement::Arrangement;

/// The gateway's treatment of IPv6.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ipv6 {
    /// No IPv6 addresses.
    Off,
    /// Routes IPv6 without translation.
    #[default]
    Routed,
    /// Masquerades IPv6 (NAT66).
    Nat66,
}

/// Options of [`Lab::gateway`](crate::Lab::gateway).
#[derive(Clone, Debug)]
pub struct Options {
    /// Devices below IP.
    pub arrangement: Arrangement,
    /// Masquerades IPv4 on the WAN side.
    pub nat: bool,
    /// Treatment of IPv6.
    pub ipv6: Ipv6,
    /// Uses [`Offloads::Plain`](crate::Offloads::Plain).
    pub plain_offloads: bool,
    /// Adds a second wire router:wan1 – server:eth1 (10.0.1.0/24), and
    /// [`SERVER_INNER`](super::SERVER_INNER) behind both wires, first reached over wan0.
    pub second_path: bool,
    /// Prepares the lab for traffic from [`crate::Tap`]s. Hosts have no addresses, so they never
    /// answer by themselves. The router has permanent neighbours, sends ICMP errors without a rate
    /// limit, and keeps conntrack entries for the whole run.
    pub raw: bool,
    /// Largest IP packet on the WAN, bytes; the LAN has 1500. PPPoE and WireGuard carry less than
    /// 1500, regardless of this option.
    pub wan_mtu: u16,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            arrangement: Arrangement::PLAIN,
            nat: true,
            ipv6: Ipv6::Routed,
            plain_offloads: false,
            second_path: false,
            raw: false,
            wan_mtu: 1500,
        }
    }
}
