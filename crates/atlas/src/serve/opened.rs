//! The store's file, open as often as it is asked at once; where another file takes its place, that
//! one is asked from then on.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;
use tracing::{info, warn};

use crate::error::Error;
use crate::store::{self, Identity};

/// Read-only connections to one file. One at least stays open, so that it can be asked when its
/// name is gone.
#[derive(Debug)]
pub(super) struct Opened {
    data: PathBuf,
    state: Mutex<State>,
    returned: Condvar,
}

#[derive(Debug)]
struct State {
    idle: Vec<Connection>,
    file: Identity,
    /// SQLite's journal beside it, as long as the file was there.
    journal: Option<Identity>,
    /// Goes up with each file.
    number: u64,
    /// Why what stands at the file's name is not asked.
    wrong: Option<String>,
}

impl Opened {
    /// Of this folder, which is looked at once.
    pub fn new(data: &Path) -> Result<Self, Error> {
        let connection = store::open(data)?;
        let path = data.join(store::FILE);
        let file = Identity::of(&path).map_err(Error::file(&path))?;
        let state = State {
            idle: vec![connection],
            file,
            journal: Identity::of(&beside(&path, "-wal")).ok(),
            number: 0,
            wrong: None,
        };
        Ok(Self {
            data: data.to_owned(),
            state: Mutex::new(state),
            returned: Condvar::new(),
        })
    }

    /// Asks by a connection that nobody uses, else a new one, else the next that is given back.
    pub fn ask<T>(
        &self,
        question: impl FnOnce(&mut Connection) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let (mut connection, number) = self.lend()?;
        let answer = question(&mut connection);
        let mut state = self.state();
        if state.number == number {
            state.idle.push(connection);
            self.returned.notify_one();
        }
        answer
    }

    fn lend(&self) -> Result<(Connection, u64), Error> {
        let mut state = self.state();
        loop {
            if state.idle.is_empty() {
                self.compare(&mut state);
            }
            if let Some(connection) = state.idle.pop() {
                return Ok((connection, state.number));
            }
            if state.wrong.is_none() {
                return Ok((store::open(&self.data)?, state.number));
            }
            let waited = self.returned.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Looks whether another file has taken the place.
    pub fn look(&self) {
        self.compare(&mut self.state());
    }

    /// Goes up with each file: two may have the same version.
    pub fn number(&self) -> u64 {
        self.state().number
    }

    /// Whether the file that is asked is the one that stands there.
    pub fn in_place(&self) -> bool {
        self.state().wrong.is_none()
    }

    fn compare(&self, state: &mut State) {
        let path = self.data.join(store::FILE);
        let wrong = match Identity::of(&path) {
            Ok(there) if there == state.file => {
                state.journal = Identity::of(&beside(&path, "-wal")).ok();
                None
            }
            Ok(there) => match self.replace(state, &path) {
                Ok(connection) => {
                    info!(
                        "{} is another file: it is asked from now on",
                        path.display()
                    );
                    state.idle = vec![connection];
                    state.file = there;
                    state.journal = Identity::of(&beside(&path, "-wal")).ok();
                    state.number += 1;
                    self.returned.notify_all();
                    None
                }
                Err(error) => Some(error.to_string()),
            },
            Err(error) => Some(format!("{}: {error}", path.display())),
        };
        if let Some(why) = &wrong
            && state.wrong.as_ref() != Some(why)
        {
            warn!("{why}; what was there before is still shown, until a store is put there");
        }
        state.wrong = wrong;
    }

    /// Opens what has taken the place. The journal of the file before would be taken for its own.
    fn replace(&self, state: &State, path: &Path) -> Result<Connection, Error> {
        store::recognise(path)?;
        let journal = beside(path, "-wal");
        if state.journal.is_some() && Identity::of(&journal).ok() == state.journal {
            let of = |path: &Path| fs::metadata(path).map_err(Error::file(path));
            let (written, put) = (of(&journal)?, of(path)?);
            if (written.mtime(), written.mtime_nsec()) > (put.ctime(), put.ctime_nsec()) {
                return Err(Error::Other(format!(
                    "{} is of the file before, and was written since: end what writes, remove it",
                    journal.display()
                )));
            }
            for stale in [journal, beside(path, "-shm")] {
                match fs::remove_file(&stale) {
                    Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                        return Err(Error::file(&stale)(error));
                    }
                    _ => {}
                }
            }
        }
        store::open(&self.data)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// SQLite's own files stand beside.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}
