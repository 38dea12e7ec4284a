//! `weir check`: what this machine can do.

use std::path::PathBuf;

use clap::Args;

use crate::Error;
use crate::check::{self, collect};
use crate::command::{Connection, Format};
use crate::config::{Api, Source};
use crate::registry::Context;

/// Say what this machine can do and what it lacks; needs no daemon
///
/// Looks at the kernel, the network devices and the firewall. Features are tried, in a network
/// namespace made for it; nothing is changed. Where a daemon runs, devices are shown as it has
/// them, else as it would.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Exit codes: 0 when weir can work here, 1 when a feature it cannot do without is missing or no \
device can be used.

Examples:
  weir check
  weir check --verbose                    what each feature is for, too
  weir check --json | jq '.features[] | select(.present | not)'")]
pub struct CheckArgs {
    /// Configuration file; has to exist [default: /etc/weir/weir.toml, where it exists]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Say more: what each feature is for, and rules that are only worth knowing
    #[arg(short, long, conflicts_with = "json")]
    verbose: bool,
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    format: Format,
}

pub fn run(args: &CheckArgs, context: &mut Context<'_, '_>) -> Result<(), Error> {
    let config = Source {
        file: args.config.clone(),
        ..context.registry.source()
    }
    .load()?;
    let options = check::Options {
        socket: api::path::socket_path(
            args.connection.socket.as_deref(),
            config.of::<Api>().socket.as_deref(),
        ),
        tables: context.registry.tables(),
    };
    let report = collect(&context.registry.checks(), &config, &options)?;
    if args.format.json {
        context.output.json(&report)?
    } else {
        check::print(&report, args.verbose, context.output)?
    }
    if report.usable() {
        Ok(())
    } else {
        Err(Error::Quiet)
    }
}
