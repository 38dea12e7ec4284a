//! `weir setup`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use setup_core::JournalError;
use setup_core::messages::{SetupDifference, SetupLine, SetupReachResult};

use super::apply::{self, ChangeOptions, print, seconds};
use super::config::Setup;
use super::config_store::{ConfigStore, trouble};
use super::debian::{self, DebianArgs};
use super::detect::command::{DetectArgs, detect};
use super::document::{self, ExportArgs, ImportArgs};
use super::planner::Planner;
use super::serve;
use super::states::states;
use super::watchdog;
use runtime::Error;
use runtime::command::Format;
use runtime::config::Source;
use runtime::output::units::duration;
use runtime::output::{Align, Cell, Output, Table, Tone, sanitize};
use runtime::registry::Context;

/// Change the router's configuration, with automatic rollback
///
/// Applies all changes of `weir uci` or `uci` at once, and notifies services. Unless the change is
/// confirmed in time, the former files return: after the time limit, or at the next start of the
/// machine.
#[derive(Args, Debug)]
#[command(after_long_help = "Examples:
  weir uci set network.lan.ipaddr=192.168.7.1
  weir setup diff                  show pending changes
  weir setup apply                 apply them; confirm within two minutes
  weir setup confirm
  weir setup revert 4              restore the state before change 4

Documents: `weir setup export` writes a document, `weir setup import FILE` applies it; parts that \
the document lacks are not touched. {mac} in `name` of [router] is the end of the router's \
hardware address. In `address` of [lan], 10.23.{mac}/16 gives each router its own address: one \
document for many nodes. Two addresses may collide.

Reach: While a change awaits confirmation, `weir setup show` and the page show how far the router \
gets: no default route, a gateway that does not answer, no name resolution, or the whole way. \
Reach has no effect on the change.

OpenVPN: The page adds clients, and shows each client's file once; `import` adds none. The keys \
are in /etc/openvpn/weir. A client that was removed from the list stays locked out, even after a \
revert.")]
pub struct SetupArgs {
    #[command(subcommand)]
    what: What,
    /// Configuration file of weir; must exist [default: /etc/weir/weir.toml, if it exists]
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Show the change that awaits confirmation, and earlier changes
    Show(Format),
    /// Show pending changes, line by line
    Diff(Format),
    /// Detect the type of the uplink, and suggest settings with reasons
    Detect(DetectArgs),
    /// Write pending changes to the files, and notify services
    Apply(ApplyArgs),
    /// Keep the applied change
    Confirm,
    /// Revert the pending change, or restore the state before a change
    Revert(RevertArgs),
    /// Export the wizard's settings as a document, for another router
    Export(ExportArgs),
    /// Apply a document to this router
    Import(ImportArgs),
    /// Change the configuration for the web page, which lacks privileges
    Serve,
    /// Revert an unconfirmed change at boot, before the network starts
    Recover,
    /// Apply the configuration to Debian's services
    Debian(DebianArgs),
    /// Wait for the confirmation of a change
    #[command(hide = true)]
    Guard {
        /// Number of the change
        number: u64,
    },
}

#[derive(Args, Debug)]
struct ApplyArgs {
    /// Seconds in which the change must be confirmed
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = seconds())]
    within: u64,
    /// Purpose of the change, shown in the list of changes
    #[arg(long, value_name = "TEXT", default_value = "")]
    why: String,
}

#[derive(Args, Debug)]
struct RevertArgs {
    /// Number of a confirmed change: restores the configuration from before it
    number: Option<u64>,
    /// Seconds in which the revert must be confirmed
    #[arg(long, value_name = "SECONDS", default_value_t = 120, requires = "number", value_parser = seconds())]
    within: u64,
}

