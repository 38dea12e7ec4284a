//! Connections to the store, for as many questions at once as there are processors.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tokio::sync::Semaphore;

use crate::error::Error;
use crate::store;

/// Longest time that a question takes.
const LONGEST: Duration = Duration::from_secs(5);
/// Instructions of SQLite's machine after which the time is looked at.
const LOOK: i32 = 20_000;
/// Questions that may wait for their turn.
const WAITING: usize = 128;

/// Read-only connections.
#[derive(Debug)]
pub(crate) struct Pool {
    data: PathBuf,
    idle: Mutex<Vec<Connection>>,
    turns: Semaphore,
    places: Semaphore,
}

impl Pool {
    /// For this folder, which is looked at once.
    pub fn new(data: &Path, size: usize) -> Result<Self, Error> {
        Ok(Self {
            idle: Mutex::new(vec![store::open(data)?]),
            data: data.to_owned(),
            turns: Semaphore::new(size),
            places: Semaphore::new(size + WAITING),
        })
    }

    /// Asks, when it is this question's turn. `None`: too many wait.
    pub async fn ask<T: Send + 'static>(
        self: &std::sync::Arc<Self>,
        question: impl FnOnce(&Connection) -> Result<T, Error> + Send + 'static,
    ) -> Option<Result<T, Error>> {
        let _place = self.places.try_acquire().ok()?;
        let _turn = self.turns.acquire().await.ok()?;
        let pool = std::sync::Arc::clone(self);
        let asked = tokio::task::spawn_blocking(move || pool.now(question));
        let fault = || {
            Err(Error::Other(
                "the answer cannot be made: see the log".into(),
            ))
        };
        Some(asked.await.unwrap_or_else(|_| fault()))
    }

    /// Asks at once, in this thread.
    pub fn now<T>(
        &self,
        question: impl FnOnce(&Connection) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let idle = self.idle.lock().ok().and_then(|mut idle| idle.pop());
        let mut connection = match idle {
            Some(connection) => connection,
            None => store::open(&self.data)?,
        };
        let due = Instant::now() + LONGEST;
        connection.progress_handler(LOOK, Some(move || Instant::now() > due))?;
        let answer = question(&connection);
        if let Ok(mut idle) = self.idle.lock() {
            idle.push(connection);
        }
        answer
    }
}
