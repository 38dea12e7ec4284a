//! Frames at a port whose purpose is not known yet, and a gate that stops all frames meanwhile:
//! loads and reads `bpf/cable.bpf.c` (bpf/include/cable.h).
//!
//! The gate is at TC, and XDP comes before it: shutting a gate requires ending all proofs, or
//! frames of proven flows bypass the gate. Behind a shut gate no flow is proven again.

mod record;

use std::collections::{HashMap, HashSet};
use std::mem::MaybeUninit;

use kernel::Mac;
use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use libbpf_rs::{MapCore, MapFlags};

use crate::clock::nanoseconds;
use crate::error::Error;
use crate::headers;
use crate::hook::{Attachment, Place, attach_tc};
use crate::libbpf_log;
use crate::mapped::Mapped;
use crate::run;

pub use record::{ClassRecord, PortRecord, SORTS};

#[allow(clippy::all, missing_docs, unsafe_op_in_unsafe_fn)]
mod skel {
    include!(concat!(env!("OUT_DIR"), "/cable.skel.rs"));
}
use skel::types;

/// Ports that can be watched at a time.
pub const PORTS: u32 = headers::CABLES as u32;
/// Maximum number of hardware addresses known as this router's own.
pub const OWN: usize = headers::CABLE_OWN_MAX as usize;
/// Time that a gate keeps its mode without [`Cables::refresh`], nanoseconds. A daemon on a busy
/// machine may be late by seconds, and a gate that opens then lets a provider into the LAN.
const HOLD: u64 = 5_000_000_000;

/// Mode of the programs at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// The programs do nothing.
    Idle,
    /// Notes incoming frames to groups, broadcasts included: hellos, questions, spanning tree,
    /// frames of a loop. For a frame to one station the programs read the port's mode alone.
    Groups,
    /// Notes incoming frames.
    Note,
    /// Notes incoming frames, and lets no frame pass, in or out.
    Shut,
    /// Notes incoming frames except IP of no other sort, and keeps foreign servers out: DHCP's,
    /// DHCPv6's, PPPoE's, advertisements of routers, and frames that could hide one.
    Guard,
}

impl Gate {
    /// enum cable_mode.
    fn mode(self) -> u32 {
        let mode = match self {
            Self::Idle => headers::CABLE_IDLE,
            Self::Groups => headers::CABLE_GROUPS,
            Self::Note => headers::CABLE_NOTED,
            Self::Shut => headers::CABLE_SHUT,
            Self::Guard => headers::CABLE_GUARD,
        };
        mode as u32
    }
}

/// The classifier, loaded into the kernel. Dropping this value unloads it.
pub struct Cables {
    skel: skel::CableSkel<'static>,
    slots: Mapped<types::cable>,
    watched: HashMap<u32, Watched>,
    own: HashSet<Mac>,
}

struct Watched {
    slot: u32,
    _attached: [Attachment; 2],
}

/// Now, by the clock of [`ClassRecord::last`]: nanoseconds (CLOCK_MONOTONIC, bpf_ktime_get_ns).
pub fn now() -> u64 {
    nanoseconds(libc::CLOCK_MONOTONIC)
}

impl Cables {
    /// Loads the programs. Nothing is attached before [`Cables::watch`].
    ///
    /// # Errors
    /// The kernel refuses, or has no memory for it.
    pub fn load() -> Result<Self, Error> {
        libbpf_log::listen();
        // The object lives as long as the process, as the packet path does.
        let storage = Box::leak(Box::new(MaybeUninit::uninit()));
        let open = skel::CableSkelBuilder::default()
            .open(storage)
            .map_err(|e| Error::bpf("open the classifier of cables", e))?;
        let skel = open
            .load()
            .map_err(|e| Error::load("load the classifier of cables", e))?;
        Ok(Self {
            slots: Mapped::section(&skel.maps.bss_cables, PORTS)?,
            skel,
            watched: HashMap::new(),
            own: HashSet::new(),
        })
    }

    /// Returns the loaded object, for the benchmark.
    #[cfg(feature = "bench")]
    pub(crate) fn object(&self) -> &libbpf_rs::Object {
        libbpf_rs::skel::Skel::object(&self.skel)
    }

    /// Returns the programs at ingress and at egress, for the benchmark.
    #[cfg(feature = "bench")]
    pub(crate) fn programs(&self) -> [&libbpf_rs::ProgramMut<'static>; 2] {
        [
            &self.skel.progs.weir_cable_in,
            &self.skel.progs.weir_cable_out,
        ]
    }

    /// Sets this router's hardware addresses, at most [`OWN`]. Frames from these do not count as a
    /// station's.
    ///
    /// # Errors
    /// There are too many addresses.
    pub fn own(&mut self, macs: &[Mac]) -> Result<(), Error> {
        let map = &self.skel.maps.cable_own;
        let wanted: HashSet<Mac> = macs.iter().copied().collect();
        for gone in self.own.difference(&wanted) {
            // An entry that is gone already is fine.
            let _ = map.delete(&record::number(*gone).to_ne_bytes());
        }
        self.own.retain(|mac| wanted.contains(mac));
        for mac in wanted {
            let key = record::number(mac).to_ne_bytes();
            map.update(&key, &1u32.to_ne_bytes(), MapFlags::ANY)
                .map_err(|e| Error::bpf("note an address of this router's own", e))?;
            self.own.insert(mac);
        }
        Ok(())
    }

