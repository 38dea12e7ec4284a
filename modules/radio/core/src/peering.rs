//! Access points of one network that become each other's peers, in addition to serving stations.
//!
//! A node's beacon carries the node's identity, with a tag that only a holder of the network's
//! secret can make ([`element`]). A receiver of the beacon runs a handshake with the sender
//! ([`handshake`]), and only a completed handshake gives a key, a station and a device. A
//! [`Machine`] decides the timing: events and the time go in, actions come out.
//! `docs/reference/radio-peering-protocol.md` describes the messages on the air, byte by byte.

pub mod attach;
pub mod beacon;
pub mod element;
pub mod frame;
pub mod handshake;
mod machine;
mod messages;
pub mod metric;
mod peer;
mod secret;
mod settings;

#[cfg(test)]
mod tests;

pub use beacon::Beacon;
pub use element::{Element, Instance};
pub use machine::Machine;
pub use messages::{Action, EndReason, Event, PeerReport, RefusedCounters, State, WaitReason};
pub use metric::Metric;
pub use secret::{NodeKey, Secret, TooShort};
pub use settings::Settings;

/// Version of the messages. Nodes with another version are ignored.
pub const VERSION: u8 = 1;

/// Vendor of our element and frames: not an assigned number, but a locally administered one (IEEE
/// 802, 8.2.2), `w` and `r`.
pub const VENDOR: [u8; 3] = [0x02, b'w', b'r'];
