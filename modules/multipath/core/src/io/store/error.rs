//! What can be wrong with a partner's state.

use std::io;
use std::path::PathBuf;

use crate::PORT;
use crate::choice::Ports;
use crate::io::secret::SecretError;
use crate::welcome::MOST_FORWARDS;

/// What is wrong with it.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A file cannot be read or written.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Something is wrong with the key.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// Which router?
    #[error("there is no router {0}: `weir multipath list` shows those that there are")]
    NoRouter(String),
    /// Which of them?
    #[error("there are several routers {0}: name one by its key's id, which are {1}")]
    Several(String, String),
    /// Routers would not come any more.
    #[error("{0} cannot be given to a router: routers come to port {PORT}")]
    Own(Ports),
    /// Two cannot have it.
    #[error(
        "{ports} belongs to router {router}: give another port, or take it away there by `weir \
            multipath forward {router}`"
    )]
    Taken {
        /// What is taken.
        ports: Ports,
        /// By whom.
        router: String,
    },
    /// More than the router can be told of.
    #[error("a router may have {MOST_FORWARDS} ranges of ports: make fewer and larger ones")]
    TooMany,
    /// Lines of routers were made with another.
    #[error(
        "{0} is missing, and routers were paired with it: put it back from a backup; or delete `routers` \
            beside it, and pair all of them anew"
    )]
    KeyGone(PathBuf),
    /// Two would undo each other's work.
    #[error(
        "another partner serves with the folder {0}: stop that one, or give this one a folder of its \
            own with --state"
    )]
    Served(PathBuf),
    /// It would be taken for something else.
    #[error(
        "{0:?} is no name for a router: take up to 64 characters that can be seen, without `key:`, \
            and not those of a key's id"
    )]
    Name(String),
    /// No random numbers.
    #[error("the kernel gives no random numbers")]
    Random,
}
