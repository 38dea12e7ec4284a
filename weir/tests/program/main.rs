//! Tests of the program from outside.

mod check;
mod cli;
mod hardening;
mod metrics;
mod passwd;
mod paths;
mod router;
mod support;
#[cfg(feature = "top")]
mod top;
mod uci;
mod uci_peer;
mod units;
