//! Room: who waits for it among the flows, what of the declined is forgotten for want of it, and
//! what that forbids.

use crate::action::{Action, FlowId, Millis};
use crate::core::Core;
use crate::decline::Decline;

/// Waiting connections let in by one event: it ends some, mostly one, and must stay short.
pub(crate) const ADMIT_PER_EVENT: usize = 64;
/// Waiting connections let in by one tick.
pub(crate) const ADMIT_PER_TICK: usize = 1_024;

impl Core {
    /// Queues a connection for room.
    pub(crate) fn wait(&mut self, id: FlowId, not_before: Millis) {
        self.leave_queue(id);
        self.decline(id, Decline::TableFull);
        self.turns += 1;
        let turn = (not_before, self.turns);
        if let Some(flow) = self.table.get_mut(id) {
            flow.turn = Some(turn);
            self.waiting.insert(turn, id);
        }
    }

    pub(crate) fn leave_queue(&mut self, id: FlowId) {
        if let Some(turn) = self.table.get_mut(id).and_then(|flow| flow.turn.take()) {
            self.waiting.remove(&turn);
        }
    }

    /// Lets waiting connections in, as many as there is room for, at most `budget`.
    pub(crate) fn admit(&mut self, budget: usize, out: &mut Vec<Action>) {
        for _ in 0..budget {
            if self.statistics.installed >= self.settings.max_flows {
                return;
            }
            let Some(entry) = self
                .waiting
                .first_entry()
                .filter(|entry| entry.key().0 <= self.now)
            else {
                return;
            };
            let id = entry.remove();
            if let Some(flow) = self.table.get_mut(id) {
                flow.turn = None;
            }
            self.settle(id, out);
        }
    }

    /// Removes what is installed beyond the limit.
    pub(crate) fn trim(&mut self, out: &mut Vec<Action>) {
        let excess = self
            .statistics
            .installed
            .saturating_sub(self.settings.max_flows);
        let ids: Vec<FlowId> = self
            .table
            .iter()
            .filter(|(_, flow)| flow.installed())
            .map(|(id, _)| id)
            .take(excess)
            .collect();
        for id in ids {
            self.revoke(id, Decline::TableFull, out);
            self.wait(id, 0);
        }
    }

    /// Forgets as many of those declined just now as are too many, in the order they were declined:
    /// a newcomer before those it collides with. Called at the end of everything that may decline.
    pub(crate) fn forget_excess(&mut self) {
        for id in std::mem::take(&mut self.fresh) {
            if self.statistics.declined_total() <= self.settings.max_declined {
                return;
            }
            if self.table.get(id).is_some_and(|flow| !flow.installed()) {
                let sharers = self.table.sharers(id);
                self.take(id);
                self.contest(&sharers);
            }
        }
    }

    /// A connection is not remembered. Those that share a tuple with it stay declined: its end will
    /// not be noticed.
    pub(crate) fn contest(&mut self, sharers: &[FlowId]) {
        self.statistics.forgotten += 1;
        self.forgot = true;
        self.forgot_lately = true;
        for id in sharers {
            if let Some(flow) = self.table.get_mut(*id) {
                flow.contested = true;
            }
        }
    }
}
