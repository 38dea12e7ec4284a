//! A small store for tests.

use rusqlite::Connection;
use testing::Directory;

use super::{Digest, Writer, open};
use crate::snapshot::{Entry, Profile, Snapshot, Status};

/// Builds a live entry, named as its key, fetched in the hour.
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

/// Builds a snapshot of entries.
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
pub(crate) fn sample(snapshots: &[Snapshot]) -> (Directory, Connection) {
    let folder = Directory::new();
    let mut writer = Writer::open(folder.path()).expect("a store");
    for snapshot in snapshots {
        writer.add(snapshot, &digest(snapshot)).expect("added");
    }
    writer.commit().expect("committed");
    let store = open(folder.path()).expect("open");
    (folder, store)
}
