//! Messages by Bluetooth Low Energy between people without a network, compatible with the messenger
//! qaul in both of its incompatible formats: [`v1`] of Linux and iOS, [`v2`] of Android.
//! `docs/reference/nearby-protocol.md` describes both, byte by byte.
//!
//! The formats and the [`machine`], with the peers nearby, have no input and output, no clock and
//! no Bluetooth: events and times go in, actions come out. All input is untrusted and bounded: a
//! message's size, the messages of one peer at once, and the lifetime of an unfinished message. The
//! program around them speaks to BlueZ and to the user of `weir-nearby`.

#[cfg(feature = "bluetooth")]
mod bluetooth;
#[cfg(feature = "chat")]
pub mod chat;
#[cfg(feature = "bluetooth")]
mod command;
#[cfg(feature = "bluetooth")]
mod daemon;
pub mod envelope;
mod id;
pub mod machine;
pub mod module;
pub mod power;
#[cfg(feature = "bluetooth")]
mod queue;
#[cfg(feature = "bluetooth")]
mod sanitize;
mod shared_bytes;
pub mod v1;
pub mod v2;
pub mod village;

#[cfg(feature = "bluetooth")]
pub use command::main;
pub use id::{Id, IdError};
pub use shared_bytes::SharedBytes;
