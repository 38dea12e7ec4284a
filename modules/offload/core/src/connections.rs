//! Connections: from conntrack events to installs and removes.

use std::collections::HashSet;
use std::net::IpAddr;

use kernel::{Connection, ConnectionId, Protocol, status};

use crate::action::{Action, FlowId, Millis, PAIRS};
use crate::core::Core;
use crate::decline::Decline;
use crate::flow::{Flow, TCP_ESTABLISHED, TCP_NONE};
use crate::judge::judge;
use crate::room::ADMIT_PER_TICK;
use crate::ruleset::{Concern, Subject};

/// Connections times rules that are compared to tell what rules cost.
const MOST_COMPARED: usize = 1_000_000;
/// How old a message that a connection closes may be when it is read.
const CLOSING: Millis = 5_000;
/// Pause before an install that found no room is tried again.
const RETRY: Millis = 1_000;

impl Core {
    /// A connection appeared or changed.
    pub(crate) fn connection(&mut self, connection: &Connection, out: &mut Vec<Action>) {
        let generation = self.connections.generation;
        let Some(id) = self.table.find(&connection.id) else {
            return self.appear(connection, out);
        };
        if !self.answering {
            self.reported(id);
        }
        let now = self.now;
        let Some(flow) = self.table.get_mut(id) else {
            return;
        };
        let before = (flow.tcp_state, flow.status);
        let returned = |seconds| flow.life.returned(seconds, now);
        if flow.refusal == Some(Decline::Untracked) && connection.timeout.is_some_and(returned) {
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
            // The kernel speaks of it because something changed, perhaps its mark or a label that
            // routes and rules go by.
            if before && self.table.get(id).is_some_and(Flow::installed) {
                out.push(Action::Prove { flow: id });
            }
        } else {
            let former = self.table.sharers(id);
            self.revoke(id, Decline::StatusUnknown, out);
            if let Some(flow) = self.table.get_mut(id) {
                flow.refusal = None;
            }
            self.table.set_reply(id, connection.reply);
            self.settle_all(&former, out);
            self.settle_with_sharers(id, out);
        }
    }

    /// What a message says of the time that packets give; not what a dump says, which may have been
    /// given long ago.
    fn learn(
        &mut self,
        id: FlowId,
        before: (Option<u8>, Option<u32>),
        told: Option<u32>,
        out: &mut Vec<Action>,
    ) {
        let now = self.now;
        let timeouts = &self.settings.timeouts;
        let dump = self.connections.running.is_some();
        let (Some(flow), Some(seconds)) = (self.table.get_mut(id), told) else {
            return;
        };
        let tcp = flow.id.original.protocol == Protocol::Tcp;
        if !dump && flow.stepped(before) && !(tcp && timeouts.ambiguous(seconds)) {
            flow.life.learn(seconds, now);
            let shortest = flow.life.shortest();
            self.watch.note(shortest, now);
        }
        // It was closed while it was being renewed: the message may be older than that.
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

    /// A connection was deleted. Only this very id: a successor with the same tuple stays.
    pub(crate) fn connection_gone(&mut self, id: &ConnectionId, out: &mut Vec<Action>) {
        if let Some(flow) = self.table.find(id) {
            self.drop_flows(&[flow], out);
        }
    }

    /// A connection that was not known.
    fn appear(&mut self, connection: &Connection, out: &mut Vec<Action>) {
        let bits = connection.status.unwrap_or(0);
        if bits & status::DYING != 0 {
            // It may be one that was forgotten, and it is there until its end is told.
            self.forgot_lately = true;
            return;
        }
        self.zones.insert(connection.id.zone);
        // The kernel has one entry of a tuple in a zone, so another one that we know must be gone;
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
        let mut flow = Flow::new(connection, self.connections.generation, self.now);
        flow.silent = self.answering;
        flow.life.unheard = self.answering;
        let Some(id) = self.insert(flow, out) else {
            return;
        };
        if self.answering {
            self.older.note(connection.id, self.now);
        }
        // The first packet: of those that were answered it is not known what they were before. A
        // TCP connection that is established with it was picked up in its middle (`tcp_new` in
        // nf_conntrack_proto_tcp.c).
        if connection.status.is_some() && bits & status::SEEN_REPLY == 0 {
            self.learn(id, (Some(TCP_NONE), None), connection.timeout, out);
        }
        self.settle_with_sharers(id, out);
    }

    /// Puts a new, declined connection in the table, or forgets it.
    fn insert(&mut self, flow: Flow, out: &mut Vec<Action>) -> Option<FlowId> {
        // Twice the flows that are wanted: the other half for numbers that rest.
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
            self.contest(&sharers);
            self.settle_all(&sharers, out);
            return None;
        };
        if let Some(reason) = reason {
            self.statistics.declined[reason.index()] += 1;
            self.fresh.push(id);
        }
        Some(id)
    }

