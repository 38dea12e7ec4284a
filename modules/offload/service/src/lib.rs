//! The fast path: the part of the daemon itself that other modules use.

mod commands;

use runtime::daemon;
use runtime::registry::{Command, Group, ModuleEntry};

/// The fast path.
pub const ENTRY: ModuleEntry = ModuleEntry {
    choice: Some("The fast path"),
    sections: &daemon::config::SECTIONS,
    commands: || {
        vec![
            Command::printing(Group::Diagnose, "flows", commands::flows::run),
            Command::printing(Group::Diagnose, "explain", commands::explain::run),
            Command::printing(Group::Diagnose, "ports", commands::ports::run),
            Command::printing(Group::Diagnose, "hops", commands::hops::run),
        ]
    },
    ..ModuleEntry::named("offload")
};
