//! The web page.

pub mod config;
