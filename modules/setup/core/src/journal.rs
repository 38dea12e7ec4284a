//! Files replaced together, or not at all.
//!
//! The journal records a whole change before any file is touched: the old files and the new ones,
//! on the disk, in a folder that is renamed to `pending` when complete. From then on every process
//! that finds `pending` after its time limit, or after a boot, restores the old files; only
//! `confirm`, one renaming, makes the change permanent. So after a power cut at any point the files
//! are the old ones, or new ones that a user confirmed. A change whose process was stopped half-way
//! can be undone, but not confirmed.
//!
//! All disk space of a change is allocated while it is recorded: files are moved into place, not
//! copied (where folder and file are in one file system, as on a router).

mod bounds;
mod change;
mod disk;
mod error;
mod folders;
mod states;

use crate::clock::{BOOT, BootTime};
pub use bounds::Bounds;
use change::{CHANGE, Found, UNFINISHED};
pub use change::{Change, ChangeRequest, Entry, FileChange, Pending};
use disk::{Disk, is_in};
pub use error::JournalError;
use error::failed;
use folders::missing;
pub use states::State;
use states::{States, read};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// Former states that are kept.
const KEPT: usize = 10;
/// Folder of a change that is not confirmed.
const PENDING: &str = "pending";
/// File with the number of the last change, confirmed or not.
const LAST: &str = "last";
/// Folder of a change that was set aside: some of its files must not be changed, and stayed.
const REFUSED: &str = "refused";
/// File of the change that was undone last.
const UNDONE: &str = "undone";

/// Journal of changes.
#[derive(Clone, Debug)]
pub struct Journal {
    folder: PathBuf,
    states: States,
    bounds: Bounds,
    disk: Disk,
}

impl Journal {
    /// Returns a journal in this folder, which is created when needed. The journal changes no file
    /// out of these bounds, whatever is written in its folder.
    pub fn new(folder: impl Into<PathBuf>, bounds: Bounds) -> Journal {
        let folder = folder.into();
        Journal {
            states: States::new(folder.join("states")),
            folder,
            bounds,
            disk: Disk::default(),
        }
    }

    /// Returns the folder of the journal.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the readable saved states, the newest first.
    ///
    /// # Errors
    /// [`JournalError::Io`].
    pub fn states(&self) -> Result<Vec<State>, JournalError> {
        self.states.all()
    }

    /// Returns the changes that restore the files as they were before a change. `wanted` selects
    /// files: the method does not read others.
    ///
    /// # Errors
    /// [`JournalError::NoState`], [`JournalError::Outside`], [`JournalError::Damaged`],
    /// [`JournalError::Io`].
    pub fn before(
        &self,
        number: u64,
        wanted: impl Fn(&Path) -> bool,
    ) -> Result<Vec<FileChange>, JournalError> {
        self.states.before(&self.bounds, number, wanted)
    }

    /// Records a change, before any file has changed.
    ///
    /// # Errors
    /// [`JournalError::Waits`], [`JournalError::Changed`], [`JournalError::Outside`],
    /// [`JournalError::Io`]; no part of the record remains then.
    pub fn begin(
        &self,
        wish: &ChangeRequest,
        files: &[FileChange],
    ) -> Result<Pending, JournalError> {
        for file in files {
            self.bounds.check(&file.path)?;
        }
        let _lock = self.lock()?;
        if let Some(pending) = self.readable()? {
            return Err(JournalError::Waits(Box::new(pending.change)));
        }
        self.sweep()?;
        let number = self.last()? + 1;
        let new = self.folder.join(".new");
        let written = self.write_down(&new, number, wish, files);
        match written {
            Ok(change) => {
                let folder = self.folder.join(PENDING);
                self.disk.rename(&new.join(LAST), &self.folder.join(LAST))?;
                self.disk.rename(&new, &folder)?;
                self.disk.sync_folder(&self.folder)?;
                Ok(Pending { change, folder })
            }
            Err(trouble) => {
                let _ = fs::remove_dir_all(&new);
                Err(trouble)
            }
        }
    }

