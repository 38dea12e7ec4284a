//! Settings of a running program.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::PathBuf;

use super::village;
use crate::power::Power;
use crate::room::Format;

/// How it is to run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Which adapter; `none`: no Bluetooth.
    pub adapter: String,
    /// What is spoken.
    pub formats: BTreeSet<Format>,
    /// Connections at most.
    pub links: usize,
    /// Whether channels are made and offered beside connections of v2.
    pub channels: bool,
    /// How much power is spent to hear others soon.
    pub power: Power,
    /// Where the key is.
    pub state: PathBuf,
    /// What waits for others there takes so many octets at most.
    pub queue: u64,
    /// Where others ask.
    pub socket: PathBuf,
    /// The page, where there is to be one.
    pub page: Option<PageSettings>,
    /// Who else is reached, by IP.
    pub village: Option<village::Settings>,
}

/// How the page is to be served.
#[derive(Clone, Debug)]
pub struct PageSettings {
    /// Where it listens.
    pub listen: SocketAddr,
    /// The file with the token that is asked for.
    pub token: Option<PathBuf>,
}
