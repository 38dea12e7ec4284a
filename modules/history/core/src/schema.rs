//! File format: tables, and opening, creating or setting aside a file.
//!
//! Traffic is written to the table `hour` alone. An hour that is over is *closed*: added to its
//! `day` and its `month` in one transaction. So the pages of days and months are written once an
//! hour, not at each flush. `state` holds the hour that is not closed yet; the sum of a day or
//! month is its row plus that hour, if it belongs to the period. The views add that up for people.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, OptionalExtension};

use crate::Error;

/// The version that this code writes.
pub const VERSION: i64 = 2;
/// "weir": distinguishes a history from other databases.
const APPLICATION: i64 = 0x7765_6972;
/// Bytes of a page. A flush changes few rows, and is written in pages: with 4096 it writes twice
/// as much.
pub const PAGE: u64 = 1024;
/// Columns of sums: Internet traffic, then LAN traffic.
pub const COLUMNS: [&str; 8] = [
    "received_bytes",
    "received_packets",
    "sent_bytes",
    "sent_packets",
    "lan_received_bytes",
    "lan_received_packets",
    "lan_sent_bytes",
    "lan_sent_packets",
];
/// Columns of the sums, as SQL.
pub const SUMS: &str = "received_bytes, received_packets, sent_bytes, sent_packets, \
    lan_received_bytes, lan_received_packets, lan_sent_bytes, lan_sent_packets";
/// Maximum number of broken files that are kept.
const BROKEN: usize = 2;

macro_rules! table {
    ($name:literal) => {
        concat!(
            "CREATE TABLE ",
            $name,
            " (start INTEGER NOT NULL, device INTEGER NOT NULL, application INTEGER NOT NULL,
               received_bytes INTEGER NOT NULL, received_packets INTEGER NOT NULL,
               sent_bytes INTEGER NOT NULL, sent_packets INTEGER NOT NULL,
               PRIMARY KEY (start, device, application)) STRICT, WITHOUT ROWID;"
        )
    };
}

/// Two digits of an address.
macro_rules! octet {
    ($at:literal) => {
        concat!("substr(printf('%012llx', t.device), ", $at, ", 2)")
    };
}

/// Columns of LAN traffic. Older rows hold all traffic as Internet traffic: the split is unknown.
macro_rules! lan {
    ($name:literal) => {
        concat!(
            "ALTER TABLE ",
            $name,
            " ADD COLUMN lan_received_bytes INTEGER NOT NULL DEFAULT 0;
             ALTER TABLE ",
            $name,
            " ADD COLUMN lan_received_packets INTEGER NOT NULL DEFAULT 0;
             ALTER TABLE ",
            $name,
            " ADD COLUMN lan_sent_bytes INTEGER NOT NULL DEFAULT 0;
             ALTER TABLE ",
            $name,
            " ADD COLUMN lan_sent_packets INTEGER NOT NULL DEFAULT 0;"
        )
    };
}

/// A view for people: local time, addresses, words; with the hour that is not closed yet. `$more`
/// are further sums.
macro_rules! view {
    ($name:literal, $rows:literal, $more:literal) => {
        concat!(
            "CREATE VIEW ", $name, " AS SELECT datetime(t.start, 'unixepoch', 'localtime') AS start,
             CASE WHEN t.device < 0 THEN 'other' ELSE ",
            octet!(1), "||':'||", octet!(3), "||':'||", octet!(5), "||':'||",
            octet!(7), "||':'||", octet!(9), "||':'||", octet!(11),
            " END AS device, d.name, a.word AS application,
             sum(received_bytes) AS received_bytes, sum(received_packets) AS received_packets,
             sum(sent_bytes) AS sent_bytes, sum(sent_packets) AS sent_packets", $more, "
             FROM (", $rows, ") t
             LEFT JOIN device d ON d.mac = t.device LEFT JOIN application a ON a.id = t.application
             GROUP BY t.start, t.device, t.application;"
        )
    };
}

/// A view with LAN traffic.
macro_rules! view_with_lan {
    ($name:literal, $rows:literal) => {
        view!(
            $name,
            $rows,
            ", sum(lan_received_bytes) AS lan_received_bytes,
             sum(lan_received_packets) AS lan_received_packets,
             sum(lan_sent_bytes) AS lan_sent_bytes, sum(lan_sent_packets) AS lan_sent_packets"
        )
    };
}

/// Migrations from one version to the next; the first makes an empty file version 1.
const STEPS: [&str; VERSION as usize] = [FIRST, LAN];

