//! Setup: the router's configuration.

mod apply;
mod command;
pub mod config;
mod debian;
mod guard;
mod place;
mod uci;

use crate::registry::{Command, Entry};

/// The router's configuration.
pub const ENTRY: Entry = Entry {
    sections: &config::SECTIONS,
    commands: || {
        vec![
            Command::new("setup", command::run),
            Command::printing("uci", uci::run),
        ]
    },
    ..Entry::named("setup")
};
