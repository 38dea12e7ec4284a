//! Connections of a workload, and the hosts at both ends.

use std::net::IpAddr;

use crate::addresses::{CLIENT, CLIENT6, SERVER, SERVER6};
use crate::frame::{Mac, mac};

/// End of the path at which a frame enters or leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Side {
    /// client:eth0.
    Client,
    /// server:eth0.
    Server,
}

impl Side {
    /// Returns the opposite side.
    pub fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }

    /// Returns the MAC of the host on this side.
    pub fn host_mac(self) -> Mac {
        match self {
            Self::Client => mac("client", "eth0"),
            Self::Server => mac("server", "eth0"),
        }
    }

    /// Returns the MAC of the router on this side.
    pub fn router_mac(self) -> Mac {
        match self {
            Self::Client => mac("router", "lan0"),
            Self::Server => mac("router", "wan0"),
        }
    }
}

/// A connection.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Number in the workload.
    pub number: usize,
    /// True for IPv6, false for IPv4.
    pub ipv6: bool,
    /// True for TCP, false for UDP.
    pub tcp: bool,
    /// The client's port, unique among flows.
    pub client_port: u16,
    /// The server's port, unique among flows.
    pub server_port: u16,
    /// Initial sequence numbers of client and server.
    pub(super) isn: [u32; 2],
    /// TTL of client and server. Never 65: TTL 64 behind the router marks the router's own packets.
    pub(super) ttl: [u8; 2],
    /// Adds TCP timestamps to the segments.
    pub(super) timestamps: bool,
    /// Sets DF on the packets; always true for TCP.
    pub(super) dont_fragment: bool,
    /// The server's own addresses, and those by which the client reaches it.
    pub(super) server: Server,
}

/// The server's addresses, IPv4 and IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Server {
    /// Addresses of the server itself.
    pub own: [IpAddr; 2],
    /// Addresses that the client sends to. They differ if the router translates the destination.
    pub reached: [IpAddr; 2],
}

impl Default for Server {
    fn default() -> Self {
        let own = [SERVER, SERVER6];
        Self { own, reached: own }
    }
}

impl Flow {
    /// Returns the client's address.
    pub fn client(&self) -> IpAddr {
        [CLIENT, CLIENT6][usize::from(self.ipv6)]
    }

    /// Returns the server's own address.
    pub fn server(&self) -> IpAddr {
        self.server.own[usize::from(self.ipv6)]
    }

    /// Returns the address by which the client reaches the server.
    pub fn reached(&self) -> IpAddr {
        self.server.reached[usize::from(self.ipv6)]
    }
}

/// The client's socket as the server sees it: chosen by the router's NAT, or the client's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Translation {
    /// Address.
    pub address: IpAddr,
    /// Port.
    pub port: u16,
}
