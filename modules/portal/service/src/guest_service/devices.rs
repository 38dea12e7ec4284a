//! Devices of the portal, and the neighbours behind them.

use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

use kernel::io::Policy;
use kernel::{Connection, ConnectionId, Mac, Neighbour, Protocol};
use tracing::{debug, warn};

use runtime::daemon::Router;

/// Time after which the kernel has listed all devices at the start.
const TOLD: Duration = Duration::from_secs(2);

/// Port of names.
const DNS: u16 = 53;

/// Devices and questions of each that are remembered.
const MOST_BROUGHT: usize = 4096;
const MOST_OF_ONE: usize = 64;

/// Maximum number of address look-ups per second.
const MOST_ASKED: usize = 256;

/// The router's devices with guests behind them.
pub struct PortalDevices {
    names: Vec<String>,
    began: Instant,
    /// True if devices of the router appeared, disappeared or were renamed since they were last
    /// read.
    changed: bool,
    /// Devices of the portal that are not there.
    missing: Vec<String>,
    /// Addresses looked up in this second.
    asked: HashSet<IpAddr>,
}

impl PortalDevices {
    pub fn new(names: &[String]) -> Self {
        Self {
            names: names.to_owned(),
            began: Instant::now(),
            changed: true,
            missing: Vec::new(),
            asked: HashSet::new(),
        }
    }

    /// Sets the devices of the portal.
    pub fn configure(&mut self, names: &[String]) {
        names.clone_into(&mut self.names);
    }

    /// Handles changed devices of the router.
    pub fn on_link(&mut self) {
        self.changed = true;
    }

    /// Indexes of the devices.
    pub fn links(&self, router: &Router) -> HashSet<u32> {
        let links = router.core.links();
        let links = links.filter(|link| self.names.contains(&link.name));
        links.map(|link| link.index).collect()
    }

    /// Returns all neighbours behind the devices.
    pub fn neighbours<'a>(&self, router: &'a Router) -> impl Iterator<Item = Neighbour> + use<'a> {
        let here = self.links(router);
        let all = router.core.neighbours();
        all.filter(move |neighbour| here.contains(&neighbour.link))
    }

    /// Returns the guest's device with an address.
    pub fn mac(&self, address: IpAddr, router: &Router) -> Option<Mac> {
        let mut all = self.neighbours(router);
        all.find(|neighbour| neighbour.address == address)?.mac
    }

    /// Returns the addresses of a guest's device that the kernel knows.
    pub fn addresses(&self, mac: Mac, router: &Router) -> Vec<IpAddr> {
        let own = self.neighbours(router).filter(|n| n.mac == Some(mac));
        own.map(|neighbour| neighbour.address).collect()
    }

    /// Begins another second of address look-ups. Logs which devices of the portal are missing: the
    /// portal does not block their guests. Blocks at first, as the kernel lists devices one by one.
    pub fn tick(&mut self, router: &Router) {
        self.asked.clear();
        if self.began.elapsed() < TOLD || !std::mem::take(&mut self.changed) {
            return;
        }
        let there: HashSet<String> = router.core.links().map(|link| link.name.clone()).collect();
        let devices = self.names.iter();
        let missing: Vec<String> = devices
            .filter(|name| !there.contains(*name))
            .cloned()
            .collect();
        for device in missing.iter().filter(|name| !self.missing.contains(name)) {
            warn!(
                device,
                "missing device of the portal: guests on a renamed device are not kept out"
            );
        }
        self.missing = missing;
    }

    /// Looks up the device behind an unknown address that began a connection. An admitted device
    /// may have new addresses, as with IPv6, or after a change of its IPv4 address: the look-up is
    /// immediate, because answers wait for the result.
    pub fn ask(&mut self, source: IpAddr, router: &Router) {
        if self.asked.len() >= MOST_ASKED || !self.asked.insert(source) {
            return;
        }
        let link = match source {
            IpAddr::V4(_) => self.way_to(source, router),
            IpAddr::V6(own) => self.port_of_prefix(own, router),
        };
        if let Some(link) = link
            && let Err(error) = kernel::io::resolve_neighbours(link, &[source])
        {
            warn!(%error, %source, "cannot query the neighbour table for this address");
        }
    }

    /// Returns the device of the portal that the routes use for an address.
    fn way_to(&self, address: IpAddr, router: &Router) -> Option<u32> {
        let way = Policy::open().and_then(|mut policy| policy.way_to(address));
        let link = way.unwrap_or_else(|error| {
            debug!(%error, %address, "cannot look up the route to this address");
            None
        });
        link.filter(|link| self.links(router).contains(link))
    }

    /// Returns the device of the portal on which the router has an address of the same network.
    fn port_of_prefix(&self, own: Ipv6Addr, router: &Router) -> Option<u32> {
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

/// DNS queries that were redirected to this router, by client. After the log-in, conntrack would
/// redirect more queries of the same connections.
#[derive(Default)]
pub struct NameQueries(HashMap<IpAddr, Vec<ConnectionId>>);

impl NameQueries {
    /// Handles a new connection of conntrack. `port`: port of the portal's name service.
    pub fn add(&mut self, connection: &Connection, port: u16) {
        let original = connection.id.original;
        let brought = original.protocol == Protocol::Udp
            && original.destination_port == DNS
            && connection.reply.source_port == port;
        if !brought {
            return;
        }
        if self.0.len() >= MOST_BROUGHT && !self.0.contains_key(&original.source) {
            self.0.clear();
        }
        let of = self.0.entry(original.source).or_default();
        if of.len() < MOST_OF_ONE {
            of.push(connection.id);
        }
    }

    /// Handles the end of a connection.
    pub fn gone(&mut self, id: &ConnectionId) {
        if let Some(of) = self.0.get_mut(&id.original.source) {
            of.retain(|one| one != id);
            if of.is_empty() {
                self.0.remove(&id.original.source);
            }
        }
    }

    /// Removes the DNS queries of an address from conntrack.
    pub fn forget(&mut self, address: &IpAddr) {
        let brought = self.0.remove(address).unwrap_or_default();
        if let Err(error) = kernel::io::delete_connections(&brought) {
            warn!(%error, "cannot remove conntrack entries: conntrack still redirects this guest's name queries");
        }
    }
}
