//! Facts about a device that do not come from events.

use kernel::ethtool::HiddenTags;
use kernel::facts::{Multipath, Switches};

/// NETDEV_XDP_ACT_* (include/uapi/linux/netdev.h), as in the `netdev` netlink family.
pub mod xdp {
    /// Native XDP with pass, drop, abort and transmit.
    pub const BASIC: u64 = 1 << 0;
    /// XDP_REDIRECT from this device.
    pub const REDIRECT: u64 = 1 << 1;
    /// Other devices may redirect to this one.
    pub const NDO_XMIT: u64 = 1 << 2;
}

/// Drivers whose native XDP receives, redirects and sends frames in every kernel from 5.15 on. Used
/// only if the kernel does not report these features itself (before 6.3); any other driver then
/// gets TC.
const KNOWN_DRIVERS: [&str; 12] = [
    "bnxt_en",
    "fsl_dpaa2_eth",
    "fsl_enetc",
    "i40e",
    "ice",
    "igb",
    "igc",
    "ixgbe",
    "mlx5_core",
    "mvneta",
    "mvpp2",
    "virtio_net",
];

/// Facts about a device that no event reports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortFacts {
    /// Driver name, as `ethtool -i` shows it.
    pub driver: String,
    /// [`xdp`] bits; `None` where the kernel has no `netdev` family to ask.
    pub xdp_features: Option<u64>,
    /// VLAN tags that the device strips in hardware; unset if unknown.
    pub hidden_tags: HiddenTags,
    /// The tag that frames of a switch's ports have here, in the kernel's words; of a conduit only.
    pub tagging: Option<String>,
    /// IPv4 forwarding is on for this device.
    pub forwarding_v4: bool,
    /// IPv6 forwarding is on for this device.
    pub forwarding_v6: bool,
    /// Settings that choose among several next hops in the whole network namespace; for the
    /// loopback device only, which each namespace has.
    pub multipath: Option<Multipath>,
    /// Other switching here, without notification; for the loopback device, for all devices.
    pub switches: Option<Switches>,
    /// Id of weir's own XDP program here, once attached.
    pub own_program: Option<u32>,
    /// True if a foreign XDP program is attached that the link itself does not report.
    pub foreign_xdp: bool,
    /// Attaching at XDP was tried and refused.
    pub xdp_refused: bool,
    /// Attaching at TC was tried and refused.
    pub tc_refused: bool,
    /// Shaper in or below a root qdisc whose kind does not show it, in words: see [`shaper`].
    pub shaper: Option<String>,
    /// Programs of a bridge that see each frame it passes on, in words.
    pub bridge_filters: Vec<String>,
    /// Mbit/s; `None` if unknown.
    pub speed: Option<u32>,
    /// Part of its qdiscs and their filters that reads a packet's connection or route, in words.
    pub asking: Vec<String>,
    /// nftables chains at this device's ingress, as `family table chain`.
    pub ingress_chains: Vec<String>,
    /// nftables chains at this device's egress, as `family table chain`.
    pub egress_chains: Vec<String>,
    /// Foreign filters at TC ingress (a policer, a redirect to an ifb, …), in words.
    pub ingress_filters: Vec<String>,
    /// Foreign filters at TC egress, except those of the root qdisc, in words.
    pub egress_filters: Vec<String>,
}

impl PortFacts {
    /// Returns true if the driver's native XDP is reliable although the kernel does not report it.
    pub(super) fn known_driver(&self) -> bool {
        KNOWN_DRIVERS.contains(&self.driver.as_str())
    }
}
