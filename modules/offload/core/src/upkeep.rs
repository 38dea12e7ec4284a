//! What time brings: refreshed time-outs, staggered proofs, repeated requests.

use std::collections::HashSet;

use kernel::{Protocol, Source};

use crate::action::{Action, Cause, FlowId, Millis, Reading};
use crate::core::Core;
use crate::decline::Decline;
use crate::flow::Flow;
use crate::lifetime::bare;

/// A dump that has no end after this time is asked for again. A million connections take some
/// seconds on a slow router.
const DUMP_PATIENCE: Millis = 60_000;
/// Most connections that are asked for at the end: that takes half a second on a slow router.
const ASKED_LAST: usize = 65_536;
/// Pause between dumps to learn again of connections that were forgotten.
const RELEARN: Millis = 60_000;
/// How long a flowtable may take to give its connections back after the rules changed: the kernel
/// does that when the message is long sent (nf_tables_api.c, `nf_tables_trans_destroy_work`).
const GIVEN_BACK: Millis = 1_000;
/// A firewall that tells of no changes: how long a proof may last.
pub(crate) const LEGACY: Millis = 1_000;
/// A TCP flow that forwarded so many bytes proves anew: where its streams are is only known near
/// what was last seen of them, within 1 GiB (bpf/include/window.h).
const MOVED_FAR: u64 = 256 << 20;
/// Shortest and longest time for a visit to every flow to see whether its time-out is to be
/// refreshed.
const VISIT: std::ops::RangeInclusive<Millis> = 500..=20_000;

/// Walks the slab in a given time, a share of it at each tick.
#[derive(Default)]
pub(crate) struct Sweep {
    last: Option<Millis>,
    cursor: usize,
    /// Slots × milliseconds that no visit has been made for yet.
    owed: u128,
}

impl Sweep {
    /// The slots to visit now, of `length`, when each is to be visited once in `period`.
    pub(crate) fn share(
        &mut self,
        length: usize,
        period: Millis,
        now: Millis,
    ) -> impl Iterator<Item = usize> + use<> {
        let elapsed = now.saturating_sub(self.last.unwrap_or(now));
        self.last = Some(now);
        let period = u128::from(period.max(1));
        self.owed += length as u128 * u128::from(elapsed);
        let mut visits = (self.owed / period) as usize;
        self.owed %= period;
        visits = visits.min(length);
        let start = if self.cursor < length { self.cursor } else { 0 };
        self.cursor = (start + visits) % length.max(1);
        (start..start + visits).map(move |slot| slot % length)
    }
}

impl Core {
    /// The part of a tick that reads and refreshes.
    pub(crate) fn upkeep(
        &mut self,
        read: &mut dyn FnMut(FlowId) -> [Reading; 2],
        out: &mut Vec<Action>,
    ) {
        let now = self.now;
        self.poll_older(read, out);
        self.repeat_requests(out);
        if self.legacy.is_some_and(|due| now >= due) {
            self.legacy = Some(now + LEGACY);
            self.bump(Cause::Legacy, out);
        }

        self.show_far(out);
        self.pairs_upkeep(read, out);
        let length = self.table.len();
        for slot in self.refresh.share(length, self.visit_period(), now) {
            self.refresh_flow(FlowId(slot as u32), read, out);
        }
        // After the visits: of a question that was not answered until then they expect nothing
        // more.
        self.look(read, out);
        let reprove = self.reprove();
        if reprove == 0 {
            return;
        }
        for slot in self.reproof.share(length, reprove, now) {
            let id = FlowId(slot as u32);
            let Some(flow) = self.table.get(id).filter(|flow| flow.installed()) else {
                continue;
            };
            let unsure = flow.life.unsure(now);
            let readings = read(id);
            if readings.iter().any(|reading| reading.proven) {
                self.statistics.proofs += 1;
                out.push(Action::Prove { flow: id });
                if unsure {
                    self.watch(id, readings.map(|reading| reading.shown));
                }
            }
        }
    }

