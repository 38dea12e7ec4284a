//! Writes the flow table of the packet path: chooses the record of a flow, and manages its life.
//!
//! A record is written while its owner word says CLAIMED, published by the store of LIVE, ended by
//! the store of RETIRED, and reused only after [`REST`]: by then no CPU can still be reading it, as
//! the packet path uses a record for microseconds.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering, fence};
use std::time::{Duration, Instant};

use kernel::{Mac, Tuple};

use crate::error::Error;
use crate::headers;
use crate::mapped::{Mapped, read_shared};
use crate::skel::types;
use crate::translate::{self, FlowEndpoints, Key, Translation};

/// Rest of a retired record before reuse.
const REST: Duration = Duration::from_millis(200);
const WAYS: u32 = headers::FLOW_WAYS as u32;
const IPV6: u32 = headers::FLOW_REF_IPV6 as u32;
/// FLOW_TIMED_WORD of bpf/include/flow.h: the third byte from `ttl_lo` on is `tos`.
const TIMED: u32 = u32::from_ne_bytes([0, 0, 1, 0]);
const TAG_LIVE: u16 = headers::TAG_LIVE as u16;
const FREE: u32 = headers::FLOW_FREE as u32;
const CLAIMED: u32 = headers::FLOW_CLAIMED as u32;
const LIVE: u32 = headers::FLOW_LIVE as u32;
const RETIRED: u32 = headers::FLOW_RETIRED as u32;

/// Flow numbers from here on are those of pairs of stations: see [`crate::Datapath::install_pair`].
pub const PAIRS: u32 = 1 << 31;

/// Traffic of one direction of a flow since it was installed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Packets forwarded by weir (segments, where they came as a super-packet).
    pub packets: u64,
    /// Bytes of their IP packets.
    pub bytes: u64,
    /// The direction is proven now.
    pub proven: bool,
    /// Counter of trials: it changes each time that the kernel saw a packet on trial.
    pub trials: u32,
    /// The length of its IP packet, bytes.
    pub shown_length: u16,
}

/// Traffic that one direction of a flow forwarded since the last call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CounterDelta {
    /// Packets, as in [`Reading`].
    pub packets: u64,
    /// Bytes of their IP packets.
    pub bytes: u64,
}

/// Endpoints of packets at ingress and at egress; `None` for a record that is neither TCP, UDP nor
/// of stations.
pub type EndpointPair = Option<(FlowEndpoints, FlowEndpoints)>;

/// Records of an installed flow, one for each direction, and its counters so far.
#[derive(Clone, Copy)]
struct Pair {
    refs: [u32; 2],
    seen: [u64; 2],
    total: [Reading; 2],
    /// Part of the total that was already reported as growth.
    told: [CounterDelta; 2],
}

impl Pair {
    /// Takes in a reading of the shared counter: 24 bits of packets, 40 of bytes, either may have
    /// wrapped.
    fn update(&mut self, i: usize, count: u64) {
        let grown = count.wrapping_sub(self.seen[i]);
        self.seen[i] = count;
        self.total[i].packets += grown >> 40;
        self.total[i].bytes += grown & ((1 << 40) - 1);
    }
}

/// All records, and the flow of each.
pub struct Table {
    v4: Mapped<types::bucket4>,
    v6: Mapped<types::bucket6>,
    tags: [Mapped<u64>; 2],
    seed: [u64; 3],
    /// Records by number: flows, and pairs of stations.
    pairs: [Vec<Option<Pair>>; 2],
    resting: VecDeque<(Instant, Pair)>,
}

impl Table {
    /// `tags`: of the IPv4 and of the IPv6 buckets.
    pub fn new(
        v4: Mapped<types::bucket4>,
        v6: Mapped<types::bucket6>,
        tags: [Mapped<u64>; 2],
        seed: [u64; 3],
    ) -> Self {
        Self {
            v4,
            v6,
            tags,
            seed,
            pairs: Default::default(),
            resting: VecDeque::new(),
        }
    }

