//! The store's file, open as often as it is asked at once; where another file takes its place, that
//! one is asked from then on.

use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;
use tracing::{info, warn};

use crate::error::Error;
use crate::store::{self, Standing};

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
    standing: Standing,
    /// Goes up with each file.
    number: u64,
    /// Why what stands at the file's name is not asked.
    wrong: Option<String>,
}

impl Opened {
    /// Of this folder, which is looked at once.
    pub fn new(data: &Path) -> Result<Self, Error> {
        let connection = store::open(data)?;
        let state = State {
            idle: vec![connection],
            standing: Standing::of(&data.join(store::FILE))?,
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
        let wrong = match state.standing.look() {
            Ok(true) => None,
            Ok(false) => match self.replace(state, &path) {
                Ok(()) => {
                    let name = path.display();
                    info!("{name} is another file: it is asked from now on");
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

    /// Opens what has taken the place.
    fn replace(&self, state: &mut State, path: &Path) -> Result<(), Error> {
        store::recognise(path)?;
        state.standing.leave()?;
        let connection = store::open(&self.data)?;
        state.standing = Standing::of(path)?;
        state.idle = vec![connection];
        state.number += 1;
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
