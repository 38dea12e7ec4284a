//! Failures of a change.

use super::change::Change;
use std::io;
use std::path::{Path, PathBuf};

/// Failure of a change.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// Another change is not confirmed yet.
    #[error("change {} of {} awaits confirmation: {}", .0.number, .0.who, .0.why)]
    Waits(Box<Change>),
    /// The change is not in all files yet, or services have not reloaded.
    #[error("change {} is not finished: it is still running, or was interrupted", .0.number)]
    Unfinished(Box<Change>),
    /// No change waits to be confirmed.
    #[error("no change awaits confirmation")]
    Nothing,
    /// No saved state has this number.
    #[error("no former state {0}")]
    NoState(u64),
    /// A file outside of the permitted ones, a link, a file that differs from the record, or one in
    /// a folder that another user may write into; or such a folder of the journal.
    #[error("weir does not change {}", .0.display())]
    Outside(PathBuf),
    /// A change was undone, except for a file that weir may not change. The change is set aside.
    #[error("cannot restore {}: weir does not change that file; all other files of the change are \
             restored", .path.display())]
    Refused {
        /// The first such file.
        path: PathBuf,
        /// The change, with the files that are back.
        change: Box<Change>,
    },
    /// The record of a change is unreadable: nothing is restored.
    #[error("cannot revert a change: {}: {error}; all files stay as they are, and copies of the \
             former ones are beside it", .path.display())]
    Damaged {
        /// The record.
        path: PathBuf,
        /// Fault of the record.
        error: serde_json::Error,
    },
    /// Another program changed a file meanwhile.
    #[error("another program changed {} meanwhile", .0.display())]
    Changed(PathBuf),
    /// A file could not be read or written.
    #[error("{}: {error}", .path.display())]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// Error of the kernel.
        error: io::Error,
    },
}

pub(crate) fn failed(path: &Path) -> impl Fn(io::Error) -> JournalError + '_ {
    move |error| JournalError::Io {
        path: path.to_owned(),
        error,
    }
}
