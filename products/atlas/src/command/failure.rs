//! Ends of commands.

use std::io;

use crate::error::Error;

/// Why a command ended early.
pub enum Failure {
    Error(Error),
    /// The reader of the output went away (`weir-atlas ledger | head`): not a failure.
    ReaderGone,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl From<io::Error> for Failure {
    /// Of writing the output; what else fails says more than this.
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::ReaderGone,
            _ => Self::Error(Error::Other(format!("cannot write the output: {error}"))),
        }
    }
}
