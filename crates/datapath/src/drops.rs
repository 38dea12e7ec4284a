//! Cached drops: the tables of bpf/include/drop_table.h, and the second object, which learns from
//! the kernel what netfilter drops.

mod permit;

use std::mem::MaybeUninit;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::AsFd;

use kernel::{Prefix, Protocol, Tuple};
use libbpf_rs::skel::{OpenSkel, Skel, SkelBuilder};
use libbpf_rs::{MapCore, MapFlags, MapMut};

use crate::Datapath;
use crate::clock::jiffies;
use crate::error::Error;
use crate::headers;
use crate::mapped::Mapped;
use crate::skel::{OpenWeirSkel, WeirSkel, types};

/// The generated loader of bpf/drops.bpf.c.
#[allow(clippy::all, missing_docs, unsafe_op_in_unsafe_fn)]
mod skel {
    include!(concat!(env!("OUT_DIR"), "/drops.skel.rs"));
}

/// Buckets of four tuples where drops are learned: half a megabyte.
const BUCKETS: u32 = 1024;
const WAYS: u32 = headers::DROP_WAYS as u32;
/// Prefixes of one list of one family.
pub const DROP_PREFIXES: usize = headers::DROP_PREFIXES as usize;
/// What identities of rules begin with.
const ID_MIN: u64 = headers::DROP_ID_MIN;

/// One packet of so many is let through: a power of two.
const EVERY: u32 = 64;
/// One is let through at least so often, milliseconds.
const PAUSE: u32 = 100;
/// So long may the kernel take to drop what was let through, milliseconds.
const PATIENCE: u32 = 20;
/// So long does a cached drop hold without one of its packets being dropped by the kernel,
/// milliseconds.
const LIFE: u32 = 2000;
/// For so long netfilter must have dropped all packets of a tuple before the drop is cached,
/// milliseconds.
const ROW: u32 = 1000;
/// And so much later a row in which it did not is given up.
const ROW_MORE: u32 = 100;

/// What may be dropped early: enum drop_kind of bpf/include/drop.h.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DropKinds {
    /// What netfilter was seen to drop.
    pub learned: bool,
    /// What comes from a list of sources.
    pub sources: bool,
    /// What goes where routes drop it.
    pub routes: bool,
}

impl DropKinds {
    fn bits(self) -> u32 {
        u32::from(self.learned) | u32::from(self.sources) << 1 | u32::from(self.routes) << 2
    }
}

/// Which list of prefixes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DropList {
    /// By the source of a packet.
    Sources,
    /// By its destination.
    Routes,
}

/// What a prefix of a list means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DropEntry {
    /// A hole in a shorter prefix: nothing is dropped.
    pub except: bool,
    /// One packet of so many goes to the kernel all the same: a power of two.
    pub every: u32,
    /// And one at least so often, milliseconds.
    pub pause: u32,
}

/// What happened under a prefix, or to a tuple.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DropCount {
    /// Packets dropped.
    pub dropped: u64,
    /// Packets let through to the kernel as samples.
    pub sampled: u64,
    /// Packets that netfilter was seen to drop. Of a tuple: since the row began.
    pub confirmed: u64,
}

/// A tuple that netfilter drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Learned {
    /// As its packets come in.
    pub tuple: Tuple,
    /// Device at which the kernel saw them come in: the topmost one.
    pub link: u32,
    /// Weir drops them now.
    pub cached: bool,
    /// Packets let through since the row began; [`DropCount::confirmed`] of them were dropped.
    pub tried: u64,
    /// Its counters.
    pub count: DropCount,
}

/// Packets dropped by lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListedTotals {
    /// By their source.
    pub sources: u64,
    /// By their destination.
    pub routes: u64,
}

/// Sums over learned drops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LearnedTotals {
    /// Packets dropped, also by entries that are gone.
    pub dropped: u64,
    /// Entries ever made.
    pub learned: u64,
    /// Entries that were not made, as all places were taken by drops that hold.
    pub crowded: u64,
    /// Entries there are, and how many of them are dropped now.
    pub entries: u32,
    /// See `entries`.
    pub cached: u32,
    /// Room for entries.
    pub capacity: u32,
}

/// The tables, and what fills them.
pub(crate) struct Drops {
    buckets: Mapped<types::drop_bucket>,
    totals: Mapped<u64>,
    ports: Mapped<u32>,
    learner: Option<Result<skel::DropsSkel<'static>, Error>>,
}

