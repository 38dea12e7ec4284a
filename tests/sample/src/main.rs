//! weir with one more module: proof that a module needs only its own folder and a line in the list.
//! `tests/netns/sample_module.rs` runs it and counts the lines; its part of the page is in
//! `web/test/sample/`.

mod sample;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut registry = weir::registry();
    registry.modules.push(sample::ENTRY);
    runtime::run(&registry)
}
