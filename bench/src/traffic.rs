//! The frames: UDP from the client to the server, and back.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use datapath::bench::{Exit, PORT_BITS, Traffic};
use kernel::{Protocol, Tuple};
use lab::frame::{Body, Packet};
use lab::gateway::{CLIENT, CLIENT6, ROUTER_WAN, ROUTER_WAN6, SERVER, SERVER6};
use lab::topology::mac;

/// Source port of flow 0; flow n has the n-th after it.
pub const FIRST_PORT: u16 = 1024;
/// Destination port of all flows.
pub const SERVICE: u16 = 443;

/// Flows of one client; the next ones are those of the address after it.
const FLOWS_PER_HOST: u32 = 1 << PORT_BITS;

/// The `n`-th address after one, by its low half.
fn plus(address: IpAddr, n: u32) -> IpAddr {
    match address {
        IpAddr::V4(address) => Ipv4Addr::from(u32::from(address) + n).into(),
        IpAddr::V6(address) => Ipv6Addr::from(u128::from(address) + u128::from(n)).into(),
    }
}

/// A kind of traffic through the gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Of IPv6.
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
        if self.ipv6 {
            (CLIENT6, SERVER6)
        } else {
            (CLIENT, SERVER)
        }
    }

    /// The source address behind the router.
    fn outside(&self) -> IpAddr {
        match (self.translated, self.ipv6) {
            (false, _) => self.ends().0,
            (true, false) => ROUTER_WAN,
            (true, true) => ROUTER_WAN6,
        }
    }

    fn payload(&self) -> Vec<u8> {
        let headers = if self.ipv6 { 62 } else { 42 };
        vec![0x5a; self.length.saturating_sub(headers)]
    }

    /// From the client.
    pub fn forward(&self) -> Traffic {
        Traffic {
            frame: self.received(0).bytes(),
            flows: self.flows,
            reply: false,
            bits: PORT_BITS,
            shift: 0,
        }
    }

    /// From the server, to where the router translated.
    pub fn reply(&self) -> Traffic {
        let body = Body::Udp(SERVICE, FIRST_PORT, self.payload());
        let from = (mac("server", "eth0"), self.ends().1);
        let packet = Packet::new(from, (mac("router", "wan0"), self.outside()), body);
        Traffic {
            frame: packet.bytes(),
            flows: self.flows,
            reply: true,
            bits: PORT_BITS,
            shift: 0,
        }
    }

    /// Flow `n` as it comes in, and as its replies do. The kernel keeps ports where it can, and in the closed loop it can. Beyond
    /// 32,768 flows there are more clients and more outside addresses: see bpf/bench.bpf.c.
    pub fn tuples(&self, n: u32) -> (Tuple, Tuple) {
        let (client, destination) = self.ends();
        let (host, port) = (n / FLOWS_PER_HOST, (n % FLOWS_PER_HOST) as u16);
        let source = plus(client, host);
        let source_port = FIRST_PORT + port;
        let protocol = Protocol::Udp;
        let original = Tuple {
            protocol,
            source,
            source_port,
            destination,
            destination_port: SERVICE,
        };
        let outside = match (self.translated, host) {
            (false, _) => source,
            (true, 0) => self.outside(),
            (true, _) => plus(IpAddr::V4(Ipv4Addr::new(203, 0, 113, 0)), host),
        };
        (
            original,
            Tuple {
                destination: outside,
                ..original.reversed()
            },
        )
    }

    /// Flow `n` as the router sends it on.
    pub fn sent(&self, n: u32) -> Vec<u8> {
        let (original, reply) = self.tuples(n);
        let body = Body::Udp(
            reply.destination_port,
            original.destination_port,
            self.payload(),
        );
        let ends = (
            (mac("router", "wan0"), reply.destination),
            (mac("server", "eth0"), original.destination),
        );
        let mut packet = Packet::new(ends.0, ends.1, body);
        packet.ttl = 63;
        packet.bytes()
    }

    /// The answer to flow `n` as it comes in.
    pub fn answer(&self, n: u32) -> Vec<u8> {
        let (_, reply) = self.tuples(n);
        let body = Body::Udp(reply.source_port, reply.destination_port, self.payload());
        let ends = (
            (mac("server", "eth0"), reply.source),
            (mac("router", "wan0"), reply.destination),
        );
        Packet::new(ends.0, ends.1, body).bytes()
    }

    /// And as the router sends it on.
    pub fn sent_back(&self, n: u32) -> Vec<u8> {
        let (original, _) = self.tuples(n);
        let body = Body::Udp(
            original.destination_port,
            original.source_port,
            self.payload(),
        );
        let ends = (
            (mac("router", "lan0"), original.destination),
            (mac("client", "eth0"), original.source),
        );
        let mut packet = Packet::new(ends.0, ends.1, body);
        packet.ttl = 63;
        packet.bytes()
    }

    /// Flow `n` as it comes in.
    pub fn received(&self, n: u32) -> Packet {
        let (original, _) = self.tuples(n);
        let body = Body::Udp(
            original.source_port,
            original.destination_port,
            self.payload(),
        );
        let ends = (
            (mac("client", "eth0"), original.source),
            (mac("router", "lan0"), original.destination),
        );
        Packet::new(ends.0, ends.1, body)
    }

    /// What the comparison paths do with it, sending by the device with index `link`.
    pub fn exit(&self, link: u32) -> Exit {
        let mut header = [0; 14];
        header[..6].copy_from_slice(&mac("server", "eth0"));
        header[6..12].copy_from_slice(&mac("router", "wan0"));
        header[12..].copy_from_slice(if self.ipv6 {
            &[0x86, 0xdd]
        } else {
            &[0x08, 0x00]
        });
        let source = match (self.ends().0, self.outside()) {
            (IpAddr::V4(old), IpAddr::V4(new)) => Some((old, new)),
            _ => None,
        };
        Exit {
            link,
            header,
            source,
            spin: 0,
        }
    }
}
