//! The `weir` command; all of it is in the modules.

use std::process::ExitCode;

fn main() -> ExitCode {
    runtime::run(&weir::registry())
}
