//! Hardware addresses of neighbours, as the kernel knows them.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;

use kernel::Mac;

/// Neighbours, by either address: a bounded number.
#[derive(Debug)]
pub(crate) struct Neighbours {
    most: usize,
    by_address: HashMap<IpAddr, Mac>,
    by_mac: HashMap<Mac, BTreeSet<IpAddr>>,
}

impl Neighbours {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            by_address: HashMap::new(),
            by_mac: HashMap::new(),
        }
    }

    /// Sets or removes the hardware address of a neighbour.
    pub(crate) fn update(&mut self, address: IpAddr, mac: Option<Mac>) {
        if let Some(before) = self.by_address.remove(&address)
            && let Some(known) = self.by_mac.get_mut(&before)
        {
            known.remove(&address);
            if known.is_empty() {
                self.by_mac.remove(&before);
            }
        }
        if let Some(mac) = mac.filter(net::mac::is_station)
            && self.by_address.len() < self.most
        {
            self.by_address.insert(address, mac);
            self.by_mac.entry(mac).or_default().insert(address);
        }
    }

    pub(crate) fn mac_of(&self, address: &IpAddr) -> Option<Mac> {
        self.by_address.get(address).copied()
    }

    pub(crate) fn addresses(&self, mac: &Mac) -> Vec<IpAddr> {
        let known = self.by_mac.get(mac).into_iter().flatten();
        known.copied().collect()
    }
}
