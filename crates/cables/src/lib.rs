//! What a router's port is for: what is heard at it, and what follows from that.
//!
//! Pure: what was noted and the time go in; a role, a reason and what would change it come out. It
//! opens no socket and reads no clock.

pub mod hello;
mod noted;
mod sort;

pub use noted::{Heard, Noted};
pub use sort::Sort;
