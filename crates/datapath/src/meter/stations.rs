//! Packets of stations without a record: reads and adds up their counts, and frees their slots.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use kernel::Mac;

use super::record::{Counts, FREE, LIVE, REST, RETIRED, STATE, WAYS};
use super::{TrafficCounts, types};
use crate::mapped::Mapped;

/// Idle time after which a station loses its slot.
const PATIENCE: Duration = Duration::from_secs(600);
/// Like [`PATIENCE`], if three quarters of the slots are taken: a client forges addresses.
const PATIENCE_CROWDED: Duration = Duration::from_secs(10);

/// Traffic of a station since the last read.
pub struct StationTraffic {
    /// Port and VLAN, as in a record's key.
    pub place: u32,
    pub mac: Mac,
    pub unplaced: TrafficCounts,
    pub other: TrafficCounts,
    pub idle: Duration,
}

/// All slots for stations, and the last read counts of each.
pub struct Stations {
    buckets: Mapped<types::station_bucket>,
    counts: Vec<[Counts; 2]>,
    resting: VecDeque<(Instant, u32)>,
    used: u32,
}

impl Stations {
    pub fn new(buckets: Mapped<types::station_bucket>) -> Self {
        let places = (buckets.len() * WAYS) as usize;
        Self {
            buckets,
            counts: vec![Default::default(); places],
            resting: VecDeque::new(),
            used: 0,
        }
    }

    /// Returns the number of slots.
    fn len(&self) -> u32 {
        self.buckets.len() * WAYS
    }

    fn at(&self, index: u32) -> *mut types::station {
        let bucket = self.buckets.at(index / WAYS).expect("a place exists");
        // SAFETY: only an address is taken, of a way that exists.
        unsafe { &raw mut (*bucket).way[(index % WAYS) as usize] }
    }

    fn owner(&self, index: u32) -> &AtomicU32 {
        // SAFETY: aligned, in a mapping that lives as long as self, and only accessed atomically by
        // either side.
        unsafe { AtomicU32::from_ptr(&raw mut (*self.at(index)).owner) }
    }

    /// Reports the traffic of each station since the last call. Retires silent stations, and frees
    /// them once no packet can be adding to them. `since` converts a kernel time to the time
    /// elapsed since then.
    pub fn scan(
        &mut self,
        now: Instant,
        since: impl Fn(u32) -> Duration,
        mut each: impl FnMut(StationTraffic),
    ) {
        let patience = match self.used >= self.len() / 4 * 3 {
            true => PATIENCE_CROWDED,
            false => PATIENCE,
        };
        let mut used = 0;
        for index in 0..self.len() {
            let owner = self.owner(index).load(Ordering::Acquire);
            if !matches!(owner & STATE, LIVE | RETIRED) {
                continue;
            }
            used += 1;
            let idle = self.read(index, &since, &mut each);
            if owner & STATE == LIVE && idle >= patience {
                self.owner(index)
                    .store((owner & !STATE) | RETIRED, Ordering::Release);
                self.resting.push_back((now + REST, index));
            }
        }
        self.used = used;
        while let Some((due, index)) = self.resting.front().copied() {
            if due > now {
                break;
            }
            self.resting.pop_front();
            self.read(index, &since, &mut each);
            self.free(index);
        }
    }

    /// Reports the new traffic in a slot, and the time since the last packet.
    fn read(
        &mut self,
        index: u32,
        since: &impl Fn(u32) -> Duration,
        each: &mut impl FnMut(StationTraffic),
    ) -> Duration {
        let at = self.at(index);
        // SAFETY: a live mapping, copied out.
        let look = || unsafe { at.read_volatile() };
        let mut station = look();
        // A 32-bit machine cannot read a counter in one piece: until two readings agree.
        while cfg!(target_pointer_width = "32") {
            let again = look();
            if (again.unplaced, again.other) == (station.unplaced, station.other) {
                break;
            }
            station = again;
        }
        let counts = &mut self.counts[index as usize];
        let unplaced = counts[0].grown(station.unplaced);
        let other = counts[1].grown(station.other);
        let idle = since(station.last);
        if !unplaced.is_zero() || !other.is_zero() {
            each(StationTraffic {
                place: station.r#where,
                mac: station.mac,
                unplaced,
                other,
                idle,
            });
        }
        idle
    }

    /// Frees the slot of a retired station for the next one.
    fn free(&mut self, index: u32) {
        let station = self.at(index);
        // SAFETY: a retired slot of a live mapping: the kernel side does not write to it any more.
        unsafe {
            (&raw mut (*station).unplaced).write_volatile([0; 2]);
            (&raw mut (*station).other).write_volatile([0; 2]);
        }
        self.counts[index as usize] = Default::default();
        let owner = self.owner(index).load(Ordering::Relaxed);
        let next = (owner & !STATE).wrapping_add(STATE + 1) | FREE;
        self.owner(index).store(next, Ordering::Release);
    }
}
