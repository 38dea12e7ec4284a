//! From the first packets of conversations to names of devices and remote ends.
//!
//! Pure: [`Reader`] parses copies of packets and returns [`NameObservation`]s; [`Names`] stores
//! these, and names in the router's files, and answers look-ups. The packet path copies only useful
//! packets, by this table ([`sampling::wanted`] is the same in code):
//!
//! | data | protocol | direction | station's port | remote port | which | copied at most |
//! |---|---|---|---|---|---|---|
//! | questions to name servers | UDP | from the station | any | 53 | all | 440 |
//! | answers of name servers | UDP | to the station | any | 53 | all | 1472 |
//! | multicast DNS | UDP | from the station | 5353 | 5353 | all | 1472 |
//! | DHCP | UDP | from the station | any | 67 | all | 1024 |
//! | TLS, HTTP | TCP | from the station | any | any | the first 4 with payload | 4096 |
//! | QUIC | UDP | from the station | any | 443 | first 3, long header (first byte ≥ 0x80) | 1500 |
//!
//! Bytes are those of the payload. Packets without payload are not copied. *The first* counts
//! packets with payload of that flow in that direction. No table of this module grows beyond a
//! fixed size, whatever packets arrive.
//!
//! A station is trusted only about itself: an answer of a name server counts for the hardware
//! address of the query. Names are hints all the same: stations and name servers may lie. Names are
//! displayed, and decide nothing.

pub(crate) mod bounded;
mod cache;
mod devices;
pub mod dhcp;
pub mod dns;
pub mod hosts;
pub mod http;
pub mod leases;
pub mod mdns;
mod message;
pub mod name_file;
pub mod packet;
mod questions;
pub mod quic;
mod reader;
mod reassembly;
mod remote;
pub mod sampling;
pub mod text;
pub mod tls;

use std::net::IpAddr;
use std::sync::Arc;

use kernel::Mac;

pub use cache::{FAR_ENDS, Names};
pub use devices::Source;
pub use message::Malformed;
pub use name_file::NameEntry;
pub use packet::Packet;
pub use questions::MOST_QUESTIONS;
pub use reader::{MOST_FLOWS, PATIENCE, PacketMeta, Reader, ReaderCounters};
pub use reassembly::LIMIT;
pub use sampling::{Direction, PacketSummary, SampleKind};

pub use crate::reading::Millis;

/// A flow, seen from the station.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FlowKey {
    /// Observation point: any number by which the caller distinguishes ports and VLANs. Two
    /// observation points may use equal addresses.
    pub observation_point: u64,
    /// IP protocol.
    pub protocol: u8,
    /// Address of the station.
    pub station: IpAddr,
    /// Port of the station.
    pub station_port: u16,
    /// Address at the other end.
    pub remote: IpAddr,
    /// Port of the remote end.
    pub remote_port: u16,
}

/// Station that received an answer: its hardware address, for all its IP addresses; without a
/// hardware address, its IP address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Client {
    mac: Mac,
    address: Option<IpAddr>,
}

impl Client {
    /// Creates the client with this hardware address; all zero: without one.
    pub fn new(mac: Mac, address: IpAddr) -> Self {
        Self {
            mac,
            address: (mac == Mac::default()).then_some(address),
        }
    }
}

/// Information from a packet. Names are harmless text ([`text`]); those of devices may hold markup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameObservation {
    /// A device has a name.
    DeviceName {
        /// Hardware address of the device.
        mac: Mac,
        /// The name, without domain.
        name: String,
        /// [`Source::Dhcp`] or [`Source::Mdns`].
        source: Source,
    },
    /// A name server resolved a name to an address for a station.
    RemoteName {
        /// The station.
        client: Client,
        /// The address in the answer.
        address: IpAddr,
        /// The name in the query.
        name: Arc<str>,
        /// Validity in seconds.
        ttl: u32,
    },
    /// A flow has a name for its remote end.
    FlowName {
        /// The flow.
        key: FlowKey,
        /// Hardware address of the station.
        mac: Mac,
        /// The host that the client wants.
        name: Arc<str>,
        /// Source of the name.
        kind: FlowNameSource,
    },
}

/// Source of a flow's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FlowNameSource {
    /// ClientHello over TCP.
    Tls,
    /// ClientHello in QUIC.
    Quic,
    /// `Host` of an HTTP/1 request.
    Http,
}

/// Result of parsing the beginning of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome<T> {
    /// The value found.
    Found(T),
    /// The expected protocol, but without a name.
    Nothing,
    /// Possibly the expected protocol, but too short.
    NeedMore,
    /// Another protocol.
    Foreign,
}

impl<T> Outcome<T> {
    /// Converts the found value.
    pub fn map<U>(self, map: impl FnOnce(T) -> U) -> Outcome<U> {
        match self {
            Self::Found(found) => Outcome::Found(map(found)),
            Self::Nothing => Outcome::Nothing,
            Self::NeedMore => Outcome::NeedMore,
            Self::Foreign => Outcome::Foreign,
        }
    }
}
