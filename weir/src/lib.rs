//! The list of what weir is made of. A module has its own folder in `modules/`, and one line here.

#[cfg(feature = "bench")]
mod bench;

use runtime::registry::Registry;

/// Weir, with all its modules.
pub fn registry() -> Registry {
    Registry {
        own: runtime::commands::OWN,
        modules: vec![
            #[cfg(feature = "bench")]
            bench::ENTRY,
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
