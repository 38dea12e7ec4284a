//! A station.

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr};

use kernel::Mac;

use crate::apps::Application;
use crate::count::{Counts, Traffic};
use crate::latency::{Latency, Side};
use crate::rate::Rate;
use crate::reading::Millis;

/// Most addresses remembered of one.
const ADDRESSES: usize = 16;
/// Bits per second at which a device counts as transferring data rather than browsing.
const LOAD: u64 = 1_000_000;

/// A station: any host with a hardware address of its own at a port.
#[derive(Clone, Debug)]
pub struct Device {
    /// Hardware address of the device.
    pub mac: Mac,
    /// Port at which it was last seen, index of the device.
    pub port: u32,
    /// VLAN there; 0 for none.
    pub vlan: u16,
    /// Addresses that the device used, the latest first.
    pub used_addresses: VecDeque<IpAddr>,
    /// All traffic.
    pub total: Counts,
    /// Part of the total that crossed an uplink.
    pub internet: Counts,
    /// Part of the total that weir forwarded.
    pub forwarded: Counts,
    /// Now.
    pub rate: Rate,
    /// Part of the rate that crosses an uplink.
    pub internet_rate: Rate,
    /// The most that it had, bits a second, one way.
    pub peak: u64,
    /// Waiting times of the device's TCP.
    pub latency: Latency,
    /// Usage per application since the last call, if usage is collected.
    pub usage: Vec<(Application, Traffic)>,
    /// Conversations that are remembered.
    pub conversations: u64,
    /// Time of the first packet.
    pub first: Millis,
    /// Time of the last packet.
    pub last: Millis,
}

impl Device {
    /// Creates a device without traffic.
    pub fn new(mac: Mac, port: u32, vlan: u16, now: Millis) -> Self {
        Self {
            mac,
            port,
            vlan,
            used_addresses: VecDeque::new(),
            total: Counts::default(),
            internet: Counts::default(),
            forwarded: Counts::default(),
            rate: Rate::default(),
            internet_rate: Rate::default(),
            peak: 0,
            latency: Latency::default(),
            usage: Vec::new(),
            conversations: 0,
            first: now,
            last: now,
        }
    }

    /// Adds to the sums by destination: `crosses` an uplink, or not. The total has the traffic
    /// already. `gathers`: usage by application is collected.
    pub(crate) fn add_usage(
        &mut self,
        gathers: bool,
        application: Application,
        more: Counts,
        crosses: bool,
    ) {
        if crosses {
            self.internet += more;
            self.internet_rate.add(more);
        }
        if !gathers || more == Counts::default() {
            return;
        }
        let more = Traffic::new(more, crosses);
        match self.usage.iter_mut().find(|(what, _)| *what == application) {
            Some((_, sum)) => *sum += more,
            None => self.usage.push((application, more)),
        }
    }

    /// Returns the traffic that did not cross an uplink.
    pub fn lan(&self) -> Counts {
        self.total.since(&self.internet)
    }

    /// Bits a second that do not cross an uplink.
    pub fn lan_rate(&self) -> Rate {
        self.rate.without(&self.internet_rate)
    }

    /// Advances the clock by a second or more.
    pub fn advance(&mut self, millis: u64) {
        self.rate.turn(millis);
        self.internet_rate.turn(millis);
        self.peak = self.peak.max(self.rate.sent).max(self.rate.received);
    }

    /// Returns true if the device transfers much, compared with its peak.
    fn is_loaded(&self) -> bool {
        let rate = self.rate.sent.max(self.rate.received);
        rate >= LOAD && rate >= self.peak / 4
    }

    /// Adds TCP round-trip times in microseconds, to the remote end and to the station, and
    /// retransmitted segments.
    pub fn add_rtt(&mut self, waits: [Option<u32>; 2], again: u64, now: Millis) {
        let loaded = self.is_loaded();
        for (side, wait) in [Side::Remote, Side::Station].into_iter().zip(waits) {
            if let Some(wait) = wait {
                self.latency.add(side, wait, loaded, now);
            }
        }
        self.latency.retransmits += again;
    }

