//! Schedule of the public copy.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tracing::{debug, warn};

use super::limits::Engine;
use super::settings::Settings;
use super::{parquet, public};
use crate::error::Error;
use crate::store::{self, Stamp};

/// Interval between two checks of the store's version.
const LOOK: Duration = Duration::from_secs(5);
/// Copying may use at most this part of the time, because it occupies the disk.
const SHARE: u32 = 20;
/// Longest wait of a query for the first copy.
const PATIENCE: Duration = Duration::from_secs(5);

/// Identity of the current copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CopyIdentity {
    /// Version of the store that was copied.
    pub version: i64,
    /// Stamp of the file. Copies never change: another stamp means a replaced or damaged file.
    stamp: Stamp,
    /// Hash of the stamps of its Parquet files.
    parts: u64,
}

/// Renews the copy on a query after a change of the store: without queries, nothing is copied.
#[derive(Debug)]
pub(super) struct Copies {
    shared: Arc<Shared>,
    every: Option<Duration>,
}

#[derive(Debug)]
struct Shared {
    data: PathBuf,
    engine: Engine,
    /// True if there was a store at the start: a missing one will be replaced.
    begun: bool,
    state: Mutex<State>,
    made: Notify,
}

#[derive(Debug, Default)]
struct State {
    copied: Option<CopyIdentity>,
    /// The last one that was made here.
    own: Option<CopyIdentity>,
    /// Copy reported as unreadable.
    doubted: Option<CopyIdentity>,
    looked: Option<Instant>,
    /// Time of the last attempt, and its duration.
    made: Option<(Instant, Duration)>,
    making: bool,
    failed: Option<String>,
    /// Reason why the store is unreadable: the old copy stays in use.
    wrong: Option<String>,
    /// Reason for the removal of the copy.
    fault: Option<String>,
}

impl Shared {
    fn make(&self) -> Result<CopyIdentity, Error> {
        let version = match self.engine {
            Engine::Sqlite => public::make(&self.data),
            Engine::Duckdb => parquet::make(&self.data),
        }?;
        let gone = || Error::Unready(format!("{} is gone again", self.path().display()));
        let (stamp, parts) = self.stamp().ok_or_else(gone)?;
        Ok(CopyIdentity {
            version,
            stamp,
            parts,
        })
    }

    fn stamp(&self) -> Option<(Stamp, u64)> {
        let stamp = Stamp::of(&self.path())?;
        let parts = match self.engine {
            Engine::Sqlite => 0,
            Engine::Duckdb => parquet::stamps(&self.data),
        };
        Some((stamp, parts))
    }

    /// Returns the file of a complete copy.
    fn path(&self) -> PathBuf {
        match self.engine {
            Engine::Sqlite => public::path(&self.data),
            Engine::Duckdb => parquet::named(&self.data),
        }
    }