/// Buckets to make room for.
fn buckets(learn: bool) -> u32 {
    if learn { BUCKETS } else { 1 }
}

/// Sizes the tables of the packet path, before it is loaded.
pub(crate) fn size(open: &mut OpenWeirSkel<'_>, learn: bool) -> Result<(), Error> {
    open.maps
        .drops
        .set_max_entries(buckets(learn))
        .map_err(|e| Error::bpf("size a map", e))
}

/// Sets the constants of the packet path's half.
pub(crate) fn set_constants(constants: &mut types::rodata, learn: bool) {
    constants.drop_mask = buckets(learn) - 1;
    constants.drop_every = EVERY - 1;
    constants.drop_pause = jiffies(PAUSE);
    constants.drop_patience = jiffies(PATIENCE);
    constants.drop_life = jiffies(LIFE);
    constants.drop_row = jiffies(ROW);
    constants.drop_row_missed = jiffies(ROW + ROW_MORE);
}

impl Drops {
    /// Of a loaded packet path. With `learn` the second object is loaded, too; where the kernel
    /// cannot do that, lists work without.
    pub(crate) fn new(path: &WeirSkel<'static>, learn: bool) -> Result<Self, Error> {
        Ok(Self {
            buckets: Mapped::new(&path.maps.drops, buckets(learn))?,
            totals: Mapped::new(&path.maps.drop_totals, path.maps.drop_totals.max_entries())?,
            ports: Mapped::new(&path.maps.drop_ports, path.maps.drop_ports.max_entries())?,
            learner: learn.then(|| learn_from_the_kernel(path)),
        })
    }

    fn entries(&self) -> impl Iterator<Item = (bool, types::drop)> {
        (0..self.buckets.len())
            .filter_map(|index| self.buckets.get(index))
            .flat_map(|bucket| {
                (0..WAYS as usize)
                    .filter(move |way| bucket.id[*way] >= ID_MIN)
                    .map(move |way| (bucket.cached[way] != 0, bucket.way[way]))
            })
    }
}

fn learn_from_the_kernel(path: &WeirSkel<'static>) -> Result<skel::DropsSkel<'static>, Error> {
    crate::complaints::listen();
    // As long as the process, like the packet path itself.
    let storage = Box::leak(Box::new(MaybeUninit::uninit()));
    let mut open = skel::DropsSkelBuilder::default()
        .open(storage)
        .map_err(|e| Error::bpf("open the object that learns drops", e))?;
    let from = path
        .maps
        .rodata_data
        .as_ref()
        .expect("the object has a .rodata");
    let to = open
        .maps
        .rodata_data
        .as_mut()
        .expect("the object has a .rodata");
    to.hash_seed = from.hash_seed;
    to.drop_mask = from.drop_mask;
    to.drop_every = from.drop_every;
    to.drop_pause = from.drop_pause;
    to.drop_patience = from.drop_patience;
    to.drop_life = from.drop_life;
    to.drop_row = from.drop_row;
    to.drop_row_missed = from.drop_row_missed;
    to.drop_netns = own_namespace()?;
    let shared = |e| Error::bpf("share a map", e);
    for (map, own) in [
        (&mut open.maps.drops, path.maps.drops.as_fd()),
        (&mut open.maps.drop_totals, path.maps.drop_totals.as_fd()),
        (&mut open.maps.drop_from4, path.maps.drop_from4.as_fd()),
        (&mut open.maps.drop_from6, path.maps.drop_from6.as_fd()),
    ] {
        map.reuse_fd(own).map_err(shared)?;
    }
    let mut loaded = open.load().map_err(|e| {
        Error::load(
            "learn what netfilter drops (BTF and Linux 5.18 are needed)",
            e,
        )
    })?;
    loaded
        .attach()
        .map_err(|e| Error::bpf("attach to the tracepoint kfree_skb", e))?;
    Ok(loaded)
}

/// Inode of the network namespace of the calling thread. The kernel keeps 32 bits of it.
pub(crate) fn own_namespace() -> Result<u32, Error> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/thread-self/ns/net")
        .map(|data| data.ino() as u32)
        .map_err(|source| Error::System {
            what: "see which network namespace this is".into(),
            source,
        })
}

