//! Arrangements of a router below IP: VLANs, PPPoE, bridges, several WANs, a VRF, a tunnel.
//!
//! An [`Arrangement`] defines the devices between wires and addresses. One lab, one workload and
//! one oracle serve all arrangements.

use std::net::IpAddr;

use crate::addresses;

/// VLAN of the LAN, if any.
pub const LAN_VLAN: u16 = 10;
/// A second VLAN of a filtering bridge.
pub const OTHER_VLAN: u16 = 20;
/// VLAN of the WAN, if any; also the outer VLAN of two.
pub const WAN_VLAN: u16 = 7;
/// The inner VLAN of two.
pub const INNER_VLAN: u16 = 100;
/// Map from priority to PCP in the WAN's VLAN device. `ip_forward` sets priorities 0, 2, 4 and 6 by
/// TOS.
pub const PCP: [(u16, u16); 4] = [(0, 3), (2, 1), (4, 5), (6, 6)];

/// Device at which the server's end of a tunnel looks like Ethernet.
pub(crate) const TUNNEL_TAP: &str = "tap0";

/// The LAN side of a router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lan {
    /// A wire client:eth0 – router:lan0.
    Wire,
    /// A VLAN over this wire.
    Vlan,
    /// A bridge `br0` with these members and a host behind each; the client is behind the member
    /// with this index.
    Bridge(&'static [&'static str], usize),
    /// A bridge that filters VLANs: untagged members lan1 (LAN VLAN) and lan3 (other VLAN), trunk
    /// lan2; `br0.10` has the addresses. The client is behind lan1, or behind the trunk.
    Filtering {
        /// True if the client is behind lan2 and tags its frames.
        trunk: bool,
    },
}

/// The WAN side of a router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wan {
    /// A wire router:wan0 – server:eth0.
    Wire,
    /// A VLAN over this wire, with PCP by priority.
    Vlan,
    /// A VLAN with PCP by priority, whose device has its own MAC.
    VlanWithOwnMac,
    /// A customer's VLAN inside a provider's VLAN.
    Qinq,
    /// PPPoE.
    Pppoe,
    /// PPPoE over a VLAN, with PCP by priority.
    PppoeOverVlan,
    /// Two wires, wan0 and wan1, chosen by the connection's mark or by source, as `mwan3` does.
    Two,
    /// A server in the LAN, behind a switch with the client. The client reaches the server by the
    /// router's WAN address.
    Hairpin,
    /// WireGuard.
    WireGuard,
}

/// The layers of a router below IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrangement {
    /// Name for reports.
    pub name: &'static str,
    /// The LAN side.
    pub lan: Lan,
    /// The WAN side.
    pub wan: Wan,
    /// True if both sides are in a VRF.
    pub vrf: bool,
}

/// Members of a bridge as in a FRITZ!Box 7530: four LAN ports and Wi-Fi.
const HOME: &[&str] = &["lan1", "lan2", "lan3", "lan4", "wlan0"];

const fn arrangement(name: &'static str, lan: Lan, wan: Wan) -> Arrangement {
    Arrangement {
        name,
        lan,
        wan,
        vrf: false,
    }
}

impl Arrangement {
    /// Two plain wires.
    pub const PLAIN: Self = arrangement("plain", Lan::Wire, Wan::Wire);
    /// A VLAN on each side.
    pub const VLAN: Self = arrangement("vlan", Lan::Vlan, Wan::Vlan);
    /// A WAN VLAN with its own MAC, as in OpenWrt.
    pub const VLAN_WITH_OWN_MAC: Self =
        arrangement("vlan with own MAC", Lan::Wire, Wan::VlanWithOwnMac);
    /// Two tags on the WAN.
    pub const QINQ: Self = arrangement("QinQ", Lan::Wire, Wan::Qinq);
    /// PPPoE on the WAN.
    pub const PPPOE: Self = arrangement("PPPoE", Lan::Wire, Wan::Pppoe);
    /// PPPoE over a VLAN.
    pub const PPPOE_OVER_VLAN: Self = arrangement("PPPoE over VLAN", Lan::Wire, Wan::PppoeOverVlan);
    /// A bridge of three members.
    pub const BRIDGE: Self = arrangement(
        "bridge",
        Lan::Bridge(&["lan1", "lan2", "lan3"], 0),
        Wan::Wire,
    );
    /// The client behind an untagged member.
    pub const FILTERING_BRIDGE: Self = arrangement(
        "filtering bridge",
        Lan::Filtering { trunk: false },
        Wan::Wire,
    );
    /// The client behind a tagged member.
    pub const FILTERING_BRIDGE_TRUNK: Self = arrangement(
        "filtering bridge, trunk",
        Lan::Filtering { trunk: true },
        Wan::Wire,
    );
    /// A FRITZ!Box 7530 with the client behind a LAN port.
    pub const HOME: Self = arrangement("home", Lan::Bridge(HOME, 1), Wan::PppoeOverVlan);
    /// A FRITZ!Box 7530 with the client behind the member that takes no XDP frames.
    pub const HOME_WIFI: Self =
        arrangement("home, Wi-Fi", Lan::Bridge(HOME, 4), Wan::PppoeOverVlan);
    /// Two WANs.
    pub const MULTI_WAN: Self = arrangement("multi-WAN", Lan::Wire, Wan::Two);
    /// Traffic that enters and leaves by the LAN.
    pub const HAIRPIN: Self = arrangement("hairpin", Lan::Wire, Wan::Hairpin);
    /// Both sides in a VRF.
    pub const VRF: Self = Self {
        vrf: true,
        ..arrangement("VRF", Lan::Wire, Wan::Wire)
    };
    /// An encrypted tunnel.
    pub const WIREGUARD: Self = arrangement("WireGuard", Lan::Wire, Wan::WireGuard);

