//! Weir with one module more than it has: the proof that a module needs nothing but its own folder
//! and a line in the list. `tests/netns/sample.rs` runs it, and counts the lines.

mod sample;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut registry = weir::modules::all();
    registry.modules.push(sample::ENTRY);
    weir::run(&registry)
}
