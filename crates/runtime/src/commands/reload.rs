//! `weir reload`: have the configuration read again.

use answers::{Reloaded, Status};
use clap::Args;

use super::status;
use crate::Error;
use crate::command::{Connection, Format, client};
use crate::output::{Output, sanitize};

/// Reload the daemon's configuration
///
/// The new configuration takes effect as a whole. If it has errors, all errors are printed and
/// nothing changes. Failed parts are retried, and remaining problems are printed.
#[derive(Args, Debug)]
pub struct ReloadArgs {
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    format: Format,
}

pub fn run(args: &ReloadArgs, output: &mut Output<'_>) -> Result<(), Error> {
    let client = client(&args.connection)?;
    let reloaded: Reloaded = client.post("/v1/reload")?;
    if args.format.json {
        return Ok(output.json(&reloaded)?);
    }
    if reloaded.changed.is_empty() {
        output.line("nothing changed")?;
    }
    for change in &reloaded.changed {
        let value = |value: &serde_json::Value| match value.is_null() {
            true => "not set".to_owned(),
            false => value.to_string(),
        };
        let (key, from, to) = (&change.key, value(&change.from), value(&change.to));
        let text = match change.after_restart {
            false => format!("{key}: {from} is now {to}"),
            true => format!("{key}: {from} will be {to} after a restart of weir"),
        };
        output.line(&sanitize(&text))?;
    }
    let status: Status = client.get("/v1/status")?;
    status::problems(&status.problems, output)?;
    Ok(())
}
