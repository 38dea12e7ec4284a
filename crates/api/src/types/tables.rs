//! The two small tables: hops and ports.

use serde::{Deserialize, Serialize};

use super::{Hook, Reason};

/// Where flows go: an out device and the bytes that the kernel itself put before the IP header. Shared by many flows.
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
    /// EtherType that the header ends in (0x0800 or 0x86dd), behind any tags.
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
    /// Packets that came in here and were forwarded by weir.
    pub packets_in: u64,
    /// Packets that weir sent out here.
    pub packets_out: u64,
}
