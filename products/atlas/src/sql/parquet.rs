//! The Parquet files that DuckDB reads.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::public::{Locked, wanted};
use crate::error::Error;
use crate::export::{self, Written};
use crate::owned_folder::digest;
use crate::store::{self, Stamp};

/// Name of the folder in the data folder.
const FOLDER: &str = "parquet";
/// Unfinished and old folders. Remains of them are removed.
const UNFINISHED: &str = "parquet.new";
const BEFORE: &str = "parquet.old";
/// File there with the version of the store and the list of the files.
const VERSION: &str = "version";

/// Returns the folder in a data folder.
pub(super) fn path(data: &Path) -> PathBuf {
    data.join(FOLDER)
}

/// Returns the path of that file.
pub(super) fn named(data: &Path) -> PathBuf {
    path(data).join(VERSION)
}

/// Returns the version of the store in the files; `None`: no usable files.
pub(super) fn version(data: &Path) -> Option<i64> {
    let (version, files) = read(data).ok()?;
    let there = |file: &Listed| {
        let there = fs::metadata(path(data).join(&file.name));
        there.is_ok_and(|there| there.is_file() && there.len() == file.octets)
    };
    files.iter().all(there).then_some(version)
}

/// Returns a hash that changes with each write to a file, and with a removal.
pub(super) fn stamps(data: &Path) -> u64 {
    let mut all = DefaultHasher::new();
    let files = read(data).map(|(_, files)| files).unwrap_or_default();
    for file in files {
        Stamp::of(&path(data).join(file.name)).hash(&mut all);
    }
    all.finish()
}

/// Returns a defect of the files, after reading all bytes.
pub(super) fn fault(data: &Path) -> Option<String> {
    let fix = format!("remove the folder {FOLDER}, which is then created again");
    let wrong = |name: &str, what: String| Some(format!("{FOLDER}/{name} {what}: {fix}"));
    let files = match read(data) {
        Ok((_, files)) => files,
        Err(what) => return wrong(VERSION, what),
    };
    for file in files {
        match digest(&path(data).join(&file.name)) {
            Ok(digest) if digest == file.digest => {}
            Ok(_) => return wrong(&file.name, "is damaged".into()),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return wrong(&file.name, "is missing".into());
            }
            Err(error) => return wrong(&file.name, format!("is unreadable ({error})")),
        }
    }
    None
}

/// A file, as it was written.
struct Listed {
    name: String,
    octets: u64,
    digest: String,
}

/// Returns the version of the store and the list of files.
fn read(data: &Path) -> Result<(i64, Vec<Listed>), String> {
    let named = named(data);
    store::plain_file(&named).map_err(|_| "is not a regular file")?;
    let text = fs::read_to_string(named).map_err(|error| match error.kind() {
        ErrorKind::NotFound => "is missing".to_owned(),
        _ => format!("is unreadable ({error})"),
    })?;
    parsed(&text).ok_or_else(|| "is damaged".into())
}

fn parsed(text: &str) -> Option<(i64, Vec<Listed>)> {
    let mut lines = text.lines();
    let version = lines.next()?.parse().ok()?;
    let files = lines.map(|line| {
        let mut words = line.split(' ');
        let [digest, octets, name] = [words.next()?, words.next()?, words.next()?];
        Some(Listed {
            name: name.to_owned(),
            octets: octets.parse().ok()?,
            digest: digest.to_owned(),
        })
    });
    let files = files.collect::<Option<Vec<_>>>()?;
    (!files.is_empty()).then_some((version, files))
}

/// Returns the text that [`parsed`] reads.
fn listed(version: i64, folder: &Path, written: &[Written]) -> Result<String, Error> {
    let mut text = format!("{version}\n");
    for file in written {
        let path = folder.join(&file.file);
        let digest = digest(&path).map_err(Error::file(&path))?;
        text.push_str(&format!("{digest} {} {}\n", file.octets, file.file));
    }
    Ok(text)
}

/// Writes the files for the current store, if missing, and replaces older ones.
pub(super) fn make(data: &Path) -> Result<i64, Error> {
    // A missing store is an error with a hint.
    wanted(data)?;
    let _locked = Locked::new(data)?;
    let before_it = wanted(data)?;
    if version(data) == Some(before_it) {
        return Ok(before_it);
    }
    let (new, now, before) = (data.join(UNFINISHED), path(data), data.join(BEFORE));
    remove(&new)?;
    remove(&before)?;
    let made = export::fresh(data, &new).and_then(|written| {
        let named = new.join(VERSION);
        // Version at the begin: a later change causes another export.
        let text = listed(before_it, &new, &written)?;
        fs::write(&named, text).map_err(Error::file(&named))?;
        give_to_owner(&new, data)
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

fn give_to_owner(folder: &Path, data: &Path) -> Result<(), Error> {
    for entry in fs::read_dir(folder).map_err(Error::file(folder))? {
        let file = entry.map_err(Error::file(folder))?.path();
        store::give_to_owner(&file, data)?;
    }
    store::give_to_owner(folder, data)
}

fn remove(folder: &Path) -> Result<(), Error> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::file(folder)(error)),
        _ => Ok(()),
    }
}
