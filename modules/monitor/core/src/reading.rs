//! Input of the core: readings of the meter's records, and traffic forwarded past the meter.

use std::time::Duration;

use kernel::{ConversationKey, Mac};

use crate::count::Counts;
use crate::flood::FEW;

/// Milliseconds since some start; only differences count.
pub type Millis = u64;

/// Record of the meter, with its growth since the last reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Key of the conversation.
    pub key: ConversationKey,
    /// Hardware address of the station; all zero: none.
    pub mac: Mac,
    /// Growth since the last reading.
    pub delta: Counts,
    /// Packets for the station entered where an uplink may be. Otherwise all packets entered at
    /// devices that lead to no uplink.
    pub outside: bool,
    /// Bytes of link-layer headers before each packet.
    pub link_header: u8,
    /// All observed TCP flags.
    pub tcp_flags: u8,
    /// TOS or traffic class of the first packet.
    pub tos: u8,
    /// ICMP type and code of the first packet.
    pub icmp: (u8, u8),
    /// TCP's waiting, where something was measured.
    pub rtt: Option<RttStats>,
    /// Time since the first packet.
    pub age: Duration,
    /// Time since the last packet.
    pub idle: Duration,
}

impl Reading {
    /// Returns true if the conversation had more packets than one of a flood: several packets, or
    /// both directions, or at several times.
    pub fn is_lasting(&self) -> bool {
        let [sent, received] = [self.delta.sent, self.delta.received].map(|count| count.packets);
        sent + received > FEW || (sent > 0 && received > 0) || self.age > self.idle
    }
}

/// TCP round-trip times of one conversation: to the remote end, and to the station.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RttStats {
    /// The last that was measured, microseconds.
    pub last: [u32; 2],
    /// The least.
    pub min: [u32; 2],
    /// Number of measurements; wraps.
    pub count: [u32; 2],
    /// Retransmitted or reordered segments; wraps.
    pub retransmits: [u32; 2],
}

impl RttStats {
    /// Waits of one way were measured: the last one, the least, and how many.
    pub(crate) fn add_sample(&mut self, way: usize, last: u32, least: u32, count: u32) {
        if self.count[way] == 0 || least < self.min[way] {
            self.min[way] = least;
        }
        self.last[way] = last;
        self.count[way] = self.count[way].saturating_add(count);
    }

    /// Adds the growth of a record.
    pub(crate) fn add(&mut self, before: &Self, now: &Self) {
        for way in 0..2 {
            let count = now.count[way].wrapping_sub(before.count[way]);
            if count > 0 {
                self.add_sample(way, now.last[way], now.min[way], count);
            }
        }
    }
}

/// Direction, seen from the station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the station: entered at the port.
    Sent,
    /// To the station: left at the port.
    Received,
}

/// Traffic that weir forwarded: of one conversation, in one direction, at one of its two ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForwardedTraffic {
    /// The conversation as it is at that port.
    pub key: ConversationKey,
    /// Direction of the traffic.
    pub direction: Direction,
    /// Packets and bytes.
    pub count: crate::Count,
    /// Bytes of all link-layer headers.
    pub link_bytes: u64,
    /// Hardware address of the station, if known: packets that leave have it in the header.
    pub mac: Option<Mac>,
    /// Equal to [`Reading::outside`].
    pub outside: bool,
    /// At XDP; otherwise at TC.
    pub xdp: bool,
}

/// Frames that weir passed from one member of a bridge to another, seen at one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BridgedTraffic {
    /// Index of the port.
    pub port: u32,
    /// Hardware address of the station there.
    pub mac: Mac,
    /// Direction of the traffic.
    pub direction: Direction,
    /// Packets and bytes.
    pub count: crate::Count,
    /// Bytes of all link-layer headers.
    pub link_bytes: u64,
    /// The other station is beyond an uplink.
    pub crosses_uplink: bool,
}

/// Round-trip time of a TCP flow that weir forwards, measured at one of its two ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RttSample {
    /// The conversation as it is at that port.
    pub key: ConversationKey,
    /// Direction of the segment.
    pub direction: Direction,
    /// Waiting time, in microseconds.
    pub micros: u32,
}

/// Traffic of a station without a record, since the last reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnrecordedStationTraffic {
    /// Index of the port.
    pub port: u32,
    /// VLAN there; 0 for none.
    pub vlan: u16,
    /// Hardware address of the station.
    pub mac: Mac,
    /// IP packets for which no record was free.
    pub unplaced: Counts,
    /// Frames that are not IP, with the bytes behind their headers.
    pub other: Counts,
}

/// Traffic of a port in one direction without a record or a station, since counting began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnrecordedPortTraffic {
    /// IP packets without a place.
    pub unplaced: crate::Count,
    /// Frames that are not IP.
    pub other: crate::Count,
    /// Bytes of headers and padding beyond those in readings.
    pub link: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// While weir forwards, the meter's record does not change: weir does not add the record's
    /// times again, and keeps times measured meanwhile.
    #[test]
    fn times_of_both_are_put_together() {
        let metered = |last, least, count| RttStats {
            last: [last; 2],
            min: [least; 2],
            count: [count; 2],
            retransmits: [0; 2],
        };
        let mut times = RttStats::default();
        let first = metered(40, 30, 3);
        times.add(&RttStats::default(), &first);
        assert_eq!((times.last[0], times.min[0], times.count[0]), (40, 30, 3));
        times.add_sample(0, 20, 20, 1);
        times.add(&first, &first);
        assert_eq!((times.last, times.min), ([20, 40], [20, 30]));
        times.add(&first, &metered(50, 30, 4));
        assert_eq!((times.last, times.min), ([50, 50], [20, 30]));
        assert_eq!(times.count, [5, 4]);
    }
}
