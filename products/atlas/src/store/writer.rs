//! Snapshots go in.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, params};

use super::dedup::{Candidate, counted};
use super::integrity::whole;
use super::intern::Intern;
use super::open_file::Standing;
use super::{file, rollup};
use crate::error::Error;
use crate::snapshot::{Remark, Snapshot, Status};

/// Digest of a file's content.
pub type Digest = [u8; 32];

/// Adds snapshots to a store. They stay in memory until [`Self::commit`]: some 40 bytes per entry,
/// in addition to new names.
///
/// The order of snapshots does not matter, and none counts twice. Of two entries of a community in
/// an hour, the one fetched last counts.
pub struct Writer {
    store: Connection,
    path: PathBuf,
    standing: Standing,
    intern: Intern,
    rows: Vec<Row>,
    files: BTreeMap<Digest, File>,
}

struct File {
    name: String,
    hour: Option<i64>,
    entries: usize,
    remarks: Vec<Remark>,
}

/// Files that another process wrote between their addition and the commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ForeignWrites {
    /// Number of files.
    pub files: u64,
    /// Number of their entries of communities.
    pub entries: u64,
    /// Number of their remarks.
    pub remarks: u64,
}

/// An entry, by numbers of [`Intern`].
#[derive(Clone, Copy)]
struct Row {
    hour: i64,
    community: u32,
    profile: u32,
    nodes: Option<i64>,
    status: Status,
    fetched: i64,
}

/// Hours of a commit with a community in the directory, and its last profile.
struct Seen {
    first: i64,
    last: i64,
    profile: i64,
}

impl Writer {
    /// Opens the store of a data folder; creates a missing one.
    pub fn open(data: &Path) -> Result<Self, Error> {
        let (store, path) = (file::open_for_writing(data)?, file::path(data));
        Ok(Self {
            store,
            standing: Standing::of(&path)?,
            path,
            intern: Intern::default(),
            rows: Vec::new(),
            files: BTreeMap::new(),
        })
    }

    /// Reopens the file at the store's name, which may be overwritten or replaced; returns true for
    /// another file.
    pub fn renew(&mut self) -> Result<bool, Error> {
        let same = self.is_in_place()?;
        // An empty file would be turned into a store.
        file::recognise(&self.path)?;
        if !same {
            whole(&self.path)?;
            self.standing.leave()?;
        }
        let data = self.path.parent().unwrap_or(Path::new("."));
        self.store = file::open_for_writing(data)?;
        self.standing = Standing::of(&self.path)?;
        self.intern.rolled_back();
        if !same {
            let name = self.path.display();
            tracing::info!("{name} was replaced: the new file is written from now on");
        }
        Ok(!same)
    }

    /// Closes the file until [`Self::renew`]. SQLite keeps its cached state of a file as long as a
    /// connection is open, even after an overwrite.
    pub fn rest(&mut self) -> Result<(), Error> {
        self.store = Connection::open_in_memory()?;
        Ok(())
    }

    /// Returns true if the open file is still at its name.
    fn is_in_place(&mut self) -> Result<bool, Error> {
        self.standing.look().map_err(|error| {
            let name = self.path.display();
            Error::Other(match error.kind() {
                ErrorKind::NotFound => {
                    format!("{name} has disappeared: nothing is written until a store is put there")
                }
                _ => format!("{name}: {error}"),
            })
        })
    }

    /// Returns true if a file of this content was read before.
    pub fn knows(&self, digest: &Digest) -> Result<bool, Error> {
        Ok(self.files.contains_key(digest) || self.has_written(digest)?)
    }

    fn has_written(&self, digest: &Digest) -> rusqlite::Result<bool> {
        let mut get = self
            .store
            .prepare_cached("SELECT 1 FROM files WHERE digest = ?1 AND hour IS NOT NULL")?;
        get.exists([digest])
    }

