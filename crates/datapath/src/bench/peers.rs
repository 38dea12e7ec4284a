//! Comparison tables for the meter: bpf/meter_bench.bpf.c.

use std::mem::MaybeUninit;

use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use libbpf_rs::{MapCore, MapFlags, ProgramMut};

use super::Target;
use crate::error::Error;
use crate::load;
use crate::mapped::constants;

#[allow(clippy::all, missing_docs, unsafe_op_in_unsafe_fn)]
mod skel {
    include!(concat!(env!("OUT_DIR"), "/meter_bench.skel.rs"));
}

/// The meter's parse alone, and before the tables that others use. Each table has room for 131,072
/// flows.
pub struct Peers {
    skel: skel::MeterBenchSkel<'static>,
}

impl Peers {
    /// Loads them, for packets of one device with an Ethernet header.
    ///
    /// # Errors
    /// The kernel refuses, or has no memory for the tables.
    pub fn load(link: u32) -> Result<Self, Error> {
        let storage = Box::leak(Box::new(MaybeUninit::uninit()));
        let mut open = skel::MeterBenchSkelBuilder::default()
            .open(storage)
            .map_err(|e| Error::bpf("open the meter's peers", e))?;
        let constants = constants(&mut open.maps.rodata_data);
        constants.hash_seed = load::random_seed()?;
        constants.meter_unaligned = u32::from(load::UNALIGNED);
        let skel = open
            .load()
            .map_err(|e| Error::bpf("load the meter's peers", e))?;
        let port = skel::types::meter_port {
            ifindex: link,
            ..Default::default()
        };
        // SAFETY: plain data, of the size that the map's values have.
        let octets = unsafe {
            std::slice::from_raw_parts((&raw const port).cast::<u8>(), size_of_val(&port))
        };
        skel.maps
            .meter_ports
            .update(&0u32.to_ne_bytes(), octets, MapFlags::ANY)
            .map_err(|e| Error::bpf("declare a port to the meter's peers", e))?;
        Ok(Self { skel })
    }

    /// Returns each program with its target.
    pub(super) fn programs(&self) -> [(Target, &ProgramMut<'static>); 5] {
        let progs = &self.skel.progs;
        [
            (Target::MeterParse, &progs.parse_only),
            (Target::SpinLocked, &progs.spin_locked),
            (Target::PerCpu, &progs.per_cpu),
            (Target::LeastRecent, &progs.least_recent),
            (Target::HashAtomic, &progs.hash_atomic),
        ]
    }
}
