//! A router's configuration: exact differences, and changes that a power cut at any point leaves
//! either undone or complete.

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

pub use clock::BootTime;
pub use difference::{Line, difference};
pub use journal::{
    Bounds, Change, ChangeRequest, FileChange, Journal, JournalError, Pending, State, now,
};
pub use read::read;
