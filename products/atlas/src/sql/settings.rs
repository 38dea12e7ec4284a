//! Settings of queries.

use std::path::PathBuf;
use std::time::Duration;

use super::duckdb;
use super::limits::Limits;

/// Settings of queries.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The data folder.
    pub data: PathBuf,
    /// Path of this program.
    pub program: PathBuf,
    /// Limits of each query.
    pub limits: Limits,
    /// Largest number of concurrent queries.
    pub workers: usize,
    /// Largest number of waiting queries.
    pub waiting: usize,
    /// Waiting queries of one client, which may also have all but one of the running ones.
    pub waiting_each: usize,
    /// Longest wait.
    pub patience: Duration,
    /// Path of DuckDB; `None`: not installed.
    pub duckdb: Option<PathBuf>,
    /// Largest cache of answers, in bytes.
    pub cache: usize,
    /// Least interval of copies of the store; `None`: each query uses the current store, however
    /// long the copy takes.
    pub every: Option<Duration>,
}

impl Settings {
    /// Returns the settings for untrusted users.
    pub fn of(data: impl Into<PathBuf>) -> Self {
        Self {
            data: data.into(),
            // Refers to this program even after a replacement of the file.
            program: "/proc/self/exe".into(),
            duckdb: duckdb::find(),
            limits: Limits::STRANGERS,
            workers: 2,
            waiting: 16,
            waiting_each: 4,
            patience: Duration::from_secs(10),
            cache: 8 << 20,
            every: Some(Duration::from_secs(300)),
        }
    }

    /// Returns the settings for the user of the machine.
    pub fn of_owner(data: impl Into<PathBuf>) -> Self {
        Self {
            limits: Limits::OWNER,
            cache: 0,
            every: None,
            ..Self::of(data)
        }
    }
}
