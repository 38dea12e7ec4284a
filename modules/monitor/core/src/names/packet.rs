//! Parses an IP packet, or the copied part of one, up to its ports and payload.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use net::Cursor;

/// Numbers of protocols (IANA).
pub const TCP: u8 = 6;
/// See [`TCP`].
pub const UDP: u8 = 17;
/// Extension headers of IPv6 that are gone past: hop-by-hop, routing, destination.
const EXTENSIONS: [u8; 3] = [0, 43, 60];
const MOST_EXTENSIONS: usize = 8;
const FRAGMENT: u8 = 44;

/// A TCP segment or a UDP datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// [`TCP`] or [`UDP`].
    pub protocol: u8,
    /// Address that it is from.
    pub source: IpAddr,
    /// Address that it is for.
    pub destination: IpAddr,
    /// Port that it is from.
    pub source_port: u16,
    /// Port that it is for.
    pub destination_port: u16,
    /// For TCP, number of the first byte of the payload, after a SYN, which occupies one number.
    pub sequence: u32,
    /// Payload after the last header, without the padding of a frame. Shorter than the sent payload
    /// if the copy is shorter.
    pub payload: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Reads from the first byte of the IP header. `None`: neither TCP nor UDP, a fragment, or cut
    /// within its headers.
    pub fn read(octets: &'a [u8]) -> Option<Self> {
        let (protocol, source, destination, transport) = match octets.first()? >> 4 {
            4 => ipv4(octets)?,
            6 => ipv6(octets)?,
            _ => return None,
        };
        let mut cursor = Cursor(transport);
        let (source_port, destination_port) = (cursor.u16()?, cursor.u16()?);
        let mut sequence = 0;
        let payload = match protocol {
            UDP => {
                let length = usize::from(cursor.u16()?).checked_sub(8)?;
                cursor.u16()?;
                let payload = cursor.0;
                &payload[..payload.len().min(length)]
            }
            TCP => {
                sequence = cursor.u32()?;
                cursor.u32()?;
                let length = usize::from(cursor.u8()? >> 4) * 4;
                let syn = cursor.u8()? & 2 != 0;
                sequence = sequence.wrapping_add(syn.into());
                transport.get(length..).filter(|_| length >= 20)?
            }
            _ => return None,
        };
        Some(Self {
            protocol,
            source,
            destination,
            source_port,
            destination_port,
            sequence,
            payload,
        })
    }
}

type Network<'a> = (u8, IpAddr, IpAddr, &'a [u8]);

fn ipv4(octets: &[u8]) -> Option<Network<'_>> {
    let header: &[u8; 20] = octets.first_chunk()?;
    let length = usize::from(header[0] & 0xf) * 4;
    let total = usize::from(u16::from_be_bytes([header[2], header[3]]));
    // More fragments, or not the first.
    if u16::from_be_bytes([header[6], header[7]]) & 0x3fff != 0 || length < 20 {
        return None;
    }
    let address = |at: usize| {
        IpAddr::from(Ipv4Addr::new(
            header[at],
            header[at + 1],
            header[at + 2],
            header[at + 3],
        ))
    };
    // A super-packet of more than 65,535 bytes has no length (BIG TCP).
    let end = if total == 0 {
        octets.len()
    } else {
        total.min(octets.len())
    };
    Some((
        header[9],
        address(12),
        address(16),
        octets.get(length..end)?,
    ))
}

fn ipv6(octets: &[u8]) -> Option<Network<'_>> {
    let mut cursor = Cursor(octets);
    cursor.u32()?;
    let length = usize::from(cursor.u16()?);
    let mut next = cursor.u8()?;
    cursor.u8()?;
    let mut address = || {
        cursor
            .array::<16>()
            .map(|octets| IpAddr::from(Ipv6Addr::from(octets)))
    };
    let (source, destination) = (address()?, address()?);
    let there = cursor.0;
    let payload = if length == 0 {
        there
    } else {
        &there[..length.min(there.len())]
    };
    let mut cursor = Cursor(payload);
    for _ in 0..MOST_EXTENSIONS {
        if next == FRAGMENT {
            return None;
        }
        if !EXTENSIONS.contains(&next) {
            return Some((next, source, destination, cursor.0));
        }
        next = cursor.u8()?;
        let words = usize::from(cursor.u8()?);
        cursor.take(6 + 8 * words)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use etherparse::PacketBuilder;

    use super::*;

    #[test]
    fn as_another_library_builds_them() {
        let payload = b"payload";
        let mut udp = Vec::new();
        PacketBuilder::ipv4([192, 0, 2, 7], [198, 51, 100, 1], 64)
            .udp(4000, 53)
            .write(&mut udp, payload)
            .expect("written");
        // Padding of a short frame.
        udp.extend([0; 5]);
        let read = Packet::read(&udp).expect("a datagram");
        assert_eq!(
            (read.protocol, read.source_port, read.destination_port),
            (UDP, 4000, 53)
        );
        assert_eq!(
            (read.source, read.destination),
            ([192, 0, 2, 7].into(), [198, 51, 100, 1].into())
        );
        assert_eq!(read.payload, payload);

        let (mut tcp, mut syn) = (Vec::new(), Vec::new());
        let source = Ipv6Addr::LOCALHOST.octets();
        PacketBuilder::ipv6(source, source, 64)
            .tcp(4000, 443, 77, 1000)
            .options_raw(&[1; 12])
            .expect("options")
            .write(&mut tcp, payload)
            .expect("written");
        PacketBuilder::ipv4([192, 0, 2, 7], [198, 51, 100, 1], 64)
            .tcp(4000, 443, u32::MAX, 1000)
            .syn()
            .write(&mut syn, payload)
            .expect("written");
        let read = Packet::read(&tcp).expect("a segment");
        assert_eq!(
            (read.protocol, read.sequence, read.payload),
            (TCP, 77, &payload[..])
        );
        assert_eq!(Packet::read(&syn).expect("a segment").sequence, 0);
        for whole in [&udp[..35], &tcp] {
            for length in 0..whole.len() {
                let cut = Packet::read(&whole[..length]);
                assert!(
                    cut.is_none_or(|cut| payload.starts_with(cut.payload)),
                    "{length}"
                );
            }
        }
        // A fragment.
        udp[6] |= 0x20;
        assert_eq!(Packet::read(&udp), None);
    }

    #[test]
    fn behind_extension_headers() {
        let mut octets = vec![0x60, 0, 0, 0, 0, 8 + 16 + 8 + 2, 0, 64];
        octets.extend([0; 32]);
        octets.extend([60, 0, 1, 4, 0, 0, 0, 0]);
        octets.extend([UDP, 1]);
        octets.extend([0; 14]);
        octets.extend([0, 67, 0, 68, 0, 10, 0, 0, b'o', b'k']);
        assert_eq!(Packet::read(&octets).expect("a datagram").payload, b"ok");
        octets[6] = FRAGMENT;
        assert_eq!(Packet::read(&octets), None);
        octets[6] = 58;
        assert_eq!(Packet::read(&octets), None);
    }
}
