//! Folders that come with a change, and go with it.

use super::Entry;
use std::fs;
use std::path::{Path, PathBuf};

impl Entry {
    /// Removes the folders created for the change, if they are empty. Harmless if they stay.
    pub(super) fn take_folders_away(&self) {
        let Some(first) = &self.folder else { return };
        let ours = self.path.ancestors().skip(1);
        for folder in ours.take_while(|folder| folder.starts_with(first)) {
            if fs::remove_dir(folder).is_err() && folder.exists() {
                return;
            }
        }
    }
}

/// Returns the uppermost missing folder of a file.
pub(super) fn missing(path: &Path) -> Option<PathBuf> {
    let folders = path.ancestors().skip(1);
    let missing = folders.take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists());
    missing.last().map(Path::to_owned)
}
