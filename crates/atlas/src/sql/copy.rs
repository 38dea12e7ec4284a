//! When the public copy is made anew.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tracing::{debug, warn};

use super::limits::Engine;
use super::queries::Settings;
use super::{parquet, public};
use crate::error::Error;

/// Between two looks at the store's version.
const LOOK: Duration = Duration::from_secs(5);
/// A copy may be made this part of the time at most, for it takes the disk from others.
const SHARE: u32 = 20;
/// How long a query waits for the first copy.
const PATIENCE: Duration = Duration::from_secs(5);

/// Has the copy made when somebody asks and the store has changed: while nobody asks nothing is
/// copied.
#[derive(Debug)]
pub(super) struct Copies {
    shared: Arc<Shared>,
    every: Option<Duration>,
}

#[derive(Debug)]
struct Shared {
    data: PathBuf,
    engine: Engine,
    state: Mutex<State>,
    made: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// Of the copy; `None`: there is none.
    version: Option<i64>,
    looked: Option<Instant>,
    /// When the last one was made, or tried, and how long that took.
    made: Option<(Instant, Duration)>,
    making: bool,
    failed: Option<String>,
}

impl Shared {
    fn make(&self) -> Result<i64, Error> {
        match self.engine {
            Engine::Sqlite => public::make(&self.data),
            Engine::Duckdb => parquet::make(&self.data),
        }
    }

    /// Of the store as it is, and of the copy.
    fn versions(&self) -> Result<(i64, Option<i64>), Error> {
        let there = match self.engine {
            Engine::Sqlite => public::version(&self.data),
            Engine::Duckdb => parquet::version(&self.data),
        };
        Ok((public::wanted(&self.data)?, there))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Copies {
    /// Of what this engine reads.
    pub(super) fn new(settings: &Settings, engine: Engine) -> Self {
        Self {
            shared: Arc::new(Shared {
                data: settings.data.clone(),
                engine,
                state: Mutex::default(),
                made: Notify::new(),
            }),
            every: settings.every,
        }
    }

    /// The version of the store that the copy is of, once there is one.
    pub(super) async fn version(&self) -> Result<i64, Error> {
        let Some(every) = self.every else {
            let shared = self.shared.clone();
            return blocking(move || shared.make()).await;
        };
        {
            let state = self.shared.state();
            let lately = state.looked.is_some_and(|at| at.elapsed() < LOOK);
            if let (Some(version), true) = (state.version, lately) {
                return Ok(version);
            }
        }
        let shared = self.shared.clone();
        let (wanted, there) = blocking(move || shared.versions()).await?;
        if let Some(version) = self.decide(wanted, there, every) {
            return Ok(version);
        }
        let soon =
            "the copy of the data that queries read is being made: try again in some seconds";
        let busy = || Error::Busy(soon.into());
        timeout(PATIENCE, self.wait()).await.map_err(|_| busy())?
    }

    /// Has a copy made where one is wanted. Gives the version of the one that there is.
    fn decide(&self, wanted: i64, there: Option<i64>, every: Duration) -> Option<i64> {
        let mut state = self.shared.state();
        state.looked = Some(Instant::now());
        state.version = there;
        let soon = state
            .made
            .is_some_and(|(at, took)| at.elapsed() < every.max(took * SHARE));
        let due = there.is_none() || (there != Some(wanted) && !soon);
        if due && !state.making {
            state.making = true;
            state.failed = None;
            let shared = self.shared.clone();
            spawn_blocking(move || make(&shared));
        }
        there
    }

    async fn wait(&self) -> Result<i64, Error> {
        loop {
            let made = self.shared.made.notified();
            tokio::pin!(made);
            // From here on no notice is missed.
            made.as_mut().enable();
            {
                let state = self.shared.state();
                match (&state.failed, state.version) {
                    (Some(why), _) => return Err(Error::Other(why.clone())),
                    (None, Some(version)) if !state.making => return Ok(version),
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
        Ok(version) => {
            debug!(?took, "the copy that queries read is made");
            state.version = Some(version);
        }
        Err(error) => {
            warn!(%error, "the copy that queries read cannot be made");
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
