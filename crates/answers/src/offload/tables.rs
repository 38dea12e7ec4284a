//! The two small tables: hops and ports.

use serde::{Deserialize, Serialize};

use super::flow::{Hook, Reason};

/// Where flows go: an out device and the bytes that the kernel itself put before the IP header.
/// Shared by many flows.
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
    /// EtherType of what comes behind the header (0x0800 or 0x86dd), also where PPP names it by
    /// another number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ethertype: Option<u16>,
    /// Generation of this hop; raised when its neighbour changes.
    pub epoch: u32,
    /// Directions of flows that go this way.
    pub flows: u64,
    /// XDP may send this way.
    pub xdp: bool,
}

/// A device that weir looks at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Port {
    /// Name of the device.
    pub name: String,
    /// Interface index.
    pub index: u32,
    /// Own MAC, `02:00:5e:10:00:01`; absent on devices that have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac: Option<String>,
    /// Where packets are taken; absent where they are not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hook: Option<Hook>,
    /// Takes frames from XDP programs of other devices.
    pub xdp_transmit: bool,
    /// Why this hook, or why none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// Packets that came in here and were forwarded by weir; at a device that stands on others,
    /// past it. A part of `total`, as the three that follow.
    pub packets_in: u64,
    /// Bytes of these, as the device counts: see [`Traffic`].
    #[serde(default)]
    pub bytes_in: u64,
    /// Packets that weir sent out here.
    pub packets_out: u64,
    /// Bytes of these.
    #[serde(default)]
    pub bytes_out: u64,
    /// What it would have counted, had nothing gone by it: the kernel's counters, and what weir
    /// forwarded past it. Absent where that cannot be known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<Traffic>,
    /// Packets that weir forwarded here of which it is not known which device above they belong to:
    /// totals there lack them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unattributed: u64,
    /// What stands on it and what it stands on, and what that means; absent where there is none of
    /// it.
    #[serde(default, skip_serializing_if = "PortStack::is_empty")]
    pub stack: PortStack,
}

/// Packets and bytes of a device, each way. Bytes are those that such a device counts: an
/// Ethernet port whole frames without checksum, a PPP device those from the IP header on, other
/// devices above a port Ethernet headers only of what leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// Packets that came in; of a super-packet that weir forwarded, its segments.
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

/// A device among those that stand on one another: VLAN devices, bridges and VRFs on ports. Packets
/// are taken at ports only.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortStack {
    /// Names of the devices that stand on it, the nearest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub carries: Vec<String>,
    /// Names of the devices that it stands on in the end, where its packets are taken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stands_on: Vec<String>,
    /// What it is not used for; of a device that stands on ports, what it keeps them from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<PortLimit>,
}

impl PortStack {
    /// It stands by itself, and is used for everything.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A part of the traffic of a port that is left to the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortLimit {
    /// Which part.
    pub of: PortUse,
    /// The device where the reason is: this one, or one that stands on it.
    pub device: String,
    /// Why.
    pub reason: Reason,
}

/// What a port can be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PortUse {
    /// What a bridge passes on from here to another of its members.
    Bridged,
    /// What comes in.
    In,
    /// What leaves.
    Out,
    /// What comes in by PPPoE.
    PppIn,
    /// What leaves by PPPoE.
    PppOut,
    /// What XDP at other ports sends here: it goes by TC instead.
    Xdp,
    /// A part of what comes in: the reason tells which.
    Some,
}
