//! Imports files into the store, each once, in any order; an interrupted import continues where it
//! was.

use std::ops::ControlFlow;

use super::archive::{ArchiveItem, Limits};
use super::mapping::Mapping;
use super::snapshot::snapshot;
use super::source;
use crate::error::Error;
use crate::snapshot::{Remark, Snapshot};
use crate::store::{Digest, ForeignWrites, Writer};

/// Entries that are committed at once.
const BATCH: u64 = 200_000;

/// Takes snapshots: the store, or a test.
pub trait Sink {
    /// Returns true if a file of this content was taken before.
    fn knows(&mut self, digest: &Digest) -> Result<bool, Error>;
    /// Adds a snapshot, which is permanent only after [`Sink::commit`].
    fn add(&mut self, snapshot: &Snapshot, digest: &Digest) -> Result<(), Error>;
    /// Commits the snapshots; returns those that another process committed meanwhile.
    fn commit(&mut self) -> Result<ForeignWrites, Error>;
    /// Switches to a store that replaced the current one; returns true if there is one.
    fn renew(&mut self) -> Result<bool, Error> {
        Ok(false)
    }
    /// Pauses writing until [`Sink::renew`].
    fn rest(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

impl Sink for Writer {
    fn knows(&mut self, digest: &Digest) -> Result<bool, Error> {
        Self::knows(self, digest)
    }

    fn add(&mut self, snapshot: &Snapshot, digest: &Digest) -> Result<(), Error> {
        Self::add(self, snapshot, digest)
    }

    fn commit(&mut self) -> Result<ForeignWrites, Error> {
        Self::commit(self)
    }

    fn renew(&mut self) -> Result<bool, Error> {
        Self::renew(self)
    }

    fn rest(&mut self) -> Result<(), Error> {
        Self::rest(self)
    }
}

/// Progress of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// File read last.
    pub file: String,
    /// Number of new files; `known` and `left_out` have the others.
    pub files: u64,
    /// See `files`.
    pub known: u64,
    /// See `files`.
    pub left_out: u64,
    /// Entries of communities.
    pub entries: u64,
    /// Lines for the ledger.
    pub remarks: u64,
    /// Bytes, unpacked.
    pub octets: u64,
}

impl Progress {
    /// Returns files that were new when they were read, and are known now.
    fn meanwhile(&mut self, known: &ForeignWrites) {
        self.files -= known.files;
        self.known += known.files;
        self.entries -= known.entries;
        self.remarks -= known.remarks;
    }
}

/// Imports the files at `places` (files, folders, addresses). `progress` is called for each file,
/// and ends the import by [`ControlFlow::Break`]: earlier snapshots are kept.
pub fn import(
    places: &[String],
    mapping: &Mapping,
    sink: &mut dyn Sink,
    progress: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<Progress, Error> {
    let mut done = Progress::default();
    let mut waiting = 0;
    let mut result = Ok(());
    for place in places {
        let mut visit = |found: ArchiveItem<'_>| {
            waiting += take(found, mapping, sink, &mut done)?;
            if waiting >= BATCH {
                done.meanwhile(&sink.commit()?);
                waiting = 0;
            }
            Ok(progress(&done))
        };
        match source::walk(place, &Limits::default(), &mut visit) {
            Ok(ControlFlow::Continue(())) => {}
            Ok(ControlFlow::Break(())) => break,
            Err(error) => {
                result = Err(error);
                break;
            }
        }
    }
    // Files before an error are complete.
    done.meanwhile(&sink.commit()?);
    result.map(|()| done)
}

/// Imports a file; returns its weight in a batch.
fn take(
    found: ArchiveItem<'_>,
    mapping: &Mapping,
    sink: &mut dyn Sink,
    done: &mut Progress,
) -> Result<u64, Error> {
    let (snapshot, digest) = match found {
        ArchiveItem::File { name, octets } => {
            done.file.clear();
            done.file.push_str(name);
            done.octets += octets.len() as u64;
            let digest = digest(octets, mapping.time_of(name).flatten());
            if sink.knows(&digest)? {
                done.known += 1;
                return Ok(0);
            }
            (believed(snapshot(name, octets, mapping)), digest)
        }
        ArchiveItem::Wrong { name, what } => {
            done.file.clear();
            done.file.push_str(name);
            let digest = digest(format!("{name}\0{what}").as_bytes(), None);
            if sink.knows(&digest)? {
                done.known += 1;
                return Ok(0);
            }
            (wrong(name, what), digest)
        }
    };
    sink.add(&snapshot, &digest)?;
    done.files += 1;
    done.left_out += u64::from(snapshot.entries.is_empty());
    done.entries += snapshot.entries.len() as u64;
    done.remarks += snapshot.remarks.len() as u64;
    Ok(snapshot.entries.len() as u64 + 1)
}

/// Rejects a snapshot outside the accepted time: from 1990 to tomorrow. One that lies years ahead
/// would stretch every chart.
fn believed(snapshot: Snapshot) -> Snapshot {
    const FIRST: i64 = 175_320;
    let now = jiff::Timestamp::now().as_second().div_euclid(3600);
    if snapshot.entries.is_empty() || (FIRST..=now + 24).contains(&snapshot.hour) {
        return snapshot;
    }
    let what = format!("its time is {}", crate::time::iso(snapshot.hour));
    wrong(&snapshot.file, what)
}

/// Returns the snapshot of an unreadable file.
fn wrong(name: &str, what: String) -> Snapshot {
    Snapshot {
        file: name.to_owned(),
        remarks: vec![Remark {
            key: None,
            what,
            read_as: "left out".to_owned(),
        }],
        ..Snapshot::default()
    }
}

/// Returns the digest of a file: of its content and the time in its name. A directory unchanged for
/// a week has equal content twice, and still counts as another snapshot.
pub(crate) fn digest(octets: &[u8], named: Option<i64>) -> Digest {
    let mut digest = blake3::Hasher::new();
    digest.update(octets);
    if let Some(named) = named {
        digest.update(&named.to_le_bytes());
    }
    digest.finalize().into()
}
