//! The meter from the daemon's side: loads `bpf/meter.bpf.c`, attaches it to ports, and reads its
//! records (bpf/include/meter.h).
//!
//! The kernel side claims records, this side retires them. What a record counted is given out as
//! growth, exactly once: while it lives by [`Meter::scan`], and what was under way when it was
//! retired by [`Meter::reclaim`].

mod news;
#[cfg(feature = "bench")]
mod programs;
mod record;
mod seen;
mod stations;

use std::collections::{HashMap, VecDeque};
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use kernel::TalkKey;
use libbpf_rs::skel::{OpenSkel, SkelBuilder};

use crate::clock;
use crate::error::Error;
use crate::hook::{Attachment, Place, attach_tc};
use crate::load::{self, PORTS_MAX};
use crate::mapped::Mapped;
use crate::probe;

pub use news::{News, Sample};
#[cfg(feature = "bench")]
pub use programs::{Programs, Segments};
pub use seen::{RecordId, Rest, Seen, StationSeen, Times, Ways};

use record::{FREE, LIVE, RETIRED, STATE, Slots};
use stations::Stations;

#[allow(clippy::all, missing_docs, unsafe_op_in_unsafe_fn)]
mod skel {
    include!(concat!(env!("OUT_DIR"), "/meter.skel.rs"));
}
use crate::headers;
use skel::types;

/// How long a retired record rests before it is reused: no packet can still be adding to it then.
const REST: Duration = Duration::from_millis(200);
const WAYS: u32 = headers::METER_WAYS as u32;
/// Each so many scans all records are looked at, whatever was told of.
const WHOLE: u32 = 16;
const TIMED: u8 = headers::METER_TIMED as u8;
const IPV6: u32 = headers::METER_REF_IPV6 as u32;

/// How large the tables are. Numbers of records are rounded up to powers of two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeterSizes {
    /// IPv4 records, 64 bytes each.
    pub records4: u32,
    /// IPv6 records, 128 bytes each.
    pub records6: u32,
    /// Places for stations, 64 bytes each.
    pub stations: u32,
    /// Slots for ports, as chosen for the packet path.
    pub ports: u32,
}

impl MeterSizes {
    /// So many IPv4 records, half as many for IPv6, and a quarter for stations; slots in which
    /// these devices do not collide.
    pub fn new(records: u32, links: &[u32]) -> Self {
        let records4 = records.clamp(64, 1 << 22).next_power_of_two();
        let mut ports = 64;
        while ports < PORTS_MAX && load::collide(links, ports) {
            ports *= 2;
        }
        Self {
            records4,
            records6: (records4 / 2).max(64),
            stations: (records4 / 4).clamp(64, 8192),
            ports,
        }
    }

    /// Memory that the kernel sets aside, bytes, where TCP is timed.
    pub fn octets(&self) -> u64 {
        u64::from(self.records4) * 64
            + u64::from(self.records6) * 128
            + u64::from(self.stations) * 64
            + u64::from(self.ports) * 192
            + u64::from(self.records4 + self.records6) * 48
    }
}

/// The meter, loaded into the kernel.
pub struct Meter {
    skel: skel::MeterSkel<'static>,
    v4: Slots<types::meter_bucket4>,
    v6: Slots<types::meter_bucket6>,
    /// Of IPv4 and of IPv6 records.
    times: [Mapped<types::meter_times>; 2],
    stations: Stations,
    ports: Mapped<types::meter_port>,
    sizes: MeterSizes,
    attached: HashMap<u32, [Attachment; 2]>,
    resting: VecDeque<(Instant, u32)>,
    news: news::Reader,
    ticks: u32,
    /// Records of IPv4 and of IPv6 that the last scan met.
    used: [u32; 2],
    /// Records that were in use when they were last looked at, or were claimed since.
    active: Vec<u32>,
    /// News were read, all of them, since the last scan: `active` has every record in use.
    followed: bool,
    /// As of the last scan.
    unsaid: u64,
    scans: u32,
}

/// What the programs know of the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Processor {
    /// It reads words at any address: headers are read where they lie.
    pub unaligned: bool,
    /// It may read memory in another order than the program does.
    pub weak_order: bool,
}

