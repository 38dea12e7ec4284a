//! Who talks with whom, and how much: readings in, sums out.

mod counting;
mod judging;
mod telling;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::net::IpAddr;
use std::sync::Arc;

use kernel::{Ends, Mac, TalkKey};

use crate::apps::Application;
use crate::count::{Count, Traffic};
use crate::device::Device;
use crate::names::bounded::Bounded;
use crate::names::{Learned, Names, Source};
use crate::networks::Networks;
use crate::pairs::Pairs;
use crate::port::Port;
use crate::reading::{Millis, Rest};
use crate::talk::{Pressure, Talk, Told};
use crate::talks::{OCTETS, Talks};

/// A port and a VLAN as one number, for [`names`](crate::names).
pub fn place(port: u32, vlan: u16) -> u64 {
    u64::from(port) << 16 | u64::from(vlan)
}

fn at_place(place: u64) -> (u32, u16) {
    ((place >> 16) as u32, place as u16)
}

/// Names that conversations said for themselves before anything else was read of them, of so many
/// at most.
const SAID: usize = 1024;

/// Order of addresses of a station: those that are useful to most come first.
fn scope(address: &IpAddr) -> u8 {
    match address {
        IpAddr::V4(address) => u8::from(address.is_link_local()),
        IpAddr::V6(address) if address.is_unicast_link_local() => 4,
        IpAddr::V6(address) if address.is_unique_local() => 3,
        IpAddr::V6(_) => 2,
    }
}

fn application(key: &TalkKey, name: Option<&str>) -> Application {
    Application::of(key.protocol, key.station_port, key.far_port, name)
}

/// How much is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Conversations. Of those beyond, the ones that go on take the place of short ones; the others
    /// are counted for their device and port only.
    pub talks: usize,
    /// Devices. Those beyond are counted for their port only.
    pub devices: usize,
    /// Neighbours whose addresses are known.
    pub neighbours: usize,
}

impl Limits {
    /// So much memory, in bytes, is for conversations.
    pub fn of_memory(octets: u64) -> Self {
        let octets = usize::try_from(octets).unwrap_or(usize::MAX);
        Self {
            talks: octets / OCTETS,
            ..Self::default()
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            talks: 65_536,
            devices: 4_096,
            neighbours: 16_384,
        }
    }
}

/// All that is counted.
pub struct Monitor {
    limits: Limits,
    talks: Talks,
    pairs: Pairs,
    devices: HashMap<Mac, Device>,
    ports: BTreeMap<u32, Port>,
    neighbours: HashMap<IpAddr, Mac>,
    /// The same, by hardware address.
    known_as: HashMap<Mac, BTreeSet<IpAddr>>,
    gateways: HashSet<Mac>,
    networks: Networks,
    /// What conversations called their far end that are not known yet: a hello is read sooner than
    /// counters are.
    said: Bounded<TalkKey, (Mac, Arc<str>, Millis)>,
    /// Names of devices and of what they talk to.
    pub names: Names,
    told: Vec<Told>,
    /// Milliseconds after which a conversation that goes on is told of; `None`: nobody asks.
    telling: Option<Millis>,
    /// What devices use is gathered.
    gathers: bool,
    next: u64,
    turned: Millis,
    /// As it was then.
    pressure: Pressure,
    crowded: Count,
}