    /// Number of IPv4 records; IPv6 trials come after them.
    fn records4(&self) -> u32 {
        self.v4.len() * WAYS
    }

    /// Index of a record's trial.
    pub fn trial_of(&self, reference: u32) -> u32 {
        if reference & IPV6 != 0 {
            self.records4() + (reference & !IPV6)
        } else {
            reference
        }
    }

    /// Returns the numbers of both records.
    pub fn refs(&self, flow: u32) -> Option<[u32; 2]> {
        let (list, slot) = place(flow);
        self.pairs[list].get(slot)?.as_ref().map(|p| p.refs)
    }

    pub fn install(
        &mut self,
        flow: u32,
        original: &Tuple,
        reply: &Tuple,
        trials: &mut Mapped<types::trial>,
    ) -> Result<(), Error> {
        if original.is_ipv6() != reply.is_ipv6() {
            return Err(Error::MixedFamilies);
        }
        let ways = [
            (original.into(), (&reply.reversed()).into()),
            (reply.into(), (&original.reversed()).into()),
        ];
        self.place(flow, ways, trials)
    }

    /// Frames between two stations of a bridge, both ways.
    pub fn install_pair(
        &mut self,
        flow: u32,
        [one, other]: [Mac; 2],
        trials: &mut Mapped<types::trial>,
    ) -> Result<(), Error> {
        let ways = [Key::bridged(one, other), Key::bridged(other, one)];
        self.place(flow, ways.map(|key| (key, key)), trials)
    }

    /// Writes both directions, each with its headers at ingress and at egress.
    fn place(
        &mut self,
        flow: u32,
        ways: [(Key, Key); 2],
        trials: &mut Mapped<types::trial>,
    ) -> Result<(), Error> {
        if self.refs(flow).is_some() {
            self.remove(flow, Instant::now());
        }
        let first = self.claim(&ways[0].0).ok_or(Error::Full)?;
        let Some(second) = self.claim(&ways[1].0) else {
            self.owner(first).store(FREE, Ordering::Release);
            return Err(Error::Full);
        };
        let refs = [first, second];
        for (i, (key, leaves)) in ways.iter().enumerate() {
            self.write(refs[i], key, leaves);
            let trial = types::trial {
                peer: refs[1 - i],
                ..Default::default()
            };
            trials.set(self.trial_of(refs[i]), trial);
        }
        // Make the writes above visible before LIVE.
        fence(Ordering::Release);
        for (reference, (key, _)) in refs.into_iter().zip(&ways) {
            self.next_state(reference, LIVE);
            self.tag(reference)
                .store(self.hash(key) as u16 | TAG_LIVE, Ordering::Release);
        }
        let (list, slot) = place(flow);
        let list = &mut self.pairs[list];
        if list.len() <= slot {
            list.resize(slot + 1, None);
        }
        list[slot] = Some(Pair {
            refs,
            seen: [0; 2],
            total: [Reading::default(); 2],
            told: [CounterDelta::default(); 2],
        });
        Ok(())
    }

    pub fn remove(&mut self, flow: u32, now: Instant) {
        let (list, slot) = place(flow);
        let Some(pair) = self.pairs[list].get_mut(slot).and_then(Option::take) else {
            return;
        };
        for reference in pair.refs {
            self.proof(reference).store(0, Ordering::Relaxed);
            self.tag(reference).store(0, Ordering::Relaxed);
            self.next_state(reference, RETIRED);
        }
        self.resting.push_back((now + REST, pair));
    }

    /// Frees retired records after [`REST`]. `last` receives the traffic that each forwarded after
    /// its last read: a packet may have been under way when its flow ended.
    pub fn reclaim(
        &mut self,
        now: Instant,
        mut last: impl FnMut(&types::flow, EndpointPair, CounterDelta),
    ) {
        while let Some((due, mut pair)) = self.resting.front().copied() {
            if due > now {
                break;
            }
            self.resting.pop_front();
            for i in 0..2 {
                let (record, growth) = self.grow(&mut pair, i);
                if growth.packets > 0 {
                    last(&record, self.whose(pair.refs[i]), growth);
                }
                self.next_state(pair.refs[i], FREE);
            }
        }
    }

