//! Connections to the store's file, one for each concurrent request; a file that replaces it is
//! used from then on. A damaged file is reported until it is intact again.

use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tracing::{info, warn};

use crate::error::Error;
use crate::store::{self, Stamp, Standing};

/// Largest age of the last check.
const LATELY: Duration = Duration::from_secs(30);

/// Read-only connections to one file. At least one stays open while the file is readable, so that a
/// deleted file can still be read.
#[derive(Debug)]
pub(super) struct ConnectionPool {
    data: PathBuf,
    path: PathBuf,
    state: Mutex<State>,
    returned: Condvar,
}

#[derive(Debug)]
struct State {
    idle: Vec<Connection>,
    standing: Standing,
    /// Generation of the connections: a new one replaces all.
    number: u64,
    /// Edition of the content, which changes with the data.
    edition: u64,
    /// Stamp of the file at that moment.
    stamp: Option<Stamp>,
    version: i64,
    looked: Instant,
    /// Reason not to use the file at that name.
    wrong: Option<String>,
    /// A file found damaged before its use, until it is written to.
    refused: Option<(Stamp, String)>,
    /// Reason why nothing can be read: a later check must succeed first.
    unreadable: Option<String>,
    /// Damage met by an answer, until the file is written to.
    damaged: Option<(Stamp, String)>,
}

/// Health of the store, with the reason of a problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Health {
    Good,
    /// An earlier file is in use instead of the present one.
    Before(String),
    Bad(String),
}

impl ConnectionPool {
    /// Opens the store of a folder.
    pub fn new(data: &Path) -> Result<Self, Error> {
        let connection = store::open(data)?;
        let path = data.join(store::FILE);
        let state = State {
            version: store::version(&connection)?,
            idle: vec![connection],
            standing: Standing::of(&path)?,
            number: 0,
            edition: 0,
            stamp: Stamp::of(&path),
            looked: Instant::now(),
            wrong: None,
            refused: None,
            unreadable: None,
            damaged: None,
        };
        Ok(Self {
            data: data.to_owned(),
            path,
            state: Mutex::new(state),
            returned: Condvar::new(),
        })
    }

    /// Runs a query on an idle connection, otherwise a new one, otherwise the next returned one.
    pub fn ask<T>(
        &self,
        question: impl FnOnce(&mut Connection) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let (mut connection, number) = self.lend()?;
        let answer = question(&mut connection);
        let mut state = self.state();
        if state.number != number {
            return answer;
        }
        match answer {
            Err(error) if store::is_damage(&error) => {
                let why = format!("{} is damaged ({error})", self.path.display());
                self.doubt(&mut state, &why);
                Err(Error::Unready(why))
            }
            answer => {
                state.idle.push(connection);
                self.returned.notify_one();
                answer
            }
        }
    }

