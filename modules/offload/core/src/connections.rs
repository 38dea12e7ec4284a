//! Connections: from conntrack events to installs and removes.

use std::collections::HashSet;
use std::net::IpAddr;

use kernel::{Connection, ConnectionId, Protocol, Source, status};

use crate::action::{Action, FlowId, Reading};
use crate::decline::DeclineReason;
use crate::dump::Dump;
use crate::eligibility::Eligibility;
use crate::flow::{Flow, TCP_ESTABLISHED, TCP_NONE};
use crate::output::Output;
use crate::room::{ADMIT_PER_TICK, Queue};
use crate::settings::Settings;
use crate::table::Table;
use crate::time::Millis;
use crate::timeout_learner::TimeoutLearner;

/// Maximum age of a message when weir reads it, for a connection that is closing.
const CLOSING: Millis = 5_000;
/// Pause before an install that found no room is tried again.
const RETRY: Millis = 1_000;

/// All connections, and the state that decides about them.
pub(crate) struct Connections {
    settings: Settings,
    table: Table,
    judge: Eligibility,
    dump: Dump,
    queue: Queue,
    watch: TimeoutLearner,
    /// Connections declined by the call under way.
    fresh: Vec<FlowId>,
    /// Conntrack zones ever seen.
    zones: HashSet<u16>,
    /// True if some connections are not remembered.
    forgot: bool,
    /// True if the dump under way reported some of them.
    forgot_lately: bool,
}

impl Connections {
    /// Creates an empty table with these settings.
    pub(crate) fn new(settings: Settings) -> Self {
        Self {
            settings,
            table: Table::new(),
            judge: Eligibility::default(),
            dump: Dump::default(),
            queue: Queue::default(),
            watch: TimeoutLearner::default(),
            fresh: Vec::new(),
            zones: HashSet::new(),
            forgot: false,
            forgot_lately: false,
        }
    }

    /// Returns the settings in force.
    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the table of all connections.
    pub(crate) fn table(&self) -> &Table {
        &self.table
    }

    /// Returns the connection if it is installed.
    pub(crate) fn installed_mut(&mut self, id: FlowId) -> Option<&mut Flow> {
        self.table.get_mut(id).filter(|flow| flow.installed())
    }

    /// Asks for a dump.
    pub(crate) fn ask(&mut self, out: &mut Output) {
        if self.dump.ask(out.now()) {
            self.forgot_lately = false;
            out.push(Action::Dump(Source::Conntrack));
        }
    }

    /// Asks again for a dump that did not end.
    pub(crate) fn ask_again(&mut self, out: &mut Output) {
        if self.dump.give_up(out.now()) {
            self.ask(out);
        }
    }

    /// Handles the end of a dump.
    pub(crate) fn dump_end(&mut self, out: &mut Output) {
        if !self.dump.end() {
            return;
        }
        match self.dump.is_partial() {
            true => self.ask(out),
            false => self.sweep(out),
        }
    }

    /// Returns the state of the dumps.
    pub(crate) fn dump(&self) -> &Dump {
        &self.dump
    }

    /// Returns true if no event reported this connection yet.
    pub(crate) fn is_silent(&self, id: &ConnectionId) -> bool {
        let flow = self.table.find(id).and_then(|id| self.table.get(id));
        flow.is_some_and(|flow| flow.silent)
    }

    /// Returns true if some connections that conntrack reported are not remembered.
    pub(crate) fn forgot(&self) -> bool {
        self.forgot
    }

    /// Returns the judge, which decides which connections stay with the kernel.
    pub(crate) fn judge(&self) -> &Eligibility {
        &self.judge
    }

    /// Gives access to the criteria that keep connections with the kernel; call
    /// [`Connections::judge_all`] afterwards.
    pub(crate) fn judge_mut(&mut self) -> &mut Eligibility {
        &mut self.judge
    }

    /// Handles an address of this router that appeared on a device, or disappeared.
    pub(crate) fn own_address(&mut self, address: IpAddr, present: bool, out: &mut Output) {
        match present {
            true => self.judge.add_own(address),
            false => self.judge.remove_own(address),
        }
        self.settle_at(address, out);
    }

