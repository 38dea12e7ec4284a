//! The public copy of the store: one file that never changes.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use nix::sys::statvfs::statvfs;
use rusqlite::{Connection, OpenFlags};

use crate::error::Error;
use crate::store::{self, address};

/// The file's name in the data folder.
pub(super) const FILE: &str = "public.db";
/// Name of an unfinished copy. Remains are overwritten.
const UNFINISHED: &str = "public.db.new";
/// Lock of a process that makes a copy.
const LOCK: &str = "public.db.lock";
pub(super) const VIEWS: &str = include_str!("public.sql");
/// Private table: the files that were read.
pub(super) const PRIVATE: &str = "files";
/// Version of [`VIEWS`]: a copy with another version is renewed.
pub(super) const FORMAT: i64 = 1;

/// Returns the path of the copy in a data folder.
pub(super) fn path(data: &Path) -> PathBuf {
    data.join(FILE)
}

/// Returns the version of the store in the copy; `None`: no usable copy.
pub(super) fn version(data: &Path) -> Option<i64> {
    store::plain_file(&path(data)).ok()?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let copy = Connection::open_with_flags(path(data), flags).ok()?;
    let format = copy.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0));
    (format.ok()? == FORMAT).then(|| store::version(&copy).ok())?
}

/// Lock for making a copy, across processes.
pub(super) struct Locked {
    _file: File,
}

impl Locked {
    /// Waits for others.
    pub(super) fn new(data: &Path) -> Result<Self, Error> {
        let path = data.join(LOCK);
        store::plain_file(&path)?;
        let file = File::create(&path).map_err(Error::file(&path))?;
        store::give_to_owner(&path, data)?;
        file.lock().map_err(Error::file(&path))?;
        Ok(Self { _file: file })
    }
}

/// Returns the version of the store itself.
pub(super) fn wanted(data: &Path) -> Result<i64, Error> {
    store::version(&store::open(data)?)
}

/// Makes the copy of the current store, if missing, and replaces an older one, which its readers
/// keep. Returns the version of the store.
pub(super) fn make(data: &Path) -> Result<i64, Error> {
    // A missing store is an error with a hint.
    wanted(data)?;
    let _locked = Locked::new(data)?;
    let wanted = wanted(data)?;
    if version(data) == Some(wanted) {
        return Ok(wanted);
    }
    let (new, old) = (data.join(UNFINISHED), path(data));
    let source = data.join(store::FILE);
    room(data, &source)?;
    remove(&new)?;
    let copied = copy(&source, &new);
    let version = copied.inspect_err(|_| {
        let _ = remove(&new);
    })?;
    store::give_to_owner(&new, data)?;
    // The file is synced before the rename, against a power cut.
    File::open(&new)
        .and_then(|file| file.sync_all())
        .and_then(|()| fs::rename(&new, &old))
        .map_err(Error::file(&old))?;
    Ok(version)
}

fn remove(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::file(path)(error)),
        _ => Ok(()),
    }
}

/// Fails if the disk is full, which would stop the import too.
fn room(data: &Path, source: &Path) -> Result<(), Error> {
    let size = fs::metadata(source).map_err(Error::file(source))?.len();
    let disk = statvfs(data).map_err(|error| Error::file(data)(error.into()))?;
    let free = disk.blocks_available() as u64 * disk.fragment_size() as u64;
    let needed = size + size / 4 + (16 << 20);
    if free < needed {
        return Err(Error::Other(format!(
            "no space for the copy for queries: {} needs {} MB free, and has {}",
            data.display(),
            needed >> 20,
            free >> 20
        )));
    }
    Ok(())
}

/// Tables are copied as they are, a page of records at a time (SQLite's transfer of a table into
/// an empty one with the same columns): some million rows a second.
fn copy(source: &Path, new: &Path) -> Result<i64, Error> {
    let to = Connection::open(new)?;
    to.execute_batch(
        "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF;
         PRAGMA cache_size = -8192; PRAGMA temp_store = MEMORY;",
    )?;
    to.execute("ATTACH ?1 AS store", [address(source, "mode=ro")])?;
    // A single transaction, for a consistent copy.
    to.execute_batch("BEGIN")?;
    let mut made = to.prepare(
        "SELECT type, name, sql FROM store.sqlite_schema
         WHERE sql IS NOT NULL AND tbl_name <> ?1 AND name NOT LIKE 'sqlite_%'
         ORDER BY type = 'index'",
    )?;
    let made = made.query_map([PRIVATE], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let made: Vec<(String, String, String)> = made.collect::<Result<_, _>>()?;
    for (_, _, sql) in &made {
        to.execute_batch(sql)?;
    }
    for (_, name, _) in made.iter().filter(|(kind, ..)| kind == "table") {
        let name = name.replace('"', "\"\"");
        to.execute_batch(&format!(
            "INSERT INTO main.\"{name}\" SELECT * FROM store.\"{name}\""
        ))?;
    }
    to.execute_batch(VIEWS)?;
    to.execute_batch(&format!(
        "PRAGMA user_version = {FORMAT}; COMMIT; DETACH store; PRAGMA analysis_limit = 1000; ANALYZE"
    ))?;
    store::version(&to)
}
