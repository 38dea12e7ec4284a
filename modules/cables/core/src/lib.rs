//! Decides the role of a router's port from the frames received there.
//!
//! Pure: the classifier's records and the time go in; a role, a reason and the conditions of a
//! change come out. The crate opens no socket and reads no clock.
//!
//! A wrong role takes a port from its users: if the evidence is contradictory, the role is
//! `unknown`, and on a port of the LAN `client`.
//!
//! ```
//! use cables_core::{Cable, Port, Role};
//!
//! let mut cable = Cable::new(Port::default());
//! cable.link(true, 0);
//! assert!(cable.wants_look(2000));
//! assert_eq!(cable.decision(10_000).role, Role::Unknown);
//! ```

mod cable;
mod cdp;
mod decision;
mod evidence;
mod evidence_items;
mod frame_class;
pub mod hello;
mod internet_access;
mod judge;
mod lldp;
mod makers;
mod mndp;
mod octets;
mod placement;
mod port;
mod port_summary;
mod role;

#[cfg(test)]
mod tests;

pub use cable::Cable;
pub use cdp::Cdp;
pub use decision::{Decision, EvidenceItem, Notice};
pub use frame_class::FrameClass;
pub use lldp::{Capabilities, Lldp};
pub use makers::Maker;
pub use mndp::Mndp;
pub use placement::{Offer, Placement, PlacementContext};
pub use port::{Hello, Port, Proof, Use};
pub use port_summary::{ClassSummary, PortSummary};
pub use role::{Role, UnknownRole};