    /// Takes over new settings, and judges all connections by them.
    pub(crate) fn reload(&mut self, settings: Settings, out: &mut Output) {
        let reports_again = self.settings.no_events && !settings.no_events;
        self.settings = settings;
        if reports_again {
            // Connections that were made meanwhile were not reported.
            self.ask(out);
        }
        self.trim(out);
        let all: Vec<FlowId> = self.table.iter().map(|(id, _)| id).collect();
        self.settle_all(&all, out);
        self.admit(usize::MAX, out);
        // The limit may be a lower one: all that are declined are up for it.
        let declined = self.table.iter().filter(|(_, flow)| !flow.installed());
        self.fresh = declined.map(|(id, _)| id).collect();
        self.forget_excess(out);
    }

    /// Numbers that rested long enough are free again.
    pub(crate) fn turn(&mut self) {
        self.table.turn();
    }

    /// Records or clears the packet path's objection to a connection.
    pub(crate) fn set_refusal(
        &mut self,
        id: FlowId,
        reason: Option<DeclineReason>,
        out: &mut Output,
    ) {
        if let Some(flow) = self.table.get_mut(id) {
            flow.refusal = reason;
        }
        self.settle(id, out);
    }

    /// Records the timeout of a connection.
    pub(crate) fn note_timeout(&mut self, seconds: Option<u32>, now: Millis) {
        self.watch.note(seconds, now);
    }

    /// Returns the shortest timeout of any connection, by the settings and by learned timeouts.
    pub(crate) fn shortest_timeout(&self) -> u32 {
        let shortest = self.settings.timeouts.shortest();
        self.watch.shortest().map_or(shortest, |s| s.min(shortest))
    }

    /// Sends the next packet of this connection to the kernel, and learns from it.
    pub(crate) fn learn_from(&mut self, id: FlowId, readings: &[Reading; 2], now: Millis) {
        self.watch.add(
            &mut self.table,
            id,
            readings.map(|reading| reading.trials),
            now,
        );
    }

    /// Shows conntrack the next packet of a connection.
    pub(crate) fn show(&mut self, id: FlowId, readings: &[Reading; 2], out: &mut Output) {
        self.learn_from(id, readings, out.now());
        out.prove(id);
    }

    /// Asks conntrack about connections that showed it a packet since the last tick.
    pub(crate) fn look(&mut self, read: &mut dyn FnMut(FlowId) -> [Reading; 2], out: &mut Output) {
        self.watch.look(&mut self.table, read, out);
        while let Some(id) = self.watch.next_ripe(out.now()) {
            let ripe = |flow: &&Flow| flow.installed() && flow.ripe(out.now());
            if self.table.get(id).filter(ripe).is_some() {
                let readings = read(id);
                if readings.iter().any(|reading| reading.packets > 0) {
                    self.show(id, &readings, out);
                }
            }
        }
    }

    /// Handles a new or changed connection.
    ///
    /// `answer`: the event answers a query, which does not prove that the kernel reports this
    /// connection by itself.
    pub(crate) fn connection(&mut self, connection: &Connection, answer: bool, out: &mut Output) {
        let generation = self.dump.generation();
        let Some(id) = self.table.find(&connection.id) else {
            return self.appear(connection, answer, out);
        };
        let now = out.now();
        let Some(flow) = self.table.get_mut(id) else {
            return;
        };
        if !answer {
            flow.reported();
        }
        let before = (flow.tcp_state, flow.status);
        let returned = |seconds| flow.life.returned(seconds, now);
        if flow.refusal == Some(DeclineReason::Untracked)
            && connection.timeout.is_some_and(returned)
        {
            flow.refusal = None;
        }
        flow.merge(connection, generation, now);
        self.learn(id, before, connection.timeout, out);
        let Some(flow) = self.table.get(id) else {
            return;
        };
        if flow.reply == connection.reply {
            let before = flow.installed();
            self.settle(id, out);
            // The kernel reports the connection because something changed, perhaps its mark or a
            // label that routes and rules depend on.
            if before && self.table.get(id).is_some_and(Flow::installed) {
                out.push(Action::Invalidate { flow: id });
            }
        } else {
            let former = self.table.sharers(id);
            self.revoke(id, DeclineReason::StatusUnknown, out);
            if let Some(flow) = self.table.get_mut(id) {
                flow.refusal = None;
            }
            self.table.set_reply(id, connection.reply);
            self.settle_all(&former, out);
            self.settle_with_sharers(id, out);
        }
    }

