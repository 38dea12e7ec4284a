//! Output of the core: actions, and counters of them.

use kernel::{ConnectionId, Mac};

use crate::action::{Action, Cause, FlowId};
use crate::lifetime::Renewal;
use crate::statistics::Statistics;
use crate::time::Millis;

/// Actions of the call under way, in order, with the time of the call and the counters.
#[derive(Default)]
pub(crate) struct Output {
    actions: Vec<Action>,
    now: Millis,
    /// Ends of all proofs.
    round: u64,
    pub(crate) statistics: Statistics,
}

impl Output {
    /// Sets the clock, which never goes back, whatever time the caller passes.
    pub(crate) fn clock(&mut self, now: Millis) {
        self.now = self.now.max(now);
    }

    /// Returns the time of the call.
    pub(crate) fn now(&self) -> Millis {
        self.now
    }

    /// Returns the number of ends of all proofs so far.
    pub(crate) fn round(&self) -> u64 {
        self.round
    }

    /// Adds an action that nothing counts.
    pub(crate) fn push(&mut self, action: Action) {
        self.actions.push(action);
    }

    /// Ends all proofs.
    pub(crate) fn bump(&mut self, cause: Cause) {
        *self.statistics.bumps.entry(cause.name()).or_default() += 1;
        self.round += 1;
        self.push(Action::InvalidateAll(cause));
    }

    /// Ends the proofs over one neighbour.
    pub(crate) fn bump_hops(&mut self, link: u32, mac: Mac) {
        self.statistics.hop_bumps += 1;
        self.push(Action::InvalidateHops { link, mac });
    }

    /// Ends the proofs of one flow, as time asks for it.
    pub(crate) fn prove(&mut self, flow: FlowId) {
        self.statistics.proofs += 1;
        self.push(Action::Invalidate { flow });
    }

    /// Sends conntrack a refresh of a connection.
    pub(crate) fn renew(&mut self, id: ConnectionId, renewal: Option<Renewal>) {
        if let Some(renewal) = renewal {
            self.statistics.refreshes += 1;
            self.push(renewal.of(id));
        }
    }

    /// Returns the number of actions so far.
    pub(crate) fn len(&self) -> usize {
        self.actions.len()
    }

    /// Drops all refreshes but the last among the actions from this number on.
    pub(crate) fn keep_last_refresh(&mut self, from: usize) {
        let mut last = self.actions.split_off(from);
        last.retain(|action| matches!(action, Action::Refresh { .. }));
        self.actions.extend(last.pop());
    }

    /// Appends all actions to those of the caller.
    pub(crate) fn give(&mut self, out: &mut Vec<Action>) {
        out.append(&mut self.actions);
    }
}
