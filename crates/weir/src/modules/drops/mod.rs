//! What is dropped early.

pub mod config;