    /// Learns the time-out that a packet gives from a message. Dumps do not count: the kernel may
    /// have given their time-out long ago.
    fn learn(
        &mut self,
        id: FlowId,
        before: (Option<u8>, Option<u32>),
        told: Option<u32>,
        out: &mut Output,
    ) {
        let now = out.now();
        let timeouts = &self.settings.timeouts;
        let dump = self.dump.is_running();
        let (Some(flow), Some(seconds)) = (self.table.get_mut(id), told) else {
            return;
        };
        let tcp = flow.id.original.protocol == Protocol::Tcp;
        if !dump && flow.stepped(before) && !(tcp && timeouts.ambiguous(seconds)) {
            flow.life.learn(seconds, now);
            let shortest = flow.life.shortest();
            self.watch.note(shortest, now);
        }
        // The connection closed while weir renewed it: the message may predate the renewal.
        let lately = |renewed| now.saturating_sub(renewed) <= CLOSING;
        if tcp
            && flow.tcp_state.is_some_and(|state| state != TCP_ESTABLISHED)
            && flow.life.renewed.is_some_and(lately)
        {
            out.push(Action::Refresh {
                id: flow.id,
                seconds,
                unacknowledged: None,
            });
        }
    }

    /// Removes a deleted connection. Only the exact id counts: a successor with the same tuple
    /// stays.
    pub(crate) fn gone(&mut self, id: &ConnectionId, out: &mut Output) {
        if let Some(flow) = self.table.find(id) {
            self.drop_flows(&[flow], out);
        }
    }

    /// Adds an unknown connection.
    fn appear(&mut self, connection: &Connection, answer: bool, out: &mut Output) {
        let bits = connection.status.unwrap_or(0);
        if bits & status::DYING != 0 {
            // The connection may be a forgotten one, and exists until the kernel reports its end.
            self.forgot_lately = true;
            return;
        }
        self.zones.insert(connection.id.zone);
        // The kernel has one entry of a tuple in a zone, so another known entry must have ended;
        // except after a race of two first packets (nf_ct_resolve_clash_harder), when both live for
        // a second.
        if bits & status::NAT_CLASH == 0 {
            let former: Vec<FlowId> = self
                .table
                .ends(&connection.id.original)
                .map(|(id, _)| id)
                .filter(|id| {
                    self.table.get(*id).is_some_and(|flow| {
                        flow.id.original == connection.id.original
                            && flow.id.zone == connection.id.zone
                            && !flow.has(status::NAT_CLASH)
                    })
                })
                .collect();
            self.drop_flows(&former, out);
        }
        let mut flow = Flow::new(connection, self.dump.generation(), out.now());
        flow.silent = answer;
        flow.life.unheard = answer;
        let Some(id) = self.insert(flow, out) else {
            return;
        };
        // The first packet: the earlier state of an answered connection is unknown. A TCP
        // connection that becomes established by its first packet was picked up in its middle
        // (`tcp_new` in nf_conntrack_proto_tcp.c).
        if connection.status.is_some() && bits & status::SEEN_REPLY == 0 {
            self.learn(id, (Some(TCP_NONE), None), connection.timeout, out);
        }
        self.settle_with_sharers(id, out);
    }

    /// Puts a new, declined connection in the table, or forgets it.
    fn insert(&mut self, flow: Flow, out: &mut Output) -> Option<FlowId> {
        // Twice the number of wanted flows: the other half is for numbers that may not be reused
        // yet.
        let limit = self
            .settings
            .max_flows
            .saturating_add(self.settings.max_declined)
            .saturating_add(1)
            .saturating_mul(2);
        let reason = flow.declined;
        let tuples = [flow.id.original, flow.reply];
        let Some(id) = self.table.insert(flow, limit) else {
            let sharers: Vec<FlowId> = tuples
                .iter()
                .flat_map(|tuple| self.table.ends(tuple))
                .map(|(sharer, _)| sharer)
                .collect();
            self.contest(&sharers, out);
            self.settle_all(&sharers, out);
            return None;
        };
        if let Some(reason) = reason {
            out.statistics.declined[reason.index()] += 1;
            self.fresh.push(id);
        }
        Some(id)
    }

    /// Removes connections, and then rechecks those that shared a tuple with them. Meanwhile no
    /// connection that is about to be removed may be installed, and change its number.
    fn drop_flows(&mut self, ids: &[FlowId], out: &mut Output) {
        let mut sharers: Vec<FlowId> = Vec::new();
        for id in ids {
            sharers.extend(self.table.sharers(*id));
            self.revoke(*id, DeclineReason::Dying, out);
            self.take(*id, out);
        }
        self.settle_all(&sharers, out);
    }