impl Datapath {
    /// Whether drops are learned: `None` where that was not asked for; else whether the kernel can
    /// tell of them.
    pub fn learns_drops(&self) -> Option<Result<(), &Error>> {
        let learner = self.drops.learner.as_ref()?;
        Some(learner.as_ref().map(drop))
    }

    /// What may be dropped early from now on. Learned drops are only where
    /// [`Datapath::learns_drops`]; nothing in shadow mode.
    pub fn set_drop_kinds(&mut self, kinds: DropKinds) {
        let learns = self.learns_drops().is_some_and(|learns| learns.is_ok());
        let kinds = match self.options.shadow {
            true => DropKinds::default(),
            false => DropKinds {
                learned: kinds.learned && learns,
                ..kinds
            },
        };
        self.control().drops = kinds.bits();
    }

    /// Whether lists of sources count for what comes in by a device.
    pub fn set_drop_port(&mut self, link: u32, on: bool) {
        let slot = self.slot(link);
        if on {
            self.drops.ports.set(slot, link);
        } else if self.drops.ports.get(slot) == Some(link) {
            self.drops.ports.set(slot, 0);
        }
    }

    fn drop_map(&self, list: DropList, prefix: &Prefix) -> (&MapMut<'static>, Vec<u8>) {
        let maps = &self.skel.maps;
        let mut key = u32::from(prefix.length).to_ne_bytes().to_vec();
        match prefix.address {
            IpAddr::V4(address) => key.extend(address.octets()),
            IpAddr::V6(address) => key.extend(address.octets()),
        }
        let map = match (list, prefix.address) {
            (DropList::Sources, IpAddr::V4(_)) => &maps.drop_from4,
            (DropList::Sources, IpAddr::V6(_)) => &maps.drop_from6,
            (DropList::Routes, IpAddr::V4(_)) => &maps.drop_to4,
            (DropList::Routes, IpAddr::V6(_)) => &maps.drop_to6,
        };
        (map, key)
    }

    /// Puts a prefix on a list, or changes it; its counters begin at 0. At most [`DROP_PREFIXES`]
    /// of each family.
    ///
    /// # Errors
    /// No room.
    pub fn put_drop(
        &mut self,
        list: DropList,
        prefix: &Prefix,
        entry: DropEntry,
    ) -> Result<(), Error> {
        let value = types::drop_prefix {
            except: u32::from(entry.except),
            every: entry.every.next_power_of_two() - 1,
            pause: jiffies(entry.pause),
            ..Default::default()
        };
        // SAFETY: a plain struct of numbers without padding, read as the bytes it is made of.
        let octets = unsafe {
            std::slice::from_raw_parts((&raw const value).cast::<u8>(), size_of_val(&value))
        };
        let (map, key) = self.drop_map(list, prefix);
        map.update(&key, octets, MapFlags::ANY)
            .map_err(|e| Error::bpf("put a prefix on a list of drops", e))
    }

    /// Takes a prefix off a list; what happened under it. A packet under way may still be counted,
    /// and is then lost to the sum.
    ///
    /// # Errors
    /// The kernel refuses; not, when there is no such prefix.
    pub fn take_drop(&mut self, list: DropList, prefix: &Prefix) -> Result<DropCount, Error> {
        let count = self.drop_count(list, prefix)?.unwrap_or_default();
        let (map, key) = self.drop_map(list, prefix);
        match map.delete(&key) {
            Err(e) if e.kind() != libbpf_rs::ErrorKind::NotFound => {
                Err(Error::bpf("take a prefix off a list of drops", e))
            }
            _ => Ok(count),
        }
    }

