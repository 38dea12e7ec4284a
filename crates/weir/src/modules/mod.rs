//! What weir does, module by module. Each has its own folder, and one line here.

pub mod cables;
pub mod capture;
pub mod drops;
pub mod history;
pub mod monitor;
pub mod multipath;
pub mod offload;
pub mod page;
pub mod portal;
pub mod radio;
pub mod setup;

use crate::registry::Registry;

/// Weir as it is.
pub fn all() -> Registry {
    Registry {
        own: crate::commands::OWN,
        modules: vec![
            offload::ENTRY,
            drops::ENTRY,
            monitor::ENTRY,
            history::ENTRY,
            multipath::ENTRY,
            capture::ENTRY,
            portal::ENTRY,
            setup::ENTRY,
            cables::ENTRY,
            radio::ENTRY,
            page::ENTRY,
        ],
    }
}

#[cfg(test)]
mod tests;