    /// Takes a declined connection out of table, queue and counters.
    fn take(&mut self, id: FlowId, out: &mut Output) -> Option<Flow> {
        let flow = self.table.remove(id)?;
        if let Some(turn) = flow.turn {
            self.queue.remove(turn);
        }
        if let Some(reason) = flow.declined {
            out.statistics.declined[reason.index()] -= 1;
        }
        Some(flow)
    }

    fn settle_all(&mut self, ids: &[FlowId], out: &mut Output) {
        for id in ids {
            self.settle(*id, out);
        }
    }

    /// Rechecks a connection and all that share a tuple with it. The sharers first: they are
    /// removed before this connection could take their place.
    fn settle_with_sharers(&mut self, id: FlowId, out: &mut Output) {
        let sharers = self.table.sharers(id);
        self.settle_all(&sharers, out);
        self.settle(id, out);
    }

    /// Classifies a connection by all criteria except room.
    fn verdict(&self, id: FlowId, flow: &Flow) -> Result<(), DeclineReason> {
        self.judge.judge(flow, &self.settings)?;
        if flow.contested || self.table.shared(id) {
            return Err(DeclineReason::Ambiguous);
        }
        // The packet path does not see zones. With more than one zone, a tuple is only known to be
        // unique if all connections are stored; with one zone, the kernel guarantees it.
        if self.forgot && self.zones.len() > 1 && !flow.installed() {
            return Err(DeclineReason::Crowded);
        }
        Ok(())
    }

    /// Classifies all connections by the changed criteria; ends forwarding where weir no longer may
    /// forward.
    pub(crate) fn judge_all(&mut self, out: &mut Output) {
        let all: Vec<FlowId> = self.table.iter().map(|(id, _)| id).collect();
        self.settle_all(&all, out);
        self.admit(ADMIT_PER_TICK, out);
        self.forget_excess(out);
    }

    /// Makes the installed state match the verdict.
    pub(crate) fn settle(&mut self, id: FlowId, out: &mut Output) {
        let Some(flow) = self.table.get(id) else {
            return;
        };
        match self.verdict(id, flow) {
            Err(reason) => self.revoke(id, reason, out),
            Ok(()) if flow.installed() || flow.turn.is_some() => {}
            Ok(()) if out.statistics.installed < self.settings.max_flows => {
                self.install(id, out);
            }
            Ok(()) => self.wait(id, 0, out),
        }
    }

    /// Declines a connection, and removes it where it is installed.
    fn revoke(&mut self, id: FlowId, reason: DeclineReason, out: &mut Output) {
        if let Some(flow) = self.table.get_mut(id).filter(|flow| flow.installed()) {
            let tcp = flow.id.original.protocol == Protocol::Tcp;
            if reason.goes_on() {
                out.renew(flow.id, flow.life.given_back(tcp, out.now()));
            }
            out.push(Action::Remove { flow: id });
            out.statistics.removes += 1;
            self.table.touch(id);
        }
        self.leave_queue(id);
        self.decline(id, reason, out);
    }

    /// Notes a reason.
    fn decline(&mut self, id: FlowId, reason: DeclineReason, out: &mut Output) {
        let Some(flow) = self.table.get_mut(id) else {
            return;
        };
        match flow.declined.replace(reason) {
            Some(former) => out.statistics.declined[former.index()] -= 1,
            None => {
                out.statistics.installed -= 1;
                self.fresh.push(id);
            }
        }
        out.statistics.declined[reason.index()] += 1;
    }

    /// Installs a declined connection. Its number changes where the old one may still be on its way
    /// out.
    fn install(&mut self, id: FlowId, out: &mut Output) {
        let id = if self.table.pending(id) {
            let Some(flow) = self.take(id, out) else {
                return;
            };
            // The released number may not be reused yet, so the new number differs. Without room,
            // the connection is forgotten.
            match self.insert(flow, out) {
                Some(id) => id,
                None => return,
            }
        } else {
            id
        };
        self.leave_queue(id);
        let Some(flow) = self.table.get_mut(id) else {
            return;
        };
        flow.life.begin(out.now(), out.round());
        flow.unseen = 0;
        if let Some(reason) = flow.declined.take() {
            out.statistics.declined[reason.index()] -= 1;
            out.statistics.installed += 1;
        }
        if flow.id.original.protocol == Protocol::Tcp {
            out.push(Action::Relax(flow.id));
        }
        out.push(Action::Install {
            flow: id,
            original: flow.id.original,
            reply: flow.reply,
            window_scales: flow.window_scales,
        });
        out.statistics.installs += 1;
        self.table.touch(id);
        self.watch.installed(&mut self.table, id, out.now());
    }

