//! `weir completions`: for the shell.

use clap::Args;
use clap_complete::Shell;

use crate::Error;
use crate::registry::Context;

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

pub fn run(args: &CompletionsArgs, context: &mut Context<'_, '_>) -> Result<(), Error> {
    // In memory first: the generator panics where it cannot write.
    let mut script = Vec::new();
    clap_complete::generate(
        args.shell,
        &mut context.registry.tree(),
        "weir",
        &mut script,
    );
    Ok(context.output.raw().write_all(&script)?)
}