    /// Returns true if the station sent with several IPv4 addresses, with a public one, or with
    /// many IPv6 addresses: a router forwards packets of others.
    pub fn is_router(&self) -> bool {
        let of_lan = |address: &Ipv4Addr| address.is_private() || address.is_link_local();
        let ipv4: Vec<Ipv4Addr> = self.used_addresses.iter().filter_map(ipv4).collect();
        ipv4.len() > 1 || !ipv4.iter().all(of_lan) || self.used_addresses.len() > 4
    }

    /// Records an address that the station uses.
    pub fn add_address(&mut self, address: IpAddr) {
        if self.used_addresses.front() == Some(&address) {
            return;
        }
        self.used_addresses.retain(|known| *known != address);
        if self.used_addresses.len() >= ADDRESSES {
            // Devices have many of IPv6, and few of IPv4.
            let oldest = self.used_addresses.iter().rposition(IpAddr::is_ipv6);
            self.used_addresses.remove(oldest.unwrap_or(ADDRESSES - 1));
        }
        self.used_addresses.push_front(address);
    }
}

/// All stations: a bounded number.
#[derive(Debug)]
pub(crate) struct Devices {
    most: usize,
    by_mac: HashMap<Mac, Device>,
    /// Usage by application is asked for.
    gathers: bool,
}

impl Devices {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            by_mac: HashMap::new(),
            gathers: false,
        }
    }

    pub(crate) fn gather_usage(&mut self) {
        self.gathers = true;
    }

    pub(crate) fn gathers(&self) -> bool {
        self.gathers
    }

    /// Takes usage by application, except for uplink stations.
    pub(crate) fn take_usage(
        &mut self,
        is_uplink: impl Fn(&Device) -> bool,
    ) -> HashMap<(Mac, Application), Traffic> {
        let mut usage = HashMap::new();
        for device in self.by_mac.values_mut() {
            let used = std::mem::take(&mut device.usage);
            if !is_uplink(device) {
                let used = used.into_iter();
                usage.extend(used.map(|(what, traffic)| ((device.mac, what), traffic)));
            }
        }
        usage
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &Device> {
        self.by_mac.values()
    }

    pub(crate) fn get(&self, mac: &Mac) -> Option<&Device> {
        self.by_mac.get(mac)
    }

    pub(crate) fn get_mut(&mut self, mac: &Mac) -> Option<&mut Device> {
        self.by_mac.get_mut(mac)
    }

    /// Returns the station with this hardware address, and adds it if necessary. `None`: not a
    /// station, or no room.
    pub(crate) fn station(
        &mut self,
        mac: Mac,
        port: u32,
        vlan: u16,
        now: Millis,
    ) -> Option<&mut Device> {
        if !net::mac::is_station(&mac)
            || (self.by_mac.len() >= self.most && !self.by_mac.contains_key(&mac))
        {
            return None;
        }
        let device = self.by_mac.entry(mac);
        Some(device.or_insert_with(|| Device::new(mac, port, vlan, now)))
    }

    /// Advances the clock of all devices.
    pub(crate) fn turn(&mut self, millis: u64) {
        for device in self.by_mac.values_mut() {
            device.advance(millis);
        }
    }
}

fn ipv4(address: &IpAddr) -> Option<Ipv4Addr> {
    match address {
        IpAddr::V4(address) => Some(*address),
        IpAddr::V6(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_hands_on_what_others_send_is_a_router() {
        for (used, router) in [
            (&["192.168.1.7"][..], false),
            (
                &["192.168.1.7", "fe80::7", "2001:db8::7", "2001:db8::8"],
                false,
            ),
            (&["fe80::1", "198.51.100.1"], true),
            (&["192.168.1.7", "192.168.1.8"], true),
            (
                &[
                    "fe80::1",
                    "2001:db8::1",
                    "2001:db8::2",
                    "2001:db8::3",
                    "2001:db8::4",
                ],
                true,
            ),
        ] {
            let mut device = Device::new([2, 0, 0, 0, 0, 1], 1, 0, 0);
            for address in used {
                device.add_address(address.parse().expect("an address"));
            }
            assert_eq!(device.is_router(), router, "{used:?}");
        }
    }
}
