//! Connections to the store, for as many questions at once as there are processors.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::connection_pool::{ConnectionPool, Health};
use crate::client::Client;
use crate::error::Error;
use crate::fair_queue::{FairQueue, Refused, Rules};

/// Longest time that a question takes.
const LONGEST: Duration = Duration::from_secs(5);
/// Number of instructions of SQLite's machine between two checks of the time.
const LOOK: i32 = 20_000;
/// Questions that may wait for their turn, those of one client, and how long.
const WAITING: usize = 128;
const WAITING_EACH: usize = 32;
const PATIENCE: Duration = Duration::from_secs(20);

/// Read-only connections.
#[derive(Debug)]
pub(crate) struct Pool {
    opened: ConnectionPool,
    line: Arc<FairQueue>,
}

impl Pool {
    /// Opens a pool for a folder.
    pub fn new(data: &Path, size: usize) -> Result<Self, Error> {
        let line = FairQueue::new(Rules {
            places: size,
            // Most take some milliseconds: that turns go round is enough.
            places_each: size,
            waiting: WAITING,
            waiting_each: WAITING_EACH,
            newcomers: false,
            patience: PATIENCE,
        });
        Ok(Self {
            opened: ConnectionPool::new(data)?,
            line: Arc::new(line),
        })
    }

    /// Runs a query, when it is this client's turn; `None`: the server's own query.
    pub async fn ask<T: Send + 'static>(
        self: &Arc<Self>,
        client: Option<Client>,
        question: impl FnOnce(&Connection) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let place = self
            .line
            .place(client)
            .await
            .map_err(|refused| match refused {
                Refused::Full => Error::Busy("too many requests are waiting".into()),
                Refused::Share => {
                    Error::Share("too many requests from your address are waiting".into())
                }
            })?;
        let pool = Arc::clone(self);
        let asked = tokio::task::spawn_blocking(move || {
            let answer = pool.now(question);
            // Held until the end, even if the client has left.
            drop(place);
            answer
        });
        let fault = || Error::Other("cannot create the answer: see the log".into());
        asked.await.unwrap_or_else(|_| Err(fault()))
    }

    /// Asks at once, in this thread.
    pub fn now<T>(
        &self,
        question: impl FnOnce(&Connection) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.opened.ask(|connection| {
            let due = Instant::now() + LONGEST;
            connection.progress_handler(LOOK, Some(move || Instant::now() > due))?;
            question(connection)
        })
    }

    /// Checks for a replacement of the store, and returns its version: each change yields another
    /// number.
    pub async fn version(self: &Arc<Self>) -> i64 {
        let pool = Arc::clone(self);
        let looked = tokio::task::spawn_blocking(move || pool.opened.look()).await;
        if looked.is_err() {
            tracing::warn!("cannot check the store");
        }
        let (version, edition) = self.opened.version();
        // The store's own has some 51 bits.
        version ^ i64::from_le_bytes(edition.to_le_bytes()) << 52
    }

    /// Returns the health of the store at the last check.
    pub fn health(&self) -> Health {
        self.opened.health()
    }
}
