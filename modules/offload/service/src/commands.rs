//! One file per command: its arguments, and what it does.

pub mod explain;
pub mod flows;
pub mod hops;
pub mod ports;
