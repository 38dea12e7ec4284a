//! What weir does, module by module.

pub mod drops;
pub mod history;
pub mod monitor;
pub mod multipath;
pub mod offload;
pub mod page;

use crate::config::{self, Section};

/// Every section of the configuration, in the order of the manual.
pub fn sections() -> Vec<Section> {
    let all: [&[Section]; 7] = [
        &offload::config::SECTIONS,
        &drops::config::SECTIONS,
        &monitor::config::SECTIONS,
        &history::config::SECTIONS,
        &multipath::config::SECTIONS,
        &page::config::SECTIONS,
        &config::SECTIONS,
    ];
    all.concat()
}

#[cfg(test)]
mod tests;