impl Default for Processor {
    /// This one.
    fn default() -> Self {
        Self {
            unaligned: load::UNALIGNED,
            weak_order: load::WEAK_ORDER,
        }
    }
}

impl Meter {
    /// Loads the programs. Nothing is counted before [`Meter::attach`]. `timing`: TCP's round trips
    /// are measured.
    ///
    /// # Errors
    /// The kernel refuses, or has no memory for the tables.
    pub fn load(sizes: MeterSizes, timing: bool) -> Result<Self, Error> {
        Self::load_for(sizes, timing, Processor::default())
    }

    /// The same as if this were another processor: for tests.
    ///
    /// # Errors
    /// As for [`Meter::load`].
    pub fn load_for(sizes: MeterSizes, timing: bool, processor: Processor) -> Result<Self, Error> {
        probe::listen();
        // The object lives as long as the process, as the packet path does.
        let storage = Box::leak(Box::new(MaybeUninit::uninit()));
        let mut open = skel::MeterSkelBuilder::default()
            .open(storage)
            .map_err(|e| Error::bpf("open the meter", e))?;
        let constants = open
            .maps
            .rodata_data
            .as_mut()
            .expect("the object has a .rodata");
        constants.hash_seed = load::random_seed()?;
        constants.meter4_mask = sizes.records4 / WAYS - 1;
        constants.meter6_mask = sizes.records6 / WAYS - 1;
        constants.stations_mask = sizes.stations / WAYS - 1;
        constants.meter_ports_mask = sizes.ports - 1;
        constants.meter_unaligned = u32::from(processor.unaligned);
        constants.meter_weak_order = u32::from(processor.weak_order);
        constants.meter_timing = u32::from(timing);
        let timed = |records| if timing { records } else { 1 };
        for (map, entries) in [
            (&mut open.maps.meters4, sizes.records4 / WAYS),
            (&mut open.maps.meters6, sizes.records6 / WAYS),
            (&mut open.maps.stations, sizes.stations / WAYS),
            (&mut open.maps.meter_ports, sizes.ports),
            (&mut open.maps.times4, timed(sizes.records4)),
            (&mut open.maps.times6, timed(sizes.records6)),
        ] {
            map.set_max_entries(entries)
                .map_err(|e| Error::bpf("size a map", e))?;
        }
        let skel = open.load().map_err(|e| Error::load("load the meter", e))?;
        Ok(Self {
            v4: Slots::new(Mapped::new(&skel.maps.meters4, sizes.records4 / WAYS)?),
            v6: Slots::new(Mapped::new(&skel.maps.meters6, sizes.records6 / WAYS)?),
            times: [
                Mapped::new(&skel.maps.times4, timed(sizes.records4))?,
                Mapped::new(&skel.maps.times6, timed(sizes.records6))?,
            ],
            stations: Stations::new(Mapped::new(&skel.maps.stations, sizes.stations / WAYS)?),
            ports: Mapped::new(&skel.maps.meter_ports, sizes.ports)?,
            news: news::Reader::new(&skel.maps.meter_news)?,
            skel,
            sizes,
            attached: HashMap::new(),
            resting: VecDeque::new(),
            ticks: clock::ticks_per_second(),
            used: [0; 2],
            active: Vec::new(),
            followed: false,
            unsaid: 0,
            scans: 0,
        })
    }

    /// What was loaded, for the benchmark.
    #[cfg(feature = "bench")]
    pub(crate) fn object(&self) -> &libbpf_rs::Object {
        libbpf_rs::skel::Skel::object(&self.skel)
    }

    /// The programs, for benchmark and tests.
    ///
    /// # Errors
    /// There are too many open files.
    #[cfg(feature = "bench")]
    pub fn programs(&self) -> Result<Programs, Error> {
        Programs::of(&self.skel.progs)
    }

    /// What was loaded.
    pub fn sizes(&self) -> &MeterSizes {
        &self.sizes
    }

    /// How full the records of IPv4 and those of IPv6 are, in 256ths, as of the last scan.
    pub fn pressure(&self) -> [u32; 2] {
        let [used4, used6] = self.used;
        [(used4, self.sizes.records4), (used6, self.sizes.records6)]
            .map(|(used, records)| used * 256 / records.max(1))
    }

    /// Records there are.
    pub fn capacity(&self) -> u32 {
        self.sizes.records4 + self.sizes.records6
    }

