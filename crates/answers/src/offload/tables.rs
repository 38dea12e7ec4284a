//! The two small tables: hops and ports.

use serde::{Deserialize, Serialize};

use super::flow::{Hook, Reason};

/// Next hop of flows: an out device and the bytes that the kernel itself put before the IP header.
/// Many flows share a hop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hop {
    /// Number of the hop; flows refer to it.
    pub index: u16,
    /// Name of the out device.
    pub device: String,
    /// The bytes, two lower-case hexadecimal digits each, without separators.
    pub header: String,
    /// Destination MAC in the header, `02:00:5e:10:00:01`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destination: Option<String>,
    /// Source MAC in the header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// VLAN tags and PPPoE in the header, in words: `VLAN 7 priority 3, PPPoE session 12`; absent
    /// in plain Ethernet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encapsulation: Option<String>,
    /// EtherType of the payload behind the header (0x0800 or 0x86dd), also if PPP uses another
    /// number for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ethertype: Option<u16>,
    /// Generation of this hop; raised when its neighbour changes.
    pub epoch: u32,
    /// Directions of flows that use this hop.
    pub flows: u64,
    /// True if XDP may send by this hop.
    pub xdp: bool,
}

/// A network device that weir observes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Port {
    /// Name of the device.
    pub name: String,
    /// Interface index.
    pub index: u32,
    /// Own MAC, `02:00:5e:10:00:01`; absent on devices that have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac: Option<String>,
    /// Hook that takes packets; absent if weir takes none here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hook: Option<Hook>,
    /// True if the device accepts frames from XDP programs of other devices.
    pub xdp_transmit: bool,
    /// Reason for this hook, or for no hook.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// Packets that came in here and were forwarded by weir; on a device above others, packets that
    /// bypassed it. Part of `total`, like the next three counters.
    pub packets_in: u64,
    /// Bytes of these packets, as the device counts: see [`Traffic`].
    #[serde(default)]
    pub bytes_in: u64,
    /// Packets that weir sent out here.
    pub packets_out: u64,
    /// Bytes of these packets.
    #[serde(default)]
    pub bytes_out: u64,
    /// Full traffic of the device: the kernel's counters, plus the packets that weir forwarded past
    /// the device. Absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<Traffic>,
    /// Packets that weir forwarded here without knowing their upper device: totals of upper devices
    /// lack these packets.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unattributed: u64,
    /// Devices above and below this one, and the resulting limits; absent if there are none.
    #[serde(default, skip_serializing_if = "PortStack::is_empty")]
    pub stack: PortStack,
}

/// Packets and bytes of a device, in each direction. Bytes follow the device's own counting: an
/// Ethernet port counts whole frames without checksum, a PPP device from the IP header on, other
/// devices above a port count Ethernet headers only of packets that leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// Packets that came in; a super-packet that weir forwarded counts as its segments.
    pub packets_in: u64,
    /// Bytes that came in.
    pub bytes_in: u64,
    /// Packets that left.
    pub packets_out: u64,
    /// Bytes that left.
    pub bytes_out: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Position of a device in a stack: VLAN devices, bridges and VRFs on ports. weir takes packets
/// only at ports.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortStack {
    /// Names of the upper devices, the nearest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub carries: Vec<String>,
    /// Names of the lowest devices, where weir takes the packets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lower_devices: Vec<String>,
    /// Uses that are not possible; on an upper device, uses that it prevents at its ports.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<PortLimit>,
}

impl PortStack {
    /// Returns true if the device is not stacked and has no limits.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Part of a port's traffic that weir leaves to the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortLimit {
    /// Use that is not possible.
    pub of: PortUse,
    /// Device that is the reason: this one, or one above it.
    pub device: String,
    /// The reason.
    pub reason: Reason,
}

/// Use of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PortUse {
    /// Traffic that a bridge passes on from here to another of its members.
    Bridged,
    /// Incoming traffic.
    In,
    /// Outgoing traffic.
    Out,
    /// Incoming PPPoE traffic.
    PppIn,
    /// Outgoing PPPoE traffic.
    PppOut,
    /// Traffic that XDP at other ports sends here: it goes by TC instead.
    Xdp,
    /// Part of the incoming traffic: see the reason.
    Some,
}