    /// Removes connections, and then looks again at those that shared a tuple with them: none that
    /// is to go may come to be installed, and change its number, meanwhile.
    fn drop_flows(&mut self, ids: &[FlowId], out: &mut Vec<Action>) {
        let mut sharers: Vec<FlowId> = Vec::new();
        for id in ids {
            sharers.extend(self.table.sharers(*id));
            self.revoke(*id, Decline::Dying, out);
            self.take(*id);
        }
        self.settle_all(&sharers, out);
    }

    /// Takes a declined connection out of table, queue and counters.
    pub(crate) fn take(&mut self, id: FlowId) -> Option<Flow> {
        let flow = self.table.remove(id)?;
        if let Some(turn) = flow.turn {
            self.waiting.remove(&turn);
        }
        if let Some(reason) = flow.declined {
            self.statistics.declined[reason.index()] -= 1;
        }
        Some(flow)
    }

    fn settle_all(&mut self, ids: &[FlowId], out: &mut Vec<Action>) {
        for id in ids {
            self.settle(*id, out);
        }
    }

    /// Looks at a connection and at all that share a tuple with it. The sharers first: they are
    /// removed before this one could take their place.
    fn settle_with_sharers(&mut self, id: FlowId, out: &mut Vec<Action>) {
        let sharers = self.table.sharers(id);
        self.settle_all(&sharers, out);
        self.settle(id, out);
    }

    /// Everything against a connection except want of room.
    fn verdict(&self, id: FlowId, flow: &Flow) -> Result<(), Decline> {
        judge(
            flow,
            &self.settings,
            |address| self.around.ours(address),
            |flow| self.concern(flow).is_some(),
            |address| self.slowed.contains(address),
            |address| self.programs.concern(address),
        )?;
        if flow.contested || self.table.shared(id) {
            return Err(Decline::Ambiguous);
        }
        // The packet path does not see zones. With more than one, a tuple is only known to be
        // unique when all are remembered; with one, the kernel makes it so.
        if self.forgot && self.zones.len() > 1 && !flow.installed() {
            return Err(Decline::Crowded);
        }
        Ok(())
    }

    /// The first rule that may look at each packet of a connection, where such rules are respected.
    pub fn concern(&self, flow: &Flow) -> Option<&Concern> {
        let subject = subject(flow);
        let mut rules = self.concerns.iter().filter(|_| self.settings.each_packet);
        rules.find(|rule| rule.touches(&subject))
    }

    /// How many connections each rule leaves to the kernel now, in the order of [`Core::concerns`];
    /// several may leave it the same ones.
    pub fn costs(&self) -> Vec<usize> {
        let mut costs = vec![0; self.concerns.len()];
        let left = self.statistics.declined[Decline::EachPacket.index()];
        let each = Some(Decline::EachPacket);
        // Of very many every so-manieth stands for the others.
        let step = 1 + left * self.concerns.len() / MOST_COMPARED;
        let flows = self.table.iter().filter(|(_, flow)| flow.declined == each);
        for (_, flow) in flows.step_by(step) {
            let subject = subject(flow);
            for (cost, rule) in costs.iter_mut().zip(&self.concerns) {
                *cost += if rule.touches(&subject) { step } else { 0 };
            }
        }
        costs
    }

    /// The ruleset was read: these rules look at each packet. All connections are judged by them;
    /// what weir forwarded so far and may not, ends.
    pub fn rules(&mut self, concerns: Vec<Concern>, now: Millis, out: &mut Vec<Action>) {
        self.clock(now);
        if concerns == self.concerns {
            return;
        }
        self.concerns = concerns;
        self.judge_all(out);
    }

    /// From now on rules of weir's own limit what these addresses send and get, and nobody else's:
    /// the connections of these are the kernel's.
    pub fn slow(&mut self, addresses: &HashSet<IpAddr>, now: Millis, out: &mut Vec<Action>) {
        self.clock(now);
        if *addresses == self.slowed {
            return;
        }
        self.slowed.clone_from(addresses);
        self.judge_all(out);
    }

