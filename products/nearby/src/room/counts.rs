/// What a room has done since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Messages of others that were given to a peer to go on, once for each peer.
    pub passed: u64,
    /// Messages that had come before, and went no further.
    pub doubled: u64,
}
