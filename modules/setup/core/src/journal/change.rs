//! A change: as requested, and as written down.

use crate::clock::BootTime;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Record of a change, in its folder.
pub(super) const CHANGE: &str = "change.json";
/// Exists until a change is done, and services have reloaded: its removal needs no room.
pub(super) const UNFINISHED: &str = "unfinished";

/// A change, as it is written down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Number, from 1.
    pub number: u64,
    /// Purpose.
    pub why: String,
    /// Author.
    pub who: String,
    /// Time, in seconds since 1970, by a clock that may have been wrong.
    pub when: u64,
    /// End of the time to confirm it.
    pub until: BootTime,
    /// Differences, a line each.
    pub lines: Vec<String>,
    /// The files.
    pub files: Vec<Entry>,
}

/// A file of a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Path of the file.
    pub path: PathBuf,
    /// Old state; `None` if the file did not exist.
    pub(super) before: Option<Found>,
    /// New state; `None` if the file is removed.
    pub(super) after: Option<Found>,
    /// Uppermost folder that was made for the file.
    #[serde(default)]
    pub(super) folder: Option<PathBuf>,
}

/// Request for a change.
#[derive(Clone, Debug)]
pub struct ChangeRequest {
    /// Purpose.
    pub why: String,
    /// Author.
    pub who: String,
    /// Seconds until the old files return, unless a user confirms the change.
    pub within: u64,
    /// Differences, a line each.
    pub lines: Vec<String>,
}

/// A file that is to change.
#[derive(Clone, Debug)]
pub struct FileChange {
    /// Path of the file.
    pub path: PathBuf,
    /// Present content, as far as the author knows; `None` if the file does not exist.
    pub before: Option<Vec<u8>>,
    /// New content; `None` to remove the file.
    pub after: Option<Vec<u8>>,
}

/// A change that is not confirmed yet.
#[derive(Clone, Debug)]
pub struct Pending {
    /// Record of the change.
    pub change: Change,
    pub(super) folder: PathBuf,
}

impl Pending {
    /// Returns true if the change is done, and services have reloaded.
    pub fn is_finished(&self) -> bool {
        !self.folder.join(UNFINISHED).exists()
    }
}

/// A file as it was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Found {
    /// Mode.
    pub mode: u32,
    /// User and group.
    pub owner: (u32, u32),
    /// SHA-256 of the content.
    pub says: String,
}
