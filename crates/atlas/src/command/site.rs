//! `weir-atlas site`: everything as files.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use clap::Args;

use super::{Data, Failure};
use crate::site;
use crate::text::Language;

/// Write everything as files, for any web space
///
/// Pages, pictures, CSV and JSON of each chart, of all time and of each year, and a page for each
/// community. Links are relative: the folder may stand anywhere.
#[derive(Args, Debug)]
#[command(after_long_help = "Example:
  weir-atlas site public_html/atlas --lang de")]
pub(super) struct Arguments {
    /// Folder; it is made where it is not there
    out: PathBuf,
    #[command(flatten)]
    data: Data,
    /// Language of the pages
    #[arg(long, value_name = "LANGUAGE", default_value = "en", value_parser = ["en", "de"])]
    lang: String,
}

pub(super) fn run(arguments: &Arguments, output: &mut impl Write) -> Result<(), Failure> {
    let language = match arguments.lang.as_str() {
        "de" => Language::German,
        _ => Language::English,
    };
    let watched = std::io::stderr().is_terminal();
    let written = site::write(&arguments.data.data, &arguments.out, language, |name| {
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
    Ok(())
}
