//! Traffic of past hours, days and months, fed by the monitor; and quotas.

mod check;
mod command;
pub mod config;
pub mod devices;
pub mod firewall;
pub mod recorder;

use runtime::registry::{Command, Group, ModuleEntry};

/// Entry of the history in the list of modules.
pub const ENTRY: ModuleEntry = ModuleEntry {
    sections: &config::SECTIONS,
    tables: &[history_core::nft::TABLE],
    commands: || vec![Command::printing(Group::See, "history", command::run)],
    check: check::check,
    doubt: recorder::doubt,
    ..ModuleEntry::named("history")
};
