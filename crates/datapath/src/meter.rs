//! The meter from the daemon's side: loads `bpf/meter.bpf.c`, attaches it to ports, and reads its
//! records (bpf/include/meter.h).
//!
//! The kernel side claims records, this side retires them. Each count of a record is reported as
//! growth exactly once: by [`Meter::scan`] while the record lives, and by [`Meter::reclaim`] for
//! packets that were being counted when the record was retired.

mod notifications;
mod observation;
mod ports;
#[cfg(feature = "bench")]
mod programs;
mod record;
mod records;
mod sizes;
mod stations;

use std::collections::BTreeSet;
use std::mem::MaybeUninit;
use std::time::Instant;

use libbpf_rs::skel::{OpenSkel, SkelBuilder};

use crate::clock::{self, since};
use crate::error::Error;
use crate::libbpf_log;
use crate::load;
use crate::mapped::{Mapped, constants};
use crate::ring::Reader;
use crate::run;

pub use notifications::{Notification, Sample};
pub use observation::{
    RecordId, RecordObservation, StationObservation, Times, TrafficCounts, UnrecordedTraffic,
};
#[cfg(feature = "bench")]
pub use programs::{Programs, Segments};
pub use sizes::{MeterSizes, Processor};

use ports::Ports;
use record::WAYS;
use records::Records;
use stations::Stations;

#[allow(clippy::all, missing_docs, unsafe_op_in_unsafe_fn)]
mod skel {
    include!(concat!(env!("OUT_DIR"), "/meter.skel.rs"));
}
use skel::types;

/// The meter, loaded into the kernel.
pub struct Meter {
    skel: skel::MeterSkel<'static>,
    records: Records,
    stations: Stations,
    ports: Ports,
    sizes: MeterSizes,
    notifications: Reader,
    ticks: u32,
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

