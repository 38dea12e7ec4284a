//! Completions of a shell.

pub use clap_complete::Shell;

/// The script that completes a command.
pub fn script(mut command: clap::Command, shell: Shell) -> Vec<u8> {
    // In memory: the generator panics where it cannot write.
    let (mut script, name) = (Vec::new(), command.get_name().to_owned());
    clap_complete::generate(shell, &mut command, name, &mut script);
    script
}
