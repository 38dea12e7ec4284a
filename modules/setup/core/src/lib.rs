//! A router's configuration: what a change changes, said exactly, and done so that a power cut at
//! any point leaves the former files or the new ones.

pub mod choices;
mod clock;
pub mod debian;
mod difference;
mod journal;
pub mod messages;
pub mod openvpn;
pub mod plan;
mod read;
pub mod shadow;

pub use clock::Instant;
pub use difference::{Line, difference};
pub use journal::{Bounds, Change, File, Journal, Pending, State, Trouble, Wish, now};
pub use read::read;
