//! Periodic work: refreshed time-outs, staggered proofs.

use std::collections::HashSet;

use kernel::conntrack::ConnectionState;
use kernel::{Connection, ConnectionId, Protocol};

use crate::action::{Action, FlowId, Reading};
use crate::connections::Connections;
use crate::decline::DeclineReason;
use crate::flow::{FIXED_TIMEOUT, Flow, TCP_ESTABLISHED};
use crate::lifetime::bare;
use crate::output::Output;
use crate::sweep::Sweep;
use crate::time::Millis;

/// Maximum number of queries at the end: these take half a second on a slow router.
const ASKED_LAST: usize = 65_536;
/// Bytes after which a TCP flow proves again: its stream positions are known only within 1 GiB of
/// the last packet that weir saw (bpf/include/window.h).
const MOVED_FAR: u64 = 256 << 20;
/// Shortest and longest interval of visits to every flow, which check whether to refresh its
/// time-out.
const VISIT: std::ops::RangeInclusive<Millis> = 500..=20_000;

/// Visits to flows, and the effect of rules on their timeouts.
pub(crate) struct Upkeep {
    reproof: Sweep,
    refresh: Sweep,
    /// TCP flows that forwarded much since the kernel saw them.
    far: Vec<FlowId>,
    /// True if rules hide the state of connections from conntrack's reports.
    hidden: bool,
    /// Rules may give an entry time-outs of its own.
    policies: bool,
    /// At the end: connections that conntrack was queried about, and has unchanged.
    answered: Option<HashSet<ConnectionId>>,
}

impl Default for Upkeep {
    fn default() -> Self {
        Self {
            reproof: Sweep::default(),
            refresh: Sweep::default(),
            far: Vec::new(),
            hidden: false,
            policies: true,
            answered: None,
        }
    }
}

impl Upkeep {
    /// Sets whether rules may give an entry timeouts of its own.
    pub(crate) fn set_policies(&mut self, policies: bool) {
        self.policies = policies;
    }

    /// Sets whether rules hide the state of connections from conntrack's reports.
    pub(crate) fn set_hidden(&mut self, hidden: bool) {
        self.hidden = hidden;
    }

    /// Returns true if rules hide the state of connections from conntrack's reports.
    pub(crate) fn is_hidden(&self) -> bool {
        self.hidden
    }

    /// Visits the flows that are due: refreshes their timeouts.
    pub(crate) fn visit(
        &mut self,
        connections: &mut Connections,
        read: &mut dyn FnMut(FlowId) -> [Reading; 2],
        out: &mut Output,
    ) {
        // A quarter of the shortest time-out, so that one that is used is refreshed well before it
        // ends.
        let quarter = Millis::from(connections.shortest_timeout()) * 250;
        let period = quarter.clamp(*VISIT.start(), *VISIT.end());
        let length = connections.table().len();
        for slot in self.refresh.share(length, period, out.now()) {
            self.refresh_flow(connections, FlowId(slot as u32), read, out);
        }
    }

    /// Ends the proofs of the flows that are due, each once in `period`; 0: never.
    pub(crate) fn reprove(
        &mut self,
        connections: &mut Connections,
        period: Millis,
        read: &mut dyn FnMut(FlowId) -> [Reading; 2],
        out: &mut Output,
    ) {
        if period == 0 {
            return;
        }
        let now = out.now();
        let length = connections.table().len();
        for slot in self.reproof.share(length, period, now) {
            let id = FlowId(slot as u32);
            let Some(flow) = connections.installed_mut(id) else {
                continue;
            };
            let unsure = flow.life.unsure(now);
            let readings = read(id);
            if readings.iter().any(|reading| reading.proven) {
                out.prove(id);
                if unsure {
                    connections.learn_from(id, &readings, now);
                }
            }
        }
    }

    /// Adds bytes that a flow forwarded; call this each second. The next tick renews the proof of a
    /// flow with much new traffic.
    pub(crate) fn grew(&mut self, connections: &mut Connections, id: FlowId, octets: u64) {
        let Some(flow) = connections.installed_mut(id) else {
            return;
        };
        if flow.id.original.protocol != Protocol::Tcp {
            return;
        }
        flow.unseen = flow.unseen.saturating_add(octets);
        if flow.unseen >= MOVED_FAR {
            flow.unseen = 0;
            self.far.push(id);
        }
    }

    /// Shows the kernel the stream positions of flows with much new traffic.
    pub(crate) fn show_far(&mut self, connections: &mut Connections, out: &mut Output) {
        for id in std::mem::take(&mut self.far) {
            if let Some(flow) = connections.installed_mut(id) {
                out.push(Action::Relax(flow.id));
                out.prove(id);
            }
        }
    }

