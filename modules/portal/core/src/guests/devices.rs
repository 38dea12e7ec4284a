//! Admitted devices, and their addresses.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;

use kernel::Mac;

use super::change::Change;

/// Maximum number of addresses of one device: IPv6 addresses change, and a repeater has those of
/// all devices behind it.
pub(super) const ADDRESSES: usize = 64;

/// Admitted device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guest {
    /// Id of its voucher; `None`: it needs none.
    pub voucher: Option<String>,
    /// Ids of those that begin one after the other when that is over.
    pub next: Vec<String>,
    /// Known addresses of the device.
    pub addresses: BTreeSet<IpAddr>,
}

impl Guest {
    pub(super) fn new(voucher: Option<String>) -> Self {
        Self {
            voucher,
            next: Vec::new(),
            addresses: BTreeSet::new(),
        }
    }

    /// Ids of its vouchers, in their order.
    pub fn ids(&self) -> impl Iterator<Item = &String> {
        self.voucher.iter().chain(&self.next)
    }

    /// Returns true if this voucher admits the device now.
    pub(super) fn is_by(&self, id: &str) -> bool {
        self.voucher.as_deref() == Some(id)
    }
}

/// All admitted devices.
#[derive(Clone, Debug, Default)]
pub(super) struct Devices {
    guests: BTreeMap<Mac, Guest>,
    whose: HashMap<IpAddr, Mac>,
}

impl Devices {
    pub fn get(&self, mac: &Mac) -> Option<&Guest> {
        self.guests.get(mac)
    }

    pub fn get_mut(&mut self, mac: &Mac) -> Option<&mut Guest> {
        self.guests.get_mut(mac)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Mac, &Guest)> {
        self.guests.iter()
    }

    pub fn insert(&mut self, mac: Mac, guest: Guest) {
        self.guests.insert(mac, guest);
    }

    /// Returns the entry of a device; a new device gets this voucher.
    pub fn entry(&mut self, mac: Mac, voucher: Option<String>) -> &mut Guest {
        let entry = self.guests.entry(mac);
        entry.or_insert_with(|| Guest::new(voucher))
    }

    /// Returns the device with an address.
    pub fn at(&self, address: &IpAddr) -> Option<Mac> {
        self.whose.get(address).copied()
    }

    /// Gives a device an address. Returns whether the device is one of these.
    pub fn place(&mut self, mac: Mac, address: IpAddr, out: &mut Vec<Change>) -> bool {
        // Any address may be removed: an address in use is observed again.
        if let Some(guest) = self.guests.get(&mac)
            && guest.addresses.len() >= ADDRESSES
            && let Some(old) = guest.addresses.first().copied()
        {
            self.gone(old, out);
        }
        let Some(guest) = self.guests.get_mut(&mac) else {
            return false;
        };
        guest.addresses.insert(address);
        self.whose.insert(address, mac);
        true
    }

    /// Removes an address.
    pub fn gone(&mut self, address: IpAddr, out: &mut Vec<Change>) {
        let Some(mac) = self.whose.remove(&address) else {
            return;
        };
        if let Some(guest) = self.guests.get_mut(&mac) {
            guest.addresses.remove(&address);
        }
        out.push(Change::RemoveAddress(mac, address));
        out.push(Change::EndConnections(address));
    }

    /// Removes a device.
    pub fn refuse(&mut self, mac: Mac, out: &mut Vec<Change>) {
        let Some(guest) = self.guests.remove(&mac) else {
            return;
        };
        out.push(Change::Block(mac));
        for address in guest.addresses {
            self.whose.remove(&address);
            out.push(Change::RemoveAddress(mac, address));
            out.push(Change::EndConnections(address));
        }
    }
}
