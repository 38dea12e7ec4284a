//! Traffic of past hours, days and months, fed by the monitor; and quotas.

mod check;
mod command;
pub mod config;
pub mod devices;
pub mod firewall;
pub mod past;

use runtime::registry::{Command, Entry, Group};

/// Entry of the history in the list of modules.
pub const ENTRY: Entry = Entry {
    sections: &config::SECTIONS,
    tables: &[history_core::nft::TABLE],
    commands: || vec![Command::printing(Group::See, "history", command::run)],
    check: check::check,
    doubt: past::doubt,
    ..Entry::named("history")
};
