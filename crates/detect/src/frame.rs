//! Frames: Ethernet with at most one 802.1Q tag, and UDP and ICMPv6 in them.

use std::net::{Ipv4Addr, Ipv6Addr};

use net::Cursor;
pub use net::Mac;
use net::checksum::{checksum, fold};

/// All stations.
pub const EVERYBODY: Mac = [0xff; 6];

/// EtherTypes.
pub const IPV4: u16 = 0x0800;
/// ARP (RFC 826).
pub const ARP: u16 = 0x0806;
/// IPv6.
pub const IPV6: u16 = 0x86dd;
/// PPPoE, discovery (RFC 2516).
pub const PPPOE: u16 = 0x8863;
/// Tag types of 802.1Q and of 802.1ad.
const TAGS: [u16; 2] = [0x8100, 0x88a8];

/// IP protocol numbers.
const UDP: u8 = 17;
const ICMPV6: u8 = 58;
/// Octets of the shortest frame, without its check sequence.
const SHORTEST: usize = 60;

/// A received frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Destination address.
    pub to: Mac,
    /// Source address.
    pub from: Mac,
    /// VLAN number; a tag with number 0 has only a priority.
    pub vlan: Option<u16>,
    /// EtherType, behind the tag. For a frame with two tags, the type of the second tag.
    pub kind: u16,
    /// Payload.
    pub payload: &'a [u8],
}

impl<'a> Frame<'a> {
    /// Parses a frame, from the first octet of the Ethernet header on.
    pub fn read(octets: &'a [u8]) -> Option<Self> {
        let mut cursor = Cursor(octets);
        let (to, from) = (cursor.array()?, cursor.array()?);
        let mut kind = cursor.u16()?;
        let mut vlan = None;
        if TAGS.contains(&kind) {
            vlan = Some(cursor.u16()? & 0xfff).filter(|number| (1..4095).contains(number));
            kind = cursor.u16()?;
        }
        Some(Self {
            to,
            from,
            vlan,
            kind,
            payload: cursor.0,
        })
    }
}

/// Returns a frame.
pub fn ethernet(to: Mac, from: Mac, vlan: Option<u16>, kind: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(18 + payload.len());
    frame.extend(to);
    frame.extend(from);
    if let Some(number) = vlan {
        frame.extend(TAGS[0].to_be_bytes());
        frame.extend(number.to_be_bytes());
    }
    frame.extend(kind.to_be_bytes());
    frame.extend(payload);
    frame.resize(frame.len().max(SHORTEST), 0);
    frame
}

/// A UDP datagram. Its checksum is not verified: a frame that never was on a wire has none yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram<'a, A> {
    /// Source address.
    pub from: A,
    /// Source port.
    pub source: u16,
    /// Destination port.
    pub destination: u16,
    /// Payload.
    pub data: &'a [u8],
}

fn datagram<A>(from: A, octets: &[u8]) -> Option<Datagram<'_, A>> {
    let mut cursor = Cursor(octets);
    let (source, destination) = (cursor.u16()?, cursor.u16()?);
    let length = usize::from(cursor.u16()?).checked_sub(8)?;
    cursor.u16()?;
    Some(Datagram {
        from,
        source,
        destination,
        data: cursor.take(length)?,
    })
}

/// Returns the datagram in an IPv4 packet (RFC 791); `None` for fragments.
pub fn udp4(packet: &[u8]) -> Option<Datagram<'_, Ipv4Addr>> {
    let mut cursor = Cursor(packet);
    let first = cursor.u8()?;
    let header = usize::from(first & 15) * 4;
    cursor.u8()?;
    let total = usize::from(cursor.u16()?);
    cursor.u16()?;
    let fragment = cursor.u16()? & 0x3fff;
    cursor.u8()?;
    let protocol = cursor.u8()?;
    cursor.u16()?;
    let from = Ipv4Addr::from(cursor.array::<4>()?);
    if first >> 4 != 4 || header < 20 || fragment != 0 || protocol != UDP {
        return None;
    }
    datagram(from, packet.get(header..total)?)
}

