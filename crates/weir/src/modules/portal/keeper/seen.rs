//! What the kernel tells of devices, their addresses and their connections.

use std::collections::HashSet;
use std::net::IpAddr;
use std::time::Duration;

use kernel::{Connection, ConnectionId, Mac, Neighbour, Protocol};
use tracing::warn;

use super::Keeper;
use crate::daemon::Router;

/// After so long the kernel has told of all devices that were there at the start.
const TOLD: Duration = Duration::from_secs(2);

/// Port of names.
const DNS: u16 = 53;

/// Devices and questions of each that are remembered.
const MOST_BROUGHT: usize = 4096;
const MOST_OF_ONE: usize = 64;

impl Keeper {
    /// Which device has an address, behind a device of the portal.
    pub fn device(&self, address: IpAddr, router: &Router) -> Option<Mac> {
        let here: HashSet<u32> = self.links(router);
        let mut neighbours = router.core.neighbours();
        let found = neighbours.find(|n| n.address == address && here.contains(&n.link))?;
        found.mac
    }

    pub(super) fn links(&self, router: &Router) -> HashSet<u32> {
        let links = router.core.links();
        let links = links.filter(|link| self.portal.devices.contains(&link.name));
        links.map(|link| link.index).collect()
    }

    /// Lets a device in from the addresses that the kernel knows of it.
    pub(super) fn find(&mut self, mac: Mac, router: &Router) {
        let (here, now) = (self.links(router), self.now());
        for neighbour in router.core.neighbours() {
            if neighbour.mac == Some(mac) && here.contains(&neighbour.link) {
                self.guests
                    .seen(mac, neighbour.address, now, &mut self.changes);
            }
        }
    }

    /// The kernel knows something of a neighbour.
    pub fn heard(&mut self, neighbour: &Neighbour, router: &mut Router) {
        self.notice(neighbour, router);
        self.settle(router);
    }

    pub(super) fn notice(&mut self, neighbour: &Neighbour, router: &Router) {
        // One that is not heard of for a while is still whose it was.
        let Some(mac) = neighbour.mac else { return };
        let concerns = self.guests.guest(&mac).is_some() || self.guests.knows(&neighbour.address);
        if concerns && self.links(router).contains(&neighbour.link) {
            let now = self.now();
            self.guests
                .seen(mac, neighbour.address, now, &mut self.changes);
        }
    }

    /// Says which devices of the portal are not there: nobody is kept out who comes by them. Not at
    /// once, as the kernel tells of devices one by one.
    pub fn look_for_devices(&mut self, router: &Router) {
        if self.began.elapsed() < TOLD || !std::mem::take(&mut self.devices_changed) {
            return;
        }
        let there: HashSet<String> = router.core.links().map(|link| link.name.clone()).collect();
        let devices = self.portal.devices.iter();
        let missing: Vec<String> = devices
            .filter(|name| !there.contains(*name))
            .cloned()
            .collect();
        for device in missing.iter().filter(|name| !self.missing.contains(name)) {
            warn!(
                device,
                "a device of the portal is not there: whoever comes by another is not kept out"
            );
        }
        self.missing = missing;
    }

    /// A connection is known to conntrack.
    pub fn connected(&mut self, connection: &Connection) {
        let original = connection.id.original;
        let brought = original.protocol == Protocol::Udp
            && original.destination_port == DNS
            && connection.reply.source_port == self.portal.names;
        if !brought || self.guests.knows(&original.source) {
            return;
        }
        if self.brought.len() >= MOST_BROUGHT && !self.brought.contains_key(&original.source) {
            self.brought.clear();
        }
        let of = self.brought.entry(original.source).or_default();
        if of.len() < MOST_OF_ONE {
            of.push(connection.id);
        }
    }

    /// A connection is over.
    pub fn gone(&mut self, id: &ConnectionId) {
        if let Some(of) = self.brought.get_mut(&id.original.source) {
            of.retain(|one| one != id);
            if of.is_empty() {
                self.brought.remove(&id.original.source);
            }
        }
    }

    /// Somebody began a connection. A device that is let in may do so from an address that nobody
    /// knows yet, as IPv6 has many: whose it is is asked at once, as answers wait for that. That of
    /// IPv4 is known from the device's own question for the router.
    pub fn began(&self, source: IpAddr, router: &Router) {
        let IpAddr::V6(own) = source else { return };
        if self.guests.knows(&source) || own.is_unicast_link_local() {
            return;
        }
        let here = self.links(router);
        let beside = |address: &kernel::Address| match address.address {
            IpAddr::V6(ours) => ours.segments()[..4] == own.segments()[..4],
            IpAddr::V4(_) => false,
        };
        let mut addresses = router.core.addresses();
        let link = addresses.find(|a| here.contains(&a.link) && beside(a) && a.address != source);
        if let Some(link) = link.map(|address| address.link)
            && let Err(error) = kernel::io::ask_neighbours(link, &[source])
        {
            warn!(%error, %source, "who has this address cannot be asked");
        }
    }
}
