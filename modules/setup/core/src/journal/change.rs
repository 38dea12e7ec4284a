//! A change: as it is wanted, as it is written down, and why it could not be made.

use crate::clock::Instant;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What a change says of itself, in its folder.
pub(super) const CHANGE: &str = "change.json";
/// There until all of a change is done, and services know: to take it away needs no room.
pub(super) const UNFINISHED: &str = "unfinished";

/// A change, as it is written down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Its number, from 1.
    pub number: u64,
    /// What it is for.
    pub why: String,
    /// Who made it.
    pub who: String,
    /// When, in seconds since 1970, by a clock that may have been wrong.
    pub when: u64,
    /// Until when it waits to be confirmed.
    pub until: Instant,
    /// What differs, a line each.
    pub lines: Vec<String>,
    /// The files.
    pub files: Vec<Entry>,
}

/// A file of a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Where it is.
    pub path: PathBuf,
    /// What it was; `None` where there was none.
    pub(super) before: Option<Found>,
    /// What it becomes; `None` where it goes.
    pub(super) after: Option<Found>,
    /// The uppermost of its folders that came with the change.
    #[serde(default)]
    pub(super) folder: Option<PathBuf>,
}

/// What whoever wants a change says of it.
#[derive(Clone, Debug)]
pub struct Wish {
    /// What it is for.
    pub why: String,
    /// Who wants it.
    pub who: String,
    /// Seconds until the former files are back, if nobody confirms it.
    pub within: u64,
    /// What differs, a line each.
    pub lines: Vec<String>,
}

/// A file that is to change.
#[derive(Clone, Debug)]
pub struct File {
    /// Where it is.
    pub path: PathBuf,
    /// What it says now, as far as whoever made the change knows; `None` where there is none.
    pub before: Option<Vec<u8>>,
    /// What it is to say; `None` where it is to go.
    pub after: Option<Vec<u8>>,
}

/// A change that is not confirmed yet.
#[derive(Clone, Debug)]
pub struct Pending {
    /// What it is.
    pub change: Change,
    pub(super) folder: PathBuf,
}

impl Pending {
    /// Whether all of it is done, and services know.
    pub fn is_finished(&self) -> bool {
        !self.folder.join(UNFINISHED).exists()
    }
}

/// A file as it was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Found {
    /// Its rights.
    pub mode: u32,
    /// User and group.
    pub owner: (u32, u32),
    /// SHA-256 of what it says.
    pub says: String,
}