    /// Returns the number of the last change. A note keeps the number of an undone one, so that
    /// files found then are not attributed to another change.
    fn last(&self) -> Result<u64, JournalError> {
        let kept = self.states()?.first().map(|state| state.change.number);
        let noted = fs::read_to_string(self.folder.join(LAST)).ok();
        let noted = noted.and_then(|text| text.trim().parse().ok());
        Ok(kept.max(noted).unwrap_or(0))
    }

    fn write_down(
        &self,
        new: &Path,
        number: u64,
        wish: &ChangeRequest,
        files: &[FileChange],
    ) -> Result<Change, JournalError> {
        self.disk.make_folder(new)?;
        let mut entries = Vec::new();
        for (n, file) in files.iter().enumerate() {
            let before = self.disk.file_state(&file.path)?;
            if before.as_ref().map(|found| &found.says)
                != file.before.as_deref().map(disk::digest).as_ref()
            {
                return Err(JournalError::Changed(file.path.clone()));
            }
            let (mode, owner) = before
                .as_ref()
                .map_or((0o600, (0, 0)), |found| (found.mode, found.owner));
            if let Some(text) = &file.before {
                self.disk
                    .write(&new.join(format!("before-{n}")), text, mode, owner)?;
            }
            let after = match &file.after {
                Some(text) => {
                    self.disk
                        .write(&new.join(format!("after-{n}")), text, mode, owner)?;
                    Some(Found {
                        mode,
                        owner,
                        says: disk::digest(text),
                    })
                }
                None => None,
            };
            entries.push(Entry {
                folder: file.after.as_ref().and_then(|_| missing(&file.path)),
                path: file.path.clone(),
                before,
                after,
            });
        }
        let change = Change {
            number,
            why: wish.why.clone(),
            who: wish.who.clone(),
            when: net::clock::unix_seconds(),
            until: now()?.after(wish.within),
            lines: wish.lines.clone(),
            files: entries,
        };
        let text = serde_json::to_vec_pretty(&change).map_err(|error| failed(new)(error.into()))?;
        self.disk.write(&new.join(CHANGE), &text, 0o600, (0, 0))?;
        self.disk.write(&new.join(UNFINISHED), b"", 0o600, (0, 0))?;
        let last = number.to_string();
        self.disk
            .write(&new.join(LAST), last.as_bytes(), 0o600, (0, 0))?;
        self.disk.sync_folder(new)?;
        Ok(change)
    }

    /// Returns the unconfirmed change.
    ///
    /// # Errors
    /// [`JournalError::Io`].
    pub fn pending(&self) -> Result<Option<Pending>, JournalError> {
        let folder = self.folder.join(PENDING);
        Ok(read(&folder)?.map(|change| Pending { change, folder }))
    }

    /// Puts the new files in place.
    ///
    /// # Errors
    /// [`JournalError::Changed`], [`JournalError::Outside`], [`JournalError::Io`]. The change is
    /// still pending then: [`Journal::undo`] it.
    pub fn apply(&self, pending: &Pending) -> Result<(), JournalError> {
        let _lock = self.lock()?;
        self.bounds.check_all(&pending.change)?;
        for (n, entry) in pending.change.files.iter().enumerate() {
            if self.disk.file_state(&entry.path)? != entry.before {
                return Err(JournalError::Changed(entry.path.clone()));
            }
            let new = pending.folder.join(format!("after-{n}"));
            if let Some(after) = &entry.after {
                is_in(after, &new, &entry.path)?;
            }
            self.put(&new, &entry.path, entry.after.is_some())?;
        }
        Ok(())
    }

    /// Marks the pending change as done, after all services have reloaded: it can be confirmed.
    ///
    /// # Errors
    /// [`JournalError::Nothing`] if the change is undone already, [`JournalError::Io`].
    pub fn finish(&self, number: u64) -> Result<(), JournalError> {
        let _lock = self.lock()?;
        let pending = self.pending()?.ok_or(JournalError::Nothing)?;
        if pending.change.number != number {
            return Err(JournalError::Nothing);
        }
        self.disk.remove(&pending.folder.join(UNFINISHED))?;
        self.disk.sync_folder(&pending.folder)
    }

