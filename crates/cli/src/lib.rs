//! Common parts of all binaries' commands: help, manual, shell completions, text that is safe for a
//! terminal, and full-screen terminal use.

pub mod completions;
pub mod help;
pub mod manual;
#[cfg(feature = "screen")]
pub mod screen;
pub mod text;