/// Content directly behind an IPv6 header (RFC 8200).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ipv6Payload<'a> {
    /// A UDP datagram.
    Udp(Datagram<'a, Ipv6Addr>),
    /// A message of neighbour discovery that no router forwarded (RFC 4861, section 6.1: hop limit
    /// 255): its source, its type and the data behind type, code and checksum.
    Neighbours(Ipv6Addr, u8, &'a [u8]),
}

/// Parses an IPv6 packet without extension headers.
pub fn ipv6(packet: &[u8]) -> Option<Ipv6Payload<'_>> {
    let mut cursor = Cursor(packet);
    let first = cursor.u32()?;
    let length = usize::from(cursor.u16()?);
    let (next, hops) = (cursor.u8()?, cursor.u8()?);
    let from = Ipv6Addr::from(cursor.array::<16>()?);
    cursor.take(16)?;
    let payload = cursor.take(length)?;
    match next {
        _ if first >> 28 != 6 => None,
        UDP => Some(Ipv6Payload::Udp(datagram(from, payload)?)),
        ICMPV6 if hops == 255 => {
            let mut cursor = Cursor(payload);
            let (kind, code) = (cursor.u8()?, cursor.u8()?);
            cursor.u16()?;
            (code == 0).then_some(Ipv6Payload::Neighbours(from, kind, cursor.0))
        }
        _ => None,
    }
}

/// Returns an IPv4 broadcast packet from 0.0.0.0, with a datagram.
pub fn broadcast4(source: u16, destination: u16, data: &[u8]) -> Vec<u8> {
    let length = u16::try_from(data.len() + 8).unwrap_or(u16::MAX);
    let mut header = vec![0x45, 0];
    header.extend((length + 20).to_be_bytes());
    header.extend([0, 0, 0, 0, 64, UDP, 0, 0]);
    header.extend([0; 4]);
    header.extend([255; 4]);
    let sum = checksum(0, &header);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    let ends = [&[0; 4][..], &[255; 4]].concat();
    let pseudo = [&ends[..], &[0, UDP], &length.to_be_bytes()].concat();
    header.extend(udp(source, destination, length, &pseudo, data));
    header
}

/// Returns an IPv6 packet with a datagram, with a hop limit for this link only.
pub fn datagram6(from: Ipv6Addr, to: Ipv6Addr, ports: (u16, u16), data: &[u8]) -> Vec<u8> {
    let length = u16::try_from(data.len() + 8).unwrap_or(u16::MAX);
    let pseudo = pseudo6(from, to, length, UDP);
    let body = udp(ports.0, ports.1, length, &pseudo, data);
    packet6(from, to, UDP, 1, &body)
}

/// Returns an ICMPv6 message, with the hop limit of neighbour discovery.
pub fn icmpv6(from: Ipv6Addr, to: Ipv6Addr, kind: u8, data: &[u8]) -> Vec<u8> {
    let mut body = vec![kind, 0, 0, 0];
    body.extend(data);
    let length = u16::try_from(body.len()).unwrap_or(u16::MAX);
    let pseudo = fold(0, &pseudo6(from, to, length, ICMPV6));
    let sum = checksum(pseudo.into(), &body);
    body[2..4].copy_from_slice(&sum.to_be_bytes());
    packet6(from, to, ICMPV6, 255, &body)
}

fn udp(source: u16, destination: u16, length: u16, pseudo: &[u8], data: &[u8]) -> Vec<u8> {
    let mut body = Vec::with_capacity(8 + data.len());
    body.extend(source.to_be_bytes());
    body.extend(destination.to_be_bytes());
    body.extend(length.to_be_bytes());
    body.extend([0, 0]);
    body.extend(data);
    // 0 would mean no checksum (RFC 768).
    let sum = match checksum(fold(0, pseudo).into(), &body) {
        0 => 0xffff,
        sum => sum,
    };
    body[6..8].copy_from_slice(&sum.to_be_bytes());
    body
}

