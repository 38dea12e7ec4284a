//! `weir bench send` and `weir bench receive`: a real router between two real machines.
//!
//! A sender speaks to a receiver over TCP ([`message`], [`control`]), proves that it knows the code
//! that the receiver shows ([`code`]), and then makes trials: UDP packets with a small header
//! ([`payload`]), paced ([`pace`]), counted where they arrive ([`count`]). What a trial says is
//! decided in [`judge`], which rate is tried next in [`search`]. These are pure; sockets are in
//! [`control`], [`transmit`], [`collect`], and what the kernel tells of devices in [`device`].
//!
//! The code keeps strangers out: who does not know it has nothing counted and nothing answered. It
//! hides nothing from whoever carries the packets, and the router between is such a one.

pub mod code;
pub mod collect;
pub mod control;
pub mod count;
pub mod device;
pub mod frame;
pub mod judge;
pub mod latency;
pub mod message;
pub mod pace;
pub mod payload;
pub mod reach;
pub mod receiver;
pub mod report;
pub mod search;
pub mod sender;
pub mod session;
pub mod sockets;
pub mod transmit;
pub mod trouble;

pub use trouble::Trouble;

/// Of the greeting, and of the report: another number where something means something else.
pub const SCHEMA: &str = "weir-bench-wires/1";
/// Where a receiver listens, TCP, and where it counts, UDP.
pub const PORT: u16 = 9467;
/// Flows, at most: each is a socket of the sender.
pub const MOST_FLOWS: u32 = 4096;
/// Packets a second, at most.
pub const MOST_RATE: f64 = 20e6;
/// Seconds of a trial, at most.
pub const MOST_SECONDS: f64 = 60.0;
