//! The file: made, recognised, opened.

use std::fs::DirBuilder;
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, lchown};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::unistd::geteuid;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::SCHEMA;
use crate::error::Error;

/// The file's name in the data folder.
pub const FILE: &str = "atlas.db";

/// Names the program in the file's header: "WAtl".
const APPLICATION: i64 = 0x5741_746c;
/// Version of the tables. Others are refused, as a new import is quick.
const TABLES: i64 = 2;
/// Maximum bytes that each reader maps. With 32 bits, all readers together have 4 GB of addresses.
const MAPPED: u64 = match cfg!(target_pointer_width = "32") {
    true => 64 << 20,
    false => 4 << 30,
};
/// Longest wait of a writer for another.
const PATIENCE: Duration = Duration::from_millis(if cfg!(test) { 50 } else { 30_000 });

/// Opens the store of a data folder for reading. Many may do so, and while one writes.
pub fn open(data: &Path) -> Result<Connection, Error> {
    let path = data.join(FILE);
    if data.exists() && !data.is_dir() {
        return Err(Error::file(data)(ErrorKind::NotADirectory.into()));
    }
    if !path.exists() {
        return Err(Error::Missing(format!(
            "{} does not exist: run `weir-atlas import PATH… --data {}`",
            path.display(),
            data.display()
        )));
    }
    plain_file(&path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let store = Connection::open_with_flags(&path, flags).map_err(|error| plain(&path, error))?;
    let prepared = prepare_reading(&store, &path);
    prepared.map(|()| store)
}

/// Refuses anything but a plain file: opening a pipe would wait for a writer for ever.
pub(crate) fn plain_file(path: &Path) -> Result<(), Error> {
    match std::fs::metadata(path) {
        Ok(there) if !there.is_file() => Err(Error::Other(format!(
            "{} is not a regular file: move it away",
            path.display()
        ))),
        _ => Ok(()),
    }
}

/// Gives a file or folder next to the store to the store's owner, as SQLite does with its own
/// files: the server, another user than root, must be able to write files that root has created.
pub(crate) fn give_to_owner(made: &Path, data: &Path) -> Result<(), Error> {
    let path = data.join(FILE);
    let owner = std::fs::metadata(&path).map_err(Error::file(&path))?;
    if !geteuid().is_root() {
        return Ok(());
    }
    lchown(made, Some(owner.uid()), Some(owner.gid())).map_err(Error::file(made))
}

/// Checks that a file is a store, ignoring its journal.
pub(crate) fn recognise(path: &Path) -> Result<(), Error> {
    plain_file(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    let store = Connection::open_with_flags(address(path, "mode=ro&immutable=1"), flags)
        .map_err(|error| plain(path, error))?;
    is_ours(&store, path)
}

/// Returns a file as SQLite's address.
pub(crate) fn address(path: &Path, how: &str) -> String {
    let mut text = String::from("file:");
    for octet in path.as_os_str().as_encoded_bytes() {
        match octet {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => {
                text.push(char::from(*octet));
            }
            other => text.push_str(&format!("%{other:02x}")),
        }
    }
    format!("{text}?{how}")
}

fn prepare_reading(store: &Connection, path: &Path) -> Result<(), Error> {
    store.busy_timeout(Duration::from_secs(5))?;
    is_ours(store, path)?;
    // Mapped pages are the kernel's cache, which all connections share; their own caches are small.
    store.execute_batch(&format!(
        "PRAGMA query_only = ON; PRAGMA mmap_size = {MAPPED}; PRAGMA cache_size = -2048;
         PRAGMA temp_store = MEMORY;"
    ))?;
    store.set_prepared_statement_cache_capacity(64);
    Ok(())
}

/// Opens the store for writing; creates a missing folder or file.
pub(super) fn open_for_writing(data: &Path) -> Result<Connection, Error> {
    if !data.is_dir() {
        let mut folder = DirBuilder::new();
        folder.recursive(true).mode(0o750);
        folder.create(data).map_err(Error::file(data))?;
    }
    let path = data.join(FILE);
    plain_file(&path)?;
    let store = Connection::open(&path).map_err(|error| plain(&path, error))?;
    store.busy_timeout(PATIENCE)?;
    if is_new(&store).map_err(|error| plain(&path, error))? {
        make(&store).map_err(|error| plain(&path, error))?;
    }
    is_ours(&store, &path)?;
    // A commit lost by a power cut is imported again; no commit is ever half there.
    let prepared = store.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = OFF;
         PRAGMA cache_size = -65536; PRAGMA temp_store = MEMORY;",
    );
    prepared.map_err(|error| plain(&path, error))?;
    if store.is_readonly("main")? {
        return Err(Error::Other(format!(
            "{} is not writable: run this command as the file's owner",
            path.display()
        )));
    }
    store.set_prepared_statement_cache_capacity(64);
    Ok(store)
}

/// Returns a number that each commit changes; another file's numbers differ.
pub fn version(store: &Connection) -> Result<i64, Error> {
    let mut read = store.prepare_cached("SELECT version FROM meta")?;
    Ok(read.query_row([], |row| row.get(0))?)
}

fn number(store: &Connection, pragma: &str) -> rusqlite::Result<i64> {
    store.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get(0))
}

