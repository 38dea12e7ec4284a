//! Learns from conntrack the time-out of a connection: no message reports the policy of an entry
//! (`ct timeout` of nftables, `-j CT --timeout`), but the remaining time just after conntrack saw a
//! packet does.

use std::collections::VecDeque;

use kernel::{ConnectionId, Protocol};

use crate::action::{Action, FlowId, Reading};
use crate::flow::UDP_STREAM_AGE;
use crate::output::Output;
use crate::table::Table;
use crate::time::Millis;

/// Maximum wait for a packet.
const PATIENCE: Millis = 5_000;
/// Time for which the shortest known time-out steers how often weir visits flows, after the last
/// flow that had it.
const SHORTEST: Millis = 60_000;

/// Installed connections that conntrack is to show its time-out of.
#[derive(Default)]
pub(crate) struct TimeoutLearner {
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
    /// Time of the last check.
    checked: Millis,
    until: Millis,
    /// True if the proof ended after all messages to conntrack of that time.
    fresh: bool,
}

impl TimeoutLearner {
    /// Returns the shortest recently learned timeout of a connection.
    pub(crate) fn shortest(&self) -> Option<u32> {
        self.shortest.iter().flatten().min().copied()
    }

    /// Records the timeout of a connection.
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

    /// Handles an installed connection: its first packets are the kernel's.
    pub(crate) fn installed(&mut self, table: &mut Table, flow: FlowId, now: Millis) {
        self.add(table, flow, [0; 2], now);
        let ripens = table
            .get(flow)
            .filter(|f| f.id.original.protocol == Protocol::Udp && !f.has(kernel::status::ASSURED))
            .map(|f| (f.since + UDP_STREAM_AGE).max(now));
        if let Some(when) = ripens {
            self.ripening.push_back((when, flow));
        }
    }

    /// Sends the next packet of this connection to the kernel, and learns from it.
    pub(crate) fn add(&mut self, table: &mut Table, flow: FlowId, shown: [u32; 2], now: Millis) {
        let Some(found) = table.get_mut(flow).filter(|found| !found.life.watched) else {
            return;
        };
        found.life.watched = true;
        let id = found.id;
        self.entries.push(Entry {
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
        table: &mut Table,
        read: &mut dyn FnMut(FlowId) -> [Reading; 2],
        out: &mut Output,
    ) {
        let now = out.now();
        self.entries.retain_mut(|entry| {
            let found = table.get_mut(entry.flow);
            let Some(flow) = found.filter(|f| f.installed() && f.id == entry.id && f.life.watched)
            else {
                return false;
            };
            // Since just now nothing was shown.
            if entry.checked == now {
                return true;
            }
            let shown = read(entry.flow).map(|reading| reading.trials);
            let checked = std::mem::replace(&mut entry.checked, now);
            let fresh = std::mem::take(&mut entry.fresh);
            if shown != entry.shown {
                entry.shown = shown;
                if flow.life.ask(checked, fresh) {
                    out.push(Action::Query(entry.id));
                }
            }
            flow.life.watched = now < entry.until;
            flow.life.watched
        });
    }

    /// Takes a connection that is old enough to be a stream by now.
    pub(crate) fn next_ripe(&mut self, now: Millis) -> Option<FlowId> {
        // In the order of coming, which is nearly that of age.
        let (when, flow) = *self.ripening.front()?;
        if when > now {
            return None;
        }
        self.ripening.pop_front();
        Some(flow)
    }
}
