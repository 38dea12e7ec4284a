//! What was, and quotas.

pub mod config;
