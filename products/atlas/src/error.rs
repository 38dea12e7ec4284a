//! Errors: each text names the thing and the fix.

use std::borrow::Cow;
use std::io::{self, ErrorKind};
use std::path::PathBuf;

/// Error of the atlas.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A malformed question: `400`, exit code 2.
    #[error("{0}")]
    Asked(String),
    /// A missing thing: `404`.
    #[error("{0}")]
    Missing(String),
    /// A question that takes more time or memory than it may: `400`.
    #[error("{0}")]
    Beyond(String),
    /// Too much at once, or not ready yet: `503`, worth another try.
    #[error("{0}")]
    Busy(String),
    /// Data that cannot be read at this moment, and why, which is for the log: `503`.
    #[error("{0}")]
    Unready(String),
    /// More at once than one address may have: `429`, worth another try.
    #[error("{0}")]
    Share(String),
    /// A file or folder.
    #[error("{path}: {}", plain(error))]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        error: io::Error,
    },
    /// The database.
    #[error("the database: {0}")]
    Store(#[from] rusqlite::Error),
    /// Anything else.
    #[error("{0}")]
    Other(String),
}

impl Error {
    /// Returns a constructor of a file's error, for `map_err`.
    pub fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |error| Self::File { path, error }
    }
}

/// Returns the system's message, with a hint if there is one.
fn plain(error: &io::Error) -> Cow<'static, str> {
    let known = match error.kind() {
        ErrorKind::StorageFull => "the disk is full: free space there, and try again",
        ErrorKind::AlreadyExists | ErrorKind::NotADirectory => {
            "there is a file where a folder is needed: name another folder, or move the file away"
        }
        ErrorKind::IsADirectory => {
            "there is a folder where a file is needed: move it away, or name another file"
        }
        _ => return error.to_string().into(),
    };
    known.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_said_in_words() {
        let error = Error::file("a")(ErrorKind::StorageFull.into());
        assert!(
            error
                .to_string()
                .starts_with("a: the disk is full: free space there"),
            "{error}"
        );
    }
}
