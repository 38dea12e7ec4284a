//! Choices become options, on routers of each release and on Debian.

mod debian;
mod plan;
mod ports;
mod words;