    /// Handles an install that the packet path refused.
    pub(crate) fn refuse(&mut self, id: FlowId, reason: DeclineReason, out: &mut Output) {
        if !self.table.get(id).is_some_and(Flow::installed) {
            return;
        }
        out.statistics.refusals += 1;
        if reason == DeclineReason::TableFull {
            self.wait(id, out.now() + RETRY, out);
        } else {
            if let Some(flow) = self.table.get_mut(id) {
                flow.refusal = Some(reason);
            }
            self.decline(id, reason, out);
        }
        self.forget_excess(out);
    }

    /// Ends a complete dump: removes connections that neither the dump nor a later event reported.
    fn sweep(&mut self, out: &mut Output) {
        let generation = self.dump.generation();
        let gone: Vec<FlowId> = self
            .table
            .iter()
            .filter(|(_, flow)| flow.seen != generation)
            .map(|(id, _)| id)
            .collect();
        self.drop_flows(&gone, out);
        if self.forgot && !self.forgot_lately {
            // All connections are remembered again, so those declined only for doubt can be
            // classified.
            self.forgot = false;
            let doubted: Vec<FlowId> = self
                .table
                .iter()
                .filter(|(_, flow)| flow.contested || flow.declined == Some(DeclineReason::Crowded))
                .map(|(id, _)| id)
                .collect();
            for id in &doubted {
                if let Some(flow) = self.table.get_mut(*id) {
                    flow.contested = false;
                }
            }
            self.settle_all(&doubted, out);
        }
    }

    /// Rechecks the connections at an address that this router gained or lost.
    fn settle_at(&mut self, address: IpAddr, out: &mut Output) {
        let affected: Vec<FlowId> = self
            .table
            .iter()
            .filter(|(_, flow)| flow.id.original.source == address || flow.reply.source == address)
            .map(|(id, _)| id)
            .collect();
        self.settle_all(&affected, out);
    }

    /// Queues a connection for room.
    fn wait(&mut self, id: FlowId, not_before: Millis, out: &mut Output) {
        self.leave_queue(id);
        self.decline(id, DeclineReason::TableFull, out);
        if let Some(flow) = self.table.get_mut(id) {
            flow.turn = Some(self.queue.add(id, not_before));
        }
    }

    fn leave_queue(&mut self, id: FlowId) {
        if let Some(turn) = self.table.get_mut(id).and_then(|flow| flow.turn.take()) {
            self.queue.remove(turn);
        }
    }

    /// Lets waiting connections in, as many as there is room for, at most `budget`.
    pub(crate) fn admit(&mut self, budget: usize, out: &mut Output) {
        for _ in 0..budget {
            if out.statistics.installed >= self.settings.max_flows {
                return;
            }
            let Some(id) = self.queue.next(out.now()) else {
                return;
            };
            if let Some(flow) = self.table.get_mut(id) {
                flow.turn = None;
            }
            self.settle(id, out);
        }
    }

    /// Removes installed connections beyond the limit.
    fn trim(&mut self, out: &mut Output) {
        let installed = out.statistics.installed;
        let excess = installed.saturating_sub(self.settings.max_flows);
        let ids: Vec<FlowId> = self
            .table
            .iter()
            .filter(|(_, flow)| flow.installed())
            .map(|(id, _)| id)
            .take(excess)
            .collect();
        for id in ids {
            self.revoke(id, DeclineReason::TableFull, out);
            self.wait(id, 0, out);
        }
    }

    /// Forgets as many of those declined just now as are too many, in the order they were declined:
    /// a newcomer before those it collides with. Called at the end of everything that may decline.
    pub(crate) fn forget_excess(&mut self, out: &mut Output) {
        for id in std::mem::take(&mut self.fresh) {
            if out.statistics.declined_total() <= self.settings.max_declined {
                return;
            }
            if self.table.get(id).is_some_and(|flow| !flow.installed()) {
                let sharers = self.table.sharers(id);
                self.take(id, out);
                self.contest(&sharers, out);
            }
        }
    }

    /// Handles a connection that is not stored. Connections that share a tuple with it stay
    /// declined: weir will not notice its end.
    fn contest(&mut self, sharers: &[FlowId], out: &mut Output) {
        out.statistics.forgotten += 1;
        self.forgot = true;
        self.forgot_lately = true;
        for id in sharers {
            if let Some(flow) = self.table.get_mut(*id) {
                flow.contested = true;
            }
        }
    }
}