pub fn run(args: &SetupArgs, context: &mut Context<'_, '_>) -> Result<(), Error> {
    let source = Source {
        file: args.config.clone(),
        ..context.registry.source()
    };
    let effective = source.load()?;
    let setup = effective.of::<Setup>();
    let place = ConfigStore::new(setup);
    let output = &mut *context.output;
    let how = |why, within| ChangeOptions {
        why,
        who: apply::who(),
        within,
        config: args.config.as_deref(),
    };
    match &args.what {
        What::Show(format) => show(&place, *format, output),
        What::Diff(format) => diff(&place, *format, output),
        What::Detect(args) => detect(args, effective.of::<Setup>(), output),
        What::Apply(args) => {
            let how = how(&args.why, args.within);
            apply::apply(&place, &place.staged_changes()?, &how, output)
        }
        What::Confirm => apply::confirm(&place, output),
        What::Revert(RevertArgs { number: None, .. }) => apply::take_back(&place, output),
        What::Revert(RevertArgs {
            number: Some(number),
            within,
        }) => {
            let why = format!("as before change {number}");
            apply::apply(&place, &place.former(*number)?, &how(&why, *within), output)
        }
        What::Export(args) => {
            document::export(&Planner::new(effective.of::<Setup>()), args, output)
        }
        What::Import(args) => {
            let how = how(&args.why, args.within);
            document::import(&Planner::new(effective.of::<Setup>()), args, &how, output)
        }
        What::Serve => serve::run(effective.of::<Setup>(), args.config.as_deref()),
        What::Recover => apply::recover(&place, output),
        What::Debian(args) => debian::run(args, &setup.root, output),
        What::Guard { number } => watchdog::run(&place, *number),
    }
}

fn diff(place: &ConfigStore, format: Format, output: &mut Output<'_>) -> Result<(), Error> {
    let waiting = place.staged_changes()?;
    if format.json {
        let lines = waiting.lines.into_iter().map(|line| SetupLine {
            added: line.added,
            address: line.address,
            value: line.value,
            list: line.list,
        });
        let difference = SetupDifference {
            lines: lines.collect(),
        };
        return Ok(output.json(&difference)?);
    }
    if waiting.lines.is_empty() {
        return Ok(output.line("no changes to apply")?);
    }
    Ok(print(&waiting.lines, output)?)
}

fn show(place: &ConfigStore, format: Format, output: &mut Output<'_>) -> Result<(), Error> {
    let shown = states(place)?;
    if format.json {
        return Ok(output.json(&shown)?);
    }
    if let Some(change) = &shown.pending {
        let left = change.left.unwrap_or(0);
        let text = format!(
            "change {} of {} awaits confirmation for another {}: {}",
            change.number,
            change.who,
            duration(left),
            change.why
        );
        output.line(&sanitize(&text))?;
        for line in &change.lines {
            output.line(&sanitize(&format!("  {line}")))?;
        }
        let pending = place.journal.pending().map_err(trouble)?;
        if let Some(pending) = pending.filter(|pending| !pending.is_finished()) {
            let text = trouble(JournalError::Unfinished(Box::new(pending.change))).to_string();
            output.line(&output.toned(Tone::Warn, &sanitize(&text)))?;
        }
    }
    if let Some(reach) = &shown.reach {
        let tone = match reach.way {
            SetupReachResult::Reached => Tone::Good,
            _ => Tone::Warn,
        };
        output.line(&output.toned(tone, &sanitize(&reach.says)))?;
    }
    if let Some(change) = &shown.undone {
        let text = format!(
            "change {} of {} was reverted, the configuration is as before: {}",
            change.number, change.who, change.why
        );
        output.line(&output.toned(Tone::Warn, &sanitize(&text)))?;
    }
    if shown.states.is_empty() {
        return Ok(output.line("no confirmed changes yet")?);
    }
    let mut table = Table::new([
        ("change", Align::Right),
        ("when", Align::Left),
        ("who", Align::Left),
        ("lines", Align::Right),
        ("why", Align::Left),
    ]);
    for state in &shown.states {
        let when = i64::try_from(state.when).unwrap_or(0);
        let when = jiff::Timestamp::from_second(when).map_or_else(
            |_| String::new(),
            |when| when.strftime("%Y-%m-%d %H:%M UTC").to_string(),
        );
        let row = [
            state.number.to_string(),
            when,
            state.who.clone(),
            state.lines.len().to_string(),
            state.why.clone(),
        ];
        table.row(row.map(Cell::from), output)?;
    }
    Ok(table.finish(output)?)
}
