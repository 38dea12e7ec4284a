//! A station.

use std::collections::VecDeque;
use std::net::IpAddr;

use kernel::Mac;

use crate::count::Both;
use crate::rate::Rate;
use crate::reading::Millis;

/// Most addresses remembered of one.
const ADDRESSES: usize = 16;

/// A station: whatever has a hardware address of its own at a port.
#[derive(Clone, Debug)]
pub struct Device {
    /// Its hardware address.
    pub mac: Mac,
    /// Port at which it was last seen, index of the device.
    pub port: u32,
    /// VLAN there; 0 for none.
    pub vlan: u16,
    /// Addresses that it used, the last one first.
    pub used: VecDeque<IpAddr>,
    /// All of it.
    pub total: Both,
    /// Of this, what weir forwarded.
    pub forwarded: Both,
    /// Now.
    pub rate: Rate,
    /// Conversations that are remembered.
    pub talks: u64,
    /// When it was first seen.
    pub first: Millis,
    /// When something was last seen of it.
    pub last: Millis,
}

impl Device {
    /// Nothing is known yet.
    pub fn new(mac: Mac, port: u32, vlan: u16, now: Millis) -> Self {
        Self {
            mac,
            port,
            vlan,
            used: VecDeque::new(),
            total: Both::default(),
            forwarded: Both::default(),
            rate: Rate::default(),
            talks: 0,
            first: now,
            last: now,
        }
    }

    /// It used this address.
    pub fn uses(&mut self, address: IpAddr) {
        if self.used.front() == Some(&address) {
            return;
        }
        self.used.retain(|known| *known != address);
        self.used.truncate(ADDRESSES - 1);
        self.used.push_front(address);
    }
}

/// Whether a hardware address names one station, and not a group or none.
pub fn is_station(mac: &Mac) -> bool {
    mac[0] & 1 == 0 && *mac != [0; 6]
}
