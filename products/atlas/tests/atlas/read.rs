//! Files of directories: read, and imported.

mod archives;
mod command;
mod follow;
mod hostile;
mod real;
mod replaced;
mod slow;
mod table;
mod together;
mod twice;

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::Path;

use atlas::Error;
use atlas::read::{Mapping, Progress, Sink, import, snapshot};
use atlas::snapshot::{Entry, Snapshot};
use atlas::store::{Digest, ForeignWrites};

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data");
const NAME: &str = "20191010-00.00.00-ffSummarizedDir.json";

/// A sink in memory.
#[derive(Default)]
struct Kept {
    known: HashSet<Digest>,
    snapshots: Vec<Snapshot>,
    /// Number of snapshots at each commit.
    commits: Vec<usize>,
}

impl Sink for Kept {
    fn knows(&mut self, digest: &Digest) -> Result<bool, Error> {
        Ok(self.known.contains(digest))
    }

    fn add(&mut self, snapshot: &Snapshot, digest: &Digest) -> Result<(), Error> {
        assert!(self.known.insert(*digest), "{} twice", snapshot.file);
        self.snapshots.push(snapshot.clone());
        Ok(())
    }

    fn commit(&mut self) -> Result<ForeignWrites, Error> {
        self.commits.push(self.snapshots.len());
        Ok(ForeignWrites::default())
    }
}

fn freifunk() -> Mapping {
    Mapping::named("freifunk").unwrap()
}

fn read(json: &str) -> Snapshot {
    snapshot(NAME, json.as_bytes(), &freifunk())
}

/// A community by which a file is a directory, as members.
const OTHER: &str = r#""other":{"name":"Other","state":{"nodes":1}}"#;

/// Returns the entry next to [`OTHER`], and the remarks on it.
fn one(json: &str) -> (Entry, Vec<String>) {
    let snapshot = read(&format!(r#"{{"k":{json},{OTHER}}}"#));
    let [entry, _] = snapshot.entries.as_slice() else {
        panic!("{snapshot:?}");
    };
    (entry.clone(), told(&snapshot))
}

/// Returns the ledger's lines.
fn told(snapshot: &Snapshot) -> Vec<String> {
    let remarks = snapshot.remarks.iter();
    remarks
        .map(|remark| {
            let key = remark.key.as_deref().unwrap_or("file");
            format!("{key}: {}: {}", remark.what, remark.read_as)
        })
        .collect()
}

fn run(place: &Path, into: &mut Kept) -> Progress {
    let places = [place.to_string_lossy().into_owned()];
    import(&places, &freifunk(), into, &mut |_| {
        ControlFlow::Continue(())
    })
    .unwrap()
}
