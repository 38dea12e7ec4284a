//! Errors of the laboratory.

use std::io;

use crate::oracle::Mismatch;

/// An error of the laboratory, or the finding of the oracle.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused a request.
    #[error("{doing}: {source}")]
    System {
        /// The attempted action.
        doing: String,
        /// The system's error.
        source: io::Error,
    },
    /// A command failed.
    #[error("`{command}` failed ({status}): {stderr}")]
    Command {
        /// The command line.
        command: String,
        /// Exit status.
        status: String,
        /// Standard error.
        stderr: String,
    },
    /// An awaited event did not happen in time.
    #[error("timeout: {0}")]
    Timeout(String),
    /// The lab lacks a requested part, or a result is not valid.
    #[error("{0}")]
    Unexpected(String),
    /// The two routers treated identical packets differently.
    #[error("{0}")]
    Differs(Box<Mismatch>),
}

/// Returns the error of a finding, or of another error.
pub fn unexpected(what: impl ToString) -> Error {
    Error::Unexpected(what.to_string())
}

impl Error {
    /// Converts an I/O error; `doing` names the attempted action.
    pub fn system<E: Into<io::Error>>(doing: impl Into<String>) -> impl FnOnce(E) -> Self {
        move |source| Self::System {
            doing: doing.into(),
            source: source.into(),
        }
    }
}
