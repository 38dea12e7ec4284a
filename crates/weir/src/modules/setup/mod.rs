//! Setup: the router's configuration.

mod uci;

use crate::registry::{Command, Entry};

/// The router's configuration.
pub const ENTRY: Entry = Entry {
    commands: || vec![Command::printing("uci", uci::run)],
    ..Entry::named("setup")
};
