//! Errors of the history file.

use std::path::PathBuf;

use rusqlite::ErrorCode;

/// Error of the history. Each text includes a hint.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A later weir wrote the file. It was left alone.
    #[error(
        "the history {path} has version {found}, and this weir supports up to {known}: weir \
            leaves the file alone; start the newer weir, or name another file"
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Version of the file.
        found: i64,
        /// Latest version that this weir supports.
        known: i64,
    },
    /// Another program wrote the file. It was left alone.
    #[error(
        "{path} exists, but is not a history of weir: weir leaves the file alone; name another \
         file"
    )]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// A setting that makes no sense.
    #[error("{0}")]
    Setting(String),
    /// A file or directory cannot be created, moved or read.
    #[error(
        "cannot {what} {path}: {source}; check whether the directory is writable, and has room"
    )]
    Io {
        /// Attempted operation, as `create`.
        what: &'static str,
        /// Path of the operation.
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    /// The disk that it was on is not there.
    #[error(
        "the disk with the history {path} is not mounted: mount it; until then new data stays in \
            memory"
    )]
    Unmounted {
        /// The file.
        path: PathBuf,
    },
    /// SQLite says no.
    #[error("the history {path}: {source}; {hint}", hint = hint(.source))]
    File {
        /// The file.
        path: PathBuf,
        /// Error of SQLite.
        source: rusqlite::Error,
    },
    /// The thread that writes has ended.
    #[error(
        "the history has stopped: its thread ended; restart weir, and report the log lines \
            before this one"
    )]
    Ended,
    /// The thread that writes did not end in time.
    #[error(
        "cannot write the history within {0} s: its disk does not respond; data since the last \
            flush is lost"
    )]
    Slow(u64),
}

impl Error {
    /// Returns true if only another file, or another version of weir, helps.
    pub fn refused(&self) -> bool {
        matches!(
            self,
            Self::Newer { .. } | Self::Foreign { .. } | Self::Setting(_)
        )
    }

    /// Returns true if the file is broken: SQLite reports so, or a column has a value of a wrong
    /// type.
    pub(crate) fn corrupt(&self) -> bool {
        let Self::File { source, .. } = self else {
            return false;
        };
        matches!(
            source,
            rusqlite::Error::InvalidColumnType(..)
                | rusqlite::Error::FromSqlConversionFailure(..)
                | rusqlite::Error::IntegralValueOutOfRange(..)
                | rusqlite::Error::Utf8Error(..)
        ) || matches!(
            source,
            // The statements never change: if SQLite does not understand one, the schema stored in
            // the file is broken ("unsupported file format").
            rusqlite::Error::SqliteFailure(error, _) | rusqlite::Error::SqlInputError { error, .. }
                if error.extended_code == rusqlite::ffi::SQLITE_ERROR
        ) || matches!(
            self.code(),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
        )
    }

    /// Returns true if the disk, or the limit, leaves no room.
    pub fn full(&self) -> bool {
        match self {
            Self::Io { source, .. } => source.kind() == std::io::ErrorKind::StorageFull,
            _ => self.code() == Some(ErrorCode::DiskFull),
        }
    }

    /// Returns true if the file is read-only.
    pub(crate) fn read_only(&self) -> bool {
        self.code() == Some(ErrorCode::ReadOnly)
    }

    fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::File { source, .. } => source.sqlite_error_code(),
            _ => None,
        }
    }

    /// Returns the kind of an error: each kind is logged once.
    pub(crate) fn kind(&self) -> (std::mem::Discriminant<Self>, Option<ErrorCode>) {
        (std::mem::discriminant(self), self.code())
    }
}

fn hint(error: &rusqlite::Error) -> &'static str {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => {
            "the disk is full, or the file is at its limit: make room; until then new data stays \
                in memory"
        }
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => {
            "check whether the directory is writable; until then new data stays in memory"
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            "another program holds the file: end that program; until then new data stays in memory"
        }
        Some(ErrorCode::SystemIoFailure) => {
            "check the kernel log for errors of the disk; until then new data stays in memory"
        }
        _ => "new data stays in memory, and weir tries again",
    }
}
