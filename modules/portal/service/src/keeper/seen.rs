//! What the kernel tells of devices, their addresses and their connections.

use std::collections::HashSet;
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use kernel::io::Policy;
use kernel::{Connection, ConnectionId, Mac, Neighbour, Protocol};
use tracing::{debug, warn};

use super::Keeper;
use runtime::daemon::Router;

/// After so long the kernel has told of all devices that were there at the start.
const TOLD: Duration = Duration::from_secs(2);

/// Port of names.
const DNS: u16 = 53;

/// Devices and questions of each that are remembered.
const MOST_BROUGHT: usize = 4096;
const MOST_OF_ONE: usize = 64;

/// Addresses of which is asked in a second whose they are.
const MOST_ASKED: usize = 256;

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

    /// Addresses that the kernel knows of a device.
    pub(super) fn addresses(&self, mac: Mac, router: &Router) -> Vec<IpAddr> {
        let here = self.links(router);
        let neighbours = router.core.neighbours();
        let own = neighbours.filter(|n| n.mac == Some(mac) && here.contains(&n.link));
        own.map(|neighbour| neighbour.address).collect()
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
    /// knows yet, as IPv6 has many, and as one that knows the router already does after its IPv4 address
    /// changed: whose it is is asked at once, as answers wait for that.
    pub fn began(&mut self, source: IpAddr, router: &Router) {
        if self.guests.knows(&source) || self.asked.len() >= MOST_ASKED {
            return;
        }
        if !self.asked.insert(source) {
            return;
        }
        let link = match source {
            IpAddr::V4(_) => self.way_to(source, router),
            IpAddr::V6(own) => self.beside(own, router),
        };
        if let Some(link) = link
            && let Err(error) = kernel::io::ask_neighbours(link, &[source])
        {
            warn!(%error, %source, "who has this address cannot be asked");
        }
    }

    /// The device of the portal behind which an address is, by the routes.
    fn way_to(&self, address: IpAddr, router: &Router) -> Option<u32> {
        let way = Policy::open().and_then(|mut policy| policy.way_to(address));
        let link = way.unwrap_or_else(|error| {
            debug!(%error, %address, "the way to this address cannot be asked for");
            None
        });
        link.filter(|link| self.links(router).contains(link))
    }

    /// The device of the portal on which the router has an address of the same network.
    fn beside(&self, own: Ipv6Addr, router: &Router) -> Option<u32> {
        if own.is_unicast_link_local() {
            return None;
        }
        let here = self.links(router);
        let beside = |address: &kernel::Address| match address.address {
            IpAddr::V6(ours) => ours.segments()[..4] == own.segments()[..4],
            IpAddr::V4(_) => false,
        };
        let mut addresses = router.core.addresses();
        let found = addresses.find(|a| here.contains(&a.link) && beside(a) && a.address != own);
        found.map(|address| address.link)
    }
}