/// Version 2 separates LAN traffic.
const LAN: &str = concat!(
    "DROP VIEW hours; DROP VIEW days; DROP VIEW months;",
    lan!("hour"),
    lan!("day"),
    lan!("month"),
    view_with_lan!("hours", "SELECT * FROM hour"),
    view_with_lan!(
        "days",
        "SELECT * FROM day UNION ALL SELECT s.day, device, application, received_bytes, \
            received_packets, sent_bytes, sent_packets, lan_received_bytes, lan_received_packets, \
            lan_sent_bytes, lan_sent_packets
         FROM state s JOIN hour ON start = s.hour"
    ),
    view_with_lan!(
        "months",
        "SELECT * FROM month UNION ALL SELECT s.month, device, application, received_bytes, \
            received_packets, sent_bytes, sent_packets, lan_received_bytes, lan_received_packets, \
            lan_sent_bytes, lan_sent_packets
         FROM state s JOIN hour ON start = s.hour"
    ),
);

const FIRST: &str = concat!(
    "CREATE TABLE application (id INTEGER PRIMARY KEY, word TEXT NOT NULL) STRICT;
     CREATE TABLE device (mac INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT;
     CREATE TABLE state (id INTEGER PRIMARY KEY CHECK (id = 0), hour INTEGER NOT NULL, day \
     INTEGER NOT NULL, month INTEGER NOT NULL) STRICT;
     INSERT INTO application VALUES (0, 'other');",
    table!("hour"),
    table!("day"),
    table!("month"),
    view!("hours", "SELECT * FROM hour", ""),
    view!(
        "days",
        "SELECT * FROM day UNION ALL SELECT s.day, device, application, received_bytes, \
            received_packets, sent_bytes, sent_packets
         FROM state s JOIN hour ON start = s.hour",
        ""
    ),
    view!(
        "months",
        "SELECT * FROM month UNION ALL SELECT s.month, device, application, received_bytes, \
            received_packets, sent_bytes, sent_packets
         FROM state s JOIN hour ON start = s.hour",
        ""
    ),
);

/// An open file.
#[derive(Debug)]
pub struct File {
    /// SQLite's.
    pub connection: Connection,
    inode: (u64, u64),
}

impl File {
    /// Returns the identity of its file system.
    pub fn disk(&self) -> u64 {
        self.inode.0
    }

    /// Returns true if the file is still at its path: it may have been removed or replaced.
    pub fn present(&self, path: &Path) -> bool {
        fs::metadata(path).is_ok_and(|found| (found.dev(), found.ino()) == self.inode)
    }
}

/// Opens the file, creates a missing one, and migrates to this version. `limit` is the maximum size
/// of the file, in bytes.
pub fn open(path: &Path, limit: u64) -> Result<File, Error> {
    prepare(path)?;
    let because = |source| Error::File {
        path: path.to_owned(),
        source,
    };
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    // SQLite itself follows no links then; links of directories are resolved here.
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let connection = Connection::open_with_flags(&real, flags).map_err(because)?;
    let inode = fs::metadata(path).map(|found| (found.dev(), found.ino()));
    let inode = inode.map_err(|source| Error::Io {
        what: "look at",
        path: path.to_owned(),
        source,
    })?;
    settle(&connection).map_err(because)?;
    migrate(&connection, path)?;
    // A full file has no room for another version: the limit applies only afterwards.
    bound(&connection, limit).map_err(because)?;
    Ok(File { connection, inode })
}

/// Configures SQLite. A rollback journal, not a write-ahead log: a log writes less (3.1 MB a day
/// with pages of 4 KiB), but needs shared memory that is writable, which JFFS2 does not map; and
/// without that memory no other program could read the file. Each transaction waits for the disk.
fn settle(connection: &Connection) -> rusqlite::Result<()> {
    // Waiting blocks no other thread; users read the file with sqlite3.
    connection.busy_timeout(Duration::from_secs(2))?;
    connection.execute_batch(&format!(
        "PRAGMA page_size = {PAGE};
         PRAGMA cache_size = -256;
         PRAGMA temp_store = MEMORY;
         PRAGMA mmap_size = 0;
         PRAGMA trusted_schema = OFF;
         PRAGMA synchronous = FULL;"
    ))?;
    // Answers with a row.
    let _: String = connection.query_row("PRAGMA journal_mode = TRUNCATE", [], |row| row.get(0))?;
    Ok(())
}

/// Limits the growth of the file. A larger file keeps its size.
fn bound(connection: &Connection, limit: u64) -> rusqlite::Result<()> {
    // Answers with a row.
    let _: i64 = connection.query_row(
        &format!("PRAGMA max_page_count = {}", limit / PAGE),
        [],
        |row| row.get(0),
    )?;
    Ok(())
}

fn migrate(connection: &Connection, path: &Path) -> Result<(), Error> {
    let because = |source| Error::File {
        path: path.to_owned(),
        source,
    };
    let number = |text: &str| -> Result<i64, Error> {
        connection
            .query_row(text, [], |row| row.get(0))
            .map_err(because)
    };
    let version = number("PRAGMA user_version")?;
    let objects = number("SELECT count(*) FROM sqlite_schema")?;
    if objects > 0 && number("PRAGMA application_id")? != APPLICATION {
        return Err(Error::Foreign {
            path: path.to_owned(),
        });
    }
    if version > VERSION {
        return Err(Error::Newer {
            path: path.to_owned(),
            found: version,
            known: VERSION,
        });
    }
    if version == VERSION {
        return check(connection).map_err(because);
    }
    if objects == 0 {
        // Only for an empty file: otherwise the statement would write to the head of the file.
        connection
            .execute_batch("PRAGMA auto_vacuum = INCREMENTAL")
            .map_err(because)?;
    }
    let steps: String = STEPS
        .iter()
        .skip(usize::try_from(version).unwrap_or(0))
        .copied()
        .collect();
    connection
        .execute_batch(&format!(
            "BEGIN IMMEDIATE; PRAGMA application_id = {APPLICATION}; {steps} PRAGMA user_version \
                = {VERSION}; COMMIT;"
        ))
        .inspect_err(|_| {
            // The failed half is rolled back; an error of the rollback adds nothing.
            let _ = connection.execute_batch("ROLLBACK");
        })
        .map_err(because)
}

/// Checks that the file is complete and consistent. Some 50 ms for the history of a year.
fn check(connection: &Connection) -> rusqlite::Result<()> {
    let broken = |said: String| {
        let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
        Err(rusqlite::Error::SqliteFailure(code, Some(said)))
    };
    let found: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if found != "ok" {
        return broken(found);
    }
    let tables: i64 = connection.query_row(
        "SELECT count(*) FROM sqlite_schema WHERE type = 'table'
         AND name IN ('application', 'device', 'state', 'hour', 'day', 'month')",
        [],
        |row| row.get(0),
    )?;
    match tables {
        6 => Ok(()),
        _ => broken("a table is missing".to_owned()),
    }
}

/// Creates directory and file, readable only for the owner: presence on the network is private.
fn prepare(path: &Path) -> Result<(), Error> {
    let failed = |what, path: &Path, source| Error::Io {
        what,
        path: path.to_owned(),
        source,
    };
    if let Some(directory) = path.parent().filter(|d| !d.as_os_str().is_empty()) {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory)
            .map_err(|source| failed("create the directory", directory, source))?;
    }
    match fs::symlink_metadata(path) {
        Ok(found) if !found.is_file() => Err(Error::Foreign {
            path: path.to_owned(),
        }),
        Ok(_) if text(path) => Err(Error::Foreign {
            path: path.to_owned(),
        }),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)
            .map(drop)
            .map_err(|source| failed("create", path, source)),
        Err(source) => Err(failed("look at", path, source)),
    }
}