    fn lend(&self) -> Result<(Connection, u64), Error> {
        let mut state = self.state();
        loop {
            if let Some(why) = &state.unreadable {
                return Err(Error::Unready(why.clone()));
            }
            if let Some(connection) = state.idle.pop() {
                return Ok((connection, state.number));
            }
            if matches!(state.standing.look(), Ok(true)) {
                return Ok((store::open(&self.data)?, state.number));
            }
            let waited = self.returned.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Handles damage met by an answer. Connections from before the last write may be at fault;
    /// newer ones prove a damaged file.
    fn doubt(&self, state: &mut State, why: &str) {
        let there = matches!(state.standing.look(), Ok(true));
        let Some(stamp) = Stamp::of(&self.path).filter(|_| there) else {
            // The open file is gone from its name: no better connection is possible.
            state.unreadable = Some(why.to_owned());
            return self.renew(state, Vec::new());
        };
        if state.stamp == Some(stamp) {
            warn!("{why}: move an undamaged store there");
            state.damaged = Some((stamp, why.to_owned()));
        } else {
            state.edition += 1;
        }
        let fresh = store::open(&self.data);
        if let Err(error) = &fresh {
            state.unreadable = Some(error.to_string());
        }
        self.renew(state, fresh.into_iter().collect());
    }

    fn renew(&self, state: &mut State, idle: Vec<Connection>) {
        state.idle = idle;
        state.number += 1;
        state.stamp = Stamp::of(&self.path);
        self.returned.notify_all();
    }

    /// Checks for a replacement of the file, and for the readability of the open one.
    pub fn look(&self) {
        let looked = self.state().standing.look();
        let wrong = match looked {
            Ok(true) => {
                self.read();
                None
            }
            Ok(false) => self.consider().err(),
            Err(error) => Some(format!("{}: {error}", self.path.display())),
        };
        let mut state = self.state();
        if let Some(why) = &wrong
            && state.wrong.as_ref() != Some(why)
        {
            warn!("{why}; the previous store is still shown, until a store is put there");
        }
        state.wrong = wrong;
        state.looked = Instant::now();
    }

    /// Reads a little by a new connection: older ones may only have the old content of an
    /// overwritten file.
    fn read(&self) {
        let fresh = store::open(&self.data).and_then(|store| {
            let version = store::probe(&store)?;
            Ok((store, version))
        });
        let mut state = self.state();
        if !matches!(state.standing.look(), Ok(true)) {
            return;
        }
        match fresh {
            Ok((store, version)) => {
                let before = state.unreadable.take();
                if before.is_some() {
                    info!("{} can be read again", self.path.display());
                }
                let stamp = Stamp::of(&self.path);
                let damaged = state.damaged.take_if(|(of, _)| Some(*of) != stamp);
                if before.is_some() || damaged.is_some() || version != state.version {
                    state.version = version;
                    state.edition += 1;
                    self.renew(&mut state, vec![store]);
                }
            }
            Err(error) => {
                let why = match error {
                    Error::Store(error) => {
                        let name = self.path.display();
                        format!(
                            "{name} is damaged: move an undamaged store there, or move it away and import again ({error})"
                        )
                    }
                    other => other.to_string(),
                };
                if state.unreadable.as_ref() != Some(&why) {
                    warn!("cannot read the store: {why}");
                }
                state.unreadable = Some(why);
                // SQLite drops its cached state of the file once no connection is open.
                self.renew(&mut state, Vec::new());
            }
        }
    }

    /// Adopts a replacement, if it is a valid store.
    fn consider(&self) -> Result<(), String> {
        let stamp = Stamp::of(&self.path);
        if let Some((of, why)) = &self.state().refused
            && Some(*of) == stamp
        {
            return Err(why.clone());
        }
        let text = |error: Error| error.to_string();
        store::recognise(&self.path).map_err(text)?;
        // Runs without the lock, so that no request waits.
        let whole = store::whole(&self.path).map_err(text);
        let mut state = self.state();
        if let Err(why) = whole {
            state.refused = stamp.map(|stamp| (stamp, why.clone()));
            return Err(why);
        }
        state.standing.leave().map_err(text)?;
        let store = store::open(&self.data).map_err(text)?;
        let version = store::version(&store).map_err(text)?;
        state.standing = Standing::of(&self.path).map_err(text)?;
        state.version = version;
        (state.unreadable, state.damaged) = (None, None);
        state.edition += 1;
        self.renew(&mut state, vec![store]);
        let name = self.path.display();
        info!("{name} was replaced: the new file is used from now on");
        Ok(())
    }

    /// Returns the store's own version, and the number of its edition, as two files may share a
    /// version. Both stay while nothing is readable: cached answers remain valid.
    pub fn version(&self) -> (i64, u64) {
        let state = self.state();
        (state.version, state.edition)
    }

    /// Returns the health at the last check.
    pub fn health(&self) -> Health {
        let state = self.state();
        // Clients need not see the folder.
        let folder = format!("{}/", self.data.display());
        let plain = |why: &str| why.replace(&folder, "");
        let damaged = state.damaged.as_ref().map(|(_, why)| why);
        if let Some(why) = state.unreadable.as_ref().or(damaged) {
            return Health::Bad(plain(why));
        }
        if state.looked.elapsed() > LATELY {
            return Health::Bad("the store does not answer: the disk is slow, or gone".into());
        }
        match &state.wrong {
            Some(why) => Health::Before(plain(why)),
            None => Health::Good,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
