//! Several uplinks as one.

pub mod config;
