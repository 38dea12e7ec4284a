//! What can go wrong, in words that name the thing and the fix.

use std::path::PathBuf;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A question that cannot be answered as it stands: `400`, exit code 2.
    #[error("{0}")]
    Asked(String),
    /// Something that is not there: `404`.
    #[error("{0}")]
    Missing(String),
    /// A question that takes more time or memory than it may: `400`.
    #[error("{0}")]
    Beyond(String),
    /// Too much at once, or not ready yet: `503`, to be tried again.
    #[error("{0}")]
    Busy(String),
    /// Data that cannot be read at this moment, and why, which is for the log: `503`.
    #[error("{0}")]
    Unready(String),
    /// More at once than one address may have: `429`, to be tried again.
    #[error("{0}")]
    Share(String),
    /// A file or folder.
    #[error("{path}: {error}")]
    File {
        /// Which.
        path: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// The database.
    #[error("the database: {0}")]
    Store(#[from] rusqlite::Error),
    /// Anything else.
    #[error("{0}")]
    Other(String),
}

impl Error {
    /// What went wrong with a file, for `map_err`.
    pub fn file(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |error| Self::File { path, error }
    }
}
