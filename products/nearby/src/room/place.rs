//! Places where somebody is reached, and formats.

use std::fmt;
use std::net::SocketAddr;

/// A Bluetooth address.
pub type Address = [u8; 6];

/// How messages are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// As Linux and iOS do it.
    V1,
    /// As Android does it.
    V2,
    /// As nodes of a village do it. Where there is more than one the last of these is taken: it is the
    /// fastest, and only here an id is proven.
    Ip,
}

impl Format {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::V1 => "v1",
            Self::V2 => "v2",
            Self::Ip => "ip",
        }
    }
}

/// Where somebody is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Near, by Bluetooth.
    Bluetooth(Address),
    /// By a village's link, anywhere.
    Ip(SocketAddr),
}

impl From<Address> for Place {
    fn from(address: Address) -> Self {
        Self::Bluetooth(address)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bluetooth([a, b, c, d, e, f]) => {
                write!(out, "{a:02X}:{b:02X}:{c:02X}:{d:02X}:{e:02X}:{f:02X}")
            }
            Self::Ip(address) => address.fmt(out),
        }
    }
}
