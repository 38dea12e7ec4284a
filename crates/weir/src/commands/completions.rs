//! `weir completions`: for the shell.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::Error;
use crate::cli::Cli;
use crate::output::Output;

/// Print the completions of a shell
#[derive(Args, Debug)]
#[command(after_long_help = "Examples:
  weir completions bash > /etc/bash_completion.d/weir
  weir completions zsh > /usr/share/zsh/site-functions/_weir
  weir completions fish > ~/.config/fish/completions/weir.fish")]
pub struct CompletionsArgs {
    /// Which shell
    shell: Shell,
}

pub(super) fn run(args: &CompletionsArgs, output: &mut Output<'_>) -> Result<(), Error> {
    // In memory first: the generator panics where it cannot write.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "weir", &mut script);
    Ok(output.raw().write_all(&script)?)
}
