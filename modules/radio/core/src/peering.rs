//! Access points of one network that become each other's peers, beside the stations they have.
//!
//! Each says in its beacon who it is, with a tag that only who knows the network's secret can make
//! ([`element`]). Who hears such a beacon goes through a handshake with its sender
//! ([`handshake`]), and only whoever ends that has a key, a station and a device. A machine
//! ([`Machine`]) decides when: events and the time go in, actions come out. What is said on the air
//! is in `docs/radio-peering-protocol.md`, octet by octet.

pub mod attach;
pub mod beacon;
pub mod element;
pub mod frame;
pub mod handshake;
mod machine;
pub mod metric;
mod peer;
mod secret;
mod settings;
mod told;

#[cfg(test)]
mod tests;

pub use beacon::Beacon;
pub use element::{Element, Instance};
pub use machine::Machine;
pub use metric::Metric;
pub use secret::{NodeKey, Secret, Weak};
pub use settings::Settings;
pub use told::{Action, Event, Refused, Shown, State, Waits, Why};

/// The version of what is said. Others are not spoken with.
pub const VERSION: u8 = 1;

/// Whose element and frames these are: no assigned number, for it is a locally administered one
/// (IEEE 802, 8.2.2), `w` and `r`.
pub const VENDOR: [u8; 3] = [0x02, b'w', b'r'];
