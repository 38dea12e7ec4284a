//! What tests of several crates need: a folder of their own, a command with its output, a terminal.

mod command;
mod directory;
pub mod tmux;

pub use command::{Ran, apart, command, golden, ran};
pub use directory::Directory;
