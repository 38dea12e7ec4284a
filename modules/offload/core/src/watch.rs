//! Learning from conntrack itself what time it gives to a connection: which policy an entry has
//! (`ct timeout` of nftables, `-j CT --timeout`) no message tells,
//! but what it has left just after it saw a packet does.

use std::collections::VecDeque;

use kernel::conntrack::Looked;
use kernel::{Connection, ConnectionId, Protocol};

use crate::action::{Action, FlowId, Millis, Reading};
use crate::core::Core;
use crate::flow::{FIXED_TIMEOUT, TCP_ESTABLISHED, UDP_STREAM_AGE};

/// How long a packet is waited for.
const PATIENCE: Millis = 5_000;
/// How long the shortest time-out known steers how often flows are visited, after the last flow
/// that had it.
const SHORTEST: Millis = 60_000;

/// Installed connections that conntrack is to show its time-out of.
#[derive(Default)]
pub(crate) struct Watch {
    entries: Vec<Entry>,
    /// UDP connections by when they are old enough to be streams.
    ripening: VecDeque<(Millis, FlowId)>,
    /// Shortest time-outs learned: of this minute and the last one.
    shortest: [Option<u32>; 2],
    turned: Millis,
}

struct Entry {
    flow: FlowId,
    id: ConnectionId,
    shown: [u32; 2],
    /// The last look.
    checked: Millis,
    until: Millis,
    /// Its proof was ended after all that was told conntrack at that time.
    fresh: bool,
}

impl Watch {
    /// The shortest time-out of a connection that was learned lately.
    pub(crate) fn shortest(&self) -> Option<u32> {
        self.shortest.iter().flatten().min().copied()
    }

    /// A connection has this.
    pub(crate) fn note(&mut self, seconds: Option<u32>, now: Millis) {
        if now.saturating_sub(self.turned) >= SHORTEST {
            self.turned = now;
            self.shortest = [None, self.shortest[0]];
        }
        if let Some(seconds) = seconds {
            let least = self.shortest[0].map_or(seconds, |least| least.min(seconds));
            self.shortest[0] = Some(least);
        }
    }
}

impl Core {
    /// A connection was installed: its first packets are the kernel's.
    pub(crate) fn watch_new(&mut self, flow: FlowId) {
        self.watch(flow, [0; 2]);
        let now = self.now;
        let ripens = self
            .table
            .get(flow)
            .filter(|f| f.id.original.protocol == Protocol::Udp && !f.has(kernel::status::ASSURED))
            .map(|f| (f.since + UDP_STREAM_AGE).max(now));
        if let Some(when) = ripens {
            self.watch.ripening.push_back((when, flow));
        }
    }

    /// The next packet of this connection goes to the kernel, and is to be learned from.
    pub(crate) fn watch(&mut self, flow: FlowId, shown: [u32; 2]) {
        let now = self.now;
        let Some(found) = self.table.get_mut(flow).filter(|found| !found.life.watched) else {
            return;
        };
        found.life.watched = true;
        let id = found.id;
        self.watch.entries.push(Entry {
            flow,
            id,
            shown,
            checked: now,
            until: now.saturating_add(PATIENCE),
            fresh: true,
        });
    }

    /// Asks conntrack about those that showed it a packet since the last tick.
    pub(crate) fn look(
        &mut self,
        read: &mut dyn FnMut(FlowId) -> [Reading; 2],
        out: &mut Vec<Action>,
    ) {
        let now = self.now;
        let mut entries = std::mem::take(&mut self.watch.entries);
        entries.retain_mut(|entry| {
            let found = self.table.get_mut(entry.flow);
            let Some(flow) = found.filter(|f| f.installed() && f.id == entry.id && f.life.watched)
            else {
                return false;
            };
            // Since just now nothing was shown.
            if entry.checked == now {
                return true;
            }
            let shown = read(entry.flow).map(|reading| reading.shown);
            let checked = std::mem::replace(&mut entry.checked, now);
            let fresh = std::mem::take(&mut entry.fresh);
            if shown != entry.shown {
                entry.shown = shown;
                if flow.life.ask(checked, fresh) {
                    out.push(Action::Look(entry.id));
                }
            }
            flow.life.watched = now < entry.until;
            flow.life.watched
        });
        self.watch.entries = entries;
        // In the order of coming, which is nearly that of age.
        while let Some((when, flow)) = self.watch.ripening.front().copied() {
            if when > now {
                break;
            }
            self.watch.ripening.pop_front();
            let ripe = |f: &&crate::flow::Flow| f.installed() && f.ripe(now);
            if self.table.get(flow).filter(ripe).is_some() {
                let readings = read(flow);
                if readings.iter().any(|reading| reading.packets > 0) {
                    self.show(flow, &readings, out);
                }
            }
        }
    }

    /// Has conntrack see the next packet of a connection.
    pub(crate) fn show(&mut self, flow: FlowId, readings: &[Reading; 2], out: &mut Vec<Action>) {
        self.watch(flow, readings.map(|reading| reading.shown));
        self.statistics.proofs += 1;
        out.push(Action::Prove { flow });
    }

    /// Conntrack answered an [`Action::Look`].
    pub fn looked(&mut self, looked: &Looked, now: Millis, out: &mut Vec<Action>) {
        self.now = self.now.max(now);
        let (now, round) = (self.now, self.round);
        let told = &looked.connection;
        let Some(id) = self.table.find(&told.id) else {
            return;
        };
        let (Some(flow), Some(left)) = (self.table.get_mut(id), told.timeout) else {
            return;
        };
        let tcp = told.id.original.protocol == Protocol::Tcp;
        // It has ended, or has become a stream. A message about that is on its way, but for entries
        // of which the kernel tells nothing.
        let changed = if tcp {
            told.tcp_state != Some(TCP_ESTABLISHED)
        } else {
            told.status != flow.status
        };
        if !flow.installed() || flow.has(FIXED_TIMEOUT) {
            return;
        }
        if changed {
            // What is left was given some time ago.
            let timeout = None;
            return self.connection(
                &Connection {
                    timeout,
                    ..told.clone()
                },
                out,
            );
        }
        if let Some(answered) = &mut self.answered {
            answered.insert(told.id);
        }
        let timeouts = tcp.then_some(&self.settings.timeouts);
        let by_sysctl = !self.policies && self.legacy.is_none();
        if flow.life.answered(
            left,
            looked.unacknowledged,
            (timeouts, by_sysctl),
            round,
            now,
        ) {
            flow.life.watched = false;
        }
        if let Some(renewal) = flow.life.confirmed(round, now) {
            self.statistics.refreshes += 1;
            out.push(renewal.of(told.id));
        }
        let shortest = flow.life.shortest();
        self.watch.note(shortest, now);
    }
}
