//! Shell completions.

pub use clap_complete::Shell;

/// Returns the completion script of a command.
pub fn script(mut command: clap::Command, shell: Shell) -> Vec<u8> {
    // In memory: the generator panics if it cannot write.
    let (mut script, name) = (Vec::new(), command.get_name().to_owned());
    clap_complete::generate(shell, &mut command, name, &mut script);
    script
}
