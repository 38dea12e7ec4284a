//! `weir-atlas site`: everything as files.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use clap::Args;

use super::data::Data;
use super::failure::Failure;
use crate::site;
use crate::text::Language;

/// Write everything as static files, for any web space
///
/// Writes pages, pictures, CSV and JSON of each chart, for all time and for each year, and a page
/// for each community. Links are relative: the folder may be placed anywhere. Files of an earlier
/// run that are no longer written are removed. A folder with other files is not touched without
/// --force.
#[derive(Args, Debug)]
#[command(after_long_help = "Example:
  weir-atlas site public_html/atlas --lang de,en")]
pub(super) struct Arguments {
    /// Folder for the files; created if missing
    out: PathBuf,
    #[command(flatten)]
    data: Data,
    /// Languages of the pages; pages of the second are in a folder of its name
    #[arg(long, value_name = "LANGUAGES", value_delimiter = ',', default_value = "en,de",
          value_parser = ["en", "de"])]
    lang: Vec<String>,
    /// Overwrite files of the same names, whatever their origin
    #[arg(long)]
    force: bool,
}

pub(super) fn run(arguments: &Arguments, output: &mut impl Write) -> Result<(), Failure> {
    let mut languages = Vec::new();
    for word in &arguments.lang {
        let language = Language::ALL.into_iter().find(|one| one.word() == word);
        languages.extend(language.filter(|one| !languages.contains(one)));
    }
    let watched = std::io::stderr().is_terminal();
    let (data, out) = (&arguments.data.data, &arguments.out);
    let written = site::write(data, out, &languages, arguments.force, |name| {
        if watched {
            eprint!("\r\x1b[K{name}");
        }
    })?;
    if watched {
        eprint!("\r\x1b[K");
    }
    let (files, kilobytes) = (written.files, written.octets / 1000);
    let name = arguments.out.display();
    writeln!(output, "{files} files, {kilobytes} kB: {name}/index.html")?;
    if written.removed > 0 {
        let removed = written.removed;
        writeln!(output, "removed, because no longer written: {removed}")?;
    }
    Ok(())
}
