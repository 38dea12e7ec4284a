//! Chooses the path of each packet.
//!
//! A flow stays on one path, chosen by free capacity. The flow moves when the path is down. If the
//! path is overloaded, the flow moves in a gap so long that no packet overtakes another. A flow
//! that outgrows its path is *striped*: each packet gets a number and takes the path with the
//! earliest arrival, and the other end restores the order. Small packets of flows with little
//! traffic use the two best paths.

use super::body::{Micros, Order};
use super::flow::Packet;
use super::leak::Leak;

/// Number of flow buckets, by hash.
const FLOWS: usize = 4096;
/// Paths, at most.
pub const PATHS: usize = 16;
/// Idle time after which a flow begins again, microseconds: with a new class and path.
const RESTS: Micros = 1_000_000;
const FORGOTTEN: Micros = 10_000_000;
/// Highest rates of urgent flows: of small packets, and of marked ones, bytes per second.
const SMALL_RATE: u64 = 20_000;
const MARKED_RATE: u64 = 250_000;
/// Time in which rates of flows and paths, and starts of flows, are averaged, microseconds.
const AVERAGE: Micros = 250_000;
const STARTS: Micros = 2_000_000;
/// A new flow counts as this part of the capacity of all paths.
const SHARE: u64 = 16;
/// A path is overloaded with so much of its rate, percent, and so long a queue, microseconds; one
/// below the last value is free.
const OVERLOADED: u64 = 85;
const STANDING: Micros = 2_000;
const FREE: u64 = 70;
/// A flow with so much of a path's rate, percent, has outgrown it.
const OUTGROWN: u64 = 40;
/// Margins against overtaking, microseconds: where lags are known, and where not.
const MARGIN: i64 = 10_000;
const UNKNOWN: Micros = 500_000;
/// Time that a flow may stay on a worse or costlier path for want of a gap, microseconds.
const PATIENCE: Micros = 5_000_000;
/// Time that a flow that has not outgrown an overloaded path stays on it while another is free,
/// microseconds.
const SUFFERS: Micros = 1_000_000;
/// Time that a striped flow keeps to its path while the other end learns its lane, microseconds.
const LEARNS: Micros = 60_000;

/// A path as the scheduler sees it. Only usable paths are listed.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// Number of the path.
    pub path: u8,
    /// Paths of the lowest rank are used.
    pub rank: u8,
    /// Answers of the path are overdue.
    pub suspect: bool,
    /// Capacity, bytes per second.
    pub rate: u64,
    /// Percent of the capacity that counts as free for new flows.
    pub weight: u8,
    /// Time that a packet waits in the tunnel before it leaves, microseconds.
    pub backlog: Micros,
    /// Time at which it may send again.
    pub ready: Micros,
    /// Lag of sent datagrams, microseconds.
    pub lag: Option<i64>,
    /// Variation of the lag, microseconds.
    pub varies: Micros,
}

impl View {
    /// Returns the arrival of a packet sent now: comparable between paths.
    fn arrives(&self, now: Micros) -> Option<i64> {
        let leaves = now.saturating_add(self.backlog).cast_signed();
        Some(leaves.saturating_add(self.lag?))
    }
}

/// Decision about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Path; `None`: the first that is ready to take it.
    pub path: Option<u8>,
    /// Path of a second copy.
    pub copy: Option<u8>,
    /// Order to send with the packet.
    pub order: Order,
    /// Goes before others.
    pub urgent: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    path: Option<u8>,
    last: Micros,
    /// Arrival of the last packet, with a margin.
    arrives: Option<i64>,
    load: Leak,
    bulk: bool,
    striped: Option<Micros>,
    number: u32,
    /// Time since which the flow should move.
    wishes: Option<Micros>,
}

/// The scheduler of one end.
pub struct Schedule {
    stripe: bool,
    duplicate: bool,
    /// Longest lag of a striped packet behind the fastest path, microseconds.
    spread: i64,
    flows: Box<[Flow]>,
    loads: [Leak; PATHS],
    starts: [Leak; PATHS],
    once: u32,
}

impl Schedule {
    /// Creates a scheduler with permission to stripe and to duplicate. `spread`: longest lag of a
    /// striped packet behind the fastest path, microseconds.
    pub fn new(stripe: bool, duplicate: bool, spread: Micros) -> Schedule {
        Schedule {
            stripe,
            duplicate,
            spread: spread.cast_signed(),
            flows: vec![Flow::default(); FLOWS].into(),
            loads: [Leak::default(); PATHS],
            starts: [Leak::default(); PATHS],
            once: 0,
        }
    }

    /// Forgets a path that is gone or replaced.
    pub fn forget(&mut self, path: u8) {
        for flow in &mut self.flows {
            if flow.path == Some(path) {
                flow.path = None;
                flow.arrives = None;
            }
        }
        self.loads[usize::from(path)] = Leak::default();
        self.starts[usize::from(path)] = Leak::default();
    }