    /// A flow forwarded so many bytes more; to be told each second. One that moved far proves anew
    /// with the next tick.
    pub fn grew(&mut self, id: FlowId, octets: u64) {
        let Some(flow) = self.table.get_mut(id).filter(|flow| flow.installed()) else {
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

    /// Has the kernel see where the streams of those are that moved far.
    fn show_far(&mut self, out: &mut Vec<Action>) {
        for id in std::mem::take(&mut self.far) {
            if let Some(flow) = self.table.get(id).filter(|flow| flow.installed()) {
                self.statistics.proofs += 1;
                out.push(Action::Relax(flow.id));
                out.push(Action::Prove { flow: id });
            }
        }
    }

    /// A quarter of the shortest time-out, so that one that is used is refreshed well before it
    /// ends.
    fn visit_period(&self) -> Millis {
        let shortest = self.settings.timeouts.shortest();
        let shortest = self.watch.shortest().map_or(shortest, |s| s.min(shortest));
        (Millis::from(shortest) * 250).clamp(*VISIT.start(), *VISIT.end())
    }

    /// Tells conntrack that a flow lives, if packets moved: in time before its entry may end, and
    /// for the last time when it has come to rest. A flow that stands still must be able to time
    /// out.
    fn refresh_flow(
        &mut self,
        id: FlowId,
        read: &mut dyn FnMut(FlowId) -> [Reading; 2],
        out: &mut Vec<Action>,
    ) {
        let (now, round) = (self.now, self.round);
        let Some(flow) = self.table.get_mut(id).filter(|flow| flow.installed()) else {
            return;
        };
        if flow.life.lost() {
            flow.refusal = Some(Decline::Untracked);
            if let Some(renewal) = flow.life.last_word(round, now) {
                self.statistics.refreshes += 1;
                out.push(renewal.of(flow.id));
            }
            return self.settle(id, out);
        }
        // It may have been made while it was so, and stays as it was made.
        flow.life.unheard |= self.hidden;
        let original = flow.id.original;
        let timeouts = (original.protocol == Protocol::Tcp).then_some(&self.settings.timeouts);
        let readings = read(id);
        let visit = flow
            .life
            .visit(&readings, timeouts, bare(original.is_ipv6()), round, now);
        if let Some(renewal) = visit.renewal {
            self.statistics.refreshes += 1;
            out.push(renewal.of(flow.id));
        }
        if visit.inquiry {
            out.push(Action::Look(flow.id));
        }
        let shortest = flow.life.shortest();
        self.watch.note(shortest, now);
        // Conntrack would have made it a stream, or has yet to show what it gives.
        let unknown = flow.life.unknown() && (visit.moved || visit.shown);
        if unknown || visit.doubtful || visit.moved && flow.ripe(now) {
            self.show(id, &readings, out);
        } else if visit.ends && readings.iter().any(|reading| reading.proven) {
            self.statistics.proofs += 1;
            out.push(Action::Prove { flow: id });
        }
    }

    /// Before [`Core::finish`]: asks for connections that may have closed without a word, as a last
    /// word would keep their entries. So many at most; the others, and those that are not answered
    /// for, are told nothing more.
    pub fn before_finish(
        &mut self,
        now: Millis,
        read: &mut dyn FnMut(FlowId) -> [Reading; 2],
        out: &mut Vec<Action>,
    ) {
        self.now = self.now.max(now);
        self.answered = Some(HashSet::new());
        let hidden = self.hidden;
        let unheard = self.table.iter().filter(|(id, flow)| {
            flow.installed() && (hidden || flow.life.unheard) && flow.life.owes(&read(*id))
        });
        out.extend(
            unheard
                .take(ASKED_LAST)
                .map(|(_, flow)| Action::Look(flow.id)),
        );
    }

    /// The end: what is still to be told of packets that moved.
    pub fn finish(
        &mut self,
        now: Millis,
        read: &mut dyn FnMut(FlowId) -> [Reading; 2],
        out: &mut Vec<Action>,
    ) {
        self.now = self.now.max(now);
        for slot in 0..self.table.len() {
            let id = FlowId(slot as u32);
            let mut unheard =
                |flow: &Flow| (self.hidden || flow.life.unheard) && flow.life.owes(&read(id));
            let installed = self.table.get(id).filter(|flow| flow.installed());
            let told = |flow: &Flow| {
                let answered = self.answered.as_ref();
                answered.is_some_and(|answered| answered.contains(&flow.id))
            };
            if installed.is_some_and(|flow| unheard(flow) && !told(flow)) {
                continue;
            }
            // Once each for a question under way, for what moved since the last visit, for what
            // conntrack would be asked of it, and for the rest.
            let mut last = Vec::new();
            for _ in 0..4 {
                self.refresh_flow(id, read, &mut last);
            }
            last.retain(|action| matches!(action, Action::Refresh { .. }));
            out.extend(last.pop());
        }
    }

    /// Dumps that were not answered, and those that tell what no event does: of forgotten
    /// connections once there is room, of those whose entries send no events, of those of which rules
    /// have it tell less, of those that a flowtable had, and of those whose packets conntrack did
    /// not see. The kernel sets and clears IPS_OFFLOAD without a word.
    fn repeat_requests(&mut self, out: &mut Vec<Action>) {
        let now = self.now;
        for source in [Source::Route, Source::Conntrack] {
            let dump = if source == Source::Route {
                &mut self.routes
            } else {
                &mut self.connections
            };
            if dump
                .running
                .is_some_and(|since| now.saturating_sub(since) >= DUMP_PATIENCE)
            {
                dump.running = None;
                self.dump(source, out);
            }
        }
        let room = self.statistics.declined_total() <= self.settings.max_declined / 2;
        let rested = now.saturating_sub(self.connections.last) >= RELEARN;
        let mut ask = self.forgot && room;
        ask |= self.older.concern();
        let elsewhere = [Decline::Flowtable, Decline::Untracked]
            .iter()
            .any(|reason| self.statistics.declined[reason.index()] > 0);
        ask |= elsewhere || self.hidden;
        let changed = self
            .rules_changed
            .is_some_and(|when| now.saturating_sub(when) >= GIVEN_BACK);
        if self.connections.running.is_some() {
            return;
        }
        if changed {
            self.rules_changed = None;
        }
        if ask && rested || changed && elsewhere {
            self.dump(Source::Conntrack, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Sweep;

    #[test]
    fn a_sweep_visits_every_slot_once_in_its_period_and_evenly() {
        let mut sweep = Sweep::default();
        let mut visits = vec![0; 1_000];
        assert_eq!(sweep.share(1_000, 20_000, 50).count(), 0);
        for tick in 1..=200 {
            let share: Vec<usize> = sweep.share(1_000, 20_000, 50 + tick * 100).collect();
            assert_eq!(share.len(), 5);
            share.into_iter().for_each(|slot| visits[slot] += 1);
        }
        assert!(visits.iter().all(|count| *count == 1));
    }

    #[test]
    fn few_slots_and_long_pauses_lose_and_double_nothing() {
        let mut sweep = Sweep::default();
        sweep.share(3, 1_000, 0).for_each(drop);
        let seen: Vec<usize> = (1..=10)
            .flat_map(|tick| sweep.share(3, 1_000, tick * 100).collect::<Vec<_>>())
            .collect();
        assert_eq!(seen, [0, 1, 2]);
        assert_eq!(
            sweep.share(3, 1_000, 1_000_000).count(),
            3,
            "never more than all of them"
        );
        assert_eq!(sweep.share(0, 1_000, 2_000_000).count(), 0);
    }
}