    /// Makes the pending change permanent.
    ///
    /// # Errors
    /// [`JournalError::Nothing`], [`JournalError::Unfinished`], [`JournalError::Io`].
    pub fn confirm(&self) -> Result<Change, JournalError> {
        let _lock = self.lock()?;
        let pending = self.pending()?.ok_or(JournalError::Nothing)?;
        if !pending.is_finished() {
            return Err(JournalError::Unfinished(Box::new(pending.change)));
        }
        let states = self.states.folder();
        self.disk.make_folder(states)?;
        let kept = states.join(format!("{:08}", pending.change.number));
        self.disk.rename(&pending.folder, &kept)?;
        self.disk.sync_folder(states)?;
        self.disk.sync_folder(&self.folder)?;
        for old in self.states()?.into_iter().skip(KEPT) {
            // Harmless if it stays: the next confirmation removes it.
            let _ = fs::remove_dir_all(old.folder);
        }
        for state in self.states()? {
            state.forget_keys()?;
        }
        Ok(pending.change)
    }

    /// Restores the old files. May be repeated after an interruption at any point.
    ///
    /// # Errors
    /// [`JournalError::Nothing`], [`JournalError::Io`]: the change is still pending then.
    /// [`JournalError::Refused`]: the change is set aside, and all files that may be changed are
    /// restored. [`JournalError::Damaged`]: the change is set aside, and no file is restored.
    pub fn undo(&self) -> Result<Change, JournalError> {
        let _lock = self.lock()?;
        let pending = self.readable()?.ok_or(JournalError::Nothing)?;
        self.put_back(pending)
    }

    /// Restores the old files, under the lock.
    fn put_back(&self, pending: Pending) -> Result<Change, JournalError> {
        let Pending { mut change, folder } = pending;
        let mut refused = Vec::new();
        for (n, entry) in change.files.iter().enumerate() {
            match self.put_file_back(&folder, change.number, n, entry) {
                Ok(()) => {}
                // A file that stays as it is must not keep the others from coming back.
                Err(JournalError::Outside(path)) => refused.push(path),
                Err(trouble) => return Err(trouble),
            }
        }
        // Services receive the names of these files only.
        change.files.retain(|entry| !refused.contains(&entry.path));
        for entry in &change.files {
            entry.take_folders_away();
        }
        if let Some(path) = refused.into_iter().next() {
            self.put_aside(&folder)?;
            let change = Box::new(change);
            return Err(JournalError::Refused { path, change });
        }
        let old = self.folder.join(".old");
        let _ = fs::remove_dir_all(&old);
        self.disk.rename(&folder, &old)?;
        self.disk.sync_folder(&self.folder)?;
        // Harmless if it is lost: it is only shown.
        let _ = fs::rename(old.join(CHANGE), self.folder.join(UNDONE));
        let _ = fs::remove_dir_all(&old);
        Ok(change)
    }

    /// Sets aside a change that cannot be undone, so that it prevents no other one. Returns its
    /// folder.
    fn put_aside(&self, folder: &Path) -> Result<PathBuf, JournalError> {
        let aside = self.folder.join(REFUSED);
        let _ = fs::remove_dir_all(&aside);
        self.disk.rename(folder, &aside)?;
        self.disk.sync_folder(&self.folder)?;
        Ok(aside)
    }

    /// Reads the change that is not confirmed yet, under the lock. Puts it aside if it is damaged,
    /// or if its record is gone.
    fn readable(&self) -> Result<Option<Pending>, JournalError> {
        match self.pending() {
            Err(JournalError::Damaged { error, .. }) => {
                let path = self.put_aside(&self.folder.join(PENDING))?.join(CHANGE);
                Err(JournalError::Damaged { path, error })
            }
            Ok(None) => {
                let folder = self.folder.join(PENDING);
                if folder.is_dir() {
                    self.put_aside(&folder)?;
                }
                Ok(None)
            }
            pending => pending,
        }
    }

