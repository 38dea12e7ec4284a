//! Commands that belong to no module, one file each: arguments, and what it does.

#[cfg(feature = "bench")]
mod bench;
mod check;
mod completions;
mod config;
mod man;
mod reload;
mod run;
mod status;

use crate::registry::{Command, Entry};

/// What belongs to no module.
pub const OWN: Entry = Entry {
    sections: &crate::config::SECTIONS,
    commands: all,
    ..Entry::named("weir")
};

fn all() -> Vec<Command> {
    vec![
        Command::new("run", run::run),
        Command::new("status", status::run),
        Command::new("check", check::run),
        Command::new("config", config::run),
        Command::printing("reload", reload::run),
        #[cfg(feature = "bench")]
        Command::printing("bench", bench::run),
        Command::new("completions", completions::run),
        Command::new("man", man::run),
    ]
}
