//! The frames: UDP from the client to the server, and back.

use std::net::{IpAddr, Ipv4Addr};

use datapath::bench::{Exit, Traffic};
use kernel::{Protocol, Tuple};
use lab::frame::{Body, Packet};
use lab::gateway::{CLIENT, CLIENT6, ROUTER_WAN, SERVER, SERVER6};
use lab::topology::mac;

/// Source port of flow 0; flow n has the n-th after it.
pub const FIRST_PORT: u16 = 1024;
/// Destination port of all flows.
pub const SERVICE: u16 = 443;

/// A kind of traffic through the gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// IPv6, which is routed; IPv4 is translated where the router does so.
    pub ipv6: bool,
    /// The router translates.
    pub translated: bool,
    /// Length of the frames, octets: at least 60, of IPv6 62.
    pub length: usize,
    /// Number of flows.
    pub flows: u32,
}

impl Kind {
    fn ends(&self) -> (IpAddr, IpAddr) {
        if self.ipv6 { (CLIENT6, SERVER6) } else { (CLIENT, SERVER) }
    }

    /// The source address behind the router.
    fn outside(&self) -> IpAddr {
        if self.translated { ROUTER_WAN } else { self.ends().0 }
    }

    fn payload(&self) -> Vec<u8> {
        let headers = if self.ipv6 { 62 } else { 42 };
        vec![0x5a; self.length.saturating_sub(headers)]
    }

    /// From the client.
    pub fn forward(&self) -> Traffic {
        let (client, server) = self.ends();
        let body = Body::Udp(FIRST_PORT, SERVICE, self.payload());
        let packet = Packet::new((mac("client", "eth0"), client), (mac("router", "lan0"), server), body);
        Traffic { frame: packet.bytes(), flows: self.flows, reply: false }
    }

    /// From the server, to where the router translated.
    pub fn reply(&self) -> Traffic {
        let body = Body::Udp(SERVICE, FIRST_PORT, self.payload());
        let from = (mac("server", "eth0"), self.ends().1);
        let packet = Packet::new(from, (mac("router", "wan0"), self.outside()), body);
        Traffic { frame: packet.bytes(), flows: self.flows, reply: true }
    }

    /// Flow `n` as it comes in, and as its replies do. The kernel keeps ports where it can, and here it can.
    pub fn tuples(&self, n: u32) -> (Tuple, Tuple) {
        let (source, destination) = self.ends();
        let source_port = FIRST_PORT + n as u16;
        let protocol = Protocol::Udp;
        let original = Tuple { protocol, source, source_port, destination, destination_port: SERVICE };
        let reply = Tuple { destination: self.outside(), ..original.reversed() };
        (original, reply)
    }

    /// What the comparison paths do with it, sending by the device with index `link`.
    pub fn exit(&self, link: u32) -> Exit {
        let mut header = [0; 14];
        header[..6].copy_from_slice(&mac("server", "eth0"));
        header[6..12].copy_from_slice(&mac("router", "wan0"));
        header[12..].copy_from_slice(if self.ipv6 { &[0x86, 0xdd] } else { &[0x08, 0x00] });
        let source = match (self.ends().0, self.outside()) {
            (IpAddr::V4(old), IpAddr::V4(new)) => Some((old, new)),
            _ => None,
        };
        Exit { link, header, source }
    }

    /// Client, server and translated address, of IPv4.
    pub fn addresses4(&self) -> Option<(Ipv4Addr, Ipv4Addr, Ipv4Addr)> {
        match (self.ends().0, self.ends().1, self.outside()) {
            (IpAddr::V4(client), IpAddr::V4(server), IpAddr::V4(outside)) => Some((client, server, outside)),
            _ => None,
        }
    }
}
