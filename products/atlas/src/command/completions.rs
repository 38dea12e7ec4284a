//! `weir-atlas completions`: for the shell.

use std::io::Write;

use clap::Args;
use cli::completions::{Shell, script};

use super::failure::Failure;

/// Print shell completions
#[derive(Args, Debug)]
#[command(after_long_help = "Example:
  weir-atlas completions bash > /etc/bash_completion.d/weir-atlas")]
pub(super) struct Arguments {
    /// Shell to print completions for
    shell: Shell,
}

pub(super) fn run(
    arguments: &Arguments,
    command: clap::Command,
    output: &mut impl Write,
) -> Result<(), Failure> {
    Ok(output.write_all(&script(command, arguments.shell))?)
}