/// Returns true if the file starts with text: then the path is probably mistyped, and the file must
/// not be moved aside as a broken database.
fn text(path: &Path) -> bool {
    let mut begin = [0; 64];
    let read = fs::File::open(path).and_then(|mut file| file.read(&mut begin));
    let begin = &begin[..read.unwrap_or(0)];
    begin.len() >= 16
        && !begin.starts_with(b"SQLite format 3\0")
        && begin
            .iter()
            .all(|byte| matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r'))
}

/// Moves a broken file aside, with its journal, and returns its new path. `date` is part of the
/// name. Only the last of older broken files is kept.
pub fn set_aside(path: &Path, date: &str) -> Result<PathBuf, Error> {
    let free = |candidate: &PathBuf| fs::symlink_metadata(candidate).is_err();
    let aside = (1..1000)
        .map(|number| match number {
            1 => beside(path, &format!(".broken-{date}")),
            _ => beside(path, &format!(".broken-{date}-{number}")),
        })
        .find(free)
        .unwrap_or_else(|| beside(path, ".broken"));
    fs::rename(path, &aside).map_err(|source| Error::Io {
        what: "move aside",
        path: path.to_owned(),
        source,
    })?;
    // Without its journal a file may be worse than broken; and it must not be applied to the new
    // one.
    let journal = beside(path, "-journal");
    if fs::symlink_metadata(&journal).is_ok() {
        fs::rename(&journal, beside(&aside, "-journal")).map_err(|source| Error::Io {
            what: "move aside",
            path: journal,
            source,
        })?;
    }
    forget(path);
    Ok(aside)
}

/// Removes all broken files except the latest: a disk that breaks repeatedly must not fill up with
/// them.
fn forget(path: &Path) {
    let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
        return;
    };
    let begin = format!("{}.broken-", name.to_string_lossy());
    let directory = if directory.as_os_str().is_empty() {
        Path::new(".")
    } else {
        directory
    };
    let mut broken: Vec<_> = fs::read_dir(directory)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            name.starts_with(&begin) && !name.ends_with("-journal")
        })
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    broken.sort();
    let old = broken.len().saturating_sub(BROKEN);
    for (_, path) in broken.into_iter().take(old) {
        // A file that stays only takes room.
        let _ = fs::remove_file(beside(&path, "-journal"));
        let _ = fs::remove_file(path);
    }
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// The hour that is not closed yet, with the starts of its day and month.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// Start of the hour.
    pub hour: i64,
    /// Start of the day that it will be added to.
    pub day: i64,
    /// Start of the month.
    pub month: i64,
}

