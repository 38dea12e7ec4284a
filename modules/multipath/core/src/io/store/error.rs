//! Errors of a partner's state.

use std::io;
use std::path::PathBuf;

use crate::PORT;
use crate::io::secret::SecretError;
use crate::traffic_policy::Ports;
use crate::welcome::MOST_FORWARDS;

/// Failure to read or change a partner's state.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A file cannot be read or written.
    #[error("{path}: {source}")]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        #[source]
        source: io::Error,
    },
    /// The key is missing or unusable.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// No router has this name or id.
    #[error("no router {0}: see `weir multipath list`")]
    NoRouter(String),
    /// Several routers have this name.
    #[error("several routers are named {0}: use the id of a key: {1}")]
    Several(String, String),
    /// The partner's own port: routers could no longer connect.
    #[error("cannot forward {0} to a router: routers connect to port {PORT}")]
    Own(Ports),
    /// Another router has these ports.
    #[error(
        "{ports} already forwarded to router {router}: use another port, or remove it there by \
            `weir multipath forward {router}`"
    )]
    Taken {
        /// The ports.
        ports: Ports,
        /// Router that has them.
        router: String,
    },
    /// More ranges of ports than fit in a welcome.
    #[error(
        "too many ranges of ports for a router (at most {MOST_FORWARDS}): use fewer and larger ones"
    )]
    TooMany,
    /// The key is gone that routers were paired with.
    #[error(
        "{0} is missing, but routers were paired with it: restore it from a backup, or delete \
            `routers` beside it and pair all routers again"
    )]
    KeyGone(PathBuf),
    /// Another partner uses the folder.
    #[error(
        "another partner uses the folder {0}: stop that partner, or name another folder with \
            --state"
    )]
    Served(PathBuf),
    /// Not a valid name.
    #[error(
        "invalid name {0:?} of a router: use up to 64 printable characters, without `key:`, and \
            not the form of a key's id"
    )]
    Name(String),
    /// The system gives no random numbers.
    #[error("cannot read random numbers from the kernel")]
    Random,
}
