//! The devices at which is counted.

use std::collections::{BTreeSet, HashMap};

use super::skel::MeterProgs;
use super::{UnrecordedTraffic, types};
use crate::error::Error;
use crate::hook::{Attachment, Place, attach_tc};
use crate::mapped::Mapped;

/// All ports of the meter.
pub(super) struct Ports {
    found: Mapped<types::meter_port>,
    inside: Mapped<u32>,
    attached: HashMap<u32, [Attachment; 2]>,
}

impl Ports {
    pub fn new(found: Mapped<types::meter_port>, inside: Mapped<u32>) -> Self {
        Self {
            found,
            inside,
            attached: HashMap::new(),
        }
    }

    fn slot(&self, link: u32) -> u32 {
        link & (self.found.len() - 1)
    }

    /// See [`Meter::attach`](super::Meter::attach); `flags`: enum meter_port_flags.
    pub fn attach(
        &mut self,
        progs: &MeterProgs<'_>,
        link: u32,
        name: &str,
        flags: u32,
    ) -> Result<(), Error> {
        let slot = self.slot(link);
        let known = self.found.get(slot).unwrap_or_default();
        if known.ifindex != 0 && known.ifindex != link {
            return Err(Error::PortTaken {
                name: name.into(),
                link,
                other: known.ifindex,
            });
        }
        if known.ifindex == link {
            if let Some(port) = self.found.at(slot) {
                // SAFETY: an aligned word of a live mapping; only user space writes it.
                unsafe { (&raw mut (*port).flags).write_volatile(flags) };
            }
            return Ok(());
        }
        // Declared first: from the first packet on everything is counted.
        let fresh = types::meter_port {
            ifindex: link,
            flags,
            ..Default::default()
        };
        self.found.set(slot, fresh);
        let made = attach_tc(&progs.weir_meter_out, link, name, Place::FirstOut).and_then(|out| {
            attach_tc(&progs.weir_meter_in, link, name, Place::LastIn).map(|into| [into, out])
        });
        match made {
            Ok(made) => {
                self.attached.insert(link, made);
                Ok(())
            }
            Err(error) => {
                self.found.set(slot, types::meter_port::default());
                Err(error)
            }
        }
    }

    pub fn attached(&self, link: u32) -> bool {
        self.attached.contains_key(&link)
    }

    pub fn detach(&mut self, link: u32) {
        self.attached.remove(&link);
        let slot = self.slot(link);
        if self.found.get(slot).is_some_and(|p| p.ifindex == link) {
            self.found.set(slot, types::meter_port::default());
        }
    }

    /// See [`Meter::set_inside`](super::Meter::set_inside).
    pub fn set_inside(&mut self, links: &BTreeSet<u32>) {
        let mut slots = vec![0; self.inside.len() as usize];
        for link in links {
            let slot = &mut slots[self.slot(*link) as usize];
            *slot = if *slot == 0 { *link } else { u32::MAX };
        }
        for (slot, link) in (0..).zip(slots) {
            if self.inside.get(slot) != Some(link) {
                self.inside.set(slot, link);
            }
        }
    }

    pub fn rest(&self, link: u32) -> Option<[UnrecordedTraffic; 2]> {
        let port = self.found.get(self.slot(link))?;
        (port.ifindex == link).then(|| {
            port.rest.map(|rest| UnrecordedTraffic {
                unplaced: (rest.unplaced, rest.unplaced_octets),
                other: (rest.other, rest.other_octets),
                link: rest.link,
            })
        })
    }

    /// Port, VLAN and protocol of a record.
    pub fn place(&self, at: u32) -> (u32, u16, u8) {
        let slot = (at >> 8) & ((1 << 11) - 1);
        let port = self.found.get(slot).map_or(0, |port| port.ifindex);
        (port, ((at >> 19) & 0xfff) as u16, at as u8)
    }
}
