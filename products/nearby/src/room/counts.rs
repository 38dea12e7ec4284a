use super::{PASSED, Room};

/// What a room has done since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Messages of others that were given to a peer to go on, once for each peer.
    pub passed: u64,
    /// Messages that had come before, and went no further.
    pub doubled: u64,
}

impl Room {
    /// What it has done since it began.
    pub fn counts(&self) -> Counts {
        Counts {
            passed: self.passed - PASSED - self.answered,
            doubled: self.doubled,
        }
    }
}
