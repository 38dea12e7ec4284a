//! The `weir` command; the modules implement all commands.

use std::process::ExitCode;

fn main() -> ExitCode {
    runtime::run(&weir::registry())
}
