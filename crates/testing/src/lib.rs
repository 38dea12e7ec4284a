//! Helpers for tests of several crates: a temporary folder, a command with its output, a terminal.

mod command;
mod directory;
pub mod tmux;

pub use command::{Ran, apart, command, golden, ran};
pub use directory::Directory;
