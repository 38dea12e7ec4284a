//! Frames of peers for which Debian has no program.

use std::net::{IpAddr, Ipv4Addr};

use cables_core::hello::{MeshKey, NodeKey, Port};
use lab::frame::{Body, Frame, Mac, Packet};

const EVERYBODY: Mac = [0xff; 6];

fn udp(own: Mac, to: (Mac, [u8; 4]), ports: (u16, u16), payload: Vec<u8>) -> Frame {
    let address = |octets: [u8; 4]| IpAddr::V4(Ipv4Addr::from(octets));
    let body = Body::Udp(ports.0, ports.1, payload);
    let from = (own, address([169, 254, 7, 7]));
    Packet::new(from, (to.0, address(to.1)), body).bytes()
}

/// Builds LLDP with this description and these capabilities, all of them enabled (IEEE 802.1AB,
/// 8.5.8): 4 a bridge, 8 an access point, 32 a telephone.
pub fn lldp(own: Mac, description: &str, capabilities: u8) -> Frame {
    let mut frame = [&[1, 0x80, 0xc2, 0, 0, 0x0e][..], &own, &[0x88, 0xcc]].concat();
    let mut part = |kind: u16, value: &[u8]| {
        let length = u16::try_from(value.len()).unwrap_or(0);
        frame.extend((kind << 9 | length).to_be_bytes());
        frame.extend(value);
    };
    part(1, &[&[4], &own[..]].concat());
    part(2, &[&[3], &own[..]].concat());
    part(3, &[0, 120]);
    part(6, description.as_bytes());
    part(7, &[0, capabilities, 0, capabilities]);
    part(0, &[]);
    frame
}

/// Builds a query for the printers of a network, by multicast DNS (RFC 6762).
pub fn mdns(own: Mac) -> Frame {
    let question = b"\0\0\0\0\0\x01\0\0\0\0\0\0\x04_ipp\x04_tcp\x05local\0\0\x0c\0\x01";
    let to = ([1, 0, 0x5e, 0, 0, 0xfb], [224, 0, 0, 251]);
    udp(own, to, (5353, 5353), question.to_vec())
}

/// Builds a query for a name by LLMNR (RFC 4795).
pub fn llmnr(own: Mac) -> Frame {
    let question = b"\0\x07\0\0\0\x01\0\0\0\0\0\0\x07printer\0\0\x01\0\x01";
    let to = ([1, 0, 0x5e, 0, 0, 0xfc], [224, 0, 0, 252]);
    udp(own, to, (49152, 5355), question.to_vec())
}

/// Builds a broadcast DHCPNAK (RFC 2131).
pub fn nak(own: Mac) -> Frame {
    let mut message = vec![2, 1, 6, 0, 0, 0, 0, 7, 0, 0, 0x80, 0];
    message.resize(236, 0);
    // The magic cookie; the message type, 6; the server's address; the end.
    message.extend([99, 130, 83, 99, 53, 1, 6, 54, 4, 169, 254, 7, 7, 255]);
    message.resize(300, 0);
    udp(own, (EVERYBODY, [255; 4]), (67, 68), message)
}

/// Builds a HELLO of OLSR without neighbours (RFC 3626, 6.1).
pub fn olsr(own: Mac) -> Frame {
    let message = [
        0, 20, 0, 1, 1, 0x86, 0, 16, 169, 254, 7, 7, 1, 0, 0, 1, 0, 0, 5, 3,
    ];
    udp(own, (EVERYBODY, [255; 4]), (698, 698), message.to_vec())
}

/// Builds an originator's message of batman-adv's B.A.T.M.A.N. IV
/// (include/uapi/linux/batadv_packet.h, `batadv_ogm_packet`).
pub fn batman(own: Mac) -> Frame {
    let mut frame = [&EVERYBODY[..], &own, &[0x43, 0x05]].concat();
    frame.extend([0, 15, 50, 0x08, 0, 0, 0, 1]);
    frame.extend([&own[..], &own, &[0, 255, 0, 0]].concat());
    frame.resize(60, 0);
    frame
}

/// Builds the first hello of a node of the mesh, as a recording from elsewhere.
pub fn recorded(own: Mac, secret: &str) -> Frame {
    let keys = MeshKey::from_secret(secret.as_bytes()).ok();
    let node = NodeKey::from_seed([7; 32]).ok();
    let said = keys.zip(node).and_then(|(mesh, node)| {
        let mut port = Port::new(Some(&mesh), &node, own, 0);
        port.link([7; 16], 0);
        port.due(0)
    });
    said.unwrap_or_default()
}
