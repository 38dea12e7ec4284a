//! Counters of the core.

use std::collections::BTreeMap;

use crate::decline::DeclineReason;

/// Counters of the core since its start, and how many connections there are now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Installs asked for.
    pub installs: u64,
    /// Removes asked for.
    pub removes: u64,
    /// Installs that the packet path refused.
    pub refusals: u64,
    /// Time-out refreshes asked for.
    pub refreshes: u64,
    /// Staggered re-proofs asked for.
    pub proofs: u64,
    /// Ends of the proofs over one neighbour.
    pub hop_bumps: u64,
    /// Ends of all proofs, by [`crate::Cause::name`].
    pub bumps: BTreeMap<&'static str, u64>,
    /// Times a declined connection was not remembered for want of room.
    pub forgotten: u64,
    /// Connections installed now.
    pub installed: usize,
    /// Connections remembered as declined now, by [`DeclineReason::index`].
    pub declined: [usize; DeclineReason::COUNT],
}

impl Statistics {
    /// Returns the number of stored declined connections.
    pub fn declined_total(&self) -> usize {
        self.declined.iter().sum()
    }

    /// Returns the numbers of stored declined connections by reason; reasons without connections
    /// are left out.
    pub fn declines(&self) -> impl Iterator<Item = (DeclineReason, usize)> + '_ {
        DeclineReason::ALL
            .into_iter()
            .map(|reason| (reason, self.declined[reason.index()]))
            .filter(|(_, count)| *count > 0)
    }
}
