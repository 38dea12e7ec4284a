//! Arguments that commands share: the daemon's socket, and the output format.

pub mod device_names;

use std::path::PathBuf;

use api::Client;
use clap::Args;

use crate::{Error, config};

/// The connection to the daemon.
#[derive(Args, Clone, Debug, Default)]
pub struct Connection {
    /// Socket of the daemon [default: $WEIR_SOCKET, else the configuration's, else that of this
    /// network namespace]
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
}

/// The output format.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct Format {
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Creates a client for the chosen daemon.
///
/// # Errors
/// No client can be made.
pub fn client(connection: &Connection) -> Result<Client, Error> {
    Ok(Client::new(&socket(connection))?)
}

/// Returns the socket of the chosen daemon.
pub fn socket(connection: &Connection) -> PathBuf {
    // The daemon may use another socket. `weir config` reports a broken file.
    let configured = config::configured_socket();
    api::path::socket_path(connection.socket.as_deref(), configured.as_deref())
}