impl Monitor {
    /// Nothing is known yet.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            talks: Talks::new(limits.talks),
            pairs: Pairs::default(),
            devices: HashMap::new(),
            ports: BTreeMap::new(),
            neighbours: HashMap::new(),
            known_as: HashMap::new(),
            gateways: HashSet::new(),
            networks: Networks::default(),
            said: Bounded::new(SAID),
            names: Names::default(),
            told: Vec::new(),
            telling: None,
            gathers: false,
            pressure: Pressure::default(),
            next: 1,
            turned: 0,
            crowded: Count::default(),
        }
    }

    /// What devices use is to be gathered for [`Monitor::take_usage`].
    pub fn gather_usage(&mut self) {
        self.gathers = true;
    }

    /// What each device used for what, since this was last asked. Those that are the way out are no
    /// devices.
    pub fn take_usage(&mut self) -> HashMap<(Mac, Application), Traffic> {
        self.judge();
        let mut usage = HashMap::new();
        let mut outside = Vec::new();
        for (mac, device) in &mut self.devices {
            let used = std::mem::take(&mut device.usage);
            outside.push((*mac, used));
        }
        outside.retain(|(mac, used)| {
            let device = self.devices.get(mac);
            !used.is_empty() && device.is_some_and(|device| !self.is_uplink(device))
        });
        for (mac, used) in outside {
            usage.extend(
                used.into_iter()
                    .map(|(what, traffic)| ((mac, what), traffic)),
            );
        }
        usage
    }

    /// Conversations that live, or did a moment ago.
    pub fn talks(&self) -> impl Iterator<Item = &Talk> {
        self.talks.values()
    }

    /// One of them.
    pub fn talk(&self, key: &TalkKey) -> Option<&Talk> {
        self.talks.get(key)
    }

    /// Every station that was seen.
    pub fn devices(&self) -> impl Iterator<Item = &Device> {
        self.devices.values()
    }

    /// One of them.
    pub fn device(&self, mac: &Mac) -> Option<&Device> {
        self.devices.get(mac)
    }

    /// Every port at which is counted, and its index.
    pub fn ports(&self) -> impl Iterator<Item = (u32, &Port)> {
        self.ports.iter().map(|(link, port)| (*link, port))
    }

    /// Conversations that are remembered, and how many can be.
    pub fn remembered(&self) -> [usize; 2] {
        [self.talks.len(), self.limits.talks]
    }

    /// What conversations had for which there was no room, at all ports.
    pub fn crowded(&self) -> Count {
        self.crowded
    }

    /// Looks for the other sides of conversations that are new. `leaves` tells what the kernel
    /// makes of packets with these ends, where it knows; `own` are the router's addresses.
    pub fn pair(&mut self, leaves: impl FnMut(&Ends) -> Option<Ends>, own: &[IpAddr], now: Millis) {
        let ports = &self.ports;
        let outside = |port: u32, vlan| ports.get(&port).is_some_and(|port| port.leads_out(vlan));
        self.pairs.find(&mut self.talks, leaves, outside, own, now);
    }

    /// A packet told a name.
    pub fn learn(&mut self, learned: &Learned, now: Millis) {
        self.names.learn(learned, now);
        if let Learned::FlowName { key, mac, name, .. } = learned {
            let (port, vlan) = at_place(key.place);
            let key = TalkKey {
                port,
                vlan,
                protocol: key.protocol,
                station: key.station,
                station_port: key.station_port,
                far: key.far,
                far_port: key.far_port,
            };
            match self.talks.get_mut(&key) {
                // Somebody else may send with its addresses.
                Some(talk) if talk.mac != *mac => {}
                Some(talk) => {
                    talk.application = application(&key, Some(name));
                    talk.far_name = Some(name.clone());
                }
                None => drop(self.said.put(key, (*mac, name.clone(), now))),
            }
        }
    }

    /// What a station is called, and who said so.
    pub fn name_of(&self, device: &Device) -> Option<(&str, Source)> {
        self.names.device(&device.mac, &self.addresses(device))
    }

    /// A device is counted from now on, or is known better.
    pub fn port(&mut self, link: u32, name: &str, uplink: bool) {
        self.port_with_vlans(link, name, uplink, BTreeSet::new());
    }

    /// Adds a port, of which only some VLANs may lead out: `vlans`.
    pub fn port_with_vlans(&mut self, link: u32, name: &str, uplink: bool, vlans: BTreeSet<u16>) {
        let port = self.ports.entry(link).or_default();
        let other = std::mem::replace(&mut port.vlans, vlans) != port.vlans;
        if std::mem::replace(&mut port.uplink, uplink) != uplink || other {
            // Another side is inside now.
            self.pairs.begin_anew(&mut self.talks, self.turned);
        }
        if port.name != name {
            port.name = name.to_owned();
        }
    }

    /// A device is gone.
    pub fn port_gone(&mut self, link: u32) {
        self.ports.remove(&link);
    }

    /// Where default routes lead to: the stations that are the way out.
    pub fn gateways(&mut self, addresses: impl IntoIterator<Item = IpAddr>) {
        let gateways: HashSet<Mac> = addresses
            .into_iter()
            .filter_map(|address| self.neighbours.get(&address).copied())
            .collect();
        if gateways == self.gateways {
            return;
        }
        if !gateways.is_empty() {
            // Up to now the former ones counted. Traffic of a gateway that was not known seemed to
            // stay in the LAN.
            self.judge();
            for talk in self.talks.values_mut() {
                talk.crosses = talk.crosses.filter(|crosses| *crosses);
            }
        }
        self.gateways = gateways;
    }

    /// Whether a station is the way out, so that its traffic is everybody's.
    pub fn is_uplink(&self, device: &Device) -> bool {
        self.gateways.contains(&device.mac) || self.is_outside(device.port, device.vlan)
    }

    /// A neighbour has this hardware address, or none.
    pub fn neighbour(&mut self, address: IpAddr, mac: Option<Mac>) {
        if let Some(before) = self.neighbours.remove(&address)
            && let Some(known) = self.known_as.get_mut(&before)
        {
            known.remove(&address);
            if known.is_empty() {
                self.known_as.remove(&before);
            }
        }
        if let Some(mac) = mac.filter(net::mac::is_station)
            && self.neighbours.len() < self.limits.neighbours
        {
            self.neighbours.insert(address, mac);
            self.known_as.entry(mac).or_default().insert(address);
        }
    }

    /// The hardware address of a neighbour.
    pub fn mac_of(&self, address: &IpAddr) -> Option<Mac> {
        self.neighbours.get(address).copied()
    }

    /// Addresses of a station: those that the kernel knows as this neighbour's; else the one of LANs
    /// that it used, unless it is a router, which uses everybody's. IPv4 comes first, then global,
    /// unique local and link-local IPv6: the order does not depend on which was used last.
    pub fn addresses(&self, device: &Device) -> Vec<IpAddr> {
        let known = self.known_as.get(&device.mac).into_iter().flatten();
        let mut found: Vec<IpAddr> = known.copied().collect();
        if found.is_empty() && !self.is_uplink(device) && !device.is_router() {
            found = device.used.iter().copied().collect();
        }
        found.sort_unstable_by_key(|address| (scope(address), *address));
        found
    }

    /// Addresses of a station to be shown: also those of LANs that it used and that the router did
    /// not need to ask for, as it sent to others there. Those of another neighbour are left out.
    pub fn shown_addresses(&self, device: &Device) -> Vec<IpAddr> {
        let mut found = self.addresses(device);
        if self.is_uplink(device) {
            return found;
        }
        let used = device.used.iter().copied();
        let own = used.filter(|address| {
            let known = self.neighbours.get(address);
            known.is_none() && self.networks.is_on_link(*address)
        });
        found.extend(own);
        found.sort_unstable_by_key(|address| (scope(address), *address));
        found.dedup();
        found
    }

    /// What a port itself has by now: came in, went out.
    pub fn rest(&mut self, link: u32, rest: [Rest; 2]) {
        if let Some(port) = self.ports.get_mut(&link) {
            port.rest(rest);
        }
    }

    /// Time goes by; due every second, after the readings. Conversations that are over are
    /// forgotten.
    pub fn turn(&mut self, now: Millis) {
        let millis = now.saturating_sub(std::mem::replace(&mut self.turned, now));
        self.judge();
        for device in self.devices.values_mut() {
            device.turn(millis);
        }
        for port in self.ports.values_mut() {
            port.turn(millis);
        }
        self.turn_talks(millis, now);
    }
}