    /// Counts what passes a device. `raw`: it has no Ethernet header. `read`: packets that tell
    /// names are copied.
    ///
    /// # Errors
    /// The device is gone, or its slot is another's.
    pub fn attach(&mut self, link: u32, name: &str, raw: bool, read: bool) -> Result<(), Error> {
        let slot = link & (self.sizes.ports - 1);
        let known = self.ports.get(slot).unwrap_or_default();
        if known.ifindex != 0 && known.ifindex != link {
            return Err(Error::PortTaken {
                name: name.into(),
                link,
                other: known.ifindex,
            });
        }
        let flags = u32::from(raw) | u32::from(read) << 1;
        if known.ifindex == link {
            if let Some(port) = self.ports.at(slot) {
                // SAFETY: an aligned word of a live mapping; only user space writes it.
                unsafe { (&raw mut (*port).flags).write_volatile(flags) };
            }
            return Ok(());
        }
        // Declared first: from the first packet on everything is counted.
        self.ports.set(
            slot,
            types::meter_port {
                ifindex: link,
                flags,
                ..Default::default()
            },
        );
        let progs = &self.skel.progs;
        let made = attach_tc(
            &progs.weir_meter_out,
            "weir_meter_out",
            link,
            name,
            Place::FirstOut,
        )
        .and_then(|out| {
            attach_tc(
                &progs.weir_meter_in,
                "weir_meter_in",
                link,
                name,
                Place::LastIn,
            )
            .map(|into| [into, out])
        });
        match made {
            Ok(made) => {
                self.attached.insert(link, made);
                Ok(())
            }
            Err(error) => {
                self.ports.set(slot, types::meter_port::default());
                Err(error)
            }
        }
    }

    /// Whether a device is counted.
    pub fn attached(&self, link: u32) -> bool {
        self.attached.contains_key(&link)
    }

    /// Takes the programs off a device. Its records end as ever.
    pub fn detach(&mut self, link: u32) {
        self.attached.remove(&link);
        let slot = link & (self.sizes.ports - 1);
        if self.ports.get(slot).is_some_and(|p| p.ifindex == link) {
            self.ports.set(slot, types::meter_port::default());
        }
    }

    /// What is at a port without a record or a station: what came in, what went out.
    pub fn rest(&self, link: u32) -> Option<[Rest; 2]> {
        let port = self.ports.get(link & (self.sizes.ports - 1))?;
        (port.ifindex == link).then(|| {
            port.rest.map(|rest| Rest {
                unplaced: (rest.unplaced, rest.unplaced_octets),
                other: (rest.other, rest.other_octets),
                link: rest.link,
            })
        })
    }

    /// The kernel's clock now, jiffies.
    fn now(&self) -> Result<u32, Error> {
        let mut context = [0u8; 4];
        self.skel
            .progs
            .weir_meter_clock
            .test_run(libbpf_rs::ProgramInput {
                context_in: Some(&mut context),
                ..Default::default()
            })
            .map_err(|e| Error::bpf("read the kernel's clock", e))?;
        Ok(u32::from_ne_bytes(context))
    }

