//! `weir check`: what this machine can do.

use std::path::PathBuf;

use clap::Args;

use crate::Error;
use crate::check::{self, collect};
use crate::command::{Connection, Format};
use crate::config::{Api, Source};
use crate::registry::Context;

/// Check what this machine supports and lacks; needs no daemon
///
/// Checks the kernel, the network devices and the firewall. Features are tried in a temporary
/// network namespace; nothing is changed. If a daemon runs, devices are shown as the daemon uses
/// them, otherwise as it would use them.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Exit codes: 0 if weir can work here, 1 if a required feature is missing or no device can be used.

Examples:
  weir check
  weir check --verbose                    also show the purpose of each feature
  weir check --json | jq '.features[] | select(.present | not)'")]
pub struct CheckArgs {
    /// Configuration file; must exist [default: /etc/weir/weir.toml, if it exists]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Also show the purpose of each feature, and rules that are merely worth knowing
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
