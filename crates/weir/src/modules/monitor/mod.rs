//! Who uses the network.

pub mod config;
