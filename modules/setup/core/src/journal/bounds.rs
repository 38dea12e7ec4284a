//! Files that a journal may change. A user who can write into its folder could name any other file
//! there, and root would put that file in place.

use super::{Change, Entry, JournalError};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// Bits of files that run with their owner's rights.
const SET_IDS: u32 = 0o6000;

/// Folders and files that may be changed.
#[derive(Clone, Debug, Default)]
pub struct Bounds {
    folders: Vec<PathBuf>,
    files: Vec<PathBuf>,
}

impl Bounds {
    /// Allows the files in these folders, but not in folders below them, and these files.
    pub fn new(
        folders: impl IntoIterator<Item = PathBuf>,
        files: impl IntoIterator<Item = PathBuf>,
    ) -> Self {
        Self {
            folders: folders.into_iter().collect(),
            files: files.into_iter().collect(),
        }
    }

    /// Refuses a path that may not be changed, or that leads elsewhere.
    ///
    /// # Errors
    /// [`JournalError::Outside`].
    pub(super) fn check(&self, path: &Path) -> Result<(), JournalError> {
        let outside = || JournalError::Outside(path.to_owned());
        let plain = path
            .components()
            .all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
        let named = self.files.iter().any(|file| file == path)
            || path
                .parent()
                .is_some_and(|parent| self.folders.iter().any(|folder| folder == parent));
        let name = path.file_name().and_then(|name| name.to_str());
        // Services receive names of packages: no name is an option.
        let usual = name.is_some_and(|name| !name.starts_with('-'));
        if !(plain && named && usual) {
            return Err(outside());
        }
        // A plain file of another user, as of a backup, is replaced whole: its folder must be safe.
        let is_other = fs::symlink_metadata(path).is_ok_and(|file| !file.is_file());
        match is_other || !path.parent().is_some_and(is_safe) {
            true => Err(outside()),
            false => Ok(()),
        }
    }

    /// Checks all files of a change, and the rights that they would have.
    ///
    /// # Errors
    /// [`JournalError::Outside`].
    pub(super) fn check_all(&self, change: &Change) -> Result<(), JournalError> {
        change.files.iter().try_for_each(|it| self.check_entry(it))
    }

    /// Checks a file of a change, and the rights that the file would have.
    ///
    /// # Errors
    /// [`JournalError::Outside`].
    pub(super) fn check_entry(&self, entry: &Entry) -> Result<(), JournalError> {
        self.check(&entry.path)?;
        let mut found = [&entry.before, &entry.after].into_iter().flatten();
        match found.any(|found| found.mode & SET_IDS != 0) {
            true => Err(JournalError::Outside(entry.path.clone())),
            false => Ok(()),
        }
    }
}

/// Returns true if no other user can put a file into the folder, or the folder does not exist. A
/// link to such a folder is safe in a folder that is.
fn is_safe(folder: &Path) -> bool {
    match fs::symlink_metadata(folder) {
        Ok(link) if link.is_symlink() => {
            let is_safe = |folder: &Path| fs::metadata(folder).is_ok_and(|data| is_own(&data));
            is_owned(&link) && folder.parent().is_some_and(is_safe) && is_safe(folder)
        }
        Ok(data) => is_own(&data),
        Err(_) => true,
    }
}

/// Returns true for a folder, and no link, that no other user may write into.
pub(super) fn is_own_folder(folder: &Path) -> bool {
    fs::symlink_metadata(folder).is_ok_and(|data| is_own(&data))
}

/// Returns true for a folder of root or of this user that no other user may write into.
fn is_own(data: &fs::Metadata) -> bool {
    let groups = data.gid() != 0 && data.gid() != nix::unistd::getegid().as_raw();
    let written = data.mode() & 0o002 != 0 || data.mode() & 0o020 != 0 && groups;
    data.is_dir() && is_owned(data) && !written
}

/// Returns true if root or this user is the owner.
fn is_owned(data: &fs::Metadata) -> bool {
    let owner = data.uid();
    owner == 0 || owner == nix::unistd::geteuid().as_raw()
}
