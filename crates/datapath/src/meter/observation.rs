//! Results of the meter.

use std::time::Duration;

use kernel::{ConversationKey, Mac};

/// Round-trip times of TCP in one conversation, by direction of the acknowledged segments: from the
/// station (the remote side acknowledged), and to the station.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// The last measurement, microseconds.
    pub last: [u32; 2],
    /// The minimum.
    pub least: [u32; 2],
    /// Number of measurements; wraps.
    pub count: [u32; 2],
    /// Segments that were retransmitted or out of order; wraps.
    pub retransmits: [u32; 2],
}

/// Identity of a record during its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RecordId {
    pub(super) reference: u32,
    pub(super) owner: u32,
}

/// Packets and bytes both ways: sent by the station, received by it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrafficCounts {
    /// Sent by the station: packets, bytes.
    pub sent: (u64, u64),
    /// Received by the station.
    pub received: (u64, u64),
}

impl TrafficCounts {
    /// Returns true if there is no traffic at all.
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }
}

/// A record that is live or just ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordObservation {
    /// Identity of the record.
    pub id: RecordId,
    /// Key of the conversation. The port is 0 if the device is no longer attached.
    pub key: ConversationKey,
    /// Hardware address of the station; all zero on devices without an Ethernet header.
    pub mac: Mac,
    /// Growth since the last call, in bytes of IP packets.
    pub delta: TrafficCounts,
    /// Bytes of link-layer headers before each packet.
    pub link: u8,
    /// True if packets for the station came from a device that may lead to an uplink, see
    /// [`Meter::set_inside`](super::Meter::set_inside). False if all came from inside.
    pub outside: bool,
    /// All TCP flags that were seen.
    pub tcp_flags: u8,
    /// TOS or traffic class of the first packet.
    pub tos: u8,
    /// ICMP type and code of the first packet.
    pub icmp: (u8, u8),
    /// TCP's round-trip times, if any was measured.
    pub times: Option<Times>,
    /// Time since the first packet.
    pub age: Duration,
    /// Time since the last packet.
    pub idle: Duration,
}

/// Traffic of a station or a port without a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StationObservation {
    /// Index of the port.
    pub port: u32,
    /// VLAN; 0 if untagged.
    pub vlan: u16,
    /// Hardware address of the station.
    pub mac: Mac,
    /// IP packets for which no record was free, since the last call.
    pub unplaced: TrafficCounts,
    /// Frames other than IP, with the bytes behind their headers.
    pub other: TrafficCounts,
    /// Time since the last packet.
    pub idle: Duration,
}

/// Traffic of a port in one direction since it was attached, neither in records nor with stations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnrecordedTraffic {
    /// IP packets and bytes without a record or a station slot.
    pub unplaced: (u64, u64),
    /// Frames other than IP.
    pub other: (u64, u64),
    /// Bytes of headers and padding beyond those that [`RecordObservation::link`] accounts for.
    pub link: i64,
}
