//! The fast path.

pub mod config;
