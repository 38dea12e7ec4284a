//! The `weir-nearby` command; all of it is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    nearby::main()
}
