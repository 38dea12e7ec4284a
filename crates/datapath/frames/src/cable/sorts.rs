//! Handmade frames, one of each sort and some near misses.

use cables_core::FrameClass;
use kernel::Mac;

pub const STATION: Mac = [2, 0, 0, 0, 0, 7];
pub const OWN: Mac = [2, 0, 0, 0, 0, 1];
pub const ALL: Mac = [0xff; 6];
pub const LLDP_MAC: Mac = [0x01, 0x80, 0xc2, 0, 0, 0x0e];
pub const BRIDGES: Mac = [0x01, 0x80, 0xc2, 0, 0, 0];
pub const CISCO: Mac = [0x01, 0, 0x0c, 0xcc, 0xcc, 0xcc];
pub const PVST: Mac = [0x01, 0, 0x0c, 0xcc, 0xcc, 0xcd];

pub fn ethernet(to: Mac, from: Mac, kind: u16, payload: &[u8]) -> Vec<u8> {
    [&to[..], &from, &kind.to_be_bytes(), payload].concat()
}

pub fn frame(kind: u16, payload: &[u8]) -> Vec<u8> {
    ethernet(ALL, STATION, kind, payload)
}

/// A frame with a length instead of an EtherType.
pub fn llc(to: Mac, payload: &[u8]) -> Vec<u8> {
    ethernet(to, STATION, payload.len() as u16, payload)
}

pub fn ipv4(protocol: u8, options: usize, payload: &[u8]) -> Vec<u8> {
    let mut header = vec![0; 20 + options];
    header[0] = 0x45 + options as u8 / 4;
    header[2..4].copy_from_slice(&((20 + options + payload.len()) as u16).to_be_bytes());
    header[9] = protocol;
    header.extend_from_slice(payload);
    frame(0x0800, &header)
}

pub fn ipv6(next: u8, hop_limit: u8, payload: &[u8]) -> Vec<u8> {
    let mut header = vec![0; 40];
    header[0] = 0x60;
    header[4..6].copy_from_slice(&(payload.len() as u16).to_be_bytes());
    header[6] = next;
    header[7] = hop_limit;
    header.extend_from_slice(payload);
    frame(0x86dd, &header)
}

/// Returns LLC and the organization of SNAP, 0 if an EtherType follows.
pub fn snap(organization: u8) -> [u8; 6] {
    [0xaa, 0xaa, 3, 0, 0, organization]
}

pub fn udp(from: u16, to: u16, payload: &[u8]) -> Vec<u8> {
    let head = [from.to_be_bytes(), to.to_be_bytes(), [0; 2], [0; 2]].concat();
    [&head[..], payload].concat()
}

/// Adds a tag in front of a frame's EtherType.
pub fn tagged(frame: &[u8], kind: u16, vlan: u16) -> Vec<u8> {
    let tag = [kind.to_be_bytes(), (vlan | 0xe000).to_be_bytes()].concat();
    [&frame[..12], &tag, &frame[12..]].concat()
}

