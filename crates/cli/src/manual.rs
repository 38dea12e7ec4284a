//! Manual pages of a command and of all its subcommands.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::Command;
use clap_mangen::Man;

use crate::help::Group;

/// Writes the pages into a folder, the command's own page with its subcommands in these groups.
/// Returns the files; the command's own page is the last.
///
/// # Errors
/// A file cannot be written.
pub fn write(mut command: Command, groups: &[Group], folder: &Path) -> io::Result<Vec<PathBuf>> {
    fs::create_dir_all(folder)?;
    let version = command.get_version().unwrap_or_default();
    let source = format!("{} {version}", command.get_name());
    command.build();
    let mut files = Vec::new();
    pages(&command, groups, &source, folder, &mut files)?;
    Ok(files)
}

fn pages(
    command: &Command,
    groups: &[Group],
    source: &str,
    folder: &Path,
    files: &mut Vec<PathBuf>,
) -> io::Result<()> {
    let mut command = command.clone();
    // `help` needs no page of its own.
    if command.find_subcommand("help").is_some() {
        command = command.mut_subcommand("help", |help| help.hide(true));
    }
    for below in command.get_subcommands().filter(|it| !it.is_hide_set()) {
        pages(below, &[], source, folder, files)?;
    }
    let list = list(&command, groups)?;
    let page = Man::new(command).source(source).manual("");
    let mut text = Vec::new();
    page.render(&mut text)?;
    // Exit codes and examples; the generator chose the name EXTRA.
    let mut text = String::from_utf8_lossy(&text).replace("\n.SH EXTRA\n", "\n.SH NOTES\n");
    if !groups.is_empty()
        && let Some(start) = text.find("\n.SH SUBCOMMANDS\n")
    {
        let rest = start + 1;
        let end = text[rest..]
            .find("\n.SH ")
            .map_or(text.len(), |at| rest + at + 1);
        text.replace_range(rest..end, &list);
    }
    let file = folder.join(page.get_filename());
    fs::write(&file, text)?;
    files.push(file);
    Ok(())
}

/// Returns the section of the commands, in their groups.
fn list(command: &Command, groups: &[Group]) -> io::Result<String> {
    let mut text = ".SH COMMANDS\n".to_owned();
    for group in groups {
        let found = (group.commands.iter()).filter_map(|name| command.find_subcommand(name));
        let alone = Command::new("commands")
            .display_name(command.get_name().to_owned())
            .disable_help_subcommand(true)
            .subcommand_help_heading(group.heading)
            .subcommands(found.cloned());
        let mut section = Vec::new();
        Man::new(alone).render_subcommands_section(&mut section)?;
        let section = String::from_utf8_lossy(&section);
        // The text before the heading defines the apostrophe, once per page.
        let section = section.find(".SH ").map_or("", |at| &section[at + 4..]);
        text.push_str(".SS ");
        text.push_str(section);
    }
    Ok(text)
}
