//! One file per command: its arguments, and what it does.

pub mod capture;
pub mod check;
pub mod completions;
pub mod config;
pub mod drops;
pub mod explain;
pub mod flows;
pub mod hops;
pub mod man;
pub mod passwd;
pub mod ports;
pub mod reload;
pub mod run;
pub mod status;

use api::Client;

use crate::Error;
use crate::cli::{Command, Connection};
use crate::config::Source;
use crate::output::Output;

/// Does what was asked.
pub fn run(command: &Command, output: &mut Output<'_>) -> Result<(), Error> {
    match command {
        Command::Run(args) => run::run(args),
        Command::Status(args) => status::run(args, output),
        Command::Flows(args) => flows::run(args, output),
        Command::Explain(args) => explain::run(args, output),
        Command::Ports(args) => ports::run(args, output),
        Command::Hops(args) => hops::run(args, output),
        Command::Capture(args) => capture::run(args, output),
        Command::Drops(args) => drops::run(args, output),
        Command::Check(args) => check::run(args, output),
        Command::Config(args) => config::run(args, output),
        Command::Reload(args) => reload::run(args, output),
        Command::Passwd(args) => passwd::run(args, output),
        Command::Completions(args) => completions::run(args, output),
        Command::Man(args) => man::run(args, output),
    }
}

/// A client for the daemon that is meant.
fn client(connection: &Connection) -> Result<Client, Error> {
    // The daemon may have been told of another socket. A broken file is `weir config`'s to complain about.
    let configured = Source::default()
        .load()
        .ok()
        .and_then(|config| config.api.socket.value);
    let socket = api::path::socket_path(connection.socket.as_deref(), configured.as_deref());
    Ok(Client::new(&socket)?)
}