    /// What happened under a prefix of a list. Of a prefix that is not on it: under the longest one
    /// it lies in.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn drop_count(&self, list: DropList, prefix: &Prefix) -> Result<Option<DropCount>, Error> {
        let (map, key) = self.drop_map(list, prefix);
        let octets = map
            .lookup(&key, MapFlags::ANY)
            .map_err(|e| Error::bpf("read a list of drops", e))?;
        Ok(octets.and_then(|octets| {
            let word =
                |at: usize| Some(u64::from_ne_bytes(octets.get(at..at + 8)?.try_into().ok()?));
            let (seen, sampled) = (word(0)?, word(8)?);
            Some(DropCount {
                dropped: seen.saturating_sub(sampled),
                sampled,
                confirmed: word(16)?,
            })
        }))
    }

    /// Packets dropped by all lists since the start.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn listed_totals(&self) -> Result<ListedTotals, Error> {
        let sum = |which| crate::view::sum(&self.skel.maps.drop_listed_totals, which);
        // enum drop_listed
        Ok(ListedTotals {
            sources: sum(0)?,
            routes: sum(1)?,
        })
    }

    /// The tuples that netfilter was seen to drop, in no order.
    pub fn learned_drops(&mut self) -> Vec<Learned> {
        let epoch = self.control().epoch;
        self.drops
            .entries()
            .filter_map(|(cached, entry)| {
                let current = entry.epoch == epoch;
                Some(Learned {
                    tuple: tuple(&entry)?,
                    link: entry.top,
                    cached: cached && current,
                    tried: if current { u64::from(entry.tried) } else { 0 },
                    count: DropCount {
                        dropped: dropped(&entry),
                        sampled: entry.sampled,
                        confirmed: if current { u64::from(entry.dropped) } else { 0 },
                    },
                })
            })
            .collect()
    }

    /// Sums over all of them, and those that are gone.
    pub fn learned_totals(&mut self) -> LearnedTotals {
        let epoch = self.control().epoch;
        let total = |which| self.drops.totals.get(which).unwrap_or_default();
        // enum drop_total
        let mut sum = LearnedTotals {
            dropped: total(0),
            learned: total(1),
            crowded: total(2),
            capacity: match self.drops.learner {
                Some(_) => self.drops.buckets.len() * WAYS,
                None => 0,
            },
            ..Default::default()
        };
        for (cached, entry) in self.drops.entries() {
            sum.entries += 1;
            sum.cached += u32::from(cached && entry.epoch == epoch);
            sum.dropped += dropped(&entry);
        }
        sum
    }
}

/// Packets that an entry dropped.
fn dropped(entry: &types::drop) -> u64 {
    entry.seen.saturating_sub(entry.sampled)
}

/// From the words of a key, as they lie in memory: addresses, ports, protocol.
fn tuple(entry: &types::drop) -> Option<Tuple> {
    let octets: Vec<u8> = entry.key.iter().flat_map(|w| w.to_ne_bytes()).collect();
    let (source, destination, ports): (IpAddr, IpAddr, usize) = if entry.ipv6 != 0 {
        let at = |at: usize| <[u8; 16]>::try_from(octets.get(at..at + 16)?).ok();
        (
            Ipv6Addr::from(at(0)?).into(),
            Ipv6Addr::from(at(16)?).into(),
            32,
        )
    } else {
        let at = |at: usize| <[u8; 4]>::try_from(octets.get(at..at + 4)?).ok();
        (
            Ipv4Addr::from(at(0)?).into(),
            Ipv4Addr::from(at(4)?).into(),
            8,
        )
    };
    let port = |at: usize| Some(u16::from_be_bytes([*octets.get(at)?, *octets.get(at + 1)?]));
    Some(Tuple {
        protocol: Protocol::from_number(*octets.get(ports + 4)?)?,
        source,
        source_port: port(ports)?,
        destination,
        destination_port: port(ports + 2)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_as_they_are_written() {
        let key = |octets: &[u8]| {
            let mut words = [0u64; 5];
            for (word, eight) in words.iter_mut().zip(octets.chunks(8)) {
                let mut all = [0; 8];
                all[..eight.len()].copy_from_slice(eight);
                *word = u64::from_ne_bytes(all);
            }
            words
        };
        let v4 = types::drop {
            key: key(&[192, 0, 2, 1, 10, 0, 0, 1, 0x9c, 0x40, 1, 0xbb, 17, 0, 0, 0]),
            ..Default::default()
        };
        assert_eq!(
            tuple(&v4).expect("a tuple").to_string(),
            "udp 192.0.2.1:40000 > 10.0.0.1:443"
        );
        let mut octets = [0; 40];
        octets[0] = 0x20;
        octets[31] = 1;
        octets[32..37].copy_from_slice(&[0, 53, 0, 80, 6]);
        let v6 = types::drop {
            key: key(&octets),
            ipv6: 1,
            ..Default::default()
        };
        let found = tuple(&v6).expect("a tuple");
        assert_eq!(found.source.to_string(), "2000::");
        assert_eq!(found.destination.to_string(), "::1");
        assert_eq!((found.source_port, found.destination_port), (53, 80));
        let other = types::drop::default();
        assert_eq!(tuple(&other), None, "of no protocol that is forwarded");
    }
}