    /// Reports the traffic that a flow forwarded since the last call, if any: each direction's
    /// record, its endpoints at ingress and egress, and its growth.
    pub fn grown(
        &mut self,
        flow: u32,
        mut each: impl FnMut(&types::flow, EndpointPair, CounterDelta),
    ) {
        let (list, slot) = place(flow);
        let Some(mut pair) = self.pairs[list].get(slot).copied().flatten() else {
            return;
        };
        for i in 0..2 {
            let (record, growth) = self.grow(&mut pair, i);
            if growth.packets > 0 {
                each(&record, self.whose(pair.refs[i]), growth);
            }
        }
        self.pairs[list][slot] = Some(pair);
    }

    /// Updates one direction's totals, and returns the part that was not reported before.
    fn grow(&self, pair: &mut Pair, i: usize) -> (types::flow, CounterDelta) {
        let record = self.common(pair.refs[i]);
        pair.update(i, read_count(record));
        let (total, told) = (pair.total[i], pair.told[i]);
        pair.told[i] = CounterDelta {
            packets: total.packets,
            bytes: total.bytes,
        };
        let growth = CounterDelta {
            packets: total.packets - told.packets,
            bytes: total.bytes - told.bytes,
        };
        (self.record(pair.refs[i]), growth)
    }

    /// Returns the endpoints of a record's packets, at ingress and at egress.
    pub fn whose(&self, reference: u32) -> EndpointPair {
        let slot = reference & !IPV6;
        let (bucket, way) = (slot / WAYS, (slot % WAYS) as usize);
        let four = |word: u32| [word, 0, 0, 0];
        let key = |source, destination, sport, dport, proto| Key {
            source,
            destination,
            sport,
            dport,
            proto,
            ipv6: reference & IPV6 != 0,
        };
        let keys = if reference & IPV6 == 0 {
            self.v4.get(bucket).map(|bucket| {
                let flow = bucket.way[way];
                let (k, n) = (flow.key, flow.nat);
                [
                    key(four(k.saddr), four(k.daddr), k.sport, k.dport, k.proto),
                    key(four(n.saddr), four(n.daddr), n.sport, n.dport, k.proto),
                ]
            })
        } else {
            self.v6.get(bucket).map(|bucket| {
                let flow = bucket.way[way];
                let (k, n) = (flow.key, flow.nat);
                [
                    key(k.saddr, k.daddr, k.sport, k.dport, k.proto),
                    key(n.saddr, n.daddr, n.sport, n.dport, k.proto),
                ]
            })
        };
        let [comes, leaves] = keys?;
        Some((comes.endpoints()?, leaves.endpoints()?))
    }

    pub fn end_proof(&mut self, flow: u32) {
        for reference in self.refs(flow).into_iter().flatten() {
            self.proof(reference).store(0, Ordering::Relaxed);
        }
    }

    pub fn read(
        &mut self,
        flow: u32,
        trials: &Mapped<types::trial>,
        proven: impl Fn(&types::flow) -> bool,
    ) -> Option<[Reading; 2]> {
        let (list, slot) = place(flow);
        let mut pair = self.pairs[list].get(slot).copied().flatten()?;
        for i in 0..2 {
            let record = self.common(pair.refs[i]);
            pair.update(i, read_count(record));
            // SAFETY: a live mapping, copied out.
            pair.total[i].proven = proven(&unsafe { record.read_volatile() });
            if let Some(trial) = trials.at(self.trial_of(pair.refs[i])) {
                // SAFETY: aligned words of a live mapping.
                (pair.total[i].trials, pair.total[i].shown_length) = unsafe {
                    let (when, len) = (&raw const (*trial).when, &raw const (*trial).len);
                    (when.read_volatile(), len.read_volatile())
                };
            }
        }
        self.pairs[list][slot] = Some(pair);
        Some(pair.total)
    }

