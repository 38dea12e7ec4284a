//! Counters of each radio.

/// Counters of one radio since the medium began.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    /// Frames that the radio had to send.
    pub frames: u64,
    /// Frames among `frames` that were acknowledged, or addressed to a group.
    pub done: u64,
    /// Frames that no receiver acknowledged.
    pub failed: u64,
    /// Frames that the kernel dropped before their turn.
    pub given_up: u64,
    /// Frames on the air, counted for each try.
    pub tries: u64,
    /// Exchanges: one frame or one aggregate, with its RTS, CTS and acknowledgement.
    pub exchanges: u64,
    /// Frames decoded from other radios that were addressed to this one, or overheard.
    pub heard: u64,
    /// Time on the air, ns.
    pub airtime: u64,
    /// Part of `airtime` that overlaps earlier signals of other radios, ns: hidden ones or ones in
    /// the same slot.
    pub over_others: u64,
    /// Radiated energy, mW·s.
    pub energy: f64,
}
