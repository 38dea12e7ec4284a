//! Detection of a router's uplink: probes for all kinds of Internet access at once, and derives a
//! suggestion with reasons from the answers.
//!
//! Pure: takes received frames and the time; returns frames to send and evidence. The crate opens
//! no socket and reads no clock.
//!
//! Probes go to all stations or all routers, and change no state: DHCP's DISCOVER without REQUEST,
//! DHCPv6's SOLICIT without REQUEST, PPPoE's PADI without PADR, router solicitations, and ARP
//! probes (RFC 5227). So nothing is leased, no session begins, and no station records an address of
//! this router. Queries of others are not answered.
//!
//! ```
//! use detect::{Detection, Internet, Options};
//!
//! let mut detection = Detection::new(Options::default());
//! detection.link(true, 0);
//! assert_eq!(detection.passed(0).len(), 4);
//! assert_eq!(detection.suggestion().internet, Internet::None);
//! ```

mod describe;
mod details;
mod detection;
mod dhcp4;
mod dhcp6;
mod evidence;
mod frame;
mod internet;
mod network;
mod numbers;
mod observations;
mod open_questions;
mod plan;
mod pppoe;
mod router;
mod station_queries;
mod suggestion;
mod untrusted;
mod vlan_observations;

#[cfg(test)]
mod tests;

pub use details::Details;
pub use detection::Detection;
pub use evidence::{Evidence, Fields, Kind};
pub use frame::{Frame, Mac};
pub use internet::Internet;
pub use network::Network;
pub use numbers::{NUMBERS, Number, provider};
pub use observations::Options;
pub use plan::{MOST_SENT, TIMES};
pub use suggestion::{Lan, Suggestion};
pub use untrusted::clean;