    /// Chooses; `None` without a path.
    pub fn choose(&mut self, packet: &Packet, views: &[View], now: Micros) -> Option<Place> {
        let best = views.iter().map(|view| view.rank).min()?;
        let index = (packet.flow % FLOWS as u64) as usize;
        let mut flow = self.flows[index];
        let rested = now.saturating_sub(flow.last);
        if rested >= RESTS {
            flow.bulk = false;
            flow.striped = None;
        }
        if rested >= FORGOTTEN {
            flow.path = None;
        }
        flow.load.add(packet.length as u64, AVERAGE, now);
        let rate = flow.load.rate(AVERAGE, now);
        let urgent = !flow.bulk
            && (packet.marked && rate <= MARKED_RATE || packet.small && rate <= SMALL_RATE);
        flow.bulk = !urgent;
        let mut shared = false;
        let place = if urgent && self.duplicate {
            self.twice(&mut flow, views, best, now)
        } else if let Some(learnt) = flow.striped {
            let own = views.iter().find(|view| Some(view.path) == flow.path);
            shared = now >= learnt || own.is_none();
            let view = own.or_else(|| views.iter().find(|view| view.rank == best));
            view.map(|view| (*view, None))
        } else {
            self.pinned(&mut flow, views, best, now)
        };
        let (path, copy) = place?;
        let order = if copy.is_some() {
            self.once = self.once.wrapping_add(1);
            Order::Once(self.once)
        } else if flow.striped.is_some() && !urgent {
            // A packet for any path gets its number when it leaves.
            flow.number = flow.number.wrapping_add(u32::from(!shared));
            Order::Lane {
                lane: index as u16,
                number: flow.number,
            }
        } else {
            Order::Free
        };
        for path in [(!shared).then_some(path.path), copy].into_iter().flatten() {
            self.loads[usize::from(path)].add(packet.length as u64, AVERAGE, now);
        }
        flow.last = now;
        let surely = path.varies.saturating_mul(4).cast_signed();
        flow.arrives = path
            .arrives(now)
            .map(|arrives| arrives.saturating_add(surely))
            .max(flow.arrives.filter(|_| rested < FORGOTTEN));
        self.flows[index] = flow;
        Some(Place {
            path: (!shared).then_some(path.path),
            copy,
            order,
            urgent,
        })
    }

    /// Notes that a shared packet leaves by this path, and returns its number in its lane.
    pub fn leaves(&mut self, lane: u16, path: u8, octets: usize, now: Micros) -> u32 {
        self.loads[usize::from(path)].add(octets as u64, AVERAGE, now);
        let flow = &mut self.flows[usize::from(lane) % FLOWS];
        flow.number = flow.number.wrapping_add(1);
        flow.number
    }

    /// Decides whether a path takes shared packets, of `octets` bytes, and returns how much longer
    /// the packets may wait because paths differ, microseconds. A slower path helps if the fastest
    /// one would deliver the last packet later.
    pub fn takes(&self, path: u8, views: &[View], octets: u64, now: Micros) -> Option<Micros> {
        let best = views.iter().map(|view| view.rank).min()?;
        let view = views.iter().find(|view| view.path == path)?;
        if view.rank != best || !self.near(view, views, best) {
            return (views.len() == 1).then_some(0);
        }
        let near = || {
            let usable = views.iter().filter(|view| view.rank == best);
            usable.filter(|view| self.near(view, views, best))
        };
        let last = |view: &View| {
            let drained = octets * 1_000_000 / view.rate.max(1);
            let waits = view.ready.saturating_sub(now).max(view.backlog) + drained;
            view.lag.map(|lag| lag.saturating_add(waits.cast_signed()))
        };
        let others = near().filter(|other| other.path != path);
        let first = others.filter_map(last).min();
        if first.is_some_and(|first| view.lag > Some(first)) {
            return None;
        }
        let lags = || near().filter_map(|view| view.lag);
        Some(lags().max()?.abs_diff(lags().min()?))
    }

    /// Returns the two paths by which the packet arrives first.
    fn twice(
        &self,
        flow: &mut Flow,
        views: &[View],
        best: u8,
        now: Micros,
    ) -> Option<(View, Option<u8>)> {
        let key = |view: &&View| view.lag.unwrap_or(i64::MAX);
        let usable = || views.iter().filter(|view| view.rank == best);
        let first = *usable().min_by_key(key)?;
        let second = usable()
            .filter(|view| view.path != first.path)
            .min_by_key(key);
        match second {
            Some(second) => Some((first, Some(second.path))),
            None => self.alone(flow, views, best, now),
        }
    }

