//! Ends of proofs that no event announces: an element of a set that times out or was written by a
//! packet, a route that expires, an hour that begins.

use std::collections::{BTreeMap, HashMap};

use kernel::SetName;
use kernel::members::Member;

use crate::ruleset::{QUARTER, UnreportedConditions};
use crate::time::Millis;

/// Interval of reading a set that packets write.
const POLL: Millis = 400;
/// Interval at which sets and tables that cannot be read end proofs.
const BLIND: Millis = 950;
/// Share of time for reading: at most one part in this many.
const SHARE: Millis = 50;
/// Time until an unreadable set is read again.
const RETRY: Millis = 10_000;
/// Minimum time between two readings of a set, however many changes are reported.
const PAUSE: Millis = 100;
/// Interval of reading routes with a lifetime: no event reports that an advertisement shortens or
/// prolongs one.
const ROUTES: Millis = 1_000;
/// Ends of proofs: two a second in the long run, after a few at four a second, which is the most.
const REST: Millis = 500;
const BURST: Millis = 3 * REST;
const GAP: Millis = 250;
/// The kernel counts in jiffies, of up to 10 ms, and the clocks here are rounded.
const TICK: Millis = 12;
/// Precision of a route's lifetime: the kernel reports hundredths of a second, rounded down.
const COARSE: Millis = 10;
/// The kernel's time of day is that of its last tick.
const EDGE: (Millis, Millis) = (2, 20);
/// The time of day was set, rather than slewed: it jumped by more than this.
const JUMP: u64 = 50;

/// Maximum number of elements of a set that packets write; weir reads each every 400 ms.
pub const MOST_WRITTEN: usize = 10_000;
/// Maximum number of elements of a set that only times out, and is read after a command.
pub const MOST_TIMED: usize = 65_536;

/// Somewhere in here something is over: not sooner than the first, and at the second it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Span {
    to: Millis,
    from: Millis,
}

/// Reads that are due now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DueReads {
    /// Sets, each with how many elements at most.
    pub sets: Vec<(SetName, usize)>,
    /// The life times of routes.
    pub routes: bool,
    /// IPsec policies.
    pub policies: bool,
    /// Groups of next hops, and gateways that share a destination.
    pub groups: bool,
}

/// Things of a kind that live by packets.
#[derive(Debug, Default)]
struct Alive {
    due: Option<Millis>,
    /// Earliest time of the next read.
    rests: Millis,
    /// Interval at which the kernel has to see packets for them.
    every: Option<Millis>,
}

impl Alive {
    /// Handles a report that elements may have changed.
    fn told(&mut self, now: Millis) {
        self.due.get_or_insert(now.max(self.rests));
    }

    /// Handles the result of a read that lasted from `begun` to `now`: the shortest idle time in
    /// milliseconds after which an entry expires, if any does, or `Err` if the read failed. Returns
    /// true if existing proofs may have relied on a longer time.
    fn read(&mut self, idle: Result<Option<u64>, ()>, begun: Millis, now: Millis) -> bool {
        self.rests = now + (now - begun).saturating_mul(SHARE).max(PAUSE);
        let every = match idle {
            Ok(idle) => idle.map(|idle| idle / 4),
            Err(()) => {
                self.due = Some(now + RETRY);
                Some(BLIND)
            }
        };
        let before = std::mem::replace(&mut self.every, every);
        every.is_some() && every != before
    }
}

#[derive(Debug, Default)]
struct Watched {
    /// Packets write it.
    written: bool,
    /// Spans by mark; `None`: not read yet.
    known: Option<HashMap<u64, Option<Span>>>,
    due: Option<Millis>,
    /// Earliest time of the next read.
    rests: Millis,
    /// True if the set is too large or too slow to read.
    blind: bool,
}

/// Schedule of expiring elements and routes: determines when proofs end. Pure: the caller passes
/// the time; no method sleeps or reads.
#[derive(Debug, Default)]
pub struct ExpirySchedule {
    silent: UnreportedConditions,
    sets: BTreeMap<SetName, Watched>,
    /// Future ends of elements and routes, by set or route; the next end last.
    ends: BTreeMap<Option<SetName>, Vec<Span>>,
    routes_due: Option<Millis>,
    /// IPsec policies that live by use.
    policies: Alive,
    /// Resilient groups of next hops, whose buckets stay with their hop while in use.
    groups: Alive,
    /// Milliseconds since 1970 at the caller's zero.
    epoch: Option<u64>,
    edge: Option<Span>,
    /// True if a condition changed.
    changed: bool,
    /// Time when this last ended proofs.
    ended: Millis,
    /// Time of that end at the pace of the long run.
    paced: Millis,
}