/// Returns frames, each with its sort and the number of octets that make the sort certain; with
/// fewer, the frame is of the second sort.
pub fn table() -> Vec<(&'static str, Vec<u8>, FrameClass, usize, FrameClass)> {
    use FrameClass::*;
    let cdp = [0xaa, 0xaa, 3, 0, 0, 0x0c, 0x20, 0, 2, 180];
    let mut fragment = ipv4(17, 0, &udp(68, 67, &[1]));
    fragment[14 + 7] = 185;
    let all = [
        ("a hello", frame(0x88b5, b"weir 1"), Hello, 18, Other),
        ("a stranger's", frame(0x88b5, b"wind 1"), Other, 14, Other),
        ("PADO", frame(0x8863, &[0x11, 7]), Pado, 16, Other),
        ("PADS", frame(0x8863, &[0x11, 0x65]), Pado, 16, Other),
        ("PADI", frame(0x8863, &[0x11, 9]), Padi, 16, Other),
        ("PADR", frame(0x8863, &[0x11, 0x19]), Padi, 16, Other),
        ("PADT", frame(0x8863, &[0x11, 0xa7]), Other, 14, Other),
        (
            "a lease",
            ipv4(17, 0, &udp(67, 68, &[2])),
            DhcpServer,
            43,
            Ip,
        ),
        (
            "a question",
            ipv4(17, 0, &udp(68, 67, &[1])),
            DhcpClient,
            43,
            Ip,
        ),
        (
            "with options",
            ipv4(17, 8, &udp(68, 67, &[1])),
            DhcpClient,
            51,
            Ip,
        ),
        ("to a relay", ipv4(17, 0, &udp(67, 67, &[2])), Ip, 14, Ip),
        ("a fragment", fragment, Ip, 14, Ip),
        ("by TCP", ipv4(6, 0, &udp(68, 67, &[1])), Ip, 14, Ip),
        (
            "DHCPv6",
            ipv6(17, 1, &udp(547, 546, &[7])),
            Dhcp6Server,
            58,
            Ip,
        ),
        (
            "DHCPv6 from another port",
            ipv6(17, 1, &udp(1234, 546, &[7])),
            Dhcp6Server,
            58,
            Ip,
        ),
        ("its client", ipv6(17, 1, &udp(546, 547, &[1])), Ip, 14, Ip),
        ("BOOTP in IPv6", ipv6(17, 1, &udp(67, 68, &[2])), Ip, 14, Ip),
        (
            "a router",
            ipv6(58, 255, &[134]),
            RouterAdvertisement,
            55,
            Ip,
        ),
        (
            "a router behind options",
            ipv6(60, 255, &[58, 0, 0, 0, 0, 0, 0, 0, 134]),
            RouterAdvertisement,
            63,
            Ip,
        ),
        ("a host", ipv6(58, 255, &[133]), RouterSolicitation, 55, Ip),
        ("from afar", ipv6(58, 254, &[134]), Ip, 14, Ip),
        ("an echo", ipv6(58, 255, &[128]), Ip, 14, Ip),
        (
            "LLDP",
            ethernet(LLDP_MAC, STATION, 0x88cc, &[2, 7]),
            Lldp,
            14,
            Other,
        ),
        ("CDP", llc(CISCO, &cdp), Cdp, 22, Other),
        (
            "VTP",
            llc(CISCO, &[0xaa, 0xaa, 3, 0, 0, 0x0c, 0x20, 3]),
            Other,
            14,
            Other,
        ),
        ("MNDP", ipv4(17, 0, &udp(5678, 5678, &[])), Mndp, 38, Ip),
        (
            "MNDP by IPv6",
            ipv6(17, 1, &udp(5678, 5678, &[])),
            Mndp,
            58,
            Ip,
        ),
        ("batman-adv", frame(0x4305, &[0, 15]), Batman, 14, Other),
        ("Babel", ipv6(17, 1, &udp(6696, 6696, &[42])), Babel, 58, Ip),
        ("OSPF", ipv4(89, 0, &[2]), Routing, 34, Ip),
        ("OSPFv3", ipv6(89, 1, &[3]), Routing, 54, Ip),
        ("OLSR", ipv4(17, 0, &udp(698, 698, &[])), Routing, 38, Ip),
        ("OLSRv2", ipv4(17, 0, &udp(269, 269, &[])), Routing, 38, Ip),
        ("RIP", ipv4(17, 0, &udp(520, 520, &[])), Routing, 38, Ip),
        ("RIPng", ipv6(17, 255, &udp(521, 521, &[])), Routing, 58, Ip),
        ("BMX7", ipv6(17, 1, &udp(6240, 6240, &[])), Routing, 58, Ip),
        ("a BPDU", llc(BRIDGES, &[0x42, 0x42, 3, 0]), Bpdu, 17, Other),
        (
            "a bridge's other",
            llc(BRIDGES, &[0xaa, 0xaa, 3, 0]),
            Other,
            14,
            Other,
        ),
        (
            "PVST",
            llc(PVST, &[0xaa, 0xaa, 3, 0, 0, 0x0c, 1, 0x0b]),
            Bpdu,
            14,
            Other,
        ),
        ("ARP", frame(0x0806, &[0, 1, 8, 0]), Arp, 14, Other),
        ("DNS", ipv4(17, 0, &udp(5000, 53, &[])), Ip, 14, Ip),
        ("no IPv4", frame(0x0800, &[0x65; 40]), Ip, 14, Ip),
        ("too short a header", frame(0x0800, &[0x44; 40]), Ip, 14, Ip),
        ("no IPv6", frame(0x86dd, &[0x45; 60]), Ip, 14, Ip),
        (
            "from this router",
            ethernet(ALL, OWN, 0x0806, &[0, 1]),
            Own,
            14,
            Own,
        ),
        (
            "its hello",
            ethernet(ALL, OWN, 0x88b5, b"weir 1"),
            Own,
            14,
            Own,
        ),
        ("unknown", frame(0x9999, &[1, 2, 3]), Other, 14, Other),
    ];
    all.to_vec()
}
