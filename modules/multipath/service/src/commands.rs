//! One file per command: its arguments, and what it does.

pub mod lock;
mod pair;
pub mod paths;
mod routers;
pub mod serve;