    /// Returns the present copy. Removes a damaged copy.
    fn copied(&self) -> Option<CopyIdentity> {
        let path = self.path();
        let (stamp, parts) = self.stamp()?;
        let (known, doubted) = {
            let state = self.state();
            (state.copied, state.doubted)
        };
        let changed = known
            .is_some_and(|of| of.stamp.is_of(&stamp) && (of.stamp, of.parts) != (stamp, parts));
        let version = match changed || doubted.is_some_and(|of| of.stamp == stamp) {
            true => None,
            false => match self.engine {
                Engine::Sqlite => public::version(&self.data),
                Engine::Duckdb => parquet::version(&self.data),
            },
        };
        if version.is_none() {
            let fault = match self.engine {
                Engine::Sqlite => None,
                Engine::Duckdb => parquet::fault(&self.data),
            };
            match &fault {
                Some(fault) => warn!("{fault} now"),
                None => warn!("{} is damaged: it is created again", path.display()),
            }
            self.state().fault = fault;
            if let Err(error) = fs::remove_file(&path) {
                warn!("{}: {error}", path.display());
            }
        }
        version.map(|version| CopyIdentity {
            version,
            stamp,
            parts,
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Copies {
    /// Creates the copies for an engine.
    pub(super) fn new(settings: &Settings, engine: Engine) -> Self {
        Self {
            shared: Arc::new(Shared {
                data: settings.data.clone(),
                engine,
                begun: settings.data.join(store::FILE).exists(),
                state: Mutex::default(),
                made: Notify::new(),
            }),
            every: settings.every,
        }
    }

    /// Returns the copy, as soon as it exists.
    pub(super) async fn ready(&self) -> Result<CopyIdentity, Error> {
        let shared = self.shared.clone();
        let Some(every) = self.every else {
            return blocking(move || {
                shared.copied();
                shared.make()
            })
            .await;
        };
        let stamp = shared.stamp();
        {
            let state = shared.state();
            let lately = state.looked.is_some_and(|at| at.elapsed() < LOOK);
            if let (Some(copied), true) = (state.copied, lately)
                && stamp == Some((copied.stamp, copied.parts))
                && state.doubted != Some(copied)
            {
                return Ok(copied);
            }
        }
        let looked = blocking(move || Ok((public::wanted(&shared.data), shared.copied())));
        let (wanted, there) = looked.await?;
        if let Some(copied) = self.decide(wanted, there, every)? {
            return Ok(copied);
        }
        let soon = "the copy of the data for queries is being created: try again in a few seconds";
        let busy = || Error::Busy(soon.into());
        timeout(PATIENCE, self.wait()).await.map_err(|_| busy())?
    }

    /// Reports an unreadable copy. The copy is renewed unless it is recent, because a query must
    /// not be able to cause endless copying.
    pub(super) fn doubt(&self, copied: CopyIdentity) {
        let mut state = self.shared.state();
        let lately = |(at, took): (Instant, Duration)| at.elapsed() < took * SHARE;
        if state.own != Some(copied) || !state.made.is_some_and(lately) {
            state.doubted = Some(copied);
        }
    }

    /// Starts a copy if needed. Returns the current one.
    fn decide(
        &self,
        wanted: Result<i64, Error>,
        there: Option<CopyIdentity>,
        every: Duration,
    ) -> Result<Option<CopyIdentity>, Error> {
        let mut state = self.shared.state();
        state.looked = Some(Instant::now());
        state.copied = there;
        let wanted = match (wanted, there) {
            (Ok(wanted), _) => {
                state.wrong = None;
                wanted
            }
            (Err(error), Some(copied)) => {
                let why = error.to_string();
                if state.wrong.as_ref() != Some(&why) {
                    warn!("{why}; queries use the copy of the previous store");
                    state.wrong = Some(why);
                }
                return Ok(Some(copied));
            }
            (Err(error), None) if self.shared.begun => {
                let fault = state.fault.iter().map(|fault| format!("{fault}; but "));
                let fault: String = fault.collect();
                return Err(Error::Unready(format!("{fault}{error}")));
            }
            (Err(error), None) => return Err(error),
        };
        let soon = state
            .made
            .is_some_and(|(at, took)| at.elapsed() < every.max(took * SHARE));
        let due = there.is_none_or(|there| there.version != wanted && !soon);
        if due && !state.making {
            state.making = true;
            state.failed = None;
            let shared = self.shared.clone();
            spawn_blocking(move || make(&shared));
        }
        Ok(there)
    }

    async fn wait(&self) -> Result<CopyIdentity, Error> {
        loop {
            let made = self.shared.made.notified();
            tokio::pin!(made);
            // Receives all notices from here on.
            made.as_mut().enable();
            {
                let state = self.shared.state();
                match (&state.failed, state.copied) {
                    (Some(why), _) => return Err(Error::Unready(why.clone())),
                    (None, Some(copied)) if !state.making => return Ok(copied),
                    _ => {}
                }
            }
            made.await;
        }
    }
}

fn make(shared: &Shared) {
    let begun = Instant::now();
    let made = shared.make();
    let took = begun.elapsed();
    let mut state = shared.state();
    state.making = false;
    state.made = Some((Instant::now(), took));
    match made {
        Ok(copied) => {
            debug!(?took, "the copy for queries is complete");
            state.copied = Some(copied);
            state.own = Some(copied);
        }
        Err(error) => {
            warn!(%error, "cannot create the copy for queries");
            state.failed = Some(error.to_string());
        }
    }
    drop(state);
    shared.made.notify_waiters();
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let done = spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(Error::Other(format!("a task ended: {error}"))))
}
