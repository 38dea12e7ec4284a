//! The core of the fast path: events in, actions out.

mod common;
mod concerns;
mod connections;
mod entries;
mod expiry;
mod members;
mod model;
mod network;
mod pairs;
mod ruleset;
mod stack;
mod stations;
mod transmit;
mod upkeep;
