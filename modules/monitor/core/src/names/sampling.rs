//! Selection of packets that are worth a copy. The packet path decides by an equal table (see [the
//! module](super)).

use super::packet::{TCP, UDP};
use super::quic::LONG_HEADER;

const DNS: u16 = 53;
const MDNS: u16 = 5353;
const DHCP_SERVER: u16 = 67;
const HTTPS: u16 = 443;

/// Number of packets with payload parsed at the beginning of a TCP flow.
pub const SEGMENTS: u8 = 4;
/// Number of datagrams parsed at the beginning of a QUIC flow.
pub const DATAGRAMS: u8 = 3;

/// Direction of a packet, seen from the station that the packet is counted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// The packet entered from the station.
    FromStation,
    /// The packet leaves towards the station.
    ToStation,
}

/// Header fields of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketSummary {
    /// Direction of the packet.
    pub direction: Direction,
    /// IP protocol.
    pub protocol: u8,
    /// The station's port.
    pub station_port: u16,
    /// The port at the other end.
    pub remote_port: u16,
    /// Packets with payload that this flow had before in this direction; 255 also means more.
    pub before: u8,
    /// First byte of the payload; `None` without payload.
    pub first: Option<u8>,
}

/// Expected contents of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SampleKind {
    /// A question to a name server.
    Question,
    /// An answer of a name server.
    Dns,
    /// Multicast DNS.
    Mdns,
    /// A DHCP client's message.
    Dhcp,
    /// Beginning of a TCP client's stream: TLS or HTTP.
    Stream,
    /// The beginning of QUIC.
    Quic,
}

impl SampleKind {
    /// All kinds.
    pub const ALL: [Self; 6] = [
        Self::Question,
        Self::Dns,
        Self::Mdns,
        Self::Dhcp,
        Self::Stream,
        Self::Quic,
    ];

    /// Returns the useful length of the payload, in bytes. A QUIC packet can only be decrypted as a
    /// whole; a super-packet may contain a whole hello.
    pub const fn longest(self) -> usize {
        match self {
            Self::Question => 440,
            Self::Dns => 1472,
            Self::Mdns => 1472,
            Self::Dhcp => 1024,
            Self::Stream => super::reassembly::LIMIT,
            Self::Quic => 1500,
        }
    }
}

/// Returns the kind of a packet that is worth a copy.
pub fn wanted(sight: &PacketSummary) -> Option<SampleKind> {
    use Direction::{FromStation, ToStation};
    let first = sight.first?;
    match (
        sight.protocol,
        sight.direction,
        sight.station_port,
        sight.remote_port,
    ) {
        (UDP, FromStation, _, DNS) => Some(SampleKind::Question),
        (UDP, ToStation, _, DNS) => Some(SampleKind::Dns),
        (UDP, FromStation, MDNS, MDNS) => Some(SampleKind::Mdns),
        (UDP, FromStation, _, DHCP_SERVER) => Some(SampleKind::Dhcp),
        (UDP, FromStation, _, HTTPS) if first & LONG_HEADER != 0 && sight.before < DATAGRAMS => {
            Some(SampleKind::Quic)
        }
        (TCP, FromStation, ..) if sight.before < SEGMENTS => Some(SampleKind::Stream),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::Direction::{FromStation, ToStation};
    use super::*;

    #[test]
    fn as_the_table_says() {
        let table = [
            (UDP, ToStation, 4000, 53, 9, Some(0), Some(SampleKind::Dns)),
            (
                UDP,
                FromStation,
                4000,
                53,
                9,
                Some(0),
                Some(SampleKind::Question),
            ),
            (UDP, FromStation, 53, 4000, 0, Some(0), None),
            (
                UDP,
                FromStation,
                5353,
                5353,
                255,
                Some(0),
                Some(SampleKind::Mdns),
            ),
            (UDP, FromStation, 4000, 5353, 0, Some(0), None),
            (UDP, ToStation, 5353, 5353, 0, Some(0), None),
            (UDP, FromStation, 68, 67, 9, Some(1), Some(SampleKind::Dhcp)),
            (UDP, ToStation, 68, 67, 9, Some(2), None),
            (UDP, ToStation, 67, 68, 9, Some(2), None),
            (
                UDP,
                FromStation,
                4000,
                443,
                2,
                Some(0xc0),
                Some(SampleKind::Quic),
            ),
            (UDP, FromStation, 4000, 443, 3, Some(0xc0), None),
            (UDP, FromStation, 4000, 443, 0, Some(0x40), None),
            (UDP, ToStation, 4000, 443, 0, Some(0xc0), None),
            (
                TCP,
                FromStation,
                4000,
                443,
                3,
                Some(22),
                Some(SampleKind::Stream),
            ),
            (
                TCP,
                FromStation,
                4000,
                8080,
                0,
                Some(b'G'),
                Some(SampleKind::Stream),
            ),
            (TCP, FromStation, 4000, 443, 4, Some(22), None),
            (TCP, FromStation, 4000, 443, 0, None, None),
            (TCP, ToStation, 4000, 443, 0, Some(22), None),
            (132, FromStation, 4000, 443, 0, Some(22), None),
        ];
        for (protocol, direction, station_port, remote_port, before, first, kind) in table {
            let sight = PacketSummary {
                direction,
                protocol,
                station_port,
                remote_port,
                before,
                first,
            };
            assert_eq!(wanted(&sight), kind, "{sight:?}");
        }
    }
}
