//! Connections of a workload, and the hosts at both ends.

use std::net::IpAddr;

use crate::addresses::{CLIENT, CLIENT6, SERVER, SERVER6};
use crate::frame::{Mac, mac};

/// Where a frame is put on the wire, or comes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Side {
    /// client:eth0.
    Client,
    /// server:eth0.
    Server,
}

impl Side {
    /// The other one.
    pub fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }

    /// MAC of the host on this side.
    pub fn host_mac(self) -> Mac {
        match self {
            Self::Client => mac("client", "eth0"),
            Self::Server => mac("server", "eth0"),
        }
    }

    /// MAC of the router on this side.
    pub fn router_mac(self) -> Mac {
        match self {
            Self::Client => mac("router", "lan0"),
            Self::Server => mac("router", "wan0"),
        }
    }
}

/// One connection.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Its number in the workload.
    pub number: usize,
    /// IPv6, else IPv4.
    pub ipv6: bool,
    /// TCP, else UDP.
    pub tcp: bool,
    /// The client's port; no other flow has it.
    pub client_port: u16,
    /// The server's port; no other flow has it.
    pub server_port: u16,
    /// Initial sequence numbers of client and server.
    pub(super) isn: [u32; 2],
    /// TTL of client and server. Never 65: a packet with 64 behind the router is one it made
    /// itself.
    pub(super) ttl: [u8; 2],
    /// TCP timestamps in every segment.
    pub(super) timestamps: bool,
    /// DF on its packets; always, for TCP.
    pub(super) dont_fragment: bool,
    /// The server's own addresses, and those by which the client reaches it.
    pub(super) server: Server,
}

/// Where the server is: IPv4 and IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Server {
    /// Its own addresses.
    pub own: [IpAddr; 2],
    /// Those that the client sends to; others where the router translates the destination.
    pub reached: [IpAddr; 2],
}

impl Default for Server {
    fn default() -> Self {
        let own = [SERVER, SERVER6];
        Self { own, reached: own }
    }
}

impl Flow {
    /// The client's address.
    pub fn client(&self) -> IpAddr {
        [CLIENT, CLIENT6][usize::from(self.ipv6)]
    }

    /// The server's own address.
    pub fn server(&self) -> IpAddr {
        self.server.own[usize::from(self.ipv6)]
    }

    /// The address by which the client reaches the server.
    pub fn reached(&self) -> IpAddr {
        self.server.reached[usize::from(self.ipv6)]
    }
}

/// The client as the server sees it: chosen by the router's NAT, or the client itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Translation {
    /// Address.
    pub address: IpAddr,
    /// Port.
    pub port: u16,
}
