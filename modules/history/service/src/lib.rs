//! What was, and quotas. The monitor keeps it: it is of what that counts.

mod check;
mod command;
pub mod config;
pub mod firewall;
pub mod past;

use runtime::registry::{Command, Entry, Group};

/// What was.
pub const ENTRY: Entry = Entry {
    sections: &config::SECTIONS,
    commands: || vec![Command::printing(Group::See, "history", command::run)],
    check: check::check,
    doubt: past::doubt,
    ..Entry::named("history")
};
