//! Former states, from confirmed changes.

use super::Bounds;
use super::change::{CHANGE, Change, FileChange};
use super::error::{JournalError, failed};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// A saved state, from a confirmed change.
#[derive(Clone, Debug)]
pub struct State {
    /// The change.
    pub change: Change,
    pub(super) folder: PathBuf,
}

/// Returns true if a file holds only a private key.
fn is_key(path: &Path) -> bool {
    path.extension().is_some_and(|kind| kind == "key")
}

impl State {
    /// Removes the old private keys: no saved state restores one, and readers of the state must not
    /// have it.
    pub(super) fn forget_keys(&self) -> Result<(), JournalError> {
        for (n, entry) in self.change.files.iter().enumerate() {
            let kept = self.folder.join(format!("before-{n}"));
            if is_key(&entry.path) && kept.exists() {
                fs::remove_file(&kept).map_err(failed(&kept))?;
            }
        }
        Ok(())
    }
}

/// The folder of saved states.
#[derive(Clone, Debug)]
pub(super) struct States {
    folder: PathBuf,
}

impl States {
    /// Names the folder.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Returns the folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the readable saved states, the newest first.
    pub fn all(&self) -> Result<Vec<State>, JournalError> {
        let mut states: Vec<State> = self.found()?.into_iter().filter_map(Result::ok).collect();
        states.sort_by_key(|state| std::cmp::Reverse(state.change.number));
        Ok(states)
    }

    /// Returns all saved states, with [`JournalError::Damaged`] for each record that cannot be
    /// parsed.
    fn found(&self) -> Result<Vec<Result<State, JournalError>>, JournalError> {
        let folder = &self.folder;
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed(folder)(error)),
        };
        let mut states = Vec::new();
        for entry in entries {
            let folder = entry.map_err(failed(folder))?.path();
            match read(&folder) {
                Ok(Some(change)) => states.push(Ok(State { change, folder })),
                Ok(None) => {}
                Err(damaged @ JournalError::Damaged { .. }) => states.push(Err(damaged)),
                Err(trouble) => return Err(trouble),
            }
        }
        Ok(states)
    }

    /// Returns the changes that restore the files as they were before a change. `wanted` selects
    /// files: others are not read.
    pub fn before(
        &self,
        bounds: &Bounds,
        number: u64,
        wanted: impl Fn(&Path) -> bool,
    ) -> Result<Vec<FileChange>, JournalError> {
        // If a later change is missing, the old files are unknown.
        let damaged = |trouble: JournalError| match &trouble {
            JournalError::Damaged { path, .. } if number_of(path) >= Some(number) => Some(trouble),
            _ => None,
        };
        let all = self.found()?.into_iter().filter_map(Result::err);
        if let Some(damaged) = all.filter_map(damaged).next() {
            return Err(damaged);
        }
        let states = self.all()?;
        if !states.iter().any(|state| state.change.number == number) {
            return Err(JournalError::NoState(number));
        }
        // From the newest back: the oldest change has the old content.
        let mut files: Vec<FileChange> = Vec::new();
        for state in states.iter().filter(|state| state.change.number >= number) {
            let all = state.change.files.iter().enumerate();
            for (n, entry) in all.filter(|(_, it)| !is_key(&it.path) && wanted(&it.path)) {
                bounds.check_entry(entry)?;
                let kept = state.folder.join(format!("before-{n}"));
                let after = match entry.before {
                    Some(_) => Some(fs::read(&kept).map_err(failed(&kept))?),
                    None => None,
                };
                match files.iter_mut().find(|file| file.path == entry.path) {
                    Some(file) => file.after = after,
                    None => {
                        let before = content(&entry.path)?;
                        files.push(FileChange {
                            path: entry.path.clone(),
                            before,
                            after,
                        });
                    }
                }
            }
        }
        files.retain(|file| file.before != file.after);
        Ok(files)
    }
}

/// Returns the number of a change from the path of its record: the folder's name.
fn number_of(record: &Path) -> Option<u64> {
    record.parent()?.file_name()?.to_str()?.parse().ok()
}

fn content(path: &Path) -> Result<Option<Vec<u8>>, JournalError> {
    match fs::read(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(path)(error)),
    }
}

/// Reads the record of a change from its folder. `None` if the folder does not exist.
pub(super) fn read(folder: &Path) -> Result<Option<Change>, JournalError> {
    let path = folder.join(CHANGE);
    match fs::read(&path) {
        Ok(text) => serde_json::from_slice(&text)
            .map(Some)
            .map_err(|error| JournalError::Damaged { path, error }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(&path)(error)),
    }
}