fn is_new(store: &Connection) -> rusqlite::Result<bool> {
    let tables: i64 =
        store.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    Ok(tables == 0 && number(store, "application_id")? == 0)
}

/// Makes the tables in one transaction; a concurrent second attempt finds them.
fn make(store: &Connection) -> rusqlite::Result<()> {
    store.execute_batch("BEGIN IMMEDIATE")?;
    let made = (|| {
        if is_new(store)? {
            store.execute_batch(SCHEMA)?;
            // A random begin: a recreated file has versions of its own.
            store.execute_batch(
                "INSERT INTO meta VALUES ((unixepoch() << 20) + (random() & 0xfffff))",
            )?;
            store.execute_batch(&format!(
                "PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {TABLES};"
            ))?;
        }
        store.execute_batch("COMMIT")
    })();
    if made.is_err() {
        let _ = store.execute_batch("ROLLBACK");
    }
    made
}

fn is_ours(store: &Connection, path: &Path) -> Result<(), Error> {
    let read = |pragma| number(store, pragma).map_err(|error| plain(path, error));
    let name = path.display();
    if is_new(store).map_err(|error| plain(path, error))? {
        return Err(Error::Other(format!(
            "{name} is empty: put a store there, or fill it by `weir-atlas import`"
        )));
    }
    if read("application_id")? != APPLICATION {
        return Err(Error::Other(format!(
            "{name} belongs to another program: put a store there, or choose another folder with \
             --data"
        )));
    }
    match read("user_version")? {
        TABLES => Ok(()),
        newer if newer > TABLES => Err(Error::Other(format!(
            "{name} was written by a newer weir-atlas, with tables of version {newer}; this one \
             knows {TABLES}: update it"
        ))),
        older => Err(Error::Other(format!(
            "{name} has tables of version {older}, this weir-atlas needs {TABLES}: move the file \
             away and import again"
        ))),
    }
}

/// Returns SQLite's error with a hint.
pub(super) fn plain(path: &Path, error: rusqlite::Error) -> Error {
    let Some(code) = error.sqlite_error_code() else {
        return Error::Store(error);
    };
    let name = path.display();
    Error::Other(match code {
        ErrorCode::NotADatabase => {
            format!(
                "{name} is not a database: put a store there, or choose another folder with --data"
            )
        }
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => {
            format!("{name} is being written by another weir-atlas: try again when it has finished")
        }
        ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied => {
            format!(
                "{name} cannot be opened, or the folder is not writable: run this command as the folder's owner ({error})"
            )
        }
        ErrorCode::DatabaseCorrupt => {
            format!(
                "{name} is damaged: move an undamaged store there, or move it away and import again \
                 ({error})"
            )
        }
        ErrorCode::DiskFull => format!("cannot write {name}: the disk is full"),
        _ => return Error::Store(error),
    })
}

/// Returns the file of a data folder.
pub(super) fn path(data: &Path) -> PathBuf {
    data.join(FILE)
}