    /// Adds the content of a file. A known file changes nothing. A directory without entries is a
    /// file in the ledger rather than an hour without nodes.
    pub fn add(&mut self, snapshot: &Snapshot, digest: &Digest) -> Result<(), Error> {
        if self.knows(digest)? {
            return Ok(());
        }
        for entry in &snapshot.entries {
            let community = self.intern.community(&entry.key);
            self.rows.push(Row {
                hour: snapshot.hour,
                community,
                profile: self.intern.profile(community, &entry.profile),
                nodes: entry.nodes,
                status: entry.status,
                fetched: entry.fetched,
            });
        }
        let entries = snapshot.entries.len();
        let file = File {
            name: snapshot.file.clone(),
            hour: (entries > 0).then_some(snapshot.hour),
            entries,
            remarks: snapshot.remarks.clone(),
        };
        self.files.insert(*digest, file);
        Ok(())
    }

    /// Writes all additions and the resulting sums: everything or, on an error, nothing. Data that
    /// another process wrote meanwhile stay unchanged.
    pub fn commit(&mut self) -> Result<ForeignWrites, Error> {
        if self.files.is_empty() {
            return Ok(ForeignWrites::default());
        }
        if !self.is_in_place()? {
            return Err(Error::Other(format!(
                "{} was replaced during this command, which wrote to the previous file: run the same command again",
                self.path.display()
            )));
        }
        let written = self.write();
        if written.is_err() {
            let _ = self.store.execute_batch("ROLLBACK");
            self.intern.rolled_back();
        } else {
            self.rows.clear();
            self.files.clear();
            self.intern.bound();
            // Completes the file while nothing is written. A concurrent reader delays this to the
            // next time.
            let _ = self
                .store
                .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
            // The journal exists from the first commit on.
            let _ = self.standing.look();
        }
        written.map_err(|error| file::plain(&self.path, error))
    }

    fn write(&mut self) -> rusqlite::Result<ForeignWrites> {
        self.store.execute_batch("BEGIN IMMEDIATE")?;
        let mut hours = BTreeSet::new();
        let mut seen = BTreeMap::new();
        // Sorts by hour, the order of the table.
        self.rows.sort_by_key(|row| row.hour);
        let rows = std::mem::take(&mut self.rows);
        let mut written = Ok(());
        for rows in rows.chunk_by(|one, other| one.hour == other.hour) {
            hours.insert(rows[0].hour);
            written = self.write_hour(rows[0].hour, rows, &mut seen);
            if written.is_err() {
                break;
            }
        }
        self.rows = rows;
        written?;
        self.write_seen(&seen)?;
        rollup::renew(&self.store, &hours)?;
        let known = self.write_files()?;
        // A random step gives two stores from the same backup different versions.
        self.store.execute_batch(
            "UPDATE meta SET version = max(version, unixepoch() << 20) + 1 + (random() & 0xfffff);
             COMMIT",
        )?;
        Ok(known)
    }

