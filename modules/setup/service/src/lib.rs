//! Setup: the router's configuration.

mod apart;
mod apply;
mod authority;
mod clients;
mod command;
pub mod config;
mod debian;
mod desk;
pub mod detect;
mod document;
mod facts;
mod file;
mod guard;
mod interfaces;
mod keys;
mod place;
mod ports;
mod radios;
mod reach;
mod ruleset;
mod running;
mod serve;
mod states;
mod uci;

use runtime::registry::{Command, Entry, Group};

/// The router's configuration.
pub const ENTRY: Entry = Entry {
    sections: &config::SECTIONS,
    commands: || {
        vec![
            Command::new(Group::SetUp, "setup", command::run),
            Command::printing(Group::Change, "uci", uci::run),
        ]
    },
    begin: Some(running::begin),
    ..Entry::named("setup")
};
