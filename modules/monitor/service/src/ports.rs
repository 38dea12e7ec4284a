//! Ports with a meter: attached when they appear, detached when they disappear.

use std::collections::{BTreeMap, BTreeSet};

use datapath::meter::Meter;
use kernel::{Event, Link, Source};
use monitor_core::Monitor;
use tracing::{debug, info};

use super::export::Export;
use super::plan::{self, PlannedPort};
use super::uplinks::Uplinks;
use runtime::daemon::netdev;

/// Ports at which is counted, and the uplinks among all devices.
pub struct Ports {
    /// True if packets with names are copied.
    copies: bool,
    metered: BTreeMap<u32, PlannedPort>,
    uplinks: Uplinks,
    /// Devices that led to an uplink since weir started.
    led_out: BTreeSet<u32>,
    /// Devices that lead to no uplink, and did not before.
    inside: BTreeSet<u32>,
    /// True if routes or devices changed since they were last read.
    stale: bool,
    /// True if the first list of devices has just become complete.
    listed: bool,
    /// True once that list is complete: until then, missing devices are unknown.
    complete: bool,
}

impl Ports {
    /// Creates the ports. `copies`: packets with names are copied.
    pub fn new(copies: bool) -> Self {
        Self {
            copies,
            metered: BTreeMap::new(),
            uplinks: Uplinks::default(),
            led_out: BTreeSet::new(),
            inside: BTreeSet::new(),
            stale: true,
            listed: false,
            complete: false,
        }
    }

    /// Handles an event of the kernel.
    pub fn on_event(&mut self, event: &Event) {
        match event {
            Event::LinkGone(link) => {
                // The kernel may reuse the index.
                self.led_out.remove(link);
                self.stale = true;
            }
            Event::Link(_) | Event::Routing => self.stale = true,
            Event::DumpEnd(Source::Route) => (self.listed, self.complete) = (true, true),
            _ => {}
        }
    }

    /// Marks devices and routes for another reading.
    pub fn look_again(&mut self) {
        self.stale = true;
    }

    /// Returns true, once, if devices or routes changed; not before the first list of devices is
    /// complete: unlisted devices would seem to be gone.
    pub fn take_stale(&mut self) -> bool {
        self.complete && std::mem::take(&mut self.stale)
    }

    /// Returns true, once, if the list of devices has just become complete.
    pub fn take_listed(&mut self) -> bool {
        std::mem::take(&mut self.listed)
    }

    /// Returns true once the list of devices is complete.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    pub fn get(&self, link: u32) -> Option<&PlannedPort> {
        self.metered.get(&link)
    }

    pub fn links(&self) -> impl Iterator<Item = u32> {
        self.metered.keys().copied()
    }

    pub fn uplinks(&self) -> &Uplinks {
        &self.uplinks
    }

    /// Returns true if a device leads to no uplink, and did not before.
    pub fn is_inside(&self, link: u32) -> bool {
        self.inside.contains(&link)
    }

    /// Counts only at the ports among these devices. Returns new ports.
    pub fn attach<'a>(
        &mut self,
        links: impl Iterator<Item = &'a Link> + Clone,
        meter: &mut Meter,
        core: &mut Monitor,
        mut export: Option<&mut Export>,
    ) -> Vec<u32> {
        match Uplinks::read() {
            Some(uplinks) => self.uplinks = uplinks,
            // The next attempt is in a second.
            None => self.stale = true,
        }
        let wanted = plan::metered(links.clone(), &self.uplinks);
        self.led_out.extend(self.uplinks.leads_out(links.clone()));
        self.inside = self.uplinks.inside(links.clone(), &self.led_out);
        meter.set_inside(&self.inside);
        let networks = self.uplinks.networks(links, wanted.keys().copied());
        core.set_networks(networks);
        for link in self
            .metered
            .keys()
            .filter(|link| !wanted.contains_key(link))
        {
            meter.detach(*link);
            core.remove_port(*link);
            if let Some(export) = &mut export {
                export.port_gone(*link);
            }
        }
        let mut metered = BTreeMap::new();
        for (link, port) in wanted {
            if let Err(error) = meter.attach(link, &port.name, port.raw, self.copies) {
                debug!(device = port.name, %error, "cannot count the device");
                core.remove_port(link);
                continue;
            }
            let vlans = port.vlans.clone();
            core.set_port_with_vlans(link, &port.name, port.uplink, vlans);
            if let Some(export) = &mut export {
                export.port(link, &port.name);
            }
            metered.insert(link, port);
        }
        let known = std::mem::replace(&mut self.metered, metered);
        let new = self.metered.keys().copied();
        new.filter(|link| !known.contains_key(link)).collect()
    }

    /// Records once the traffic that devices counted before they were attached: `weir devices
    /// --equation` shows it as *before*.
    pub fn log_earlier_traffic(&self, new: &[u32], core: &Monitor) {
        let text = std::fs::read_to_string(netdev::FILE).unwrap_or_default();
        let all = netdev::parse(&text);
        for link in new {
            let Some(device) = self.metered.get(link).map(|port| port.name.as_str()) else {
                continue;
            };
            let all = all.get(device).copied().unwrap_or_default();
            let port = core.ports().find(|(of, _)| *of == *link);
            let counted = port.map_or([0; 2], |(_, port)| port.counters().map(|way| way.packets()));
            let packets_in = all.packets_in.saturating_sub(counted[0]);
            let packets_out = all.packets_out.saturating_sub(counted[1]);
            info!(
                device,
                packets_in, packets_out, "counting starts; the device had counted before"
            );
        }
    }
}
