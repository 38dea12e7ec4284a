//! Frames of the traffic: UDP from the client to the server, and back.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use datapath::bench::{Exit, PORT_BITS, Traffic};
use kernel::{Protocol, Tuple};
use lab::frame::{Body, Packet};
use lab::gateway::{CLIENT, CLIENT6, ROUTER_WAN, ROUTER_WAN6, SERVER, SERVER6};
use lab::topology::mac;
use lab::view::View;

/// Source port of flow 0; flow n has the n-th after it.
pub const FIRST_PORT: u16 = 1024;
/// Destination port of all flows.
pub const SERVICE: u16 = 443;

/// Flows of a client with a server; later flows have the next address of either.
const FLOWS_PER_HOST: u32 = 1 << PORT_BITS;
/// Filler byte of the payload.
pub const FILLER: u8 = 0x5a;

/// Returns the `n`-th address after `address`.
fn plus(address: IpAddr, n: u32) -> IpAddr {
    match address {
        IpAddr::V4(address) => Ipv4Addr::from(u32::from(address) + n).into(),
        IpAddr::V6(address) => Ipv6Addr::from(u128::from(address) + u128::from(n)).into(),
    }
}

/// Kind of traffic through the gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Set for IPv6.
    pub ipv6: bool,
    /// Set if the router translates.
    pub translated: bool,
    /// Length of the frames in bytes: at least 60, with IPv6 62.
    pub length: usize,
    /// Number of flows.
    pub flows: u32,
    /// Set if flows beyond the range of ports go to other servers; else they come from other
    /// clients.
    pub servers: bool,
}

impl Kind {
    fn ends(&self) -> (IpAddr, IpAddr) {
        if self.ipv6 {
            (CLIENT6, SERVER6)
        } else {
            (CLIENT, SERVER)
        }
    }

    /// Returns the source address behind the router.
    fn outside(&self) -> IpAddr {
        match (self.translated, self.ipv6) {
            (false, _) => self.ends().0,
            (true, false) => ROUTER_WAN,
            (true, true) => ROUTER_WAN6,
        }
    }

    /// Returns the bytes of the shortest frame.
    pub fn shortest(&self) -> usize {
        if self.ipv6 { 62 } else { 60 }
    }

    fn payload(&self) -> Vec<u8> {
        let headers = if self.ipv6 { 62 } else { 42 };
        vec![FILLER; self.length.saturating_sub(headers)]
    }

    /// Returns the traffic from the client.
    pub fn forward(&self) -> Traffic {
        Traffic {
            by_server: self.servers,
            ..Traffic::of(self.received(0).bytes(), self.flows)
        }
    }

    /// Returns the traffic from the server, to the address after translation.
    pub fn reply(&self) -> Traffic {
        Traffic {
            reply: true,
            by_server: self.servers,
            ..Traffic::of(self.answer(0), self.flows)
        }
    }

    /// Returns the number of addresses of clients or servers.
    pub fn hosts(&self) -> u32 {
        self.flows.div_ceil(FLOWS_PER_HOST).max(1)
    }

    /// Returns the servers' addresses.
    pub fn destinations(&self) -> impl Iterator<Item = IpAddr> + use<> {
        let first = self.ends().1;
        let count = if self.servers { self.hosts() } else { 1 };
        (0..count).map(move |n| plus(first, n))
    }

    /// Returns the flow of a packet that the router forwarded, or `None` for other packets. Several
    /// hosts work for servers only.
    pub fn flow_of(&self, frame: &[u8]) -> Option<u32> {
        let view = View::of(frame)?;
        let (from, to) = view.ports?;
        let (port, server) = match to == SERVICE {
            true => (from, view.to),
            false => (to, view.from),
        };
        let host = self.destinations().position(|address| address == server)?;
        let port = u32::from(port.checked_sub(FIRST_PORT)?);
        let flow = host as u32 * FLOWS_PER_HOST + port;
        (port < FLOWS_PER_HOST && flow < self.flows).then_some(flow)
    }

    /// Returns flow `n` as it arrives, and its replies. In the closed loop, the kernel always keeps
    /// ports. Beyond 32,768 flows there are more servers, or more clients and outside addresses:
    /// see bpf/bench.bpf.c.
    pub fn tuples(&self, n: u32) -> (Tuple, Tuple) {
        let (client, server) = self.ends();
        let (host, port) = (n / FLOWS_PER_HOST, (n % FLOWS_PER_HOST) as u16);
        let (source, destination) = match self.servers {
            true => (client, plus(server, host)),
            false => (plus(client, host), server),
        };
        let source_port = FIRST_PORT + port;
        let protocol = Protocol::Udp;
        let original = Tuple {
            protocol,
            source,
            source_port,
            destination,
            destination_port: SERVICE,
        };
        let outside = match (self.translated, self.servers, host) {
            (false, ..) => source,
            (true, true, _) | (true, _, 0) => self.outside(),
            (true, false, _) => plus(IpAddr::V4(Ipv4Addr::new(203, 0, 113, 0)), host),
        };
        (
            original,
            Tuple {
                destination: outside,
                ..original.reversed()
            },
        )
    }

    /// Returns the frame of flow `n` that the router sends on.
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

    /// Returns the answer to flow `n` as it arrives at the router.
    pub fn answer(&self, n: u32) -> Vec<u8> {
        let (_, reply) = self.tuples(n);
        let body = Body::Udp(reply.source_port, reply.destination_port, self.payload());
        let ends = (
            (mac("server", "eth0"), reply.source),
            (mac("router", "wan0"), reply.destination),
        );
        Packet::new(ends.0, ends.1, body).bytes()
    }

    /// Returns the answer to flow `n` that the router sends on.
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

    /// Returns the packet of flow `n` as it arrives at the router.
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

    /// Returns the rewrite of the comparison paths, which send by the device with index `link`.
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
