//! What can go wrong in the laboratory.

use std::io;

use crate::oracle::Mismatch;

/// An error of the laboratory, or the finding of the oracle.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused something.
    #[error("{doing}: {source}")]
    System {
        /// What was being done.
        doing: String,
        /// What the system said.
        source: io::Error,
    },
    /// A command ended with something other than success.
    #[error("`{command}` failed ({status}): {stderr}")]
    Command {
        /// The command line.
        command: String,
        /// How it ended.
        status: String,
        /// What it wrote to standard error.
        stderr: String,
    },
    /// Something that was waited for did not happen in time.
    #[error("waited in vain: {0}")]
    Timeout(String),
    /// Something was asked for that this lab does not have, or that came out in a way it cannot be.
    #[error("{0}")]
    Unexpected(String),
    /// The oracle saw two routers treat the same packets differently.
    #[error("{0}")]
    Differs(Box<Mismatch>),
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
