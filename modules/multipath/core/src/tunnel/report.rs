//! Output of a tunnel: refusals, events, datagrams to send, the state of its paths.

use std::net::SocketAddr;

use super::body::Micros;
use super::path::{Count, RoundTrip, State};
use super::schedule::PATHS;
use super::settings::PathSettings;

/// Reason to refuse a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PacketError {
    /// The data are not a complete IPv4 or IPv6 packet.
    #[error("not a complete IP packet")]
    NoPacket,
    /// Packet longer than the paths take.
    #[error("packet too big: at most {mtu} bytes are possible")]
    TooBig {
        /// Largest packet that passes, bytes.
        mtu: usize,
    },
    /// No path is up.
    #[error("no path is up")]
    NoPath,
}

/// Cause to refuse to add or change a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// Number that is not valid.
    #[error("invalid path number {0}: use 0 to {last}", last = PATHS - 1)]
    Number(u8),
    /// The path exists already.
    #[error("path {0} already exists: remove it or change it")]
    Taken(u8),
    /// The path does not exist.
    #[error("no path {0}")]
    Unknown(u8),
}

/// Event of a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A path can be used.
    Up(u8),
    /// A path cannot be used any more.
    Down(u8),
    /// The router announced a new path, or a change.
    Told(u8),
    /// The router has another address on this path.
    Moved(u8, SocketAddr),
    /// The other end removed a path.
    Gone(u8),
    /// The other end ended the session.
    Closed,
}

/// A datagram to send: its bytes are in the given buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Send {
    /// Number of the path.
    pub path: u8,
    /// Destination.
    pub to: SocketAddr,
    /// Length, bytes.
    pub length: usize,
}

/// State of a path.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    /// Number of the path.
    pub path: u8,
    /// Settings.
    pub settings: PathSettings,
    /// Health.
    pub state: State,
    /// Round trips, once there was one.
    pub round_trip: Option<RoundTrip>,
    /// Queue in the path on the way out, beyond the least delay, microseconds.
    pub queue: Micros,
    /// Recent loss, per mille.
    pub loss: u32,
    /// Estimated capacity on the way out, bytes per second.
    pub rate: u64,
    /// Counts of sent datagrams.
    pub sent: Count,
    /// Counts of received datagrams.
    pub received: Count,
    /// Packets dropped for want of room or because they stood too long.
    pub dropped: u64,
    /// Largest packet that passes, bytes.
    pub mtu: usize,
}