    /// Goes through all records that live, and gives what each counted since the last time; those
    /// that `each` says of `false` are retired. Due at least every few seconds: the shared counters
    /// are narrow.
    ///
    /// Where [`Meter::news`] was read just before, only those records are looked at that it told
    /// of, but for each [`WHOLE`]th time.
    ///
    /// # Errors
    /// The kernel's clock cannot be read.
    pub fn scan(&mut self, mut each: impl FnMut(&Seen) -> bool) -> Result<(), Error> {
        let now = self.now()?;
        let due = Instant::now() + REST;
        let mut active = self.in_use();
        active.retain(|reference| {
            let reference = *reference;
            let owner = self.owner(reference).load(Ordering::Acquire);
            if owner & STATE == LIVE {
                let seen = self.seen(reference, owner, now);
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
        Ok(())
    }

    /// Records that may be in use: those that were told of, where nothing can be missing; else all
    /// that are.
    fn in_use(&mut self) -> Vec<u32> {
        let unsaid = self.unsaid();
        let told = std::mem::take(&mut self.followed) && unsaid == self.unsaid;
        self.unsaid = unsaid;
        self.scans = self.scans.wrapping_add(1);
        let mut active = std::mem::take(&mut self.active);
        if told && !self.scans.is_multiple_of(WHOLE) {
            // One that ended and began again was told of while it was still known.
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

    /// Frees the records that have rested. `last` gets what each counted after it was retired.
    ///
    /// # Errors
    /// The kernel's clock cannot be read.
    pub fn reclaim(&mut self, at: Instant, mut last: impl FnMut(&Seen)) -> Result<(), Error> {
        if self.resting.front().is_none_or(|(due, _)| *due > at) {
            return Ok(());
        }
        let now = self.now()?;
        while let Some((due, reference)) = self.resting.front().copied() {
            if due > at {
                break;
            }
            self.resting.pop_front();
            let owner = self.owner(reference).load(Ordering::Acquire);
            let seen = self.seen(reference, (owner & !STATE) | LIVE, now);
            if !seen.grown.is_zero() {
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
        Ok(())
    }

    /// Goes through all stations that have something without a record. Those of which nothing is
    /// heard give up their places.
    ///
    /// # Errors
    /// The kernel's clock cannot be read.
    pub fn scan_stations(&mut self, mut each: impl FnMut(&StationSeen)) -> Result<(), Error> {
        let now = self.now()?;
        let ports = &self.ports;
        let ticks = self.ticks;
        self.stations.scan(
            Instant::now(),
            |then| since(ticks, now, then),
            |found| {
                let (port, vlan, _) = place(ports, found.place);
                each(&StationSeen {
                    port,
                    vlan,
                    mac: found.mac,
                    unplaced: found.unplaced,
                    other: found.other,
                    idle: found.idle,
                });
            },
        );
        Ok(())
    }

    /// What the kernel side told since the last time, at most `most` pieces.
    pub fn news(&mut self, most: usize, mut each: impl FnMut(News<'_>)) {
        let all = self.news.consume(most);
        let found = std::mem::take(&mut *self.news.found.borrow_mut());
        let mut claimed = std::mem::take(&mut self.active);
        news::each(&found, |raw| {
            if let Some(news) = news::decode(raw, |words, ipv6| self.key(words, ipv6)) {
                if let News::New(id) = news {
                    claimed.push(id.reference);
                }
                each(news);
            }
        });
        self.active = claimed;
        self.followed = all;
        // The same memory again next time.
        let mut found = found;
        found.clear();
        *self.news.found.borrow_mut() = found;
    }

    /// News for which the ring had no room.
    pub fn unsaid(&self) -> u64 {
        self.skel
            .maps
            .bss_data
            .as_ref()
            .map_or(0, |bss| bss.meter_unsaid)
    }

    fn owner(&self, reference: u32) -> &AtomicU32 {
        if reference & IPV6 == 0 {
            self.v4.owner(reference)
        } else {
            self.v6.owner(reference & !IPV6)
        }
    }

    fn seen(&mut self, reference: u32, owner: u32, now: u32) -> Seen {
        let (meter, words, grown) = if reference & IPV6 == 0 {
            self.v4.read(reference)
        } else {
            self.v6.read(reference & !IPV6)
        };
        Seen {
            id: RecordId { reference, owner },
            key: self.key(&words, reference & IPV6 != 0),
            mac: meter.mac,
            grown,
            link: meter.link,
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
            again: found.again,
        })
    }

    /// A key by its 64-bit words, as they lie in memory.
    fn key(&self, words: &[u64; 5], ipv6: bool) -> TalkKey {
        record::key(words, ipv6, |at| place(&self.ports, at))
    }
}

/// How long ago a time of the kernel's was.
fn since(ticks: u32, now: u32, then: u32) -> Duration {
    // A packet may have come in after `now` was read.
    let jiffies = (now.wrapping_sub(then) as i32).max(0);
    Duration::from_micros(jiffies as u64 * 1_000_000 / u64::from(ticks))
}

/// Port, VLAN and protocol of a record.
fn place(ports: &Mapped<types::meter_port>, at: u32) -> (u32, u16, u8) {
    let slot = (at >> 8) & ((1 << 11) - 1);
    let port = ports.get(slot).map_or(0, |port| port.ifindex);
    (port, ((at >> 19) & 0xfff) as u16, at as u8)
}
