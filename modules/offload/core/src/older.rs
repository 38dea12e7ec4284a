//! Connections that no event has reported yet: a dump showed them.
//!
//! The kernel gives an entry what it needs to send events when the entry is made, and only while
//! a process listens (`nf_conntrack_events` = 2) or always (1). Nothing gives it to an entry
//! later. So the entries that are older than weir may never report a change, not even their end.
//! Each is probed: an entry that can send events answers a probe with one. Those that stay silent
//! are polled while weir forwards them.

use std::collections::{HashMap, VecDeque};

use kernel::ConnectionId;
use kernel::conntrack::Looked;

use crate::action::{Action, FlowId, Millis, Reading};
use crate::core::Core;
use crate::decline::Decline;
use crate::flow::Flow;
use crate::room::ADMIT_PER_EVENT;

/// Pause between two polls of a connection. With ticks of 250 ms these are 500 ms apart.
const PAUSE: Millis = 400;
/// Most connections that are polled; docs/performance.md has the cost.
const MOST: usize = 4_096;
/// Connections of the surplus are let in again while fewer than this are polled.
const ROOM: usize = MOST / 8 * 7;
/// A connection is polled no more after so many visits in a row without a proof. A change of a route
/// or a re-proof ends proofs for a moment only.
const UNPROVEN: u8 = 4;
/// Most probes in a tick.
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
pub(crate) struct Older {
    /// In the order of their next visits.
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

impl Older {
    /// A dump showed a connection that was not known.
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
}

impl Core {
    /// Takes an answer to [`Action::Dump`]. Unlike [`Core::handle`], it does not prove that the
    /// kernel reports this connection by itself.
    pub fn answer(&mut self, event: kernel::Event, now: Millis, out: &mut Vec<Action>) {
        self.answering = true;
        self.handle(event, now, out);
        self.answering = false;
    }

    /// An event reported this connection, so later events will, too.
    pub(crate) fn reported(&mut self, id: FlowId) {
        let Some(flow) = self.table.get_mut(id).filter(|flow| flow.silent) else {
            return;
        };
        flow.silent = false;
        flow.life.unheard = false;
        if flow.refusal == Some(Decline::Unreported) {
            flow.refusal = None;
        }
    }

    /// Probes silent connections, and polls those that weir forwards. Connections beyond the most
    /// that are polled stay with the kernel.
    pub(crate) fn poll_older(
        &mut self,
        read: &mut dyn FnMut(FlowId) -> [Reading; 2],
        out: &mut Vec<Action>,
    ) {
        let now = self.now;
        let mut older = std::mem::take(&mut self.older);
        let mut probes = PROBES;
        // Half of them in a tick, so that none is long.
        for _ in 0..older.queue.len() / 2 + 1 {
            let Some((_, id)) = older.queue.front().copied().filter(|(due, _)| *due <= now) else {
                break;
            };
            older.queue.pop_front();
            let silent = self.table.find(&id).and_then(|flow| {
                let found = self.table.get(flow).filter(|found| found.silent)?;
                Some((flow, found.installed(), found.declined))
            });
            let Some((flow, installed, declined)) = silent else {
                if let Some(mut entry) = older.entries.remove(&id) {
                    mark(&mut entry.polled, &mut older.polled, false);
                    mark(&mut entry.concern, &mut older.concern, false);
                }
                continue;
            };
            older.queue.push_back((now + PAUSE, id));
            let entry = older.entries.entry(id).or_default();
            let surplus = declined == Some(Decline::Unreported);
            let concern = installed || surplus || declined == Some(Decline::Flowtable);
            mark(&mut entry.concern, &mut older.concern, concern);
            let rested = |probed| now.saturating_sub(probed) >= PROBE_AGAIN;
            if concern && probes > 0 && entry.probed.is_none_or(rested) {
                probes -= 1;
                entry.probed = Some(now);
                out.push(Action::Probe(id));
            }
            let forwarded = installed && read(flow).iter().any(|reading| reading.proven);
            let let_in = surplus && older.polled < ROOM;
            let refused = forwarded && !entry.polled && older.polled >= MOST;
            entry.unproven = match forwarded || let_in {
                true => 0,
                false => entry.unproven.saturating_add(1),
            };
            let stays = entry.polled && installed && entry.unproven < UNPROVEN;
            mark(
                &mut entry.polled,
                &mut older.polled,
                (forwarded && !refused) || let_in || stays,
            );
            if forwarded && !refused {
                out.push(Action::Poll(id));
            }
            if let_in || refused {
                if let Some(found) = self.table.get_mut(flow) {
                    found.refusal = refused.then_some(Decline::Unreported);
                }
                self.settle(flow, out);
            }
        }
        self.older = older;
    }

    /// Conntrack answered an [`Action::Poll`]. An entry that is gone is a `ConnectionGone`
    /// instead.
    pub fn polled(&mut self, looked: &Looked, now: Millis, out: &mut Vec<Action>) {
        self.clock(now);
        let found = &looked.connection;
        let entry = self.older.entries.get_mut(&found.id);
        // `Some(None)`: this is the first poll of a silent connection.
        let labels = entry.map(|entry| entry.labels.replace(looked.labels));
        let id = self.table.find(&found.id);
        let flow = id.and_then(|id| self.table.get(id));
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
                out.push(Action::Prove { flow: id });
            }
            return;
        }
        // An earlier, unseen packet set the time that is left. If the entry is a successor of the
        // one that was polled, the polled one is gone.
        let connection = kernel::Connection {
            timeout: flow.is_none().then_some(found.timeout).flatten(),
            ..found.clone()
        };
        self.answering = true;
        self.connection(&connection, out);
        self.answering = false;
        self.forget_excess();
        self.admit(ADMIT_PER_EVENT, out);
    }
}
