//! Setup: the router's configuration.

mod apply;
mod blocking;
mod ca;
mod clients;
mod command;
pub mod config;
mod config_store;
mod debian;
pub mod detect;
mod document;
mod facts;
mod file;
mod interfaces;
mod keys;
mod planner;
mod ports;
mod radios;
mod reachability;
mod ruleset;
mod serve;
mod setup_module;
mod states;
mod uci;
mod watchdog;

use runtime::registry::{Command, Group, ModuleEntry};

/// The router's configuration.
pub const ENTRY: ModuleEntry = ModuleEntry {
    sections: &config::SECTIONS,
    commands: || {
        vec![
            Command::new(Group::SetUp, "setup", command::run),
            Command::printing(Group::Change, "uci", uci::run),
        ]
    },
    begin: Some(setup_module::begin),
    ..ModuleEntry::named("setup")
};
