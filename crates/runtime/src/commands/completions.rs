//! `weir completions`: for the shell.

use clap::Args;
use cli::completions::{Shell, script};

use crate::Error;
use crate::registry::Context;

/// Print shell completions
#[derive(Args, Debug)]
#[command(after_long_help = "Examples:
  weir completions bash > /etc/bash_completion.d/weir
  weir completions zsh > /usr/share/zsh/site-functions/_weir
  weir completions fish > ~/.config/fish/completions/weir.fish")]
pub struct CompletionsArgs {
    /// Shell to print completions for
    shell: Shell,
}

pub fn run(args: &CompletionsArgs, context: &mut Context<'_, '_>) -> Result<(), Error> {
    let script = script(context.registry.tree(), args.shell);
    Ok(context.output.raw().write_all(&script)?)
}
