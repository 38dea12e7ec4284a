//! `weir config`: the configuration as it takes effect.

use std::io;
use std::path::PathBuf;

use answers::ConfigEntry;
use clap::Args;

use crate::Error;
use crate::command::{Connection, Format, client};
use crate::config::{KeyHelp, Source, help};
use crate::output::{Align, Cell, Output, Table, Tone, WIDTH, sanitize, wrap};
use crate::registry::{ConfigWarning, Context, Registry};

/// Print the effective configuration
///
/// Prints every key with its value and origin, as a configuration file. Reads the file as `weir
/// run` would: use it to validate the file before a reload.
#[derive(Args, Debug)]
#[command(after_long_help = "Examples:
  weir config                      print the effective configuration
  weir config --config new.toml    validate a new file
  weir config --running            print the values that the daemon uses
  weir config --keys               list keys, allowed values and meanings
  weir config --example            print the same as a file to start from")]
pub struct ConfigArgs {
    /// Configuration file; must exist [default: /etc/weir/weir.toml, if it exists]
    #[arg(long, value_name = "FILE", conflicts_with_all = ["running", "keys", "example"])]
    config: Option<PathBuf>,
    /// Print the configuration of the running daemon
    #[arg(long, conflicts_with_all = ["keys", "example"])]
    running: bool,
    /// List all keys and their allowed values
    #[arg(long, conflicts_with = "json")]
    keys: bool,
    /// Print a configuration file with all keys and their meanings, each commented out
    #[arg(long, conflicts_with_all = ["json", "keys"])]
    example: bool,
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    format: Format,
}

pub fn run(args: &ConfigArgs, context: &mut Context<'_, '_>) -> Result<(), Error> {
    if args.keys {
        return Ok(print_keys(context.registry, context.output)?);
    }
    if args.example {
        return Ok(print_example(
            &help(&context.registry.sections()),
            context.output,
        )?);
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
        for ConfigWarning { what, hint } in modules.filter_map(|entry| (entry.doubt)(&effective)) {
            eprintln!("weir: warning: {what}\n  Hint: {hint}");
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
            sanitize(&format!("{key} = {}", entry.value)),
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
            output.line(&output.toned(Tone::Bold, &format!("[{}]", sanitize(&section))))?;
            current = section;
        }
        let origin = output.toned(Tone::Dim, &format!("# {}", sanitize(&entry.origin)));
        output.line(&format!("{text:<width$}  {origin}"))?;
    }
    Ok(())
}

/// Returns a file with everything commented out: weir's behaviour without a file.
fn print_example(keys: &[KeyHelp], output: &mut Output<'_>) -> io::Result<()> {
    for line in wrap(EXAMPLE, WIDTH - 2) {
        output.line(&format!("# {line}"))?;
    }
    let mut section = "";
    for key in keys {
        if key.section != section {
            section = &key.section;
            // Tables with names of their own are not there by themselves.
            let hash = if section.ends_with(NAMED) { "#" } else { "" };
            output.line(&format!("\n{hash}[{section}]"))?;
        } else {
            output.line("")?;
        }
        for line in wrap(&format!("{} Write {}.", key.about, key.allowed), WIDTH - 2) {
            output.line(&format!("# {line}"))?;
        }
        output.line(&format!("#{} = {}", key.name, key.default))?;
    }
    Ok(())
}

/// Ends the names of sections that have many tables.
const NAMED: &str = ".NAME";

/// Begins an example.
const EXAMPLE: &str = "/etc/weir/weir.toml: all keys are optional, and each line shows the \
    default. Without this file weir finds the devices that forward, and uses the defaults. `weir \
    config` prints the effective values and their origins. After a change, run `weir reload`: the \
    file takes effect as a whole or, if it has an error, not at all.";

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
