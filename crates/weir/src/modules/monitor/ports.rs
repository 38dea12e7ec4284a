//! At which ports is counted: attached where they come, taken off where they go.

use std::collections::BTreeMap;

use kernel::Link;
use tracing::{debug, info};

use super::keeper::Keeper;
use super::plan;
use super::uplinks::Uplinks;
use crate::daemon::netdev;

impl Keeper {
    /// Looks at devices and routes again, where they changed; due every second, and before
    /// something is told of a port.
    pub fn look<'a>(&mut self, links: impl Iterator<Item = &'a Link> + Clone) {
        if !std::mem::take(&mut self.stale) {
            return;
        }
        self.uplinks = Uplinks::read();
        let wanted = plan::metered(links, &self.uplinks);
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
            self.core.port(link, &port.name, port.uplink);
            if let Some(export) = &mut self.export {
                export.port(link, &port.name);
            }
            metered.insert(link, port);
        }
        let new = metered
            .iter()
            .filter(|(link, _)| !self.metered.contains_key(link));
        tell_before(new.map(|(_, port)| port.name.as_str()));
        self.metered = metered;
    }

    /// Looks at once where all devices were told of just now, and not a second later: at the start
    /// nothing is to pass uncounted.
    pub fn settled<'a>(&mut self, links: impl Iterator<Item = &'a Link> + Clone) {
        if std::mem::take(&mut self.listed) {
            self.look(links);
        }
    }
}

/// Tells once what devices counted before they are counted here: `weir devices --equation` has it
/// as *before*.
fn tell_before<'a>(mut devices: impl Iterator<Item = &'a str>) {
    let Some(first) = devices.next() else { return };
    let text = std::fs::read_to_string(netdev::FILE).unwrap_or_default();
    let counted = netdev::parse(&text);
    for device in std::iter::once(first).chain(devices) {
        let before = counted.get(device).copied().unwrap_or_default();
        let (packets_in, packets_out) = (before.packets_in, before.packets_out);
        info!(
            device,
            packets_in, packets_out, "counts; before that passed"
        );
    }
}
