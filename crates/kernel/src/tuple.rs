//! The five values that name one direction of a connection.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// The layer 4 protocols that weir forwards; the kernel keeps all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Protocol {
    /// IP protocol 6.
    Tcp,
    /// IP protocol 17.
    Udp,
}

impl Protocol {
    /// Converts the number in the IP header.
    pub fn from_number(number: u8) -> Option<Self> {
        match number {
            6 => Some(Self::Tcp),
            17 => Some(Self::Udp),
            _ => None,
        }
    }

    /// The number in the IP header.
    pub fn number(self) -> u8 {
        match self {
            Self::Tcp => 6,
            Self::Udp => 17,
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
        })
    }
}

/// Direction of a connection, with the headers of its packets at ingress. Both addresses are of one
/// family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tuple {
    /// TCP or UDP.
    pub protocol: Protocol,
    /// Source address.
    pub source: IpAddr,
    /// Source port.
    pub source_port: u16,
    /// Destination address.
    pub destination: IpAddr,
    /// Destination port.
    pub destination_port: u16,
}

impl Tuple {
    /// The tuple of the packets that come back when nothing is translated.
    pub fn reversed(&self) -> Self {
        Self {
            protocol: self.protocol,
            source: self.destination,
            source_port: self.destination_port,
            destination: self.source,
            destination_port: self.source_port,
        }
    }

    /// Returns true for an IPv6 tuple.
    pub fn is_ipv6(&self) -> bool {
        self.source.is_ipv6()
    }
}

impl fmt::Display for Tuple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {} > {}",
            self.protocol,
            SocketAddr::new(self.source, self.source_port),
            SocketAddr::new(self.destination, self.destination_port)
        )
    }
}