    /// A copy of the common part of a record.
    pub fn record(&self, reference: u32) -> types::flow {
        // SAFETY: `common` points into a live mapping.
        unsafe { self.common(reference).read_volatile() }
    }

    /// The IPv6 flow label in a record's proof; 0 of IPv4.
    pub fn label(&self, reference: u32) -> u32 {
        if reference & IPV6 == 0 {
            return 0;
        }
        let slot = reference & !IPV6;
        let bucket = self.v6.at(slot / WAYS).expect("a record's number is valid");
        // SAFETY: bucket and way are within a live mapping, copied out.
        u32::from_be(unsafe {
            (&raw const (*bucket).way[(slot % WAYS) as usize].label).read_volatile()
        })
    }

    /// Returns a free record in one of the two buckets of a tuple, marked CLAIMED. Prefers the
    /// first bucket, in which the packet path looks first, while it is less than half full; then
    /// the emptier one. At half load, 6 of 262,144 records find no slot, against 932 if the second
    /// bucket is used only when the first is full.
    fn claim(&mut self, key: &Key) -> Option<u32> {
        let hash = self.hash(key);
        let (family, mask) = if key.ipv6 {
            (IPV6, self.v6.len() - 1)
        } else {
            (0, self.v4.len() - 1)
        };
        let buckets = [(hash >> 40) as u32 & mask, (hash >> 16) as u32 & mask];
        let used = buckets.map(|bucket| {
            let ways = (0..WAYS).map(|way| family | (bucket * WAYS + way));
            ways.filter(|r| self.owner(*r).load(Ordering::Relaxed) & 0xff != FREE)
                .count()
        });
        let turned = used[0] >= WAYS as usize / 2 && used[1] < used[0];
        let order = if turned {
            [buckets[1], buckets[0]]
        } else {
            buckets
        };
        for bucket in order {
            for way in 0..WAYS {
                let reference = family | (bucket * WAYS + way);
                let owner = self.owner(reference);
                let word = owner.load(Ordering::Acquire);
                let claimed = (word & !0xff) | CLAIMED;
                if word & 0xff == FREE
                    && owner
                        .compare_exchange(word, claimed, Ordering::AcqRel, Ordering::Relaxed)
                        .is_ok()
                {
                    return Some(reference);
                }
            }
        }
        None
    }

    fn write(&mut self, reference: u32, key: &Key, leaves: &Key) {
        let Translation { l3, l4, flags } = translate::translation(key, leaves);
        let owner = self.owner(reference).load(Ordering::Relaxed);
        let f = types::flow {
            owner,
            flags,
            ..Default::default()
        };
        let delta = types::flow_delta { l3, l4 };
        let Key {
            source,
            destination,
            sport,
            dport,
            proto,
            ..
        } = *key;
        let (out_source, out_destination) = (leaves.source, leaves.destination);
        let (out_sport, out_dport) = (leaves.sport, leaves.dport);
        let slot = reference & !IPV6;
        let way = (slot % WAYS) as usize;
        if reference & IPV6 != 0 {
            let bucket = self.v6.at(slot / WAYS).expect("a claimed record exists");
            let record = types::flow6 {
                f,
                key: types::flow_key6 {
                    saddr: source,
                    daddr: destination,
                    sport,
                    dport,
                    proto,
                    reserved: [0; 3],
                },
                nat: types::flow_nat6 {
                    saddr: out_source,
                    daddr: out_destination,
                    sport: out_sport,
                    dport: out_dport,
                },
                delta,
                ..Default::default()
            };
            // SAFETY: a claimed record of a live mapping; the packet path does not read CLAIMED
            // records.
            unsafe { (&raw mut (*bucket).way[way]).write_volatile(record) }
        } else {
            let bucket = self.v4.at(slot / WAYS).expect("a claimed record exists");
            let record = types::flow4 {
                f,
                key: types::flow_key4 {
                    saddr: source[0],
                    daddr: destination[0],
                    sport,
                    dport,
                    proto,
                    reserved: [0; 3],
                },
                nat: types::flow_nat4 {
                    saddr: out_source[0],
                    daddr: out_destination[0],
                    sport: out_sport,
                    dport: out_dport,
                },
                delta,
            };
            // SAFETY: as above.
            unsafe { (&raw mut (*bucket).way[way]).write_volatile(record) }
        }
    }

