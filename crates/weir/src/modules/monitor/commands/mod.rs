//! One file per command: its arguments, and what it does.

pub mod devices;
pub mod probes;
pub mod talks;
#[cfg(feature = "top")]
pub mod top;

use crate::registry::Command;

/// All of them.
pub fn all() -> Vec<Command> {
    vec![
        Command::printing("devices", devices::run),
        Command::printing("talks", talks::run),
        #[cfg(feature = "top")]
        Command::new("top", |args, _| top::run(args)),
        Command::printing("probes", probes::run),
    ]
}
