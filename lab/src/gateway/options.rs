//! Settings of a gateway.

use crate::arrangement::Arrangement;

/// Treatment of IPv6 by the gateway.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ipv6 {
    /// Nothing: no IPv6 addresses.
    Off,
    /// Forwards it untranslated.
    #[default]
    Routed,
    /// Masquerades it (NAT66).
    Nat66,
}

/// Settings of [`Lab::gateway`](crate::Lab::gateway).
#[derive(Clone, Debug)]
pub struct Options {
    /// Devices below IP.
    pub arrangement: Arrangement,
    /// Masquerade IPv4 on the WAN side.
    pub nat: bool,
    /// Treatment of IPv6.
    pub ipv6: Ipv6,
    /// See [`Offloads::Plain`](crate::Offloads::Plain).
    pub plain_offloads: bool,
    /// A second wire router:wan1 – server:eth1 (10.0.1.0/24), and
    /// [`SERVER_INNER`](super::SERVER_INNER) behind both, at first by wan0.
    pub second_path: bool,
    /// For traffic from [`crate::Tap`]s: hosts have no addresses, so that they never answer by
    /// themselves; the router's neighbours are permanent, its ICMP errors are not limited in rate,
    /// and its conntrack entries outlast any run.
    pub raw: bool,
    /// Largest IP packet on the WAN, bytes; 1500 on the LAN. PPPoE and WireGuard carry less than
    /// 1500, whatever this says.
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