    /// Writes one hour: the present rows, and the added ones.
    fn write_hour(
        &mut self,
        hour: i64,
        added: &[Row],
        seen: &mut BTreeMap<i64, Seen>,
    ) -> rusqlite::Result<()> {
        let mut best = HashMap::<u32, Row>::with_capacity(added.len());
        for row in self.read_hour(hour)?.iter().chain(added) {
            let kept = best.entry(row.community).or_insert(*row);
            if self.rank(row) > self.rank(kept) {
                *kept = *row;
            }
        }
        let mut rows = Vec::with_capacity(best.len());
        for row in best.into_values() {
            rows.push((self.intern.community_id(&self.store, row.community)?, row));
        }
        rows.sort_unstable_by_key(|(id, _)| *id);
        let candidates: Vec<_> = rows.iter().map(|(_, row)| self.candidate(row)).collect();
        let counted = counted(&candidates);
        drop(candidates);

        let mut put = self.store.prepare_cached(
            "INSERT OR REPLACE INTO observations
               (hour, community, nodes, status, counted, profile, fetched)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?;
        let (mut sums, mut odd) = ([0; 3], 0);
        for ((community, row), counted) in rows.iter().zip(counted) {
            let profile = self.intern.profile_id(&self.store, row.profile)?;
            let status = row.status as i64;
            put.execute(params![
                hour,
                community,
                row.nodes,
                status,
                counted,
                profile,
                row.fetched
            ])?;
            let first = seen.get(community).map_or(hour, |seen| seen.first);
            let last = hour;
            seen.insert(
                *community,
                Seen {
                    first,
                    last,
                    profile,
                },
            );
            odd += i64::from(row.status == Status::Odd);
            if counted && let Some(sum) = sums.get_mut(status as usize) {
                *sum += row.nodes.unwrap_or(0);
            }
        }
        let mut put = self.store.prepare_cached(
            "INSERT OR REPLACE INTO hour_totals (hour, live, stale, frozen, listed, odd)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?;
        put.execute(params![
            hour,
            sums[0],
            sums[1],
            sums[2],
            rows.len() as i64,
            odd
        ])?;
        Ok(())
    }

    /// Writes the hours in the directory, and the last profile, of each community.
    fn write_seen(&self, seen: &BTreeMap<i64, Seen>) -> rusqlite::Result<()> {
        let mut put = self.store.prepare_cached(
            "UPDATE communities SET
               first_hour = min(?2, ifnull(first_hour, ?2)),
               profile = iif(?3 >= ifnull(last_hour, ?3), ?4, profile),
               last_hour = max(?3, ifnull(last_hour, ?3))
             WHERE id = ?1",
        )?;
        for (community, seen) in seen {
            put.execute(params![community, seen.first, seen.last, seen.profile])?;
        }
        Ok(())
    }

    fn read_hour(&mut self, hour: i64) -> rusqlite::Result<Vec<Row>> {
        let mut get = self.store.prepare_cached(
            "SELECT community, profile, nodes, status, fetched FROM observations WHERE hour = ?1",
        )?;
        let mut found = get.query([hour])?;
        let mut rows = Vec::new();
        while let Some(row) = found.next()? {
            let community = self.intern.known_community(&self.store, row.get(0)?)?;
            rows.push(Row {
                hour,
                community,
                profile: self
                    .intern
                    .known_profile(&self.store, community, row.get(1)?)?,
                nodes: row.get(2)?,
                status: match row.get::<_, i64>(3)? {
                    0 => Status::Live,
                    1 => Status::Stale,
                    2 => Status::Frozen,
                    _ => Status::Odd,
                },
                fetched: row.get(4)?,
            });
        }
        Ok(rows)
    }

    /// Returns the rank of a row. Of several entries of a community in an hour the highest rank is
    /// kept: the one fetched last. The content breaks ties, for a reproducible result.
    fn rank(&self, row: &Row) -> (i64, Reverse<Status>, Option<i64>, [u8; 16]) {
        let digest = self.intern.interned(row.profile).digest;
        (row.fetched, Reverse(row.status), row.nodes, digest)
    }

    fn candidate(&self, row: &Row) -> Candidate<'_> {
        let profile = self.intern.interned(row.profile);
        Candidate {
            key: self.intern.key(row.community),
            name: &profile.name,
            metacommunity: profile.metacommunity.as_deref(),
            nodes: row.nodes.filter(|_| row.status != Status::Odd),
        }
    }

    /// Records the files. Known files change no entries, but their remarks would be repeated.
    fn write_files(&self) -> rusqlite::Result<ForeignWrites> {
        let mut known = ForeignWrites::default();
        let mut file = self.store.prepare_cached(
            "INSERT OR REPLACE INTO files (digest, name, hour, entries, at)
             VALUES (?1, ?2, ?3, ?4, unixepoch())",
        )?;
        let mut line = self.store.prepare_cached(
            "INSERT OR IGNORE INTO ledger (file, hour, key, what, read_as)
             VALUES (?1, ?2, ?3, ?4, ?5)",
        )?;
        for (digest, read) in &self.files {
            if self.has_written(digest)? {
                known.files += 1;
                known.entries += read.entries as u64;
                known.remarks += read.remarks.len() as u64;
                continue;
            }
            file.execute(params![digest, read.name, read.hour, read.entries as i64])?;
            for remark in &read.remarks {
                line.execute(params![
                    read.name,
                    read.hour,
                    remark.key,
                    remark.what,
                    remark.read_as
                ])?;
            }
        }
        Ok(known)
    }
}