    /// Begins to note the frames that come in at a device, from an empty record. A record of a
    /// watched device is cleared.
    ///
    /// # Errors
    /// The device is gone, or [`PORTS`] are watched.
    pub fn watch(&mut self, link: u32, name: &str) -> Result<(), Error> {
        if self.watched.contains_key(&link) {
            self.clear(link);
            self.gate(link, Gate::Note);
            return Ok(());
        }
        let Some(slot) = self.free_slot(link) else {
            return Err(Error::TooManyCables {
                name: name.into(),
                most: PORTS,
            });
        };
        let fresh = types::cable {
            ifindex: link,
            mode: Gate::Note.mode(),
            until: until(),
            ..Default::default()
        };
        // Declared first: from the first frame on everything is noted.
        self.slots.set(slot, fresh);
        let progs = &self.skel.progs;
        let made = attach_tc(&progs.weir_cable_out, link, name, Place::GateOut).and_then(|out| {
            let into = attach_tc(&progs.weir_cable_in, link, name, Place::GateIn)?;
            Ok([into, out])
        });
        match made {
            Ok(attached) => {
                let watched = Watched {
                    slot,
                    _attached: attached,
                };
                self.watched.insert(link, watched);
                Ok(())
            }
            Err(error) => {
                self.slots.set(slot, types::cable::default());
                Err(error)
            }
        }
    }

    /// Slot where the programs look for a device first, or the next free one.
    fn free_slot(&self, link: u32) -> Option<u32> {
        (0..PORTS)
            .map(|step| link.wrapping_add(step) % PORTS)
            .find(|slot| !self.watched.values().any(|watched| watched.slot == *slot))
    }

    /// Returns true if the device is watched.
    pub fn watched(&self, link: u32) -> bool {
        self.watched.contains_key(&link)
    }

    /// Sets the mode of the programs at a watched device. Without [`Cables::refresh`] they stop
    /// working after five seconds.
    pub fn gate(&mut self, link: u32, gate: Gate) {
        self.hold(link, until());
        if let Some(cable) = self.at(link) {
            // SAFETY: an aligned word of a live mapping; only user space writes it.
            unsafe { (&raw mut (*cable).mode).write_volatile(gate.mode()) };
        }
    }

    /// Gates stay as they are for another five seconds. Due at least once a second.
    pub fn refresh(&mut self) {
        let until = until();
        for link in self.watched.keys() {
            self.hold(*link, until);
        }
    }

    fn hold(&self, link: u32, until: u32) {
        if let Some(cable) = self.at(link) {
            // SAFETY: as for the mode.
            unsafe { (&raw mut (*cable).until).write_volatile(until) };
        }
    }

    /// Ages a gate until it expires. For tests.
    #[doc(hidden)]
    pub fn expire(&mut self, link: u32) {
        // The programs' clock is a little behind this one.
        self.hold(link, tick(now()) - 1);
    }

    /// Clears the record of a device whose link went down.
    pub fn clear(&mut self, link: u32) {
        if let Some(cable) = self.at(link) {
            // SAFETY: of a watched device, in a live mapping.
            unsafe { record::clear(cable) };
        }
    }

    /// Takes the programs off a device, and forgets it.
    pub fn leave(&mut self, link: u32) {
        if let Some(watched) = self.watched.remove(&link) {
            let slot = watched.slot;
            drop(watched);
            self.slots.set(slot, types::cable::default());
        }
    }

    /// Returns the record of a device; `None` if the device is not watched.
    pub fn read(&self, link: u32) -> Option<PortRecord> {
        // SAFETY: of a watched device, in a live mapping.
        self.at(link).map(|cable| unsafe { record::read(cable) })
    }

    fn at(&self, link: u32) -> Option<*mut types::cable> {
        self.slots.at(self.watched.get(&link)?.slot)
    }

    /// Passes a frame into (or, with `leaves`, out of) a device by BPF_PROG_TEST_RUN; returns true
    /// if it passes. For tests.
    ///
    /// # Errors
    /// The kernel refuses the frame: it is shorter than an Ethernet header.
    #[doc(hidden)]
    pub fn passes(&self, leaves: bool, link: u32, frame: &[u8]) -> Result<bool, Error> {
        let program = if leaves {
            &self.skel.progs.weir_cable_out
        } else {
            &self.skel.progs.weir_cable_in
        };
        let (action, after, _) = run::test_run_skb(program, frame, link, 1)?;
        debug_assert!(frame.starts_with(&after) || after.starts_with(frame));
        Ok(action == u32::MAX)
    }
}

/// Returns the time, by the programs' clock, at which the present settings expire.
fn until() -> u32 {
    // Add one for the rest of a tick.
    tick(now() + HOLD) + 1
}

fn tick(nanoseconds: u64) -> u32 {
    (nanoseconds >> headers::CABLE_TICK_BITS) as u32
}

#[cfg(test)]
mod tests;
