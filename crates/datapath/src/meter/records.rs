//! The records of conversations: reads live records, retires them, and frees them once no packet
//! can be adding to them.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use super::ports::Ports;
use super::record::{self, FREE, IPV6, LIVE, OUTSIDE, REST, RETIRED, STATE, Slots, TIMED};
use super::{MeterSizes, RecordId, RecordObservation, Times, types};
use crate::clock::{self, since};
use crate::mapped::Mapped;

/// Period of full scans, in scans: a full scan looks at all records.
const WHOLE: u32 = 16;

/// All records of the meter.
pub(super) struct Records {
    v4: Slots<types::meter_bucket4>,
    v6: Slots<types::meter_bucket6>,
    /// Times of IPv4 and of IPv6 records.
    times: [Mapped<types::meter_times>; 2],
    resting: VecDeque<(Instant, u32)>,
    ticks: u32,
    /// Records of IPv4 and of IPv6 in use at the last scan.
    used: [u32; 2],
    /// Records that were in use at the last scan, or were claimed since.
    active: Vec<u32>,
    /// True if all notifications were read since the last scan: then `active` has every record in
    /// use.
    followed: bool,
    /// Value of `unsaid` at the last scan.
    unsaid: u64,
    scans: u32,
}

impl Records {
    pub fn new(
        v4: Mapped<types::meter_bucket4>,
        v6: Mapped<types::meter_bucket6>,
        times: [Mapped<types::meter_times>; 2],
    ) -> Self {
        Self {
            v4: Slots::new(v4),
            v6: Slots::new(v6),
            times,
            resting: VecDeque::new(),
            ticks: clock::ticks_per_second(),
            used: [0; 2],
            active: Vec::new(),
            followed: false,
            unsaid: 0,
            scans: 0,
        }
    }

    /// Fill level for IPv4 and IPv6, in 1/256, at the last scan.
    pub fn pressure(&self, sizes: &MeterSizes) -> [u32; 2] {
        share(self.used, sizes)
    }

    /// Share of records that are retired and not freed yet, in 1/256.
    pub fn resting(&self, sizes: &MeterSizes) -> [u32; 2] {
        let mut resting = [0; 2];
        for (_, reference) in &self.resting {
            resting[usize::from(reference & IPV6 != 0)] += 1;
        }
        share(resting, sizes)
    }

    /// Takes a notification that a record was claimed.
    pub fn claimed(&mut self, reference: u32) {
        self.active.push(reference);
    }

    /// Notes that notifications were read. `all`: the ring is empty.
    pub fn told(&mut self, all: bool) {
        self.followed = all;
    }

    /// Visits the live records: see [`Meter::scan`](super::Meter::scan). `unsaid`: notifications
    /// lost so far for lack of room.
    pub fn scan(
        &mut self,
        now: u32,
        unsaid: u64,
        ports: &Ports,
        mut each: impl FnMut(&RecordObservation) -> bool,
    ) {
        let due = Instant::now() + REST;
        let mut active = self.in_use(unsaid);
        active.retain(|reference| {
            let reference = *reference;
            let owner = self.owner(reference).load(Ordering::Acquire);
            if owner & STATE == LIVE {
                let seen = self.seen(reference, owner, now, ports);
                if !each(&seen) {
                    self.owner(reference)
                        .store((owner & !STATE) | RETIRED, Ordering::Release);
                    self.resting.push_back((due, reference));
                }
            }
            owner & STATE != FREE
        });
        let of_ipv6 = |reference: &&u32| **reference & IPV6 != 0;
        let used6 = active.iter().filter(of_ipv6).count();
        self.used = [active.len() - used6, used6].map(|number| number as u32);
        self.active = active;
    }

    /// Returns the records that may be in use: those of the notifications if no notification was
    /// lost, else all.
    fn in_use(&mut self, unsaid: u64) -> Vec<u32> {
        let told = std::mem::take(&mut self.followed) && unsaid == self.unsaid;
        self.unsaid = unsaid;
        self.scans = self.scans.wrapping_add(1);
        let mut active = std::mem::take(&mut self.active);
        if told && !self.scans.is_multiple_of(WHOLE) {
            // A record that ended and began again appeared in a notification while still known.
            active.sort_unstable();
            active.dedup();
            return active;
        }
        active.clear();
        let all = (0..self.v4.len()).chain((0..self.v6.len()).map(|index| IPV6 | index));
        let used = |reference: &u32| self.owner(*reference).load(Ordering::Acquire) & STATE != FREE;
        active.extend(all.filter(used));
        active
    }

    /// Returns true if a record was retired long enough ago.
    pub fn rested(&self, at: Instant) -> bool {
        self.resting.front().is_some_and(|(due, _)| *due <= at)
    }

    /// See [`Meter::reclaim`](super::Meter::reclaim).
    pub fn reclaim(
        &mut self,
        at: Instant,
        now: u32,
        ports: &Ports,
        mut last: impl FnMut(&RecordObservation),
    ) {
        while let Some((due, reference)) = self.resting.front().copied() {
            if due > at {
                break;
            }
            self.resting.pop_front();
            let owner = self.owner(reference).load(Ordering::Acquire);
            let seen = self.seen(reference, (owner & !STATE) | LIVE, now, ports);
            if !seen.delta.is_zero() {
                last(&seen);
            }
            let (index, six) = (reference & !IPV6, reference & IPV6 != 0);
            if six {
                self.v6.clear(index);
            } else {
                self.v4.clear(index);
            }
            self.times[usize::from(six)].set(index, types::meter_times::default());
            let next = (owner & !STATE).wrapping_add(STATE + 1) | FREE;
            self.owner(reference).store(next, Ordering::Release);
        }
    }

    fn owner(&self, reference: u32) -> &AtomicU32 {
        if reference & IPV6 == 0 {
            self.v4.owner(reference)
        } else {
            self.v6.owner(reference & !IPV6)
        }
    }

    fn seen(&mut self, reference: u32, owner: u32, now: u32, ports: &Ports) -> RecordObservation {
        let (meter, words, grown) = if reference & IPV6 == 0 {
            self.v4.read(reference)
        } else {
            self.v6.read(reference & !IPV6)
        };
        RecordObservation {
            id: RecordId { reference, owner },
            key: record::key(&words, reference & IPV6 != 0, |at| ports.place(at)),
            mac: meter.mac,
            delta: grown,
            link: meter.link,
            outside: meter.flags & OUTSIDE != 0,
            tcp_flags: meter.tcp_flags,
            tos: meter.tos,
            icmp: ((meter.icmp >> 8) as u8, meter.icmp as u8),
            times: (meter.flags & TIMED != 0)
                .then(|| self.times(reference))
                .flatten(),
            age: since(self.ticks, now, meter.first),
            idle: since(self.ticks, now, meter.last),
        }
    }

    fn times(&self, reference: u32) -> Option<Times> {
        let times = &self.times[usize::from(reference & IPV6 != 0)];
        let found = times.get(reference & !IPV6)?;
        Some(Times {
            last: found.last,
            least: found.least,
            count: found.count,
            retransmits: found.again,
        })
    }
}

/// Returns the share of this many records of IPv4 and of IPv6, in 1/256.
fn share(of: [u32; 2], sizes: &MeterSizes) -> [u32; 2] {
    [(of[0], sizes.records4), (of[1], sizes.records6)]
        .map(|(number, records)| number * 256 / records.max(1))
}
