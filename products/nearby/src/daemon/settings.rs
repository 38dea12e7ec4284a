//! Settings of a running program.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::PathBuf;

use super::village;
use crate::machine::Format;
use crate::power::Power;

/// Settings of the daemon.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Name of the adapter; `none`: no Bluetooth.
    pub adapter: String,
    /// Formats to speak.
    pub formats: BTreeSet<Format>,
    /// Connections at most.
    pub links: usize,
    /// True if channels are made and offered in addition to connections of v2.
    pub channels: bool,
    /// Power profile.
    pub power: Power,
    /// Folder of the key.
    pub state: PathBuf,
    /// Largest size of the queue there, in bytes.
    pub queue: u64,
    /// Path of the daemon's socket.
    pub socket: PathBuf,
    /// Settings of the page, if there is to be one.
    pub page: Option<PageSettings>,
    /// Settings of the village: nodes reached by IP.
    pub village: Option<village::Settings>,
}

/// Settings of the page.
#[derive(Clone, Debug)]
pub struct PageSettings {
    /// Address to listen on.
    pub listen: SocketAddr,
    /// The file with the token that is asked for.
    pub token: Option<PathBuf>,
}
