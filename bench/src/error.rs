//! What can go wrong while measuring.

use std::io;

/// An error of the benchmark.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The laboratory.
    #[error(transparent)]
    Lab(#[from] lab::Error),
    /// The programs.
    #[error(transparent)]
    Datapath(#[from] datapath::Error),
    /// The daemon, asked through its API.
    #[error("weir does not answer: {0}")]
    Client(#[from] api::ClientError),
    /// The operating system refused something.
    #[error("{doing}: {source}")]
    System {
        /// What was being done.
        doing: String,
        /// What the system said.
        source: io::Error,
    },
    /// A path did not do what it is measured for: its time would mean nothing.
    #[error("{0}")]
    Wrong(String),
}

impl Error {
    /// Adapts an I/O error; `doing` says what was being done.
    pub fn system<E: Into<io::Error>>(doing: impl Into<String>) -> impl FnOnce(E) -> Self {
        move |source| Self::System {
            doing: doing.into(),
            source: source.into(),
        }
    }
}
