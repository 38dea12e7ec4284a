//! `weir-nearby man`: the manual.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use super::Failure;
/// Writes the manual pages into a folder
#[derive(Args, Debug)]
#[command(after_long_help = "Example:
  weir-nearby man /usr/local/share/man")]
pub(super) struct Arguments {
    /// Folder; the pages are written into man1 below it
    folder: PathBuf,
}

pub(super) fn run(arguments: &Arguments, output: &mut impl Write) -> Result<(), Failure> {
    let folder = arguments.folder.join("man1");
    fs::create_dir_all(&folder).map_err(|error| wrong(&folder, &error))?;
    let mut command = super::tree();
    command.build();
    let subcommands = command
        .get_subcommands()
        .filter(|command| !command.is_hide_set());
    let mut commands: Vec<clap::Command> = subcommands.cloned().collect();
    commands.push(command);
    for command in commands {
        let page = clap_mangen::Man::new(command)
            .source(concat!("weir-nearby ", env!("CARGO_PKG_VERSION")))
            .manual("");
        let mut text = Vec::new();
        let file = folder.join(page.get_filename());
        page.render(&mut text)?;
        // Exit codes and examples; the name is the generator's.
        let text = String::from_utf8_lossy(&text).replace("\n.SH EXTRA\n", "\n.SH NOTES\n");
        fs::write(&file, text).map_err(|error| wrong(&file, &error))?;
        writeln!(output, "{}", file.display())?;
    }
    Ok(())
}

fn wrong(path: &Path, error: &std::io::Error) -> Failure {
    Failure(
        format!(
            "the manual cannot be written to {}: {error}",
            path.display()
        ),
        "name a folder that you may write to".to_owned(),
    )
}
