//! Counts forwarded traffic: the sum over live and ended flows, and per device.

use std::collections::HashMap;

use datapath::{Datapath, Encapsulation, Ingress, TrafficDelta};
use kernel::route::vlans::VlanTagging;
use kernel::{Event, Link};

use super::counters::ledger::{ForwardedTraffic, Ledger};
use super::counters::paths::{Paths, Side};

/// Sums that only grow.
#[derive(Default)]
pub struct Account {
    /// Packets forwarded at XDP since the start.
    pub xdp_packets: u64,
    /// Packets forwarded at TC.
    pub tc_packets: u64,
    /// Bytes of their IP packets.
    pub bytes: u64,
    /// By device.
    pub ledger: Ledger,
    /// Stacked devices at the last read of the flows; `None` if they changed since.
    paths: Option<Paths>,
    /// Ports by their slot. One that is no port any more stays, as its flows' last packets may not
    /// be counted yet.
    ports: HashMap<u32, u32>,
    /// Traffic that is not in the ledger yet, by ingress.
    came: HashMap<Ingress, ForwardedTraffic>,
    /// Not yet in the ledger, by the hop they left by.
    left: HashMap<u32, ForwardedTraffic>,
    /// Traffic for modules, if a module uses it.
    shared: Option<Vec<TrafficDelta>>,
}

impl Account {
    /// Begins to collect traffic for [`Account::take_shared`].
    pub fn share(&mut self) {
        self.shared.get_or_insert_default();
    }

    /// Takes the growth since the last call.
    pub fn take_shared(&mut self) -> Vec<TrafficDelta> {
        self.shared.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// The port of a slot.
    pub fn port_of(&self, slot: u32) -> Option<u32> {
        self.ports.get(&slot).copied()
    }

    /// Takes the traffic that a flow forwarded since the last read, and returns the bytes.
    /// [`Account::settle`] computes the devices' counts.
    pub fn read(&mut self, path: &mut Datapath, flow: u32) -> u64 {
        let mut octets = 0;
        path.take_traffic(flow, |growth| {
            octets += growth.bytes;
            self.add(&growth);
        });
        octets
    }

    /// Adds a part of a flow's forwarded traffic.
    pub fn add(&mut self, growth: &TrafficDelta) {
        *(if growth.xdp {
            &mut self.xdp_packets
        } else {
            &mut self.tc_packets
        }) += growth.packets;
        self.bytes += growth.bytes;
        if let Some(shared) = &mut self.shared {
            shared.push(*growth);
        }
        // No device above the port would have counted it; the port's own counters have it where the
        // driver counts.
        if growth.bridged {
            return;
        }
        let passed = ForwardedTraffic {
            packets: growth.packets,
            bytes: growth.bytes,
        };
        self.came.entry(growth.ingress).or_default().add(passed);
        self.left.entry(growth.hop).or_default().add(passed);
    }

    /// A device is a port.
    pub fn port(&mut self, slot: u32, link: u32) {
        self.ports.insert(slot, link);
    }

    /// Returns true if [`Account::devices`] must be called before the next [`Account::settle`].
    pub fn is_stale(&self) -> bool {
        self.paths.is_none()
    }

    /// Devices are not what they were. What was forwarded before is settled first.
    pub fn changed(&mut self) {
        self.paths = None;
    }

    /// Removes a device.
    pub fn gone(&mut self, link: u32) {
        self.ledger.gone(link);
        self.ports.retain(|_, port| *port != link);
    }

    /// Sets the current devices, and how bridges that filter VLANs, and their ports, tag.
    pub fn devices<'a>(
        &mut self,
        links: impl IntoIterator<Item = &'a Link>,
        taggings: Vec<VlanTagging>,
    ) {
        let paths = Paths::new(links, taggings);
        self.ledger.keep(&paths);
        self.paths = Some(paths);
    }

    /// Adds the traffic of the last read to the ledger.
    pub fn settle(&mut self, path: &mut Datapath) {
        let Some(paths) = &mut self.paths else {
            return;
        };
        let (ports, ledger) = (&self.ports, &mut self.ledger);
        for (came_in, passed) in self.came.drain() {
            if let Some(port) = ports.get(&came_in.port) {
                ledger.add(paths, Side::In, *port, &came_in.behind, passed);
            }
        }
        if !self.left.is_empty() {
            for hop in path.hops() {
                let Some(passed) = self.left.remove(&hop.index) else {
                    continue;
                };
                let (mut behind, _) = Encapsulation::of_header(&hop.header);
                if hop.switched {
                    behind = Encapsulation {
                        switch_port: Some(0),
                        ..Encapsulation::default()
                    };
                }
                ledger.add(
                    paths,
                    Side::Out,
                    hop.link,
                    &behind.without_priorities(),
                    passed,
                );
            }
            // Hops without events: none exist, as flows are read before hops are forgotten.
            self.left.clear();
        }
        if self.ledger.waits() {
            let told = path.session_devices();
            paths.learn(told.into_iter().filter_map(|(came_in, device)| {
                Some(((*ports.get(&came_in.port)?, came_in.behind), device))
            }));
            self.ledger.retry(paths);
        }
    }
}

/// Changes to devices, and to those stacked on them, in a batch of events.
#[derive(Default)]
pub struct DeviceChanges {
    /// True if the stacking of devices may have changed.
    pub changed: bool,
    /// Removed devices.
    pub gone: Vec<u32>,
}

impl DeviceChanges {
    /// Adds one event.
    pub fn on_event(&mut self, event: &Event) {
        self.changed |= matches!(
            event,
            Event::Link(_) | Event::LinkGone(_) | Event::Bridging(_) | Event::BridgeVlan(_)
        );
        if let Event::LinkGone(link) = event {
            self.gone.push(*link);
        }
    }
}
