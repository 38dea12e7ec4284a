//! Connections that no event has reported yet: a dump showed them.
//!
//! The kernel gives an entry what it needs to send events when the entry is made, and only while a
//! process listens (`nf_conntrack_events` = 2) or always (1). The kernel never adds it to an entry
//! later. So entries from before the start of weir may never report a change, not even their end.
//! Weir probes each entry: an entry that can send events answers a probe with an event. Those that
//! stay silent are polled while weir forwards them.

use std::collections::{HashMap, VecDeque};

use kernel::conntrack::ConnectionState;
use kernel::{Connection, ConnectionId};

use crate::action::{Action, FlowId, Reading};
use crate::connections::Connections;
use crate::decline::DeclineReason;
use crate::flow::Flow;
use crate::output::Output;
use crate::time::Millis;

/// Interval between two polls of a connection. With ticks of 250 ms, polls are 500 ms apart.
const PAUSE: Millis = 400;
/// Maximum number of polled connections; docs/performance.md has the cost.
const MOST: usize = 4_096;
/// Connections of the surplus are let in again while fewer than this are polled.
const ROOM: usize = MOST / 8 * 7;
/// A connection is no longer polled after this number of consecutive visits without a proof. A
/// change of a route or a re-proof ends proofs for a moment only.
const UNPROVEN: u8 = 4;
/// Maximum number of probes in a tick.
const PROBES: usize = 1_000;
/// A connection that stays silent is probed again after this time: the first answer may be lost.
const PROBE_AGAIN: Millis = 60_000;

/// The state of one silent connection.
#[derive(Default)]
struct Entry {
    /// Time of the last probe.
    probed: Option<Millis>,
    /// Labels as the last poll found them.
    labels: Option<[u8; 16]>,
    /// The connection is polled: weir forwards it, or may again.
    polled: bool,
    /// Visits in a row without a proof.
    unproven: u8,
    /// Weir may forward it, so its end is of concern.
    concern: bool,
}

/// All silent connections.
#[derive(Default)]
pub(crate) struct SilentConnections {
    /// Queue in the order of the next visits.
    queue: VecDeque<(Millis, ConnectionId)>,
    entries: HashMap<ConnectionId, Entry>,
    /// Numbers of connections that are polled, and of those that are of concern.
    polled: usize,
    concern: usize,
}

/// Sets a mark that is counted.
fn mark(mark: &mut bool, count: &mut usize, wanted: bool) {
    match (*mark, wanted) {
        (false, true) => *count += 1,
        (true, false) => *count = count.saturating_sub(1),
        _ => {}
    }
    *mark = wanted;
}

impl SilentConnections {
    /// Handles an unknown connection from a dump.
    pub(crate) fn note(&mut self, id: ConnectionId, now: Millis) {
        if self.entries.contains_key(&id) {
            return;
        }
        self.entries.insert(id, Entry::default());
        self.queue.push_back((now, id));
    }

    /// Returns true if the end of a connection that weir may forward can stay unreported.
    pub(crate) fn concern(&self) -> bool {
        self.concern > 0
    }

    /// Probes silent connections, and polls those that weir forwards. Connections beyond the most
    /// that are polled stay with the kernel.
    pub(crate) fn poll(
        &mut self,
        connections: &mut Connections,
        read: &mut dyn FnMut(FlowId) -> [Reading; 2],
        out: &mut Output,
    ) {
        let now = out.now();
        let mut probes = PROBES;
        // Half of them per tick, so that no tick is long.
        for _ in 0..self.queue.len() / 2 + 1 {
            let Some((_, id)) = self.queue.front().copied().filter(|(due, _)| *due <= now) else {
                break;
            };
            self.queue.pop_front();
            let silent = connections.table().find(&id).and_then(|flow| {
                let found = connections.table().get(flow).filter(|found| found.silent)?;
                Some((flow, found.installed(), found.declined))
            });
            let Some((flow, installed, declined)) = silent else {
                if let Some(mut entry) = self.entries.remove(&id) {
                    mark(&mut entry.polled, &mut self.polled, false);
                    mark(&mut entry.concern, &mut self.concern, false);
                }
                continue;
            };
            self.queue.push_back((now + PAUSE, id));
            let entry = self.entries.entry(id).or_default();
            let surplus = declined == Some(DeclineReason::Unreported);
            let concern = installed || surplus || declined == Some(DeclineReason::Flowtable);
            mark(&mut entry.concern, &mut self.concern, concern);
            let rested = |probed| now.saturating_sub(probed) >= PROBE_AGAIN;
            if concern && probes > 0 && entry.probed.is_none_or(rested) {
                probes -= 1;
                entry.probed = Some(now);
                out.push(Action::Probe(id));
            }
            let forwarded = installed && read(flow).iter().any(|reading| reading.proven);
            let let_in = surplus && self.polled < ROOM;
            let refused = forwarded && !entry.polled && self.polled >= MOST;
            entry.unproven = match forwarded || let_in {
                true => 0,
                false => entry.unproven.saturating_add(1),
            };
            let stays = entry.polled && installed && entry.unproven < UNPROVEN;
            mark(
                &mut entry.polled,
                &mut self.polled,
                (forwarded && !refused) || let_in || stays,
            );
            if forwarded && !refused {
                out.push(Action::Poll(id));
            }
            if let_in || refused {
                let refusal = refused.then_some(DeclineReason::Unreported);
                connections.set_refusal(flow, refusal, out);
            }
        }
    }

    /// Handles the reply of conntrack to an [`Action::Poll`]. Returns the connection if it changed.
    pub(crate) fn polled(
        &mut self,
        connections: &Connections,
        looked: &ConnectionState,
        out: &mut Output,
    ) -> Option<Connection> {
        let found = &looked.connection;
        let entry = self.entries.get_mut(&found.id);
        // `Some(None)`: this is the first poll of a silent connection.
        let labels = entry.map(|entry| entry.labels.replace(looked.labels));
        let id = connections.table().find(&found.id);
        let flow = id.and_then(|id| connections.table().get(id));
        let same = flow.is_some_and(|flow| {
            flow.mark == found.mark
                && flow.reply == found.reply
                && (found.status.is_none() || found.status == flow.status)
                && (found.tcp_state.is_none() || found.tcp_state == flow.tcp_state)
                && (flow.helper || !found.helper)
                && (flow.sequence_adjusted || !found.sequence_adjusted)
                && labels
                    .flatten()
                    .is_none_or(|before| before == looked.labels)
        });
        if same {
            // A dump has no labels: these may have changed since the packets that proved the flow.
            if labels == Some(None)
                && let Some(id) = id
                && flow.is_some_and(Flow::installed)
            {
                out.push(Action::Invalidate { flow: id });
            }
            return None;
        }
        // An earlier, unseen packet set the remaining time. If the entry is a successor of the
        // polled one, the polled one has ended.
        Some(Connection {
            timeout: flow.is_none().then_some(found.timeout).flatten(),
            ..found.clone()
        })
    }
}
