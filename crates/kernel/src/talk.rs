//! What names a conversation at a port.

use std::net::IpAddr;

/// A conversation at one port, seen from the *station*: the host beyond that port. What comes in
/// there the station sent, what goes out it receives; both ways have one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TalkKey {
    /// Index of the port's device.
    pub port: u32,
    /// Outermost VLAN id there; 0 for none.
    pub vlan: u16,
    /// IP protocol number.
    pub protocol: u8,
    /// Address of the station.
    pub station: IpAddr,
    /// Its port; 0 where the protocol has none, and of fragments but the first.
    pub station_port: u16,
    /// Address at the other end.
    pub far: IpAddr,
    /// Port there.
    pub far_port: u16,
}
