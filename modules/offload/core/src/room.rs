//! Room: connections that wait for it.

use std::collections::BTreeMap;

use crate::action::FlowId;
use crate::time::Millis;

/// Waiting connections let in by one event: it ends some, mostly one, and must stay short.
pub(crate) const ADMIT_PER_EVENT: usize = 64;
/// Waiting connections let in by one tick.
pub(crate) const ADMIT_PER_TICK: usize = 1_024;

/// Connections that may be installed once there is room.
#[derive(Default)]
pub(crate) struct Queue {
    /// (Not before, order of arrival) → flow.
    waiting: BTreeMap<(Millis, u64), FlowId>,
    arrivals: u64,
}

impl Queue {
    /// Adds a connection, and returns its position.
    pub(crate) fn add(&mut self, flow: FlowId, not_before: Millis) -> (Millis, u64) {
        self.arrivals += 1;
        let turn = (not_before, self.arrivals);
        self.waiting.insert(turn, flow);
        turn
    }

    /// Removes the connection at a position.
    pub(crate) fn remove(&mut self, turn: (Millis, u64)) {
        self.waiting.remove(&turn);
    }

    /// Takes the first connection, if its time has come.
    pub(crate) fn next(&mut self, now: Millis) -> Option<FlowId> {
        let first = self.waiting.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }
}
