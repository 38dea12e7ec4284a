//! Errors of a partner's state.

use std::io;
use std::path::PathBuf;

use crate::PORT;
use crate::choice::Ports;
use crate::io::secret::SecretError;
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
    #[error("there is no router {0}: `weir multipath list` shows those that there are")]
    NoRouter(String),
    /// Several routers have this name.
    #[error("there are several routers {0}: name one by its key's id, which are {1}")]
    Several(String, String),
    /// The partner's own port: routers could not come any more.
    #[error("{0} cannot be given to a router: routers come to port {PORT}")]
    Own(Ports),
    /// Another router has these ports.
    #[error(
        "{ports} belongs to router {router}: give another port, or take it away there by `weir \
            multipath forward {router}`"
    )]
    Taken {
        /// The ports.
        ports: Ports,
        /// Router that has them.
        router: String,
    },
    /// More ranges of ports than fit in a welcome.
    #[error("a router may have {MOST_FORWARDS} ranges of ports: make fewer and larger ones")]
    TooMany,
    /// The key is gone that routers were paired with.
    #[error(
        "{0} is missing, and routers were paired with it: put it back from a backup; or delete `routers` \
            beside it, and pair all of them anew"
    )]
    KeyGone(PathBuf),
    /// Another partner uses the folder.
    #[error(
        "another partner serves with the folder {0}: stop that one, or give this one a folder of its \
            own with --state"
    )]
    Served(PathBuf),
    /// Not a valid name.
    #[error(
        "{0:?} is no name for a router: take up to 64 characters that can be seen, without `key:`, \
            and not those of a key's id"
    )]
    Name(String),
    /// The system gives no random numbers.
    #[error("the kernel gives no random numbers")]
    Random,
}
