//! `weir config`: the configuration as it takes effect.

use std::io;
use std::path::PathBuf;

use api::ConfigEntry;
use clap::Args;

use crate::Error;
use crate::command::{Connection, Format, client};
use crate::config::{Source, help};
use crate::output::{Align, Cell, Output, Table, Tone, harmless};
use crate::registry::{Context, Doubt, Registry};

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

pub fn run(args: &ConfigArgs, context: &mut Context<'_, '_>) -> Result<(), Error> {
    if args.keys {
        return Ok(print_keys(context.registry, context.output)?);
    }
    let config = if args.running {
        client(&args.connection)?.get("/v1/config")?
    } else {
        let source = Source {
            file: args.config.clone(),
            ..context.registry.source()
        };
        let effective = source.load()?;
        let modules = context.registry.modules.iter();
        for Doubt { what, mend } in modules.filter_map(|entry| (entry.doubt)(&effective)) {
            eprintln!("weir: warning: {what}\n  mend: {mend}");
        }
        effective.to_api()
    };
    if args.format.json {
        context.output.json(&config)?
    } else {
        print(&config.entries, context.output)?
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

fn print_keys(registry: &Registry, output: &mut Output<'_>) -> io::Result<()> {
    let mut table = Table::new([
        ("KEY", Align::Left),
        ("DEFAULT", Align::Left),
        ("WRITE", Align::Left),
        ("ABOUT", Align::Left),
    ]);
    for key in help(&registry.sections()) {
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
