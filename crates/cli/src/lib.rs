//! Parts that the commands of all binaries have: help, a manual, completions of a shell, text that a
//! terminal may show, and the terminal taken over.

pub mod completions;
pub mod help;
pub mod manual;
#[cfg(feature = "screen")]
pub mod screen;
pub mod text;
