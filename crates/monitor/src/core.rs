//! Who talks with whom, and how much: readings in, sums out.

mod telling;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::net::IpAddr;
use std::sync::Arc;

use kernel::{Ends, Mac, TalkKey};

use crate::apps::Application;
use crate::count::{Both, Count};
use crate::device::{Device, is_station};
use crate::latency;
use crate::names::bounded::Bounded;
use crate::names::{Client, Learned, Names, Source};
use crate::pairs::Pairs;
use crate::port::Port;
use crate::reading::{Forwarded, Loose, Millis, Reading, Rest, Waited, Way};
use crate::talk::{Pressure, Talk, Told};
use crate::talks::{OCTETS, Slot, Talks};

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
/// When a conversation began is not known to the millisecond.
const LATE: Millis = 2000;

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
    pub fn take_usage(&mut self) -> HashMap<(Mac, Application), Both> {
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
            usage.extend(used.into_iter().map(|(what, both)| ((mac, what), both)));
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
        let outside = |port: u32| ports.get(&port).is_some_and(|port| port.uplink);
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
        let port = self.ports.entry(link).or_default();
        if std::mem::replace(&mut port.uplink, uplink) != uplink {
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
        self.gateways = addresses
            .into_iter()
            .filter_map(|address| self.neighbours.get(&address).copied())
            .collect();
    }

    /// Whether a station is the way out, so that its traffic is everybody's.
    pub fn is_uplink(&self, device: &Device) -> bool {
        self.gateways.contains(&device.mac)
            || self.ports.get(&device.port).is_some_and(|port| port.uplink)
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
        if let Some(mac) = mac.filter(is_station)
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
    /// that it used, unless it is a router, which uses everybody's.
    pub fn addresses(&self, device: &Device) -> Vec<IpAddr> {
        let known = self.known_as.get(&device.mac);
        let known = |address: &IpAddr| known.is_some_and(|known| known.contains(address));
        let used = device.used.iter().filter(|address| known(address));
        let mut found: Vec<IpAddr> = used.copied().collect();
        let all = self.known_as.get(&device.mac).into_iter().flatten();
        found.extend(all.filter(|address| !device.used.contains(address)));
        if found.is_empty() && !self.is_uplink(device) && !device.is_router() {
            found = device.used.iter().copied().collect();
        }
        found
    }

    /// A record was read. Whether it is still wanted: `pressure` is how full the records of its
    /// family are, in 256ths.
    pub fn reading(&mut self, reading: &Reading, pressure: u32, now: Millis) -> bool {
        let Reading {
            key, mac, grown, ..
        } = *reading;
        let last = now.saturating_sub(reading.idle.as_millis() as Millis);
        let first = now.saturating_sub(reading.age.as_millis() as Millis);
        let packets = [grown.sent.packets, grown.received.packets];
        let link = packets.map(|packets| packets * u64::from(reading.link));
        let mut slot = self.talks.find(&key);
        // Of one that had to go nothing is to be remembered, as long as it is silent.
        if grown != Both::default() {
            if let Some(port) = self.ports.get_mut(&key.port) {
                port.talk(grown, link);
            }
            slot = slot.or_else(|| self.open(&key, mac, first, reading.goes_on(), now));
            self.credit(&key, &mac, grown, slot, false, last);
        }
        let Some(talk) = slot.and_then(|slot| self.talks.at_mut(slot)) else {
            self.crowded += grown.sum();
            // Nobody will remember it: let the next have the place.
            return reading.idle.as_secs() < 1;
        };
        talk.total += grown;
        talk.rate.add(grown);
        talk.last = talk.last.max(last);
        if let Some(times) = reading.times {
            // Another record of the same conversation begins from 0.
            let before = if times.count < talk.metered.count || times.again < talk.metered.again {
                Default::default()
            } else {
                talk.metered
            };
            talk.metered = times;
            let (waits, again) = latency::news(&before, &times);
            talk.times.add(&before, &times);
            for (sum, again) in talk.again.iter_mut().zip(again) {
                *sum += again;
            }
            if let Some(device) = self.devices.get_mut(&mac) {
                device.waited(waits, again.iter().sum(), now);
            }
        }
        talk.tcp_flags |= reading.tcp_flags;
        talk.link = reading.link;
        if talk.total == grown {
            talk.tos = reading.tos;
            talk.icmp = reading.icmp;
        }
        let silent = now.saturating_sub(talk.last);
        u128::from(silent) < talk.patience(pressure).as_millis()
    }

    /// Weir forwarded something past the meter.
    pub fn forwarded(&mut self, forwarded: &Forwarded, now: Millis) {
        let Forwarded {
            key, way, count, ..
        } = *forwarded;
        let mut grown = Both::default();
        let mut link = [0; 2];
        match way {
            Way::Sent => (grown.sent, link[0]) = (count, forwarded.link),
            Way::Received => (grown.received, link[1]) = (count, forwarded.link),
        }
        if let Some(port) = self.ports.get_mut(&key.port) {
            port.talk(grown, link);
        }
        let mut slot = self.talks.find(&key);
        let known = slot.and_then(|slot| Some(self.talks.at(slot)?.mac));
        let mac = known
            .or(forwarded.mac)
            .or_else(|| self.mac_of(&key.station))
            .unwrap_or_default();
        slot = slot.or_else(|| self.open(&key, mac, now, true, now));
        self.credit(&key, &mac, grown, slot, true, now);
        let Some(talk) = slot.and_then(|slot| self.talks.at_mut(slot)) else {
            self.crowded += grown.sum();
            return;
        };
        talk.total += grown;
        talk.forwarded += grown;
        talk.xdp = Some(forwarded.xdp);
        talk.rate.add(grown);
        talk.last = now;
    }

    /// TCP that weir forwards waited. A conversation that is not known (any more) is not timed.
    pub fn waited(&mut self, waited: &Waited, now: Millis) {
        let Some(talk) = self.talks.get_mut(&waited.key) else {
            return;
        };
        let mut waits = [None; 2];
        let (way, micros) = (waited.way as usize, waited.micros);
        talk.times.waited(way, micros, micros, 1);
        waits[way] = Some(micros);
        if let Some(device) = self.devices.get_mut(&talk.mac) {
            device.waited(waits, 0, now);
        }
    }

    /// Weir passed frames from one member of a bridge to another: `mac` is the station behind this
    /// one.
    pub fn bridged(&mut self, port: u32, mac: Mac, way: Way, count: Count, link: u64, now: Millis) {
        let mut grown = Both::default();
        let mut links = [0; 2];
        match way {
            Way::Sent => (grown.sent, links[0]) = (count, link),
            Way::Received => (grown.received, links[1]) = (count, link),
        }
        if let Some(port) = self.ports.get_mut(&port) {
            port.talk(grown, links);
        }
        let gathers = self.gathers;
        if let Some(device) = self.station(mac, port, 0, now) {
            device.total += grown;
            device.forwarded += grown;
            device.rate.add(grown);
            device.last = now;
            device.used(gathers, Application::Other, grown);
        }
    }

    /// A station has more without a record.
    pub fn loose(&mut self, loose: &Loose, now: Millis) {
        if let Some(port) = self.ports.get_mut(&loose.port) {
            port.loose(loose.unplaced, loose.other);
        }
        let gathers = self.gathers;
        if let Some(device) = self.station(loose.mac, loose.port, loose.vlan, now) {
            device.total += loose.unplaced;
            device.rate.add(loose.unplaced);
            device.last = now;
            device.used(gathers, Application::Other, loose.unplaced);
        }
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
        for device in self.devices.values_mut() {
            device.turn(millis);
        }
        for port in self.ports.values_mut() {
            port.rate.turn(millis);
        }
        self.tell_due(millis, now);
    }

    /// Adds to a station's sums. `slot`: the conversation, where it is remembered.
    fn credit(
        &mut self,
        key: &TalkKey,
        mac: &Mac,
        grown: Both,
        slot: Option<Slot>,
        forwarded: bool,
        last: Millis,
    ) {
        let talk = slot.and_then(|slot| self.talks.at(slot));
        let application = talk.map_or(Application::Other, |talk| talk.application);
        let gathers = self.gathers;
        let Some(device) = self.station(*mac, key.port, key.vlan, last) else {
            return;
        };
        device.used(gathers, application, grown);
        device.total += grown;
        if forwarded {
            device.forwarded += grown;
        }
        device.rate.add(grown);
        device.last = device.last.max(last);
        if grown.sent != Count::default() {
            device.port = key.port;
            device.vlan = key.vlan;
            device.uses(key.station);
        }
    }

    fn station(&mut self, mac: Mac, port: u32, vlan: u16, now: Millis) -> Option<&mut Device> {
        if !is_station(&mac)
            || (self.devices.len() >= self.limits.devices && !self.devices.contains_key(&mac))
        {
            return None;
        }
        Some(
            self.devices
                .entry(mac)
                .or_insert_with(|| Device::new(mac, port, vlan, now)),
        )
    }

    /// Remembers one that is new. Where there is no room, it takes that of a short one, if it goes
    /// on itself.
    fn open(
        &mut self,
        key: &TalkKey,
        mac: Mac,
        first: Millis,
        goes_on: bool,
        now: Millis,
    ) -> Option<Slot> {
        if self.talks.is_full() && !(goes_on && self.make_room(now)) {
            return None;
        }
        // It may be the first that is seen of its station.
        if let Some(device) = self.station(mac, key.port, key.vlan, first) {
            device.talks += 1;
        }
        let id = self.next;
        self.next += 1;
        // What one said that had the same ports before is not its.
        let said = self
            .said
            .remove(key)
            .filter(|(by, _, when)| *by == mac && first <= when + LATE);
        let client = Client::new(mac, key.station);
        let told = || self.names.far(client, key.far, first).cloned();
        let far_name = said.map(|(_, name, _)| name).or_else(told);
        let talk = Talk {
            id,
            application: application(key, far_name.as_deref()),
            far_name,
            key: *key,
            mac,
            total: Both::default(),
            forwarded: Both::default(),
            xdp: None,
            rate: Default::default(),
            first,
            last: first,
            tcp_flags: 0,
            times: Default::default(),
            metered: Default::default(),
            again: [0; 2],
            tos: 0,
            icmp: (0, 0),
            link: 0,
            told: Both::default(),
            told_again: [0; 2],
            told_at: now,
            leaves: None,
            twin: None,
            led: 0,
        };
        let slot = self.talks.insert(talk);
        self.pairs.opened(key, self.limits.talks, now);
        Some(slot)
    }
}
