//! What the commands of all binaries have: a manual, completions of a shell, and the terminal taken over.

pub mod completions;
pub mod manual;
#[cfg(feature = "screen")]
pub mod screen;
