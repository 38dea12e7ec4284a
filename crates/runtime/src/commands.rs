//! Commands that belong to no module, one file each: the arguments and the action.

mod check;
mod completions;
mod config;
mod man;
mod reload;
mod run;
mod status;

use crate::registry::{Command, Group, ModuleEntry};

/// Entry of the commands and sections that belong to no module.
pub const OWN: ModuleEntry = ModuleEntry {
    sections: &crate::config::SECTIONS,
    commands: all,
    ..ModuleEntry::named("weir")
};

fn all() -> Vec<Command> {
    vec![
        Command::new(Group::Run, "run", run::run),
        Command::new(Group::See, "status", status::run),
        Command::new(Group::Diagnose, "check", check::run),
        Command::new(Group::SetUp, "config", config::run),
        Command::printing(Group::Run, "reload", reload::run),
        Command::new(Group::SetUp, "completions", completions::run),
        Command::new(Group::SetUp, "man", man::run),
    ]
}
