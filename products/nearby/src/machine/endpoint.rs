//! Places where a peer is reached, and formats.

use std::fmt;
use std::net::SocketAddr;

/// A Bluetooth address.
pub type Address = [u8; 6];

/// Format of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// Format of Linux and iOS.
    V1,
    /// Format of Android.
    V2,
    /// Format of nodes of a village. Of several formats the last is chosen: IP is the fastest, and
    /// the only one with proven ids.
    Ip,
}

impl Format {
    /// Returns the name.
    pub fn name(self) -> &'static str {
        match self {
            Self::V1 => "v1",
            Self::V2 => "v2",
            Self::Ip => "ip",
        }
    }
}

/// Endpoint of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// Near, by Bluetooth.
    Bluetooth(Address),
    /// Anywhere, by a village's link.
    Ip(SocketAddr),
}

impl From<Address> for Endpoint {
    fn from(address: Address) -> Self {
        Self::Bluetooth(address)
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bluetooth([a, b, c, d, e, f]) => {
                write!(out, "{a:02X}:{b:02X}:{c:02X}:{d:02X}:{e:02X}:{f:02X}")
            }
            Self::Ip(address) => address.fmt(out),
        }
    }
}