    /// All arrangements.
    pub const ALL: [Self; 15] = [
        Self::PLAIN,
        Self::VLAN,
        Self::VLAN_WITH_OWN_MAC,
        Self::QINQ,
        Self::PPPOE,
        Self::PPPOE_OVER_VLAN,
        Self::BRIDGE,
        Self::FILTERING_BRIDGE,
        Self::FILTERING_BRIDGE_TRUNK,
        Self::HOME,
        Self::HOME_WIFI,
        Self::MULTI_WAN,
        Self::HAIRPIN,
        Self::VRF,
        Self::WIREGUARD,
    ];

    /// Returns the router's lowest devices that carry traffic: the ports of weir.
    pub fn ports(&self) -> Vec<&'static str> {
        let mut ports = self.lan.members().to_vec();
        match self.wan {
            Wan::Hairpin => {}
            Wan::Two => ports.extend(["wan0", "wan1"]),
            _ => ports.push("wan0"),
        }
        ports
    }

    /// Returns the router's device with the LAN's addresses.
    pub fn lan_device(&self) -> &'static str {
        match self.lan {
            Lan::Wire => "lan0",
            Lan::Vlan => "lan0.10",
            Lan::Bridge(..) => "br0",
            Lan::Filtering { .. } => "br0.10",
        }
    }

    /// Returns the router's device with the WAN's addresses; the first of two.
    pub fn wan_device(&self) -> &'static str {
        match self.wan {
            Wan::Wire | Wan::Two | Wan::Hairpin => "wan0",
            Wan::Vlan | Wan::VlanWithOwnMac => "wan0.7",
            Wan::Qinq => "wan0.7.100",
            Wan::Pppoe | Wan::PppoeOverVlan => "ppp0",
            Wan::WireGuard => "wg0",
        }
    }

    /// Returns the server's own address of a family.
    pub fn server(&self, ipv6: bool) -> IpAddr {
        match (self.wan == Wan::Hairpin, ipv6) {
            (false, false) => addresses::SERVER,
            (false, true) => addresses::SERVER6,
            (true, false) => addresses::NEIGHBOUR,
            (true, true) => addresses::NEIGHBOUR6,
        }
    }

    /// Returns the address by which the client reaches the server.
    pub fn reached(&self, ipv6: bool) -> IpAddr {
        match (self.wan == Wan::Hairpin, ipv6) {
            (false, false) => addresses::SERVER,
            (false, true) => addresses::SERVER6,
            (true, false) => addresses::ROUTER_WAN,
            (true, true) => addresses::ROUTER_WAN6,
        }
    }
}

impl Default for Arrangement {
    fn default() -> Self {
        Self::PLAIN
    }
}

impl Lan {
    /// Returns the router's devices on this side.
    pub fn members(self) -> &'static [&'static str] {
        match self {
            Self::Wire | Self::Vlan => &["lan0"],
            Self::Bridge(members, _) => members,
            Self::Filtering { .. } => &["lan1", "lan2", "lan3"],
        }
    }

    /// Returns the index of the member that leads to the client.
    pub fn home(self) -> usize {
        match self {
            Self::Wire | Self::Vlan => 0,
            Self::Bridge(_, home) => home,
            Self::Filtering { trunk } => usize::from(trunk),
        }
    }

    /// Returns the host behind a member.
    pub(crate) fn host(self, index: usize) -> &'static str {
        match self.members()[index] {
            _ if index == self.home() => "client",
            "lan1" => "at-lan1",
            "lan2" => "at-lan2",
            "lan3" => "at-lan3",
            "lan4" => "at-lan4",
            _ => "at-wlan0",
        }
    }
}

impl Wan {
    /// Returns true for PPPoE, with or without a VLAN.
    pub fn dials(self) -> bool {
        matches!(self, Self::Pppoe | Self::PppoeOverVlan)
    }
}
