//! What a tunnel tells: refusals, events, datagrams to be sent, the state of its paths.

use std::net::SocketAddr;

use super::body::Micros;
use super::path::{Count, RoundTrip, State};
use super::schedule::PATHS;
use super::settings::PathSettings;

/// Why a packet was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// It is no IPv4 or IPv6 packet, or not a whole one.
    #[error("this is not a whole IP packet")]
    NoPacket,
    /// It is longer than all paths take.
    #[error("the packet is too big: at most {mtu} bytes pass")]
    TooBig {
        /// Largest packet that passes, bytes.
        mtu: usize,
    },
    /// No path is up.
    #[error("no path is up")]
    NoPath,
}

/// Why a path cannot be added or changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// No such number.
    #[error("paths are numbered 0 to {last}, not {0}", last = PATHS - 1)]
    Number(u8),
    /// It is there already.
    #[error("path {0} is there already: remove it, or change it")]
    Taken(u8),
    /// It is not there.
    #[error("there is no path {0}")]
    Unknown(u8),
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A path can be used.
    Up(u8),
    /// It cannot any more.
    Down(u8),
    /// The router told of a new path, or of a change.
    Told(u8),
    /// The router is elsewhere by this path.
    Moved(u8, SocketAddr),
    /// The other end took a path away.
    Gone(u8),
    /// The other end ended the session.
    Closed,
}

/// A datagram to be sent: its bytes are in the buffer that was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Send {
    /// By which path.
    pub path: u8,
    /// Where to.
    pub to: SocketAddr,
    /// Bytes.
    pub length: usize,
}

/// A path, as it is told.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    /// Its number.
    pub path: u8,
    /// What it was set to.
    pub settings: PathSettings,
    /// Whether it works.
    pub state: State,
    /// Round trips, once there was one.
    pub round_trip: Option<RoundTrip>,
    /// What waits in the path on the way out, beyond the least, microseconds.
    pub queue: Micros,
    /// What did not arrive lately, per mille.
    pub loss: u32,
    /// What it is found to carry on the way out, bytes per second.
    pub rate: u64,
    /// All that was sent.
    pub sent: Count,
    /// All that was received.
    pub received: Count,
    /// Packets dropped for want of room or because they stood too long.
    pub dropped: u64,
    /// Largest packet that passes, bytes.
    pub mtu: usize,
}