    /// Restores file `n` of a change, unless the file is unchanged.
    ///
    /// # Errors
    /// [`JournalError::Outside`]: the file stays as it is. [`JournalError::Io`].
    fn put_file_back(
        &self,
        folder: &Path,
        number: u64,
        n: usize,
        entry: &Entry,
    ) -> Result<(), JournalError> {
        self.bounds.check_entry(entry)?;
        let now = self.disk.file_state(&entry.path)?;
        let kept = folder.join(format!("before-{n}"));
        // If the copy is gone, an earlier run put the file back before it was stopped.
        if now == entry.before || entry.before.is_some() && !kept.exists() {
            return Ok(());
        }
        if let Some(before) = &entry.before {
            is_in(before, &kept, &entry.path)?;
        }
        if now.is_some() && now != entry.after {
            // Another program wrote it since. Its content is not lost.
            let found = self.folder.join(format!("found-{number}-{n}"));
            self.disk.keep(&entry.path, &found)?;
        }
        self.put(&kept, &entry.path, entry.before.is_some())
    }

    /// Returns the change that was undone last, if none was confirmed since.
    pub fn undone(&self) -> Option<Change> {
        let text = fs::read(self.folder.join(UNDONE)).ok()?;
        let change: Change = serde_json::from_slice(&text).ok()?;
        let states = self.states().ok()?;
        let since = states.first().map(|state| state.change.number);
        since
            .is_none_or(|since| since < change.number)
            .then_some(change)
    }

    /// Restores the old files if a change was not confirmed in time, or the machine was restarted
    /// since. `None` if there is nothing to do.
    ///
    /// # Errors
    /// [`JournalError::Io`], [`JournalError::Refused`], [`JournalError::Damaged`].
    pub fn recover(&self, now: &BootTime) -> Result<Option<Change>, JournalError> {
        let late = |pending: &Pending| pending.change.until.left(now).is_none();
        match self.pending() {
            Ok(pending) if !pending.as_ref().is_some_and(late) => return Ok(None),
            Ok(_) | Err(JournalError::Damaged { .. }) => {}
            Err(trouble) => return Err(trouble),
        }
        // Another process may have been faster, and the next change may wait by now.
        let _lock = self.lock()?;
        let pending = self.readable()?.filter(late);
        pending.map(|it| self.put_back(it)).transpose()
    }

    /// Moves a file that is written already into place; without such a file, removes the one that
    /// is there.
    fn put(&self, written: &Path, path: &Path, exists: bool) -> Result<(), JournalError> {
        if exists {
            self.disk.put(written, path)?;
        } else {
            self.disk.remove(path)?;
        }
        let folder = path.parent().unwrap_or(Path::new("/"));
        if folder.is_dir() {
            self.disk.sync_folder(folder)
        } else {
            Ok(())
        }
    }

    /// Removes the remains of a change that was stopped.
    fn sweep(&self) -> Result<(), JournalError> {
        for name in [".new", ".old"] {
            let folder = self.folder.join(name);
            match fs::remove_dir_all(&folder) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(failed(&folder)(error)),
            }
        }
        Ok(())
    }

    /// Locks the journal for one process.
    fn lock(&self) -> Result<fs::File, JournalError> {
        self.disk.make_folder(&self.folder)?;
        // A user who can write there decides which files come back.
        if !bounds::is_own_folder(&self.folder) {
            return Err(JournalError::Outside(self.folder.clone()));
        }
        let path = self.folder.join("lock");
        let file = fs::OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(failed(&path))?;
        file.lock().map_err(failed(&path))?;
        Ok(file)
    }
}

/// Returns the present time.
///
/// # Errors
/// The kernel does not report the time.
pub fn now() -> Result<BootTime, JournalError> {
    BootTime::now().map_err(failed(Path::new(BOOT)))
}

#[cfg(test)]
mod tests;
