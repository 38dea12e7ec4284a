//! Errors while measuring.

use std::io;

/// Error of a benchmark.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Error of the laboratory.
    #[error(transparent)]
    Lab(#[from] lab::Error),
    /// Error of the BPF programs.
    #[error(transparent)]
    Datapath(#[from] datapath::Error),
    /// Error of the daemon's API.
    #[error("weir does not answer: {0}")]
    Client(#[from] api::ClientError),
    /// Error of the operating system.
    #[error("{doing}: {source}")]
    System {
        /// Action that failed.
        doing: String,
        /// Error of the system.
        source: io::Error,
    },
    /// A path did not do its task, so that its time would mean nothing.
    #[error("{0}")]
    Wrong(String),
}

impl Error {
    /// Adapts an I/O error; `doing` names the action.
    pub fn system<E: Into<io::Error>>(doing: impl Into<String>) -> impl FnOnce(E) -> Self {
        move |source| Self::System {
            doing: doing.into(),
            source: source.into(),
        }
    }
}
