//! What each radio did.

/// Since the medium began.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    /// Frames that it had to send.
    pub frames: u64,
    /// Of these, acknowledged ones, those for all among them.
    pub done: u64,
    /// Those that nobody acknowledged.
    pub failed: u64,
    /// Those that the kernel gave up before it was their turn.
    pub given_up: u64,
    /// Frames on the air, each try.
    pub tries: u64,
    /// Times that it had the air: a frame, or several at once, with what precedes and follows.
    pub exchanges: u64,
    /// Frames of others that it understood, and that were for it.
    pub heard: u64,
    /// How long it sent, ns.
    pub airtime: u64,
    /// Of that, how long others sent that had begun before, ns: as they were not heard, or in the
    /// same slot.
    pub over_others: u64,
    /// What it radiated, mW·s.
    pub energy: f64,
}