    pub(crate) fn judge_all(&mut self, out: &mut Vec<Action>) {
        let all: Vec<FlowId> = self.table.iter().map(|(id, _)| id).collect();
        self.settle_all(&all, out);
        self.admit(ADMIT_PER_TICK, out);
        self.forget_excess();
    }

    /// Brings what is installed in line with the verdict.
    pub(crate) fn settle(&mut self, id: FlowId, out: &mut Vec<Action>) {
        let Some(flow) = self.table.get(id) else {
            return;
        };
        match self.verdict(id, flow) {
            Err(reason) => self.revoke(id, reason, out),
            Ok(()) if flow.installed() || flow.turn.is_some() => {}
            Ok(()) if self.statistics.installed < self.settings.max_flows => {
                self.install(id, out);
            }
            Ok(()) => self.wait(id, 0),
        }
    }

    /// Declines a connection, and removes it where it is installed.
    pub(crate) fn revoke(&mut self, id: FlowId, reason: Decline, out: &mut Vec<Action>) {
        if let Some(flow) = self.table.get_mut(id).filter(|flow| flow.installed()) {
            let tcp = flow.id.original.protocol == Protocol::Tcp;
            if reason.goes_on()
                && let Some(renewal) = flow.life.given_back(tcp, self.now)
            {
                self.statistics.refreshes += 1;
                out.push(renewal.of(flow.id));
            }
            out.push(Action::Remove { flow: id });
            self.statistics.removes += 1;
            self.table.touch(id);
        }
        self.leave_queue(id);
        self.decline(id, reason);
    }

    /// Notes a reason.
    pub(crate) fn decline(&mut self, id: FlowId, reason: Decline) {
        let Some(flow) = self.table.get_mut(id) else {
            return;
        };
        match flow.declined.replace(reason) {
            Some(former) => self.statistics.declined[former.index()] -= 1,
            None => {
                self.statistics.installed -= 1;
                self.fresh.push(id);
            }
        }
        self.statistics.declined[reason.index()] += 1;
    }

    /// Installs a declined connection. Its number changes where the old one may still be on its way
    /// out.
    fn install(&mut self, id: FlowId, out: &mut Vec<Action>) {
        let id = if self.table.pending(id) {
            let Some(flow) = self.take(id) else { return };
            // The number that was left rests, so this one is another. No room at all: forgotten.
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
        flow.life.begin(self.now, self.round);
        flow.unseen = 0;
        if let Some(reason) = flow.declined.take() {
            self.statistics.declined[reason.index()] -= 1;
            self.statistics.installed += 1;
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
        self.statistics.installs += 1;
        self.table.touch(id);
        self.watch_new(id);
    }

    /// The packet path refused an install.
    pub(crate) fn refuse(&mut self, id: FlowId, reason: Decline) {
        if id.0 & PAIRS != 0 {
            return self.pair_refused(id);
        }
        if !self.table.get(id).is_some_and(Flow::installed) {
            return;
        }
        self.statistics.refusals += 1;
        if reason == Decline::TableFull {
            self.wait(id, self.now + RETRY);
        } else {
            if let Some(flow) = self.table.get_mut(id) {
                flow.refusal = Some(reason);
            }
            self.decline(id, reason);
        }
        self.forget_excess();
    }

    /// The dump is complete: connections that neither it nor an event since its start told are
    /// gone.
    pub(crate) fn sweep_connections(&mut self, out: &mut Vec<Action>) {
        let generation = self.connections.generation;
        let gone: Vec<FlowId> = self
            .table
            .iter()
            .filter(|(_, flow)| flow.seen != generation)
            .map(|(id, _)| id)
            .collect();
        self.drop_flows(&gone, out);
        if self.forgot && !self.forgot_lately {
            // Everything is remembered again: what was declined for doubt alone can be judged.
            self.forgot = false;
            let doubted: Vec<FlowId> = self
                .table
                .iter()
                .filter(|(_, flow)| flow.contested || flow.declined == Some(Decline::Crowded))
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

    /// Looks again at the connections that one of our addresses came to or left.
    pub(crate) fn settle_at(&mut self, address: &std::net::IpAddr, out: &mut Vec<Action>) {
        let affected: Vec<FlowId> = self
            .table
            .iter()
            .filter(|(_, flow)| {
                flow.id.original.source == *address || flow.reply.source == *address
            })
            .map(|(id, _)| id)
            .collect();
        self.settle_all(&affected, out);
    }
}

/// What a connection is to rules.
fn subject(flow: &Flow) -> Subject<'_> {
    Subject {
        original: &flow.id.original,
        reply: &flow.reply,
        mark: flow.mark,
    }
}
