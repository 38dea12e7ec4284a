//! One file per command: its arguments, and what it does.

#[cfg(feature = "bench")]
pub mod bench;
pub mod capture;
pub mod check;
pub mod completions;
pub mod config;
pub mod devices;
pub mod drops;
pub mod explain;
pub mod flows;
pub mod history;
pub mod hops;
pub mod man;
pub mod multipath;
pub mod passwd;
pub mod paths;
pub mod ports;
pub mod probes;
pub mod reload;
pub mod run;
pub mod status;
pub mod talks;
#[cfg(feature = "top")]
pub mod top;

use std::path::PathBuf;

use api::Client;

use crate::Error;
use crate::cli::{Command, Connection};
use crate::config::{Api, Source};
use crate::modules;
use crate::output::Output;

/// Does what was asked.
pub fn run(command: &Command, output: &mut Output<'_>) -> Result<(), Error> {
    match command {
        Command::Run(args) => run::run(args),
        Command::Status(args) => status::run(args, output),
        Command::Flows(args) => flows::run(args, output),
        Command::Explain(args) => explain::run(args, output),
        Command::Paths(args) => paths::run(args, output),
        Command::Ports(args) => ports::run(args, output),
        Command::Hops(args) => hops::run(args, output),
        Command::Capture(args) => capture::run(args, output),
        Command::Drops(args) => drops::run(args, output),
        Command::Devices(args) => devices::run(args, output),
        Command::Talks(args) => talks::run(args, output),
        Command::History(args) => history::run(args, output),
        #[cfg(feature = "top")]
        Command::Top(args) => top::run(args),
        Command::Probes(args) => probes::run(args, output),
        Command::Check(args) => check::run(args, output),
        Command::Config(args) => config::run(args, output),
        Command::Reload(args) => reload::run(args, output),
        Command::Multipath(args) => multipath::run(args, output),
        Command::Passwd(args) => passwd::run(args, output),
        #[cfg(feature = "bench")]
        Command::Bench(args) => bench::run(args, output),
        Command::Completions(args) => completions::run(args, output),
        Command::Man(args) => man::run(args, output),
    }
}

/// A client for the daemon that is meant.
fn client(connection: &Connection) -> Result<Client, Error> {
    Ok(Client::new(&socket(connection))?)
}

/// The socket of the daemon that is meant.
fn socket(connection: &Connection) -> PathBuf {
    // The daemon may have been told of another socket. A broken file is `weir config`'s to complain about.
    let configured = Source::of(modules::sections())
        .load()
        .ok()
        .and_then(|config| config.of::<Api>().socket.value.clone());
    api::path::socket_path(connection.socket.as_deref(), configured.as_deref())
}
