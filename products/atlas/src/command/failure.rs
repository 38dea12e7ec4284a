//! Ends of commands.

use std::io;

use crate::error::Error;

/// Reason for the early end of a command.
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
    /// Converts an error of writing the output; other failures have a more specific cause.
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::ReaderGone,
            _ => Self::Error(Error::Other(format!("cannot write the output: {error}"))),
        }
    }
}
