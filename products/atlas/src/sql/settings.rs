//! Settings of queries.

use std::path::PathBuf;
use std::time::Duration;

use super::duckdb;
use super::limits::Limits;

/// How queries are answered.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The data folder.
    pub data: PathBuf,
    /// This program.
    pub program: PathBuf,
    /// Of each query.
    pub limits: Limits,
    /// Answered at once.
    pub workers: usize,
    /// Waiting for these at most.
    pub waiting: usize,
    /// Of one client: all but one of those answered at once, and so many that wait.
    pub waiting_each: usize,
    /// How long they wait.
    pub patience: Duration,
    /// DuckDB's program; `None`: there is none.
    pub duckdb: Option<PathBuf>,
    /// Octets of answers that are kept.
    pub cache: usize,
    /// Between two copies of the store at least; `None`: each query is answered of the store as it
    /// is, however long the copy takes.
    pub every: Option<Duration>,
}

impl Settings {
    /// For strangers.
    pub fn of(data: impl Into<PathBuf>) -> Self {
        Self {
            data: data.into(),
            // Also where the file was replaced since.
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

    /// For who sits at the machine.
    pub fn of_owner(data: impl Into<PathBuf>) -> Self {
        Self {
            limits: Limits::OWNER,
            cache: 0,
            every: None,
            ..Self::of(data)
        }
    }
}
