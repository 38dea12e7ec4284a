//! A small store for tests.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rusqlite::Connection;

use super::{Digest, Writer, open};
use crate::snapshot::{Entry, Profile, Snapshot, Status};

/// A temporary folder.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("weir-atlas-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// An entry that is live, named as its key, fetched in the hour.
pub(crate) fn entry(hour: i64, key: &str, nodes: i64) -> Entry {
    Entry {
        key: key.into(),
        nodes: Some(nodes),
        status: Status::Live,
        fetched: hour * 3600,
        profile: Profile {
            name: key.into(),
            ..Profile::default()
        },
    }
}

/// A snapshot of entries.
pub(crate) fn snapshot(hour: i64, entries: Vec<Entry>) -> Snapshot {
    Snapshot {
        file: format!("{hour}.json"),
        hour,
        entries,
        remarks: Vec::new(),
    }
}

/// Returns a digest of a snapshot's content.
pub(crate) fn digest(snapshot: &Snapshot) -> Digest {
    blake3::hash(format!("{snapshot:?}").as_bytes()).into()
}

/// Returns a store of these snapshots, and its folder.
pub(crate) fn sample(snapshots: &[Snapshot]) -> (Folder, Connection) {
    let folder = Folder::new();
    let mut writer = Writer::open(folder.path()).expect("a store");
    for snapshot in snapshots {
        writer.add(snapshot, &digest(snapshot)).expect("added");
    }
    writer.commit().expect("committed");
    let store = open(folder.path()).expect("open");
    (folder, store)
}
