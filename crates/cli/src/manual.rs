//! Manual pages of a command and of those below it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Writes them into a folder, and gives the files: the command's own is the last.
///
/// # Errors
/// A file cannot be written.
pub fn write(mut command: clap::Command, folder: &Path) -> io::Result<Vec<PathBuf>> {
    fs::create_dir_all(folder)?;
    let version = command.get_version().unwrap_or_default();
    let source = format!("{} {version}", command.get_name());
    command.build();
    let below = command.get_subcommands().filter(|it| !it.is_hide_set());
    let mut commands: Vec<clap::Command> = below.cloned().collect();
    commands.push(command);
    let files = commands.into_iter().map(|command| {
        let page = clap_mangen::Man::new(command).source(&source).manual("");
        let mut text = Vec::new();
        page.render(&mut text)?;
        // Exit codes and examples; the name is the generator's.
        let text = String::from_utf8_lossy(&text).replace("\n.SH EXTRA\n", "\n.SH NOTES\n");
        let file = folder.join(page.get_filename());
        fs::write(&file, text)?;
        Ok(file)
    });
    files.collect()
}