impl ExpirySchedule {
    /// Handles a newly read ruleset.
    pub fn rules(&mut self, silent: UnreportedConditions, now: Millis) {
        if silent == self.silent {
            return;
        }
        // Weir did not watch the sets behind the existing proofs.
        self.changed = true;
        self.sets.retain(|name, _| silent.sets.contains_key(name));
        let kept = |name: &Option<SetName>| {
            name.as_ref()
                .is_none_or(|name| silent.sets.contains_key(name))
        };
        self.ends.retain(|name, _| kept(name));
        for (name, written) in &silent.sets {
            let set = self.sets.entry(name.clone()).or_insert_with(|| Watched {
                due: Some(now),
                ..Watched::default()
            });
            if set.written != *written {
                set.written = *written;
                set.due = Some(now);
            }
        }
        self.silent = silent;
        self.edge = None;
        self.plan_edge(now);
    }

    /// Handles a command that changed rules, sets or elements: any set may differ from its last
    /// reading. Proofs have ended.
    pub fn commanded(&mut self, now: Millis) {
        for set in self.sets.values_mut() {
            set.due = Some(set.due.unwrap_or(now).min(now).max(set.rests));
        }
    }

    /// Handles changed routes.
    pub fn routed(&mut self, now: Millis) {
        self.routes_due.get_or_insert(now);
        self.groups.told(now);
    }

    /// Handles a gateway that answers again: the kernel may return to it.
    pub fn on_gateway_reachable(&mut self) {
        self.changed = true;
    }

    /// Handles changed IPsec policies.
    pub fn policed(&mut self, now: Millis) {
        self.policies.told(now);
    }

    /// Handles a reading of IPsec policies, from `begun` to `now`: seconds without a packet until
    /// the first policy ends, if any does so. `Err`: the reading failed.
    pub fn policies_read(&mut self, idle: Result<Option<u64>, ()>, begun: Millis, now: Millis) {
        // The kernel counts in whole seconds: one may be as good as over.
        let idle = idle.map(|idle| idle.map(|idle| idle.saturating_sub(1).saturating_mul(1_000)));
        self.changed |= self.policies.read(idle, begun, now);
    }

    /// Groups of next hops were read, from `begun` to `now`: after how many milliseconds without a
    /// packet the first bucket may move, if any does so. Or they could not be.
    pub fn groups_read(&mut self, idle: Result<Option<u64>, ()>, begun: Millis, now: Millis) {
        let idle = idle.map(|idle| idle.map(|idle| idle.max(4 * REST)));
        self.changed |= self.groups.read(idle, begun, now);
    }

    /// Sets the time of day: milliseconds since 1970.
    pub fn wall(&mut self, unix: u64, now: Millis) {
        let epoch = unix.saturating_sub(now);
        if let Some(before) = self.epoch.replace(epoch)
            && before.abs_diff(epoch) > JUMP
            && !self.silent.edges.is_empty()
        {
            self.changed = true;
            self.edge = None;
        }
        self.plan_edge(now);
    }

    /// Returns the reads that are due now. The caller has to answer each.
    pub fn due_reads(&mut self, now: Millis) -> DueReads {
        let due = |due: &mut Option<Millis>| due.take_if(|due| *due <= now).is_some();
        let mut asked = DueReads {
            routes: due(&mut self.routes_due),
            policies: due(&mut self.policies.due),
            groups: due(&mut self.groups.due),
            ..DueReads::default()
        };
        for (name, set) in &mut self.sets {
            if due(&mut set.due) {
                let most = if set.written {
                    MOST_WRITTEN
                } else {
                    MOST_TIMED
                };
                asked.sets.push((name.clone(), most));
            }
        }
        asked
    }

    /// Handles a reading of a set, from `begun` to `now`, or its failure.
    pub fn set_read(
        &mut self,
        name: &SetName,
        members: Option<&[Member]>,
        begun: Millis,
        now: Millis,
    ) {
        let Some(set) = self.sets.get_mut(name) else {
            return;
        };
        let rests = (now - begun).saturating_mul(SHARE).max(PAUSE);
        set.rests = now + rests;
        let slow = set.written && rests > BLIND;
        let Some(members) = members.filter(|_| !slow) else {
            set.due = Some(now + RETRY);
            set.blind = true;
            set.known = None;
            self.ends.remove(&Some(name.clone()));
            return;
        };
        set.blind = false;
        if set.written {
            set.due = Some(now + POLL.max(rests));
        }
        let known: HashMap<u64, Option<Span>> = members
            .iter()
            .map(|member| {
                let span = member.expires.map(|left| span(begun, now, left, TICK));
                (member.mark, span)
            })
            .collect();
        self.changed |= set.known.as_ref().is_none_or(|before| {
            let fresh = |mark: &u64| match before.get(mark) {
                None => true,
                // As far as weir knows, the element was missing for a while.
                Some(span) => span.is_some_and(|span| span.to <= begun),
            };
            let missed = |(mark, span): (&u64, &Option<Span>)| {
                !known.contains_key(mark) && span.is_none_or(|span| span.from > now)
            };
            known.keys().any(fresh) || before.iter().any(missed)
        });
        let ends = self.ends.entry(Some(name.clone())).or_default();
        // An element that ends just now is over for sure with its span, whatever the kernel says.
        ends.retain(|span| span.from <= now);
        ends.extend(known.values().flatten());
        ends.sort_unstable_by(|a, b| b.cmp(a));
        set.known = Some(known);
    }

