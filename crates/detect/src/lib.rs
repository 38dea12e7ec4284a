//! What is at a router's uplink: all ways to the Internet are asked for at once, and what is heard
//! makes a suggestion that says why.
//!
//! Pure: frames heard and time passed go in; frames to send and evidence come out. It opens no
//! socket and reads no clock.
//!
//! What is sent is for everybody or for all routers, and finds out only: DHCP's DISCOVER and no
//! REQUEST, DHCPv6's SOLICIT and no REQUEST, PPPoE's PADI and no PADR, router solicitations, and
//! ARP's question from nobody (RFC 5227). So nothing is leased, no session begins, and nobody notes
//! an address of this router. Nothing that others ask is answered.
//!
//! ```
//! use detect::{Detection, Internet, Options};
//!
//! let mut detection = Detection::new(Options::default());
//! detection.link(true, 0);
//! assert_eq!(detection.passed(0).len(), 4);
//! assert_eq!(detection.suggestion().internet, Internet::None);
//! ```

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
mod octets;
mod place;
mod plan;
mod pppoe;
mod router;
mod suggestion;
mod told;
mod untold;
mod watch;

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
pub use octets::clean;
pub use plan::{MOST_SENT, TIMES};
pub use suggestion::{Lan, Suggestion};
