//! Commands, one file per command: its arguments, and its work.

pub mod explain;
pub mod flows;
pub mod hops;
pub mod ports;
