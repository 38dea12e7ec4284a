//! Cached drops: the tables of bpf/include/drop_table.h, and the second object, which learns
//! netfilter's drops from the kernel.

mod learned;

use std::mem::MaybeUninit;
use std::net::IpAddr;
use std::os::fd::AsFd;

use kernel::{Prefix, Tuple};
use libbpf_rs::skel::{OpenSkel, Skel, SkelBuilder};
use libbpf_rs::{MapCore, MapFlags, MapHandle};

use crate::clock::jiffies;
use crate::control::{Control, Word};
use crate::error::Error;
use crate::headers;
use crate::mapped::{Mapped, constants, handle};
use crate::sizes::Sizes;
use crate::skel::{OpenWeirSkel, WeirSkel, types};
use crate::view::sum;
use learned::{Buckets, buckets};
pub use learned::{DropCount, Learned, LearnedTotals};

/// The generated loader of bpf/drops.bpf.c.
#[allow(clippy::all, missing_docs, unsafe_op_in_unsafe_fn)]
mod skel {
    include!(concat!(env!("OUT_DIR"), "/drops.skel.rs"));
}

/// Prefixes of one list of one family.
pub const DROP_PREFIXES: usize = headers::DROP_PREFIXES as usize;
/// Sampling: one packet in this many passes; a power of two.
const EVERY: u32 = 64;
/// Maximum time between sampled packets, in milliseconds.
const PAUSE: u32 = 100;
/// Maximum time in which the kernel drops a packet that was let through, milliseconds.
const PATIENCE: u32 = 20;
/// Lifetime of a cached drop without one of its packets being dropped by the kernel, milliseconds.
const LIFE: u32 = 2000;
/// Time for which netfilter must have dropped all packets of a tuple before the drop is cached,
/// milliseconds.
const ROW: u32 = 1000;
/// Extra time without drops after which a row ends, milliseconds.
const ROW_MORE: u32 = 100;

/// Kinds of packets that may be dropped early: enum drop_kind of bpf/include/drop.h.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DropKinds {
    /// Packets that netfilter was seen to drop.
    pub learned: bool,
    /// Packets from a list of sources.
    pub sources: bool,
    /// Packets to destinations that routes drop.
    pub routes: bool,
}

impl DropKinds {
    fn bits(self) -> u32 {
        u32::from(self.learned) | u32::from(self.sources) << 1 | u32::from(self.routes) << 2
    }
}

/// List of prefixes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DropList {
    /// Prefixes of a packet's source.
    Sources,
    /// Prefixes of a packet's destination.
    Routes,
}

/// Entry of a list of prefixes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DropEntry {
    /// A hole in a shorter prefix: nothing is dropped.
    pub except: bool,
    /// Sampling: one packet in this many goes to the kernel; a power of two.
    pub every: u32,
    /// Maximum time between such packets, milliseconds.
    pub pause: u32,
}

/// Packets dropped by lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListedTotals {
    /// Packets dropped by their source.
    pub sources: u64,
    /// Packets dropped by their destination.
    pub routes: u64,
}

/// The tables, and the programs that fill them.
pub struct Drops {
    control: Control,
    buckets: Buckets,
    totals: Mapped<u64>,
    ports: Mapped<u32>,
    /// Maps of sources, by family.
    sources: [MapHandle; 2],
    routes: [MapHandle; 2],
    listed: MapHandle,
    sizes: Sizes,
    shadow: bool,
    learner: Option<Result<skel::DropsSkel<'static>, Error>>,
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
    /// Opens the drops of a loaded packet path. With `learn` the second object is loaded, too; if
    /// the kernel cannot do that, lists work without.
    pub(crate) fn new(
        path: &WeirSkel<'static>,
        sizes: &Sizes,
        shadow: bool,
        learn: bool,
    ) -> Result<Self, Error> {
        let maps = &path.maps;
        Ok(Self {
            control: Control::new(path)?,
            buckets: Buckets::new(path, learn)?,
            totals: Mapped::new(&maps.drop_totals, maps.drop_totals.max_entries())?,
            ports: Mapped::new(&maps.drop_ports, maps.drop_ports.max_entries())?,
            sources: [handle(&maps.drop_from4)?, handle(&maps.drop_from6)?],
            routes: [handle(&maps.drop_to4)?, handle(&maps.drop_to6)?],
            listed: handle(&maps.drop_listed_totals)?,
            sizes: sizes.clone(),
            shadow,
            learner: learn.then(|| learn_from_the_kernel(path)),
        })
    }

    /// Returns true if weir learns drops, false if the kernel cannot report them; `None` if not
    /// requested.
    pub fn learns(&self) -> Option<Result<(), &Error>> {
        let learner = self.learner.as_ref()?;
        Some(learner.as_ref().map(drop))
    }

