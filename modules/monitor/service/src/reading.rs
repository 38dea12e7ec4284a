//! Converts data of the meter and the packet path to the core's types.

use datapath::Encapsulation;
use datapath::meter::{RecordObservation, TrafficCounts};
use kernel::{ConversationKey, Tuple};
use monitor_core::{Count, Counts, Direction, Reading, RttStats};

/// Bytes of an Ethernet header, of a VLAN tag, of a PPPoE and PPP header.
const ETHERNET: u64 = 14;
const TAG: u64 = 4;
const PPPOE: u64 = 8;

/// Returns the bytes before the IP header.
pub fn header(behind: &Encapsulation) -> u64 {
    let tags = behind.tags.iter().flatten().count() as u64;
    ETHERNET + tags * TAG + u64::from(behind.session.is_some()) * PPPOE
}

/// Returns the key of a conversation at a port, from a tuple as its packets have it there.
pub fn key(port: u32, behind: &Encapsulation, tuple: &Tuple, way: Direction) -> ConversationKey {
    let source = (tuple.source, tuple.source_port);
    let destination = (tuple.destination, tuple.destination_port);
    let ((station, station_port), (far, remote_port)) = match way {
        Direction::Sent => (source, destination),
        Direction::Received => (destination, source),
    };
    ConversationKey {
        port,
        vlan: behind.tags[0].map_or(0, |tag| tag.tci & 0xfff),
        protocol: tuple.protocol.number(),
        station,
        station_port,
        remote: far,
        remote_port,
    }
}

/// Converts packets and bytes.
pub fn count((packets, octets): (u64, u64)) -> Count {
    Count {
        packets,
        bytes: octets,
    }
}

/// Converts the counts of both directions.
pub fn counts(ways: TrafficCounts) -> Counts {
    Counts {
        sent: count(ways.sent),
        received: count(ways.received),
    }
}

/// Converts a record of the meter.
pub fn reading(seen: &RecordObservation) -> Reading {
    Reading {
        key: seen.key,
        mac: seen.mac,
        delta: counts(seen.delta),
        outside: seen.outside,
        link_header: seen.link,
        tcp_flags: seen.tcp_flags,
        tos: seen.tos,
        icmp: seen.icmp,
        rtt: seen.times.map(|times| RttStats {
            last: times.last,
            min: times.least,
            count: times.count,
            retransmits: times.retransmits,
        }),
        age: seen.age,
        idle: seen.idle,
    }
}