fn pseudo6(from: Ipv6Addr, to: Ipv6Addr, length: u16, next: u8) -> Vec<u8> {
    let mut octets = [from.octets(), to.octets()].concat();
    octets.extend(u32::from(length).to_be_bytes());
    octets.extend([0, 0, 0, next]);
    octets
}

fn packet6(from: Ipv6Addr, to: Ipv6Addr, next: u8, hops: u8, body: &[u8]) -> Vec<u8> {
    let length = u16::try_from(body.len()).unwrap_or(u16::MAX);
    let mut packet = vec![0x60, 0, 0, 0];
    packet.extend(length.to_be_bytes());
    packet.extend([next, hops]);
    packet.extend(from.octets());
    packet.extend(to.octets());
    packet.extend(body);
    packet
}

/// Returns the hardware address of an IPv6 multicast group (RFC 2464, section 7).
pub fn group(address: Ipv6Addr) -> Mac {
    let [.., a, b, c, d] = address.octets();
    [0x33, 0x33, a, b, c, d]
}

/// Returns the link-local address of a hardware address (RFC 4291, appendix A).
pub fn link_local(mac: Mac) -> Ipv6Addr {
    let [a, b, c, d, e, f] = mac;
    let tail = [a ^ 2, b, c, 0xff, 0xfe, d, e, f];
    let mut octets = [0; 16];
    octets[..2].copy_from_slice(&[0xfe, 0x80]);
    octets[8..].copy_from_slice(&tail);
    octets.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAC: Mac = [2, 0, 0, 0, 0, 1];

    #[test]
    fn tags_are_taken_off_once() {
        let frame = ethernet(EVERYBODY, MAC, Some(7), ARP, &[1, 2]);
        let read = Frame::read(&frame).expect("a frame");
        assert_eq!(
            (read.vlan, read.kind, read.payload[..2].as_ref()),
            (Some(7), ARP, &[1, 2][..])
        );
        assert_eq!(frame.len(), 60);
        let mut double = frame.clone();
        double.splice(12..12, [0x88, 0xa8, 0, 9]);
        let read = Frame::read(&double).expect("a frame");
        assert_eq!((read.vlan, read.kind), (Some(9), 0x8100));
        let mut priority = frame;
        priority[15] = 0;
        assert_eq!(Frame::read(&priority).expect("a frame").vlan, None);
        assert_eq!(Frame::read(&[0; 13]), None);
    }

    #[test]
    fn what_is_made_can_be_read() {
        let packet = broadcast4(68, 67, b"hello");
        assert_eq!(checksum(0, &packet[..20]), 0);
        let datagram = udp4(&packet).expect("a datagram");
        assert_eq!(
            (datagram.source, datagram.destination, datagram.data),
            (68, 67, &b"hello"[..])
        );
        let own = link_local(MAC);
        assert_eq!(own.to_string(), "fe80::ff:fe00:1");
        let packet = datagram6(own, own, (546, 547), b"x");
        assert!(matches!(ipv6(&packet), Some(Ipv6Payload::Udp(it)) if it.data == b"x"));
        let packet = icmpv6(own, own, 133, &[0; 4]);
        assert_eq!(
            ipv6(&packet),
            Some(Ipv6Payload::Neighbours(own, 133, &[0; 4][..]))
        );
        let pseudo = fold(0, &pseudo6(own, own, 8, ICMPV6));
        let sum = checksum(pseudo.into(), &packet[40..]);
        assert_eq!(sum, 0);
    }

    #[test]
    fn fragments_and_what_came_from_afar_are_left_alone() {
        let mut packet = broadcast4(67, 68, b"hello");
        packet[6] = 0x20;
        assert_eq!(udp4(&packet), None);
        let own = link_local(MAC);
        let mut packet = icmpv6(own, own, 134, &[0; 12]);
        packet[7] = 254;
        assert_eq!(ipv6(&packet), None);
    }
}
