//! `weir config`: the configuration as it takes effect.

use std::io;
use std::path::PathBuf;

use api::ConfigEntry;
use clap::Args;

use super::client;
use crate::Error;
use crate::cli::{Connection, Format};
use crate::config::{Source, help};
use crate::daemon::page;
use crate::modules;
use crate::output::{Align, Cell, Output, Table, Tone, harmless};

/// Print the configuration as it takes effect
///
/// Prints every key with its value and where it was set, as a configuration file again. Reads the file as `weir run` would, so
/// it also tells whether the file is good before a reload.
#[derive(Args, Debug)]
#[command(after_long_help = "Examples:
  weir config                      what /etc/weir/weir.toml comes to
  weir config --config new.toml    whether a new file is good
  weir config --running            what the daemon uses now
  weir config --keys               what can be written, and what it does")]
pub struct ConfigArgs {
    /// Configuration file; has to exist [default: /etc/weir/weir.toml, where it exists]
    #[arg(long, value_name = "FILE", conflicts_with_all = ["running", "keys"])]
    config: Option<PathBuf>,
    /// Ask the running daemon
    #[arg(long, conflicts_with = "keys")]
    running: bool,
    /// List all keys, with what can be written
    #[arg(long, conflicts_with = "json")]
    keys: bool,
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    format: Format,
}

pub(super) fn run(args: &ConfigArgs, output: &mut Output<'_>) -> Result<(), Error> {
    if args.keys {
        return Ok(print_keys(output)?);
    }
    let config = if args.running {
        client(&args.connection)?.get("/v1/config")?
    } else {
        let source = Source {
            file: args.config.clone(),
            ..Source::of(modules::sections())
        };
        let effective = source.load()?;
        if let Some(error) = page::refused(effective.of()) {
            eprintln!(
                "weir: warning: no page will be served: {error}\n  mend: {}",
                error.mend()
            );
        }
        effective.to_api()
    };
    if args.format.json {
        output.json(&config)?
    } else {
        print(&config.entries, output)?
    }
    Ok(())
}

/// As a file that reads the same, the origins in comments.
fn print(entries: &[ConfigEntry], output: &mut Output<'_>) -> io::Result<()> {
    let line = |entry: &ConfigEntry| {
        let (section, key) = entry.key.rsplit_once('.').unwrap_or(("", &entry.key));
        // JSON's words, numbers and strings are TOML's too.
        (
            section.to_owned(),
            harmless(&format!("{key} = {}", entry.value)),
        )
    };
    let width = entries
        .iter()
        .map(|entry| line(entry).1.chars().count())
        .max()
        .unwrap_or_default();
    let mut current = String::new();
    for (index, entry) in entries.iter().enumerate() {
        let (section, text) = line(entry);
        if section != current {
            if index > 0 {
                output.line("")?;
            }
            output.line(&output.toned(Tone::Bold, &format!("[{}]", harmless(&section))))?;
            current = section;
        }
        let origin = output.toned(Tone::Dim, &format!("# {}", harmless(&entry.origin)));
        output.line(&format!("{text:<width$}  {origin}"))?;
    }
    Ok(())
}

fn print_keys(output: &mut Output<'_>) -> io::Result<()> {
    let mut table = Table::new([
        ("KEY", Align::Left),
        ("DEFAULT", Align::Left),
        ("WRITE", Align::Left),
        ("ABOUT", Align::Left),
    ]);
    for key in help(&modules::sections()) {
        let name = format!("{}.{}", key.section, key.name);
        table.row(
            [
                Cell::from(name),
                key.default.to_string().into(),
                key.allowed.into(),
                key.about.into(),
            ],
            output,
        )?;
    }
    table.finish(output)
}
