//! Which path a packet takes.
//!
//! A flow stays on one path, chosen by what is free there; it moves when the path is down, or when
//! it is overloaded and so long a gap has come that nothing is overtaken. A flow that outgrows its
//! path is *striped*: each packet goes where it arrives first, numbered, and the other end puts
//! them in order. Small packets of quiet flows go by the two best paths.

use super::body::{Micros, Order};
use super::flow::Packet;
use super::leak::Leak;

/// Flows are told apart by so many buckets of their hash.
const FLOWS: usize = 4096;
/// Paths, at most.
pub const PATHS: usize = 16;
/// A flow at rest for so long begins anew, microseconds: its class, and its path.
const RESTS: Micros = 1_000_000;
const FORGOTTEN: Micros = 10_000_000;
/// What a flow of small packets, and one of marked ones, may send to be urgent, bytes per second.
const SMALL_RATE: u64 = 20_000;
const MARKED_RATE: u64 = 250_000;
/// Time in which rates of flows and paths, and starts of flows, are averaged, microseconds.
const AVERAGE: Micros = 250_000;
const STARTS: Micros = 2_000_000;
/// A new flow counts as this part of what all paths carry.
const SHARE: u64 = 16;
/// A path is overloaded with so much of its rate, percent, and so long a queue, microseconds; one
/// with less than that is free.
const OVERLOADED: u64 = 85;
const STANDING: Micros = 2_000;
const FREE: u64 = 70;
/// A flow has outgrown a path with so much of its rate, percent.
const OUTGROWN: u64 = 40;
/// How surely nothing is overtaken, microseconds, where lags are known, and where not.
const MARGIN: i64 = 10_000;
const UNKNOWN: Micros = 500_000;
/// How long a flow may stay where it costs more, or fares worse, for want of a gap, microseconds.
const PATIENCE: Micros = 5_000_000;
/// How long a flow that has not outgrown an overloaded path stays on it alone while another is
/// free, microseconds.
const SUFFERS: Micros = 1_000_000;
/// How long a striped flow keeps to its path while the other end learns its lane, microseconds.
const LEARNS: Micros = 60_000;

/// A path as the scheduler sees it. Only such as can be used are shown to it.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// Its number.
    pub path: u8,
    /// Paths of the lowest rank are used.
    pub rank: u8,
    /// Its answers are overdue.
    pub suspect: bool,
    /// What it carries, bytes per second.
    pub rate: u64,
    /// Percent of its rate that new flows are to take as free.
    pub weight: u8,
    /// How long a packet waits in the tunnel before it leaves, microseconds.
    pub backlog: Micros,
    /// When it may send again.
    pub ready: Micros,
    /// The lag of what is sent, and how much it varies; microseconds.
    pub lag: Option<i64>,
    /// See there.
    pub varies: Micros,
}

impl View {
    /// When a packet of now arrives: comparable between paths.
    fn arrives(&self, now: Micros) -> Option<i64> {
        let leaves = now.saturating_add(self.backlog).cast_signed();
        Some(leaves.saturating_add(self.lag?))
    }
}

/// Where a packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// By which path; by none: whichever is first to take it.
    pub path: Option<u8>,
    /// And by which as well.
    pub copy: Option<u8>,
    /// As what.
    pub order: Order,
    /// Before others.
    pub urgent: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    path: Option<u8>,
    last: Micros,
    /// When its last packet arrives, and how surely.
    arrives: Option<i64>,
    load: Leak,
    bulk: bool,
    striped: Option<Micros>,
    number: u32,
    /// Since when it should be elsewhere.
    wishes: Option<Micros>,
}

/// The scheduler of one end.
pub struct Schedule {
    stripe: bool,
    duplicate: bool,
    /// How much later than by the fastest path a striped packet may arrive, microseconds.
    spread: i64,
    flows: Box<[Flow]>,
    loads: [Leak; PATHS],
    starts: [Leak; PATHS],
    once: u32,
}

impl Schedule {
    /// Which of its ways it may use, and how much later than by the fastest path a striped packet
    /// may arrive, microseconds.
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

    /// A path is gone, or is another one now.
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

    /// Chooses. Nothing without a path.
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
            // What any path may take is numbered anew when it leaves.
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

    /// A packet that any path might have taken leaves by this one: its number in its lane.
    pub fn leaves(&mut self, lane: u16, path: u8, octets: usize, now: Micros) -> u32 {
        self.loads[usize::from(path)].add(octets as u64, AVERAGE, now);
        let flow = &mut self.flows[usize::from(lane) % FLOWS];
        flow.number = flow.number.wrapping_add(1);
        flow.number
    }

    /// Whether a path takes what waits for all, so many bytes, and how much longer that may wait
    /// because paths differ, microseconds: a slower path is of use if by the fastest one the last
    /// of it would arrive later.
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

    /// The two paths by which it arrives first.
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
            // In doubt, both.
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
        // Several that do not yield and never pause would share one path for ever, though none has
        // outgrown it.
        let outgrown =
            flow.load.rate(AVERAGE, now) * 100 >= view.rate * OUTGROWN || waited > SUFFERS;
        if view.rank == best && self.stripe && outgrown && self.near(&target, views, best) {
            flow.striped = Some(now + LEARNS + view.backlog);
            return Some((view, None));
        }
        // A flow is not taken from a wide path to a narrow one.
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

    /// Whether a striped packet may go by it.
    fn near(&self, view: &View, views: &[View], best: u8) -> bool {
        let lags = views.iter().filter(|view| view.rank == best);
        match (view.lag, lags.filter_map(|view| view.lag).min()) {
            (Some(lag), Some(least)) => lag.saturating_sub(least) <= self.spread,
            _ => false,
        }
    }

    /// The path of most free capacity for a new flow.
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

/// Whether the flow has paused so long that by this path nothing of it is overtaken.
fn gap(flow: &Flow, target: &View, now: Micros) -> bool {
    match (flow.arrives, target.arrives(now)) {
        (Some(last), Some(arrives)) => {
            let surely = target.varies.saturating_mul(4).cast_signed();
            arrives.saturating_sub(surely) >= last.saturating_add(MARGIN)
        }
        _ => now.saturating_sub(flow.last) >= UNKNOWN,
    }
}
