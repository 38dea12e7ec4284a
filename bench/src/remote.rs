//! `weir bench send` and `weir bench receive`: a real router between two real machines.
//!
//! A sender talks to a receiver over TCP ([`message`], [`control`]) and proves that it knows the
//! code that the receiver shows ([`code`]). Then the sender makes trials: paced UDP packets
//! ([`pace`]) with a small header ([`payload`]), counted on arrival ([`count`]). [`verdict`]
//! interprets a trial, and [`search`] picks the next rate; both are pure. Sockets are in
//! [`control`], [`transmit`] and [`collect`], facts of the kernel about devices in [`device`].
//!
//! The code keeps strangers out: the receiver counts and answers nothing for a sender without the
//! code. The code hides nothing from the machines that carry the packets.

pub mod code;
pub mod collect;
pub mod control;
pub mod count;
pub mod device;
pub mod frame;
pub mod latency;
pub mod message;
pub mod pace;
pub mod payload;
pub mod problem;
pub mod receiver;
pub mod report;
pub mod search;
pub mod sender;
pub mod session;
pub mod sockets;
pub mod target;
pub mod transmit;
pub mod verdict;

pub use problem::Problem;

/// Version in greeting and report; changes with the meaning of any field.
pub const SCHEMA: &str = "weir-bench-wires/1";
/// Port of the receiver: TCP for control, UDP for the counted packets.
pub const PORT: u16 = 9467;
/// Highest number of flows: each is a socket of the sender.
pub const MOST_FLOWS: u32 = 4096;
/// Highest rate, in packets a second.
pub const MOST_RATE: f64 = 20e6;
/// Longest trial, in seconds.
pub const MOST_SECONDS: f64 = 60.0;
