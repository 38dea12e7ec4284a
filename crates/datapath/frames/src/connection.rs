//! Connections, and their packets on either side of the router.

use kernel::{Mac, Protocol, Tuple};

use super::Frame;

pub const LAN: u32 = 10;
pub const WAN: u32 = 11;
/// Another device of the router, used only by tests that name it.
pub const WAN_TOO: u32 = 12;
pub const CLIENT: Mac = [2, 0, 0, 0, 0, 1];
pub const ROUTER_LAN: Mac = [2, 0, 0, 0, 0, 2];
pub const ROUTER_WAN: Mac = [2, 0, 0, 0, 0, 3];
pub const SERVER: Mac = [2, 0, 0, 0, 0, 4];

pub fn tuple(protocol: Protocol, source: &str, sport: u16, destination: &str, dport: u16) -> Tuple {
    Tuple {
        protocol,
        source: source.parse().expect("an address"),
        source_port: sport,
        destination: destination.parse().expect("an address"),
        destination_port: dport,
    }
}

/// Direction along a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// From the client to the server.
    Original,
    /// Back.
    Reply,
}

pub const ORIGINAL: Side = Side::Original;
pub const REPLY: Side = Side::Reply;
pub const SIDES: [Side; 2] = [ORIGINAL, REPLY];

/// Connection as conntrack would report it.
#[derive(Clone, Copy, Debug)]
pub struct Connection {
    pub id: u32,
    pub original: Tuple,
    pub reply: Tuple,
}

impl Connection {
    pub fn incoming(&self, side: Side) -> Tuple {
        match side {
            Side::Original => self.original,
            Side::Reply => self.reply,
        }
    }

    pub fn outgoing(&self, side: Side) -> Tuple {
        match side {
            Side::Original => self.reply.reversed(),
            Side::Reply => self.original.reversed(),
        }
    }

    /// Returns an ordinary incoming packet.
    pub fn frame(&self, side: Side) -> Frame {
        match side {
            Side::Original => Frame::new(CLIENT, ROUTER_LAN, self.original),
            Side::Reply => Frame::new(SERVER, ROUTER_WAN, self.reply),
        }
    }

    /// Returns that packet as the kernel sends it on.
    pub fn sent(&self, side: Side, frame: &Frame) -> Frame {
        let (source_mac, destination_mac) = match side {
            Side::Original => (ROUTER_WAN, SERVER),
            Side::Reply => (ROUTER_LAN, CLIENT),
        };
        Frame {
            source_mac,
            destination_mac,
            tuple: self.outgoing(side),
            ttl: frame.ttl - 1,
            ..frame.clone()
        }
    }

    pub fn is_tcp(&self) -> bool {
        self.original.protocol == Protocol::Tcp
    }

    pub fn is_ipv6(&self) -> bool {
        self.original.is_ipv6()
    }
}

/// Ingress and egress devices of a side's packets.
pub fn links(side: Side) -> (u32, u32) {
    match side {
        Side::Original => (LAN, WAN),
        Side::Reply => (WAN, LAN),
    }
}
