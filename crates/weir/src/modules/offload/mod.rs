//! The fast path: what the daemon itself has in the middle, as others see it.

pub(crate) mod commands;
pub mod config;

use crate::registry::{Command, Entry};

/// The fast path.
pub const ENTRY: Entry = Entry {
    choice: Some("The fast path"),
    sections: &config::SECTIONS,
    commands: || {
        vec![
            Command::printing("flows", commands::flows::run),
            Command::printing("explain", commands::explain::run),
            Command::printing("ports", commands::ports::run),
            Command::printing("hops", commands::hops::run),
        ]
    },
    ..Entry::named("offload")
};
