//! The list of weir's modules. A module has its own folder in `modules/`, and one line here.

#[cfg(feature = "bench")]
mod bench;

use runtime::registry::Registry;

/// Returns weir's registry with all modules.
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