    fn common(&self, reference: u32) -> *mut types::flow {
        let slot = reference & !IPV6;
        let way = (slot % WAYS) as usize;
        // SAFETY: bucket and way are within the mapping; only an address is taken.
        unsafe {
            if reference & IPV6 != 0 {
                &raw mut (*self.v6.at(slot / WAYS).expect("a record's number is valid")).way[way].f
            } else {
                &raw mut (*self.v4.at(slot / WAYS).expect("a record's number is valid")).way[way].f
            }
        }
    }

    fn owner(&self, reference: u32) -> &AtomicU32 {
        // SAFETY: aligned, in a mapping that lives as long as self, and only accessed atomically by
        // either side.
        unsafe { AtomicU32::from_ptr(&raw mut (*self.common(reference)).owner) }
    }

    /// Returns the tag of this record in its bucket: the packet path reads all four as one number,
    /// way 0 lowest.
    fn tag(&self, reference: u32) -> &AtomicU16 {
        let slot = reference & !IPV6;
        let tags = &self.tags[usize::from(reference & IPV6 != 0)];
        let way = slot % WAYS;
        let lane = if cfg!(target_endian = "little") {
            way
        } else {
            WAYS - 1 - way
        };
        let word = tags.at(slot / WAYS).expect("a record's number is valid");
        // SAFETY: aligned, one of the four halves of a word in a mapping that lives as long as
        // self; written by the daemon only.
        unsafe { AtomicU16::from_ptr(word.cast::<u16>().add(lane as usize)) }
    }

    fn proof(&self, reference: u32) -> &AtomicU32 {
        // SAFETY: as in `owner`.
        unsafe { AtomicU32::from_ptr(&raw mut (*self.common(reference)).proof) }
    }

    /// Sets a record's mark for being timed, or takes it away; the packet path does so, too.
    pub fn mark(&self, reference: u32, timed: bool) {
        // SAFETY: the aligned word that begins with `ttl_lo`, in a mapping that lives as long as
        // self, and only read here. The witness writes single bytes of it, of which it owns all
        // but the mark.
        let word = unsafe {
            AtomicU32::from_ptr((&raw mut (*self.common(reference)).ttl_lo).cast::<u32>())
        };
        if timed {
            word.fetch_or(TIMED, Ordering::Relaxed);
        } else {
            word.fetch_and(!TIMED, Ordering::Relaxed);
        }
    }

    /// Moves a record to its next state; a new life begins with FREE.
    fn next_state(&self, reference: u32, state: u32) {
        let owner = self.owner(reference);
        let lives = owner.load(Ordering::Relaxed) & !0xff;
        let lives = if state == FREE {
            lives.wrapping_add(0x100)
        } else {
            lives
        };
        owner.store(lives | state, Ordering::Release);
    }

    /// bpf/include/hash.h, hash_key.
    fn hash(&self, key: &Key) -> u64 {
        let (count, words) = key.hashed();
        let mixed = words[..count].iter().fold(self.seed[0], |h, word| {
            let h = (h ^ word).wrapping_mul(self.seed[1]);
            h ^ h >> 32
        });
        mixed.wrapping_mul(self.seed[2])
    }
}

/// Returns the list of numbers that includes a flow, and the slot there.
fn place(flow: u32) -> (usize, usize) {
    (usize::from(flow & PAIRS != 0), (flow & !PAIRS) as usize)
}

/// Reads the counter of a record.
fn read_count(record: *mut types::flow) -> u64 {
    // SAFETY: points into a live mapping.
    unsafe { read_shared(&raw const (*record).count) }
}
