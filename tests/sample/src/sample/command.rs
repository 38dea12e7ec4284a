//! `weir greet`.

use api::Method;
use clap::Args;
use runtime::Error;
use runtime::command::{Connection, Format, client};
use runtime::output::{Output, sanitize};

use super::messages::{Greet, Shown};

/// Greet whom the configuration names
#[derive(Args, Debug)]
pub struct GreetArgs {
    /// Number of greetings
    #[arg(default_value_t = 1)]
    times: u64,
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    format: Format,
}

pub fn run(args: &GreetArgs, output: &mut Output<'_>) -> Result<(), Error> {
    let times = args.times;
    let shown: Shown =
        client(&args.connection)?.send(Method::POST, "/v1/greeting", &Greet { times })?;
    if args.format.json {
        output.json(&shown)?;
    } else {
        output.line(&format!("Hello, {}!", sanitize(&shown.whom)))?;
    }
    Ok(())
}
