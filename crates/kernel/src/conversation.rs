//! Keys of conversations at a port.

use std::net::IpAddr;

use crate::tuple::Tuple;

/// A conversation at one port, seen from the *station*: the host beyond that port. The station sent
/// the packets that come in there, and receives those that go out; both directions have one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConversationKey {
    /// Index of the port's device.
    pub port: u32,
    /// Outermost VLAN id there; 0 if untagged.
    pub vlan: u16,
    /// IP protocol number.
    pub protocol: u8,
    /// Address of the station.
    pub station: IpAddr,
    /// Port of the station; 0 if the protocol has none, and for fragments but the first.
    pub station_port: u16,
    /// Address at the other end.
    pub remote: IpAddr,
    /// Port there.
    pub remote_port: u16,
}

impl ConversationKey {
    /// Returns the two ends of the conversation, without the port.
    pub fn ends(&self) -> Endpoints {
        Endpoints {
            protocol: self.protocol,
            station: self.station,
            station_port: self.station_port,
            remote: self.remote,
            remote_port: self.remote_port,
        }
    }
}

/// The two ends of a conversation, as the packets of the station have them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Endpoints {
    /// IP protocol number.
    pub protocol: u8,
    /// Source address of packets from the station.
    pub station: IpAddr,
    /// Port of the station; 0 if the protocol has none.
    pub station_port: u16,
    /// Destination address of packets from the station.
    pub remote: IpAddr,
    /// Port there.
    pub remote_port: u16,
}

impl Endpoints {
    /// Returns the ends as seen from the other end.
    #[must_use]
    pub fn reversed(self) -> Self {
        Self {
            protocol: self.protocol,
            station: self.remote,
            station_port: self.remote_port,
            remote: self.station,
            remote_port: self.station_port,
        }
    }

    /// Adds the port and the VLAN to the ends.
    pub fn at(self, (port, vlan): (u32, u16)) -> ConversationKey {
        ConversationKey {
            port,
            vlan,
            protocol: self.protocol,
            station: self.station,
            station_port: self.station_port,
            remote: self.remote,
            remote_port: self.remote_port,
        }
    }
}

impl From<&Tuple> for Endpoints {
    fn from(tuple: &Tuple) -> Self {
        Self {
            protocol: tuple.protocol.number(),
            station: tuple.source,
            station_port: tuple.source_port,
            remote: tuple.destination,
            remote_port: tuple.destination_port,
        }
    }
}
