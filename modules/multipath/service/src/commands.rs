//! Commands: one file each.

pub mod lock;
mod pair;
pub mod paths;
mod routers;
pub mod serve;