impl State {
    /// Loads the state of a file; a new file has no state.
    pub fn load(connection: &Connection) -> rusqlite::Result<Option<Self>> {
        connection
            .query_row("SELECT hour, day, month FROM state", [], |row| {
                Ok(Self {
                    hour: row.get(0)?,
                    day: row.get(1)?,
                    month: row.get(2)?,
                })
            })
            .optional()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A history without LAN traffic stays usable: all its traffic counts as Internet traffic.
    #[test]
    fn a_history_of_version_1_is_kept() {
        let folder = std::env::temp_dir().join(format!("weir-schema-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join("history.db");
        let old = Connection::open(&path).expect("a file");
        old.execute_batch(&format!(
            "PRAGMA application_id = {APPLICATION}; {FIRST} PRAGMA user_version = 1;
             INSERT INTO application VALUES (1, 'web');
             INSERT INTO device VALUES (5, 'laptop');
             INSERT INTO state VALUES (0, 7200, 0, 0);
             INSERT INTO hour VALUES (7200, 5, 1, 100, 2, 30, 1);
             INSERT INTO day VALUES (0, 5, 1, 1000, 20, 300, 10);
             INSERT INTO month VALUES (0, 5, 1, 5000, 50, 600, 20);"
        ))
        .expect("a history of version 1");
        drop(old);
        for _ in 0..2 {
            let file = open(&path, 1 << 20).expect("a history");
            let sums = |text: &str| -> [i64; 4] {
                let row = file.connection.query_row(text, [], |row| {
                    Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?])
                });
                row.expect("a row")
            };
            let of = "received_bytes, sent_packets, lan_received_bytes, lan_sent_packets";
            for (table, wanted) in [
                ("hour", [100, 1, 0, 0]),
                ("day", [1000, 10, 0, 0]),
                ("months", [5100, 21, 0, 0]),
            ] {
                assert_eq!(
                    sums(&format!("SELECT {of} FROM {table}")),
                    wanted,
                    "{table}"
                );
            }
            let state = State::load(&file.connection).expect("a state");
            assert_eq!(state.map(|state| state.hour), Some(7200));
        }
        let _ = fs::remove_dir_all(&folder);
    }

    /// The columns and views of version 2 take more room than a full file has.
    #[test]
    fn a_full_history_of_version_1_is_kept() {
        let folder = std::env::temp_dir().join(format!("weir-schema-full-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join("history.db");
        let old = Connection::open(&path).expect("a file");
        old.execute_batch(&format!(
            "PRAGMA page_size = {PAGE}; PRAGMA application_id = {APPLICATION}; {FIRST}
             PRAGMA user_version = 1; INSERT INTO state VALUES (0, 7200, 0, 0);"
        ))
        .expect("a history of version 1");
        drop(old);
        let full = fs::metadata(&path).expect("a file").len();
        let file = open(&path, full).expect("a history");
        let number = |text: &str| -> i64 {
            let row = file.connection.query_row(text, [], |row| row.get(0));
            row.expect("a number")
        };
        assert_eq!(number("PRAGMA user_version"), VERSION);
        let pages = number("PRAGMA page_count");
        assert_eq!(number("PRAGMA max_page_count"), pages, "no more room");
        let _ = fs::remove_dir_all(&folder);
    }
}
