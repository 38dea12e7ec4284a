//! The Parquet files that DuckDB reads.

use std::fs;
use std::path::{Path, PathBuf};

use super::public::{Locked, wanted};
use crate::error::Error;
use crate::export;
use crate::store;

/// In the data folder.
const FOLDER: &str = "parquet";
/// While it is being made, and what was there before. What was left of them is removed.
const UNFINISHED: &str = "parquet.new";
const BEFORE: &str = "parquet.old";
/// In it: the version of the store that the files are of.
const VERSION: &str = "version";

/// The folder of a data folder.
pub(super) fn path(data: &Path) -> PathBuf {
    data.join(FOLDER)
}

/// The file that says of which store the others are.
pub(super) fn named(data: &Path) -> PathBuf {
    path(data).join(VERSION)
}

/// The version of the store that the files are of; `None`: there are none that can be used.
pub(super) fn version(data: &Path) -> Option<i64> {
    let named = named(data);
    store::plain_file(&named).ok()?;
    let text = fs::read_to_string(named).ok()?;
    text.trim().parse().ok()
}

/// Writes the files where there are none of the store as it is, in the place of older ones.
pub(super) fn make(data: &Path) -> Result<i64, Error> {
    // Says what is missing, where there is no store.
    wanted(data)?;
    let _locked = Locked::new(data)?;
    let before_it = wanted(data)?;
    if version(data) == Some(before_it) {
        return Ok(before_it);
    }
    let (new, now, before) = (data.join(UNFINISHED), path(data), data.join(BEFORE));
    remove(&new)?;
    remove(&before)?;
    let made = export::parquet(data, &new).and_then(|_| {
        let named = new.join(VERSION);
        // Of the store at the begin: where it changed meanwhile the files are made again.
        fs::write(&named, before_it.to_string()).map_err(Error::file(&named))
    });
    if let Err(error) = made {
        let _ = remove(&new);
        return Err(error);
    }
    if now.exists() {
        fs::rename(&now, &before).map_err(Error::file(&now))?;
    }
    fs::rename(&new, &now).map_err(Error::file(&now))?;
    remove(&before)?;
    Ok(before_it)
}

fn remove(folder: &Path) -> Result<(), Error> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::file(folder)(error))
        }
        _ => Ok(()),
    }
}