    /// Like [`Meter::load`], for another kind of processor: for tests.
    ///
    /// # Errors
    /// As for [`Meter::load`].
    pub fn load_for(sizes: MeterSizes, timing: bool, processor: Processor) -> Result<Self, Error> {
        libbpf_log::listen();
        // The object lives as long as the process, as the packet path does.
        let storage = Box::leak(Box::new(MaybeUninit::uninit()));
        let mut open = skel::MeterSkelBuilder::default()
            .open(storage)
            .map_err(|e| Error::bpf("open the meter", e))?;
        let constants = constants(&mut open.maps.rodata_data);
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
            (&mut open.maps.meter_inside, sizes.ports),
            (&mut open.maps.times4, timed(sizes.records4)),
            (&mut open.maps.times6, timed(sizes.records6)),
        ] {
            map.set_max_entries(entries)
                .map_err(|e| Error::bpf("size a map", e))?;
        }
        let skel = open.load().map_err(|e| Error::load("load the meter", e))?;
        let times = [
            Mapped::new(&skel.maps.times4, timed(sizes.records4))?,
            Mapped::new(&skel.maps.times6, timed(sizes.records6))?,
        ];
        Ok(Self {
            records: Records::new(
                Mapped::new(&skel.maps.meters4, sizes.records4 / WAYS)?,
                Mapped::new(&skel.maps.meters6, sizes.records6 / WAYS)?,
                times,
            ),
            stations: Stations::new(Mapped::new(&skel.maps.stations, sizes.stations / WAYS)?),
            ports: Ports::new(
                Mapped::new(&skel.maps.meter_ports, sizes.ports)?,
                Mapped::new(&skel.maps.meter_inside, sizes.ports)?,
            ),
            notifications: Reader::new(&skel.maps.meter_news)
                .map_err(|e| Error::bpf("use the meter's ring", e))?,
            skel,
            sizes,
            ticks: clock::ticks_per_second(),
        })
    }

    /// Returns the loaded object, for the benchmark.
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

    /// Sizes of the tables that were loaded.
    pub fn sizes(&self) -> &MeterSizes {
        &self.sizes
    }

    /// Fill level of the records for IPv4 and IPv6, in 1/256, at the last scan.
    pub fn pressure(&self) -> [u32; 2] {
        self.records.pressure(&self.sizes)
    }

    /// Retired records that still rest, for IPv4 and IPv6, in 1/256.
    pub fn resting(&self) -> [u32; 2] {
        self.records.resting(&self.sizes)
    }

    /// Returns the number of records.
    pub fn capacity(&self) -> u32 {
        self.sizes.records4 + self.sizes.records6
    }

    /// Counts the traffic of a device. `raw`: the device has no Ethernet header. `read`: the kernel
    /// copies packets that carry names.
    ///
    /// # Errors
    /// The device is gone, or its slot is another's.
    pub fn attach(&mut self, link: u32, name: &str, raw: bool, read: bool) -> Result<(), Error> {
        let flags = u32::from(raw) | u32::from(read) << 1;
        self.ports.attach(&self.skel.progs, link, name, flags)
    }

    /// Returns true if the meter counts a device.
    pub fn attached(&self, link: u32) -> bool {
        self.ports.attached(link)
    }

    /// Detaches the programs from a device. Its records end as usual.
    pub fn detach(&mut self, link: u32) {
        self.ports.detach(link);
    }

    /// Sets the devices that lead to no uplink, by index, counted or not. If two share a slot,
    /// neither is one.
    pub fn set_inside(&mut self, links: &BTreeSet<u32>) {
        self.ports.set_inside(links);
    }

    /// Returns the traffic of a port without a record or a station: incoming, outgoing.
    pub fn rest(&self, link: u32) -> Option<[UnrecordedTraffic; 2]> {
        self.ports.rest(link)
    }

    /// The kernel's clock now, jiffies.
    fn now(&self) -> Result<u32, Error> {
        let mut context = [0u8; 4];
        run::test_run_call(&self.skel.progs.weir_meter_clock, &mut context)
            .map_err(|e| Error::bpf("read the kernel's clock", e))?;
        Ok(u32::from_ne_bytes(context))
    }

    /// Visits all live records, and reports the growth of each since the last call; retires records
    /// for which `each` returns `false`. Due at least every few seconds: the shared counters are
    /// narrow.
    ///
    /// Right after [`Meter::notifications`], the scan looks only at records in the notifications,
    /// except for an occasional full scan.
    ///
    /// # Errors
    /// The kernel's clock cannot be read.
    pub fn scan(&mut self, each: impl FnMut(&RecordObservation) -> bool) -> Result<(), Error> {
        let (now, unsaid) = (self.now()?, self.lost_notifications());
        self.records.scan(now, unsaid, &self.ports, each);
        Ok(())
    }

    /// Frees retired records after their pause. `last` receives the counts of each since it was
    /// retired.
    ///
    /// # Errors
    /// The kernel's clock cannot be read.
    pub fn reclaim(
        &mut self,
        at: Instant,
        last: impl FnMut(&RecordObservation),
    ) -> Result<(), Error> {
        if self.records.rested(at) {
            let now = self.now()?;
            self.records.reclaim(at, now, &self.ports, last);
        }
        Ok(())
    }

    /// Visits all stations with traffic without a record. Silent stations lose their slots.
    ///
    /// # Errors
    /// The kernel's clock cannot be read.
    pub fn scan_stations(
        &mut self,
        mut each: impl FnMut(&StationObservation),
    ) -> Result<(), Error> {
        let now = self.now()?;
        let ports = &self.ports;
        let ticks = self.ticks;
        self.stations.scan(
            Instant::now(),
            |then| since(ticks, now, then),
            |found| {
                let (port, vlan, _) = ports.place(found.place);
                each(&StationObservation {
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

    /// Reads the kernel side's notifications since the last call, at most `most`.
    pub fn notifications(&mut self, most: usize, mut each: impl FnMut(Notification<'_>)) {
        let (records, ports) = (&mut self.records, &self.ports);
        let key = |words: &[u64; 5], ipv6| record::key(words, ipv6, |at| ports.place(at));
        let all = self.notifications.read(most, |raw| {
            if let Some(news) = notifications::decode(raw, key) {
                if let Notification::New(id) = news {
                    records.claimed(id.reference);
                }
                each(news);
            }
        });
        records.told(all);
    }

    /// Returns the number of notifications lost because the ring was full.
    pub fn lost_notifications(&self) -> u64 {
        let bss = self.skel.maps.bss_data.as_ref();
        bss.map_or(0, |bss| bss.meter_unsaid)
    }
}
