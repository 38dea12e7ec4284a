/// Counters of a room since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Messages of others passed on, counted once for each peer.
    pub passed: u64,
    /// Messages that had arrived before and went no further.
    pub doubled: u64,
}
