//! The fast path: what the daemon itself has in the middle, as others see it.

mod commands;

use crate::daemon;
use crate::registry::{Command, Entry};

/// The fast path.
pub const ENTRY: Entry = Entry {
    choice: Some("The fast path"),
    sections: &daemon::config::SECTIONS,
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
