//! What is known of the router around the connections: devices, addresses, neighbours, plans.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;

use kernel::{Address, Link, Mac};

use crate::action::Millis;
use crate::ports::{PortFacts, PortPlan};
use crate::stations::Stations;

/// Most neighbours remembered. The kernel's default limit is 1024 per family; a router that raised
/// it beyond this one pays with the end of all proofs for each change among the rest.
pub(crate) const NEIGHBOURS_MAX: usize = 16_384;

/// Numbers next to values: the generation of the dump by which each was last seen.
#[derive(Default)]
pub(crate) struct Surroundings {
    pub(crate) links: BTreeMap<u32, (Link, u32)>,
    pub(crate) addresses: HashMap<Address, u32>,
    /// Address → on how many devices.
    owned: HashMap<IpAddr, u32>,
    pub(crate) neighbours: HashMap<(u32, IpAddr), (Mac, u32)>,
    pub(crate) facts: HashMap<u32, PortFacts>,
    pub(crate) plans: BTreeMap<u32, PortPlan>,
    /// What was last said of which device stands on which.
    pub(crate) stacks: Vec<(u32, u32)>,
    /// Something that plans are made of changed since they were made.
    pub(crate) unplanned: bool,
    /// Port of a bridge, or bridge → what stands for its VLANs.
    pub(crate) vlans: HashMap<u32, u64>,
    pub(crate) stations: Stations,
    /// In which time the most forgetful bridge forgets a station.
    pub(crate) shortest_ageing: Option<Millis>,
    /// Hardware addresses whose proofs are to end, and where they were; too many to be told apart
    /// when there is one more than [`CHANGES_MAX`](crate::stations::CHANGES_MAX).
    pub(crate) changed: BTreeSet<(u32, Mac)>,
    /// Ids of XDP programs that were seen on a device while one was planned there: weir's own.
    pub(crate) programs: HashMap<u32, u32>,
}

impl Surroundings {
    /// Whether this is an address of the router.
    pub(crate) fn ours(&self, address: &IpAddr) -> bool {
        self.owned.contains_key(address)
    }

    /// Notes an address; whether it is new on its device.
    pub(crate) fn add_address(&mut self, address: Address, seen: u32) -> bool {
        if self.addresses.insert(address, seen).is_some() {
            return false;
        }
        *self.owned.entry(address.address).or_default() += 1;
        true
    }

    /// Drops an address; whether it was known on its device.
    pub(crate) fn remove_address(&mut self, address: &Address) -> bool {
        if self.addresses.remove(address).is_none() {
            return false;
        }
        if let Some(count) = self.owned.get_mut(&address.address) {
            *count -= 1;
            if *count == 0 {
                self.owned.remove(&address.address);
            }
        }
        true
    }

    /// The device's name, for messages.
    pub(crate) fn name(&self, link: u32) -> String {
        self.links
            .get(&link)
            .map_or_else(|| link.to_string(), |(link, _)| link.name.clone())
    }
}

/// Whether the difference between two states of a device can change how a packet is forwarded
/// through it.
pub(crate) fn matters(old: &Link, new: &Link) -> bool {
    let look = |link: &Link| {
        let own = (link.up, link.mac, link.mtu, link.master, link.group);
        (own, link.vlan, link.settings, link.port)
    };
    look(old) != look(new) || old.name != new.name || old.qdisc != new.qdisc
}