    /// Sets the kinds of packets that may be dropped early. Learned drops need [`Drops::learns`];
    /// shadow mode drops nothing.
    pub fn set_kinds(&mut self, kinds: DropKinds) {
        let learns = self.learns().is_some_and(|learns| learns.is_ok());
        let kinds = match self.shadow {
            true => DropKinds::default(),
            false => DropKinds {
                learned: kinds.learned && learns,
                ..kinds
            },
        };
        self.control.set(Word::Drops, kinds.bits());
    }

    /// Sets if lists of sources apply to packets that come in by a device.
    pub fn set_port(&mut self, link: u32, on: bool) {
        let slot = self.sizes.slot(link);
        if on {
            self.ports.set(slot, link);
        } else if self.ports.get(slot) == Some(link) {
            self.ports.set(slot, 0);
        }
    }

    fn map(&self, list: DropList, prefix: &Prefix) -> (&MapHandle, Vec<u8>) {
        let mut key = u32::from(prefix.length).to_ne_bytes().to_vec();
        match prefix.address {
            IpAddr::V4(address) => key.extend(address.octets()),
            IpAddr::V6(address) => key.extend(address.octets()),
        }
        let lists = match list {
            DropList::Sources => &self.sources,
            DropList::Routes => &self.routes,
        };
        (&lists[usize::from(prefix.address.is_ipv6())], key)
    }

    /// Adds a prefix to a list, or changes it; its counters begin at 0. At most [`DROP_PREFIXES`]
    /// of each family.
    ///
    /// # Errors
    /// No room.
    pub fn put(&mut self, list: DropList, prefix: &Prefix, entry: DropEntry) -> Result<(), Error> {
        let value = types::drop_prefix {
            except: u32::from(entry.except),
            every: entry.every.next_power_of_two() - 1,
            pause: jiffies(entry.pause),
            ..Default::default()
        };
        // SAFETY: a plain struct of numbers without padding, read as its bytes.
        let octets = unsafe {
            std::slice::from_raw_parts((&raw const value).cast::<u8>(), size_of_val(&value))
        };
        let (map, key) = self.map(list, prefix);
        map.update(&key, octets, MapFlags::ANY)
            .map_err(|e| Error::bpf("put a prefix on a list of drops", e))
    }

    /// Removes a prefix from a list; returns the counts of the prefix. A packet under way may still
    /// be counted, and is then missing from the sum.
    ///
    /// # Errors
    /// The kernel refuses. A missing prefix is not an error.
    pub fn take(&mut self, list: DropList, prefix: &Prefix) -> Result<DropCount, Error> {
        let count = self.count(list, prefix)?.unwrap_or_default();
        let (map, key) = self.map(list, prefix);
        match map.delete(&key) {
            Err(e) if e.kind() != libbpf_rs::ErrorKind::NotFound => {
                Err(Error::bpf("take a prefix off a list of drops", e))
            }
            _ => Ok(count),
        }
    }

    /// Returns the counters of a prefix of a list. For a prefix that is not on the list: those of
    /// the longest listed prefix around it.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn count(&self, list: DropList, prefix: &Prefix) -> Result<Option<DropCount>, Error> {
        let (map, key) = self.map(list, prefix);
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
        let sum = |which| sum(&self.listed, which);
        // enum drop_listed
        Ok(ListedTotals {
            sources: sum(0)?,
            routes: sum(1)?,
        })
    }

    /// The tuples that netfilter was seen to drop, in no order.
    pub fn learned(&self) -> Vec<Learned> {
        let epoch = self.control.get(Word::Epoch);
        self.buckets.all(epoch).collect()
    }

    /// Sums over all present and former entries.
    pub fn learned_totals(&self) -> LearnedTotals {
        let total = |which| self.totals.get(which).unwrap_or_default();
        // enum drop_total
        let before = LearnedTotals {
            dropped: total(0),
            learned: total(1),
            crowded: total(2),
            capacity: match self.learner {
                Some(_) => self.buckets.capacity(),
                None => 0,
            },
            ..Default::default()
        };
        self.buckets.add_to(before, self.control.get(Word::Epoch))
    }

    /// Decides for each tuple that netfilter was seen to drop if weir may drop it, too. Tuples
    /// without a decision in this epoch are not dropped.
    pub fn permit(&mut self, may: impl FnMut(&Tuple) -> bool) {
        self.buckets.permit(self.control.get(Word::Epoch), may);
    }
}

fn learn_from_the_kernel(path: &WeirSkel<'static>) -> Result<skel::DropsSkel<'static>, Error> {
    crate::libbpf_log::listen();
    // As long as the process, like the packet path itself.
    let storage = Box::leak(Box::new(MaybeUninit::uninit()));
    let mut open = skel::DropsSkelBuilder::default()
        .open(storage)
        .map_err(|e| Error::bpf("open the object that learns drops", e))?;
    let rodata = path.maps.rodata_data.as_ref();
    let from = rodata.expect("the object has a .rodata");
    let to = constants(&mut open.maps.rodata_data);
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