    fn alone(
        &self,
        flow: &mut Flow,
        views: &[View],
        best: u8,
        now: Micros,
    ) -> Option<(View, Option<u8>)> {
        let current = views.iter().find(|view| Some(view.path) == flow.path);
        match current {
            // In doubt, by both paths.
            Some(view) if view.suspect => {
                let key = |view: &&View| (view.rank, view.lag.unwrap_or(i64::MAX));
                let other = views
                    .iter()
                    .filter(|other| other.path != view.path && !other.suspect);
                Some((*view, other.min_by_key(key).map(|other| other.path)))
            }
            Some(view) if view.rank == best => Some((*view, None)),
            _ => {
                let view = self.pick(views, best, now)?;
                Some((view, None))
            }
        }
    }

    fn pinned(
        &mut self,
        flow: &mut Flow,
        views: &[View],
        best: u8,
        now: Micros,
    ) -> Option<(View, Option<u8>)> {
        let current = views.iter().find(|view| Some(view.path) == flow.path);
        let Some(view) = current.copied() else {
            return self.moves(flow, views, best, now);
        };
        if view.suspect {
            return self.alone(flow, views, best, now);
        }
        if view.rank == best && !self.overloaded(&view, now) {
            flow.wishes = None;
            return Some((view, None));
        }
        let target = self.pick(views, best, now)?;
        if view.rank == best && !(target.path != view.path && self.is_free(&target, now)) {
            return Some((view, None));
        }
        let waited = now.saturating_sub(*flow.wishes.get_or_insert(now));
        // Several flows that do not slow down and never pause would share one path for ever, though
        // none has outgrown it.
        let outgrown =
            flow.load.rate(AVERAGE, now) * 100 >= view.rate * OUTGROWN || waited > SUFFERS;
        if view.rank == best && self.stripe && outgrown && self.near(&target, views, best) {
            flow.striped = Some(now + LEARNS + view.backlog);
            return Some((view, None));
        }
        // A flow does not move from a wide path to a narrow one.
        let free = target.rate.saturating_sub(self.load(&target, now));
        if view.rank == best && free < flow.load.rate(AVERAGE, now) {
            return Some((view, None));
        }
        let impatient = view.rank != best && waited > PATIENCE;
        if impatient || gap(flow, &target, now) {
            return self.moves(flow, views, best, now);
        }
        Some((view, None))
    }

    fn moves(
        &mut self,
        flow: &mut Flow,
        views: &[View],
        best: u8,
        now: Micros,
    ) -> Option<(View, Option<u8>)> {
        let view = self.pick(views, best, now)?;
        flow.path = Some(view.path);
        flow.wishes = None;
        flow.arrives = None;
        self.starts[usize::from(view.path)].add(1000, STARTS, now);
        Some((view, None))
    }

    fn load(&self, view: &View, now: Micros) -> u64 {
        self.loads[usize::from(view.path)].rate(AVERAGE, now)
    }

    fn overloaded(&self, view: &View, now: Micros) -> bool {
        view.backlog >= STANDING && self.load(view, now) * 100 >= view.rate * OVERLOADED
    }

    fn is_free(&self, view: &View, now: Micros) -> bool {
        view.backlog < STANDING && self.load(view, now) * 100 < view.rate * FREE
    }

    /// Returns true if a striped packet may go by this path.
    fn near(&self, view: &View, views: &[View], best: u8) -> bool {
        let lags = views.iter().filter(|view| view.rank == best);
        match (view.lag, lags.filter_map(|view| view.lag).min()) {
            (Some(lag), Some(least)) => lag.saturating_sub(least) <= self.spread,
            _ => false,
        }
    }

    /// Returns the path with most free capacity for a new flow.
    fn pick(&self, views: &[View], best: u8, now: Micros) -> Option<View> {
        let usable = || views.iter().filter(|view| view.rank == best);
        let share = usable().map(|view| view.rate).sum::<u64>() / SHARE;
        let key = |view: &&View| {
            let starts = self.starts[usize::from(view.path)].level(STARTS, now) + 1000;
            let taken = u128::from(self.load(view, now)) + u128::from(share * starts / 1000);
            let carries = u128::from(view.rate) * u128::from(view.weight.max(1));
            (
                taken * 1_000_000 / carries.max(1),
                view.lag.unwrap_or(i64::MAX),
            )
        };
        usable().min_by_key(key).copied()
    }
}

/// Returns true if the flow has paused for so long that no packet is overtaken on this path.
fn gap(flow: &Flow, target: &View, now: Micros) -> bool {
    match (flow.arrives, target.arrives(now)) {
        (Some(last), Some(arrives)) => {
            let surely = target.varies.saturating_mul(4).cast_signed();
            arrives.saturating_sub(surely) >= last.saturating_add(MARGIN)
        }
        _ => now.saturating_sub(flow.last) >= UNKNOWN,
    }
}
