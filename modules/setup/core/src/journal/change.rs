//! A change: as it is wanted, as it is written down, and why it could not be made.

use super::{UNFINISHED, disk::Found};
use crate::clock::Instant;
use serde::{Deserialize, Serialize};
use std::{io, path::PathBuf};

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

/// Why a change could not be made.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// Another one is not confirmed yet.
    #[error("change {} of {} waits to be confirmed: {}", .0.number, .0.who, .0.why)]
    Waits(Box<Change>),
    /// It is not in all files yet, or services do not know.
    #[error("change {} is not finished: it is being made, or whoever made it was stopped", .0.number)]
    Unfinished(Box<Change>),
    /// There is none to be confirmed.
    #[error("no change waits to be confirmed")]
    Nothing,
    /// There is no such state.
    #[error("there is no former state {0}")]
    NoState(u64),
    /// A file that is not among those that may be changed, or is a link, or not what was written
    /// down, or in a folder that another user may write into; or such a folder of the journal.
    #[error("{} is not a file that weir changes", .0.display())]
    Outside(PathBuf),
    /// A change was taken back, but for a file that weir may not change. The change is put aside.
    #[error("cannot put {} back: weir does not change that file; all other files of the change are \
             back", .path.display())]
    Refused {
        /// The first such file.
        path: PathBuf,
        /// The change, with the files that are back.
        change: Box<Change>,
    },
    /// The record of a change cannot be parsed: nothing is taken back.
    #[error("cannot take a change back: {}: {error}; all files stay as they are, and copies of the \
             former ones are beside it", .path.display())]
    Damaged {
        /// The record.
        path: PathBuf,
        /// Fault of the record.
        error: serde_json::Error,
    },
    /// Somebody else changed a file meanwhile.
    #[error("{} was changed by somebody else meanwhile", .0.display())]
    Changed(PathBuf),
    /// A file could not be read or written.
    #[error("{}: {error}", .path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// What the kernel says.
        error: io::Error,
    },
}

impl Pending {
    /// Whether all of it is done, and services know.
    pub fn is_finished(&self) -> bool {
        !self.folder.join(UNFINISHED).exists()
    }
}
