//! `weir check`: what this machine can do.

use std::path::PathBuf;

use clap::Args;

use crate::Error;
use crate::check::collect;
use crate::cli::Format;
use crate::config::Source;
use crate::output::Output;

/// Say what this machine can do, and what stands in the way; needs no daemon
///
/// Looks at the kernel, the network devices and the firewall, changes nothing, and needs no daemon.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Exit codes: 0 when weir can work here, 1 when a feature it cannot do without is missing or no device can be used.
Example:
  weir check --json | jq '.features[] | select(.present | not)'")]
pub struct CheckArgs {
    /// Configuration file; has to exist [default: /etc/weir/weir.toml, where it exists]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    format: Format,
}

pub(super) fn run(args: &CheckArgs, output: &mut Output<'_>) -> Result<(), Error> {
    let config = Source {
        file: args.config.clone(),
        ..Source::default()
    }
    .load()?;
    let report = collect(&config)?;
    if args.format.json {
        output.json(&report)?
    } else {
        report.print(output)?
    }
    if report.usable() {
        Ok(())
    } else {
        Err(Error::Quiet)
    }
}