    /// Handles a reading of routes, from `begun` to `now`: remaining milliseconds of each. `None`:
    /// the reading failed.
    pub fn routes_read(&mut self, lives: Option<&[u64]>, begun: Millis, now: Millis) {
        let next = now + (now - begun).saturating_mul(SHARE).max(ROUTES);
        let Some(lives) = lives else {
            // Some routes may end, at an unknown time.
            self.changed = true;
            self.routes_due = Some(next);
            return;
        };
        let ends = self.ends.entry(None).or_default();
        // A route that ends just now is over for sure with its span, whatever the kernel reports.
        ends.retain(|span| span.from <= now);
        ends.extend(
            lives
                .iter()
                .map(|left| span(begun, now, *left, TICK + COARSE)),
        );
        ends.sort_unstable_by(|a, b| b.cmp(a));
        self.routes_due = (!ends.is_empty()).then_some(next);
    }

    /// Returns true if all proofs have to end now; the caller must then end them.
    pub fn ends(&mut self, now: Millis) -> bool {
        let over = |span: &Span| span.to <= now;
        let due = self.changed
            || self.ends.values().any(|ends| ends.last().is_some_and(over))
            || self.edge.as_ref().is_some_and(over)
            || self.turn_over().is_some_and(|at| at <= now);
        if !due || self.allowed() > now {
            return false;
        }
        self.changed = false;
        self.ended = now;
        self.paced = self.paced.max(now) + REST;
        for ends in self.ends.values_mut() {
            while ends.last().is_some_and(over) {
                ends.pop();
            }
        }
        if self.edge.as_ref().is_some_and(over) {
            self.edge = None;
            self.plan_edge(now);
        }
        true
    }

    /// Returns the time from which no proof may be used, unless an event comes first.
    pub fn until(&self) -> Option<Millis> {
        let spans = self.next().map(|span| span.from);
        let changed = self.changed.then_some(0);
        let first = [spans, changed, self.turn_over()]
            .into_iter()
            .flatten()
            .min()?;
        Some(first.max(self.allowed()))
    }

    /// Returns the time of the next work.
    pub fn poll_at(&self) -> Option<Millis> {
        let changed = self.changed.then_some(0);
        let end = [self.next().map(|span| span.to), changed, self.turn_over()];
        let end = end
            .into_iter()
            .flatten()
            .min()
            .map(|at| at.max(self.allowed()));
        let reads = self.sets.values().filter_map(|set| set.due);
        let reads = reads
            .chain(self.routes_due)
            .chain(self.policies.due)
            .chain(self.groups.due);
        end.into_iter().chain(reads).min()
    }

    /// Returns the unreadable sets: because of them, proofs end each second.
    pub fn blind(&self) -> impl Iterator<Item = &SetName> {
        let blind = self.sets.iter().filter(|(_, set)| set.blind);
        blind.map(|(name, _)| name)
    }

    /// Returns the silent conditions of the ruleset.
    pub fn silent(&self) -> &UnreportedConditions {
        &self.silent
    }

    /// Returns the span that ends first.
    fn next(&self) -> Option<Span> {
        let ends = self.ends.values().filter_map(|ends| ends.last());
        ends.chain(&self.edge).min().copied()
    }

    /// Returns the time when proofs end because of their age: a set is unreadable, or packets keep
    /// elements alive.
    fn turn_over(&self) -> Option<Millis> {
        let blind = !self.silent.opaque.is_empty() || self.blind().next().is_some();
        let turns = [
            blind.then_some(BLIND),
            self.silent.keep_alive,
            self.policies.every,
            self.groups.every,
        ];
        Some(self.ended + turns.into_iter().flatten().min()?)
    }

    /// Returns the earliest time at which proofs may be ended again.
    fn allowed(&self) -> Millis {
        match self.ended {
            0 => 0,
            ended => (ended + GAP).max(self.paced.saturating_sub(BURST)),
        }
    }

    /// Finds the next edge, unless one is just passing.
    fn plan_edge(&mut self, now: Millis) {
        let Some(epoch) = self.epoch else { return };
        if self.edge.is_some_and(|edge| edge.from <= now) {
            return;
        }
        let quarter = u64::from(QUARTER);
        let second = (epoch + now) / 1000 + 1;
        let next = |edge: &u32| {
            let past = second % quarter;
            second + (u64::from(*edge) + quarter - past) % quarter
        };
        let next = self.silent.edges.iter().map(next).min();
        self.edge = next.map(|second| {
            let at = (second * 1000).saturating_sub(epoch);
            Span {
                from: at.saturating_sub(EDGE.0),
                to: at + EDGE.1,
            }
        });
    }
}

/// Returns the span in which an object expires that had `left` remaining at some time from `begun`
/// to `now`.
fn span(begun: Millis, now: Millis, left: u64, late: Millis) -> Span {
    Span {
        from: begun.saturating_add(left).saturating_sub(TICK),
        to: now.saturating_add(left).saturating_add(late),
    }
}