    /// Refreshes a flow in conntrack if packets were forwarded: in time before its entry may end,
    /// and for the last time when the flow has become idle. An idle flow must be able to time out.
    fn refresh_flow(
        &self,
        connections: &mut Connections,
        id: FlowId,
        read: &mut dyn FnMut(FlowId) -> [Reading; 2],
        out: &mut Output,
    ) {
        let (now, round) = (out.now(), out.round());
        let timeouts = connections.settings().timeouts;
        let Some(flow) = connections.installed_mut(id) else {
            return;
        };
        if flow.life.lost() {
            out.renew(flow.id, flow.life.last_word(round, now));
            return connections.set_refusal(id, Some(DeclineReason::Untracked), out);
        }
        // An entry that was created while events were hidden stays without them.
        flow.life.unheard |= self.hidden;
        let original = flow.id.original;
        let timeouts = (original.protocol == Protocol::Tcp).then_some(&timeouts);
        let readings = read(id);
        let visit = flow
            .life
            .visit(&readings, timeouts, bare(original.is_ipv6()), round, now);
        out.renew(flow.id, visit.renewal);
        if visit.inquiry {
            out.push(Action::Query(flow.id));
        }
        let shortest = flow.life.shortest();
        // Conntrack would have made the flow a stream, or has yet to show the timeout.
        let unknown = flow.life.unknown() && (visit.moved || visit.shown);
        let show = unknown || visit.doubtful || visit.moved && flow.ripe(now);
        connections.note_timeout(shortest, now);
        if show {
            connections.show(id, &readings, out);
        } else if visit.ends && readings.iter().any(|reading| reading.proven) {
            out.prove(id);
        }
    }

    /// Before [`Upkeep::finish`]: queries connections that may have closed silently, as a last
    /// refresh would keep their entries. The number of queries is limited; connections without an
    /// answer get no refresh.
    pub(crate) fn before_finish(
        &mut self,
        connections: &Connections,
        read: &mut dyn FnMut(FlowId) -> [Reading; 2],
        out: &mut Output,
    ) {
        self.answered = Some(HashSet::new());
        let hidden = self.hidden;
        let unheard = connections.table().iter().filter(|(id, flow)| {
            flow.installed() && (hidden || flow.life.unheard) && flow.life.owes(&read(*id))
        });
        for (_, flow) in unheard.take(ASKED_LAST) {
            out.push(Action::Query(flow.id));
        }
    }

    /// Sends the refreshes that are still due for forwarded packets.
    pub(crate) fn finish(
        &self,
        connections: &mut Connections,
        read: &mut dyn FnMut(FlowId) -> [Reading; 2],
        out: &mut Output,
    ) {
        for slot in 0..connections.table().len() {
            let id = FlowId(slot as u32);
            let mut unheard =
                |flow: &Flow| (self.hidden || flow.life.unheard) && flow.life.owes(&read(id));
            let installed = connections.table().get(id).filter(|flow| flow.installed());
            let told = |flow: &Flow| {
                let answered = self.answered.as_ref();
                answered.is_some_and(|answered| answered.contains(&flow.id))
            };
            if installed.is_some_and(|flow| unheard(flow) && !told(flow)) {
                continue;
            }
            // Flushes once each for a query under way, for traffic since the last visit, for
            // conntrack's replies, and for the remaining refreshes.
            let from = out.len();
            for _ in 0..4 {
                self.refresh_flow(connections, id, read, out);
            }
            out.keep_last_refresh(from);
        }
    }

    /// Handles the reply of conntrack to an [`Action::Query`].
    ///
    /// `legacy`: a firewall that reports no changes is in use.
    pub(crate) fn looked(
        &mut self,
        connections: &mut Connections,
        looked: &ConnectionState,
        legacy: bool,
        out: &mut Output,
    ) {
        let (now, round) = (out.now(), out.round());
        let timeouts = connections.settings().timeouts;
        let told = &looked.connection;
        let Some(id) = connections.table().find(&told.id) else {
            return;
        };
        let (Some(flow), Some(left)) = (connections.installed_mut(id), told.timeout) else {
            return;
        };
        let tcp = told.id.original.protocol == Protocol::Tcp;
        // The connection has ended, or has become a stream. A message about that is on its way,
        // except for entries without events.
        let changed = if tcp {
            told.tcp_state != Some(TCP_ESTABLISHED)
        } else {
            told.status != flow.status
        };
        if flow.has(FIXED_TIMEOUT) {
            return;
        }
        if changed {
            // The remaining time was given some time ago.
            let timeout = None;
            let changed = Connection {
                timeout,
                ..told.clone()
            };
            return connections.connection(&changed, false, out);
        }
        if let Some(answered) = &mut self.answered {
            answered.insert(told.id);
        }
        let timeouts = tcp.then_some(&timeouts);
        let by_sysctl = !self.policies && !legacy;
        if flow.life.answered(
            left,
            looked.unacknowledged,
            (timeouts, by_sysctl),
            round,
            now,
        ) {
            flow.life.watched = false;
        }
        out.renew(told.id, flow.life.confirmed(round, now));
        let shortest = flow.life.shortest();
        connections.note_timeout(shortest, now);
    }
}
