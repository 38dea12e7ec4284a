//! Files of uncommitted changes.
//!
//! Locks are taken in a fixed order to avoid deadlocks: the configuration file, then the last
//! folder's file of changes; files in other folders are locked only while they are read.

use super::disk::{Hold, failed, lock_changes, trusted};
use crate::{change::Change, error::Error, scan::whole};
use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    path::Path,
};

/// Changes, and the file that holds them.
pub(super) type Waiting = (Vec<Change>, File);

/// Reads the changes of a package in a folder. The lock keeps the changes stable.
pub(super) fn read(folder: &Path, package: &str, hold: Hold) -> Result<Option<Waiting>, Error> {
    let path = folder.join(package);
    match fs::symlink_metadata(&path) {
        Ok(data) if data.is_file() || data.is_symlink() => trusted(folder)?,
        // Avoids blocking on a pipe.
        Ok(_) => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(&path)(error)),
    }
    let mut open = OpenOptions::new();
    open.read(true).write(matches!(hold, Hold::Exclusive));
    let Some(mut file) = lock_changes(&path, &mut open, hold)? else {
        return Ok(None);
    };
    let mut text = Vec::new();
    file.read_to_end(&mut text).map_err(failed(&path))?;
    Ok(Some((Change::read(package, &text), file)))
}

/// Appends lines to the stored ones.
pub(super) fn append(path: &Path, open: &mut OpenOptions, lines: &[u8]) -> Result<(), Error> {
    let file = lock_changes(path, open, Hold::Exclusive)?;
    let mut file = file.ok_or_else(|| failed(path)(io::ErrorKind::NotFound.into()))?;
    let mut written = Vec::new();
    file.read_to_end(&mut written).map_err(failed(path))?;
    // A line cut off by a full disk would corrupt the next one.
    let before = u64::try_from(whole(&written)).unwrap_or(u64::MAX);
    file.set_len(before).map_err(failed(path))?;
    file.write_all(lines).map_err(|error| {
        let _ = file.set_len(before);
        failed(path)(error)
    })
}
