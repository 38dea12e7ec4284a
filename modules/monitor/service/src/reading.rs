//! Converts data of the meter and the packet path to the core's types.

use datapath::Encapsulation;
use datapath::meter::{Seen, Ways};
use kernel::{TalkKey, Tuple};
use monitor_core::{Both, Count, Reading, Times, Way};

/// Bytes of an Ethernet header, of a VLAN tag, of a PPPoE and PPP header.
const ETHERNET: u64 = 14;
const TAG: u64 = 4;
const PPPOE: u64 = 8;

/// Bytes before the IP header.
pub fn header(behind: &Encapsulation) -> u64 {
    let tags = behind.tags.iter().flatten().count() as u64;
    ETHERNET + tags * TAG + u64::from(behind.session.is_some()) * PPPOE
}

/// A conversation at a port, from a tuple as its packets have it there.
pub fn key(port: u32, behind: &Encapsulation, tuple: &Tuple, way: Way) -> TalkKey {
    let source = (tuple.source, tuple.source_port);
    let destination = (tuple.destination, tuple.destination_port);
    let ((station, station_port), (far, far_port)) = match way {
        Way::Sent => (source, destination),
        Way::Received => (destination, source),
    };
    TalkKey {
        port,
        vlan: behind.tags[0].map_or(0, |tag| tag.tci & 0xfff),
        protocol: tuple.protocol.number(),
        station,
        station_port,
        far,
        far_port,
    }
}

/// Packets and bytes.
pub fn count((packets, octets): (u64, u64)) -> Count {
    Count { packets, octets }
}

/// Converts the counts of both directions.
pub fn both(ways: Ways) -> Both {
    Both {
        sent: count(ways.sent),
        received: count(ways.received),
    }
}

/// A record of the meter's.
pub fn reading(seen: &Seen) -> Reading {
    Reading {
        key: seen.key,
        mac: seen.mac,
        grown: both(seen.grown),
        outside: seen.outside,
        link: seen.link,
        tcp_flags: seen.tcp_flags,
        tos: seen.tos,
        icmp: seen.icmp,
        times: seen.times.map(|times| Times {
            last: times.last,
            least: times.least,
            count: times.count,
            again: times.again,
        }),
        age: seen.age,
        idle: seen.idle,
    }
}
