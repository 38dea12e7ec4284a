//! At which ports is counted: attached where they come, taken off where they go.

use std::collections::BTreeMap;

use kernel::Link;
use tracing::{debug, info};

use super::keeper::Keeper;
use super::plan;
use super::uplinks::Uplinks;
use runtime::daemon::netdev;

impl Keeper {
    /// Looks at devices and routes again, where they changed, and at none before all devices were
    /// told of: those that were not would seem to be gone. Due every second, and before something
    /// is told of a port.
    pub fn look<'a>(&mut self, links: impl Iterator<Item = &'a Link> + Clone) {
        if self.complete && std::mem::take(&mut self.stale) {
            self.attach(links);
        }
    }

    /// Counts at those of these devices that are ports, and at no other.
    pub fn attach<'a>(&mut self, links: impl Iterator<Item = &'a Link> + Clone) {
        match Uplinks::read() {
            Some(uplinks) => self.uplinks = uplinks,
            // They are looked at again in a second.
            None => self.stale = true,
        }
        let wanted = plan::metered(links.clone(), &self.uplinks);
        self.led_out.extend(self.uplinks.leads_out(links.clone()));
        self.inside = self.uplinks.inside(links.clone(), &self.led_out);
        self.meter.set_inside(&self.inside);
        let networks = self.uplinks.networks(links, wanted.keys().copied());
        self.core.networks(networks);
        for link in self
            .metered
            .keys()
            .filter(|link| !wanted.contains_key(link))
        {
            self.meter.detach(*link);
            self.core.port_gone(*link);
            if let Some(export) = &mut self.export {
                export.port_gone(*link);
            }
        }
        let mut metered = BTreeMap::new();
        for (link, port) in wanted {
            if let Err(error) = self.meter.attach(link, &port.name, port.raw, self.copies) {
                debug!(device = port.name, %error, "is not counted");
                self.core.port_gone(link);
                continue;
            }
            let vlans = port.vlans.clone();
            self.core
                .port_with_vlans(link, &port.name, port.uplink, vlans);
            if let Some(export) = &mut self.export {
                export.port(link, &port.name);
            }
            metered.insert(link, port);
        }
        let known = std::mem::replace(&mut self.metered, metered);
        let new = self.metered.keys().copied();
        let new: Vec<u32> = new.filter(|link| !known.contains_key(link)).collect();
        if !new.is_empty() {
            self.tell_before(&new);
        }
    }

    /// Tells once what devices counted before they are counted here: `weir devices --equation` has
    /// it as *before*.
    fn tell_before(&mut self, new: &[u32]) {
        // It counts already.
        self.read();
        let text = std::fs::read_to_string(netdev::FILE).unwrap_or_default();
        let all = netdev::parse(&text);
        for link in new {
            let Some(device) = self.metered.get(link).map(|port| port.name.as_str()) else {
                continue;
            };
            let all = all.get(device).copied().unwrap_or_default();
            let port = self.core.ports().find(|(of, _)| *of == *link);
            let counted = port.map_or([0; 2], |(_, port)| port.metered().map(|way| way.packets()));
            let packets_in = all.packets_in.saturating_sub(counted[0]);
            let packets_out = all.packets_out.saturating_sub(counted[1]);
            info!(
                device,
                packets_in, packets_out, "counts; before that passed"
            );
        }
    }

    /// Looks at once where all devices were told of just now, and not a second later: at the start
    /// nothing is to pass uncounted.
    pub fn settled<'a>(&mut self, links: impl Iterator<Item = &'a Link> + Clone) {
        if std::mem::take(&mut self.listed) {
            self.look(links);
        }
    }
}
