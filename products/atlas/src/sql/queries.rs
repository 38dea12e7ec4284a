//! Queries of the server: a few at a time, each in a process of its own.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::task::spawn_blocking;

use super::answer::Answer;
use super::cache::Cache;
use super::copy::Copies;
use super::limits::{Engine, QUERY};
use super::process::Process;
use super::settings::Settings;
use super::{duckdb, parquet};
use crate::client::Client;
use crate::error::Error;
use crate::fair_queue::{FairQueue, Refused, Rules};

/// Answers queries.
#[derive(Debug)]
pub struct Queries {
    settings: Settings,
    /// Copies of each engine.
    copies: [Copies; 2],
    line: Arc<FairQueue>,
    cache: Mutex<Cache>,
    counts: Counters,
}

/// Counters of queries since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Answered, with any number of rows.
    pub answered: u64,
    /// Answered from the cache.
    pub cached: u64,
    /// Refused as faulty.
    pub refused: u64,
    /// Stopped at the limit of time or memory.
    pub bounded: u64,
    /// Refused because of too many queries.
    pub busy: u64,
    /// Refused because of one client's share.
    pub share: u64,
    /// Failed by a fault of the server.
    pub failed: u64,
    /// Cancelled by the client.
    pub left: u64,
    /// Running now.
    pub running: u64,
    /// Waiting for a process now.
    pub waiting: u64,
}

#[derive(Debug, Default)]
struct Counters {
    answered: AtomicU64,
    cached: AtomicU64,
    refused: AtomicU64,
    bounded: AtomicU64,
    busy: AtomicU64,
    share: AtomicU64,
    failed: AtomicU64,
    left: AtomicU64,
    running: AtomicU64,
}

/// Counts while it exists, even if a client leaves.
struct Held<'a>(&'a AtomicU64);

impl<'a> Held<'a> {
    fn new(count: &'a AtomicU64) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Counts a client that leaves before its answer.
struct Leaving<'a>(Option<&'a AtomicU64>);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        if let Some(count) = self.0 {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Queries {
    /// Starts no process, and makes no copy, before the first query.
    pub fn new(settings: Settings) -> Self {
        let line = FairQueue::new(Rules {
            places: settings.workers.max(1),
            places_each: settings.workers.saturating_sub(1).max(1),
            waiting: settings.waiting,
            waiting_each: settings.waiting_each,
            newcomers: true,
            patience: settings.patience,
        });
        Self {
            copies: [Engine::Sqlite, Engine::Duckdb].map(|engine| Copies::new(&settings, engine)),
            line: Arc::new(line),
            cache: Mutex::new(Cache::new(settings.cache)),
            counts: Counters::default(),
            settings,
        }
    }

    /// Answers a query without a client, as [`Queries::ask_of`] does.
    pub async fn ask(&self, query: &str, engine: Engine) -> Result<Arc<Answer>, Error> {
        self.ask_of(None, query, engine).await
    }

    /// Answers a client's query. Where the future is dropped its process is killed.
    pub async fn ask_of(
        &self,
        client: Option<Client>,
        query: &str,
        engine: Engine,
    ) -> Result<Arc<Answer>, Error> {
        let mut leaving = Leaving(Some(&self.counts.left));
        let answered = self.answer(client, query.trim(), engine).await;
        leaving.0 = None;
        let count = match &answered {
            Ok(_) => &self.counts.answered,
            Err(Error::Asked(_) | Error::Missing(_)) => &self.counts.refused,
            Err(Error::Beyond(_)) => &self.counts.bounded,
            Err(Error::Busy(_)) => &self.counts.busy,
            Err(Error::Share(_)) => &self.counts.share,
            Err(_) => &self.counts.failed,
        };
        count.fetch_add(1, Ordering::Relaxed);
        answered
    }

    async fn answer(
        &self,
        client: Option<Client>,
        query: &str,
        engine: Engine,
    ) -> Result<Arc<Answer>, Error> {
        let settings = &self.settings;
        if engine == Engine::Duckdb && settings.duckdb.is_none() {
            return Err(duckdb::missing());
        }
        if query.len() > QUERY {
            return Err(Error::Asked(format!(
                "the query has {} octets, and may have {QUERY}",
                query.len()
            )));
        }
        let answered = self.answer_by(client, query, engine).await;
        match (engine, answered) {
            (Engine::Duckdb, Err(Error::Unready(why))) => {
                tracing::warn!(%why, "SQLite answers instead of DuckDB");
                let answered = self.answer_by(client, query, Engine::Sqlite).await;
                // A query in DuckDB's dialect is not at fault.
                answered.map_err(|_| Error::Unready(why))
            }
            (_, answered) => answered,
        }
    }

    async fn answer_by(
        &self,
        client: Option<Client>,
        query: &str,
        engine: Engine,
    ) -> Result<Arc<Answer>, Error> {
        let copies = &self.copies[engine as usize];
        let copied = copies.ready().await?;
        if let Some(kept) = self.kept(copied.version, engine, query) {
            return Ok(kept);
        }
        let _place =
            self.line.place(client).await.map_err(|refused| {
                match refused {
                Refused::Full => {
                    Error::Busy("too many queries at once: try again in a few seconds".into())
                }
                Refused::Share => Error::Share(
                    "too many queries at once from your address: wait until one of them is answered"
                        .into(),
                ),
            }
            })?;
        // Another client may have had the same query answered meanwhile.
        if let Some(kept) = self.kept(copied.version, engine, query) {
            return Ok(kept);
        }
        let _running = Held::new(&self.counts.running);
        let mut answered = self.run(query, engine).await;
        let mut version = copied.version;
        if matches!(answered, Err(Error::Unready(_))) {
            copies.doubt(copied);
            version = copies.ready().await?.version;
            answered = self.run(query, engine).await;
        }
        let answer = Arc::new(answered?);
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        cache.put(version, engine, query, &answer);
        Ok(answer)
    }

    async fn run(&self, query: &str, engine: Engine) -> Result<Answer, Error> {
        let process = Process::start(&self.settings, engine)?;
        let answered = process.ask(query, &self.settings.limits.of(engine)).await;
        let Err(error) = &answered else {
            return answered;
        };
        // DuckDB's message does not distinguish a faulty query from a faulty file.
        if engine == Engine::Sqlite || duckdb::is_of_the_query(error) {
            return answered;
        }
        let data = self.settings.data.clone();
        let fault = spawn_blocking(move || parquet::fault(&data)).await;
        match fault {
            Ok(Some(fault)) => Err(Error::Unready(fault)),
            _ => answered,
        }
    }

    fn kept(&self, version: i64, engine: Engine, query: &str) -> Option<Arc<Answer>> {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = cache.get(version, engine, query)?;
        self.counts.cached.fetch_add(1, Ordering::Relaxed);
        Some(kept)
    }

    /// Returns the counters.
    pub fn counts(&self) -> Counts {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Counts {
            answered: of(&self.counts.answered),
            cached: of(&self.counts.cached),
            refused: of(&self.counts.refused),
            bounded: of(&self.counts.bounded),
            busy: of(&self.counts.busy),
            share: of(&self.counts.share),
            failed: of(&self.counts.failed),
            left: of(&self.counts.left),
            running: of(&self.counts.running),
            waiting: self.line.waiting() as u64,
        }
    }
}

/// Answers a query of the machine's user; for a program without a runtime.
pub fn query(settings: Settings, query: &str, engine: Engine) -> Result<Arc<Answer>, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::Other(format!("no runtime: {error}")))?;
    let queries = Queries::new(settings);
    runtime.block_on(queries.ask(query, engine))
}
