//! `weir-nearby man`: the manual.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use super::failure::Failure;

/// Write the manual pages into a folder
#[derive(Args, Debug)]
#[command(after_long_help = "Example:
  weir-nearby man /usr/local/share/man")]
pub(super) struct Arguments {
    /// Folder; the pages are written into man1 below it
    folder: PathBuf,
}

pub(super) fn run(
    arguments: &Arguments,
    command: clap::Command,
    output: &mut impl Write,
) -> Result<(), Failure> {
    let folder = arguments.folder.join("man1");
    let pages = cli::manual::write(command, &[], &folder).map_err(|error| {
        Failure(
            format!("cannot write the manual to {}: {error}", folder.display()),
            "name a folder that you have the right to write to".to_owned(),
        )
    })?;
    for page in pages {
        writeln!(output, "{}", page.display())?;
    }
    Ok(())
}
