//! Connections to the store, for as many questions at once as there are processors.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::client::Client;
use crate::error::Error;
use crate::line::{Line, Refused, Rules};
use crate::store;

/// Longest time that a question takes.
const LONGEST: Duration = Duration::from_secs(5);
/// Instructions of SQLite's machine after which the time is looked at.
const LOOK: i32 = 20_000;
/// Questions that may wait for their turn, those of one client, and how long.
const WAITING: usize = 128;
const WAITING_EACH: usize = 32;
const PATIENCE: Duration = Duration::from_secs(20);

/// Read-only connections.
#[derive(Debug)]
pub(crate) struct Pool {
    data: PathBuf,
    idle: Mutex<Vec<Connection>>,
    line: Arc<Line>,
}

impl Pool {
    /// For this folder, which is looked at once.
    pub fn new(data: &Path, size: usize) -> Result<Self, Error> {
        let line = Line::new(Rules {
            places: size,
            // Most take some milliseconds: that turns go round is enough.
            places_each: size,
            waiting: WAITING,
            waiting_each: WAITING_EACH,
            patience: PATIENCE,
        });
        Ok(Self {
            idle: Mutex::new(vec![store::open(data)?]),
            data: data.to_owned(),
            line: Arc::new(line),
        })
    }

    /// Asks, when it is this client's turn; `None`: the server itself asks.
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
                Refused::Full => Error::Busy("too many questions wait for an answer".into()),
                Refused::Share => {
                    Error::Share("too many questions of your address wait for an answer".into())
                }
            })?;
        let pool = Arc::clone(self);
        let asked = tokio::task::spawn_blocking(move || {
            let answer = pool.now(question);
            // Not before it has ended, also where the client went meanwhile.
            drop(place);
            answer
        });
        let fault = || Error::Other("the answer cannot be made: see the log".into());
        asked.await.unwrap_or_else(|_| Err(fault()))
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
