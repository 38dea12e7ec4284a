//! Messages by Bluetooth Low Energy between people without a network, as the messenger qaul sends
//! them, in both of its formats, which do not understand each other: [`v1`] of Linux and iOS, [`v2`]
//! of Android. What they are, octet by octet: `docs/nearby-protocol.md`.
//!
//! The formats and the [`room`], with all who are near, have no input and output, no clock and no
//! Bluetooth: what was heard and what time it is goes in, what is to be written comes out. All of what
//! is heard is a stranger's, so all of it is bounded: a message's size, the messages that one sends at
//! once, and how long an unfinished one is kept. The program around it speaks to BlueZ, and to whoever
//! runs `weir-nearby`.

#[cfg(feature = "bluetooth")]
mod bluetooth;
#[cfg(feature = "chat")]
pub mod chat;
#[cfg(feature = "bluetooth")]
mod command;
#[cfg(feature = "bluetooth")]
mod daemon;
pub mod envelope;
#[cfg(feature = "bluetooth")]
mod harmless;
mod id;
pub mod module;
mod octets;
pub mod power;
#[cfg(feature = "bluetooth")]
mod queue;
pub mod room;
pub mod v1;
pub mod v2;
pub mod village;

#[cfg(feature = "bluetooth")]
pub use command::main;
pub use id::{Id, IdError};
pub use octets::Octets;
