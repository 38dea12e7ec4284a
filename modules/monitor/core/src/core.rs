//! Conversations and their traffic: takes readings, produces sums.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use kernel::{Ends, Mac, TalkKey};

use crate::apps::Application;
use crate::count::{Both, Count, Traffic};
use crate::device::{Device, Devices};
use crate::edge::Edge;
use crate::flood::{FULL, IN_A_FLOOD};
use crate::latency;
use crate::names::bounded::Bounded;
use crate::names::{Client, Learned, Names, Source};
use crate::neighbours::Neighbours;
use crate::networks::Networks;
use crate::pairs::Pairs;
use crate::port::Port;
use crate::reading::{Bridged, Forwarded, Loose, Millis, Reading, Rest, Waited, Way};
use crate::reports::Reports;
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

/// Returns a count of one direction and its link-layer bytes in the form for both directions.
fn one_way(way: Way, count: Count, link: u64) -> (Both, [u64; 2]) {
    let mut both = Both::default();
    match way {
        Way::Sent => both.sent = count,
        Way::Received => both.received = count,
    }
    let mut links = [0; 2];
    links[way as usize] = link;
    (both, links)
}

/// Inaccuracy of a conversation's start.
const LATE: Millis = 2000;

/// A conversation grew, at one of its two ports.
struct Grown {
    key: TalkKey,
    /// Hardware address of the station.
    mac: Mac,
    count: Both,
    /// See [`Reading::outside`].
    outside: bool,
    /// True if weir forwarded the traffic.
    forwarded: bool,
}

/// Maximum numbers of stored entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Conversations. Of those beyond, the ones that go on take the place of short ones; the others
    /// are counted for their device and port only.
    pub talks: usize,
    /// Devices. Those beyond are counted for their port only.
    pub devices: usize,
    /// Neighbours with known addresses.
    pub neighbours: usize,
}

impl Limits {
    /// Returns the limits for so many bytes of memory for conversations.
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
    devices: Devices,
    edge: Edge,
    neighbours: Neighbours,
    /// Far-end names of conversations without a reading so far: a hello is read sooner than the
    /// counters are.
    said: Bounded<TalkKey, (Mac, Arc<str>, Millis)>,
    /// Names of devices and far ends.
    pub names: Names,
    reports: Reports,
    next: u64,
    turned: Millis,
    /// Fill level at the last turn.
    pressure: Pressure,
    crowded: Count,
}

impl Monitor {
    /// Creates an empty monitor.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            talks: Talks::new(limits.talks),
            pairs: Pairs::default(),
            devices: Devices::new(limits.devices),
            edge: Edge::default(),
            neighbours: Neighbours::new(limits.neighbours),
            said: Bounded::new(SAID),
            names: Names::default(),
            reports: Reports::new(limits.talks),
            pressure: Pressure::default(),
            next: 1,
            turned: 0,
            crowded: Count::default(),
        }
    }

    /// Starts to collect usage per device for [`Monitor::take_usage`].
    pub fn gather_usage(&mut self) {
        self.devices.gather_usage();
    }

    /// Returns the usage per device and application since the last call. Uplink stations do not
    /// count as devices.
    pub fn take_usage(&mut self) -> HashMap<(Mac, Application), Traffic> {
        self.judge();
        let edge = &self.edge;
        self.devices.take_usage(|device| edge.is_uplink(device))
    }

    /// Conversations that live, or did a moment ago.
    pub fn talks(&self) -> impl Iterator<Item = &Talk> {
        self.talks.values()
    }

    /// Returns a conversation.
    pub fn talk(&self, key: &TalkKey) -> Option<&Talk> {
        self.talks.get(key)
    }

    /// Every station that was seen.
    pub fn devices(&self) -> impl Iterator<Item = &Device> {
        self.devices.values()
    }

    /// Returns a device.
    pub fn device(&self, mac: &Mac) -> Option<&Device> {
        self.devices.get(mac)
    }

    /// Every port at which is counted, and its index.
    pub fn ports(&self) -> impl Iterator<Item = (u32, &Port)> {
        self.edge.ports()
    }

    /// Conversations that are remembered, and how many can be.
    pub fn remembered(&self) -> [usize; 2] {
        [self.talks.len(), self.limits.talks]
    }

    /// Returns the traffic of conversations for which there was no room, at all ports.
    pub fn crowded(&self) -> Count {
        self.crowded
    }

    /// Looks for the other halves of new conversations. `leaves` returns the ends that the kernel
    /// gives packets with these ends, if known; `own` are the router's addresses.
    pub fn pair(&mut self, leaves: impl FnMut(&Ends) -> Option<Ends>, own: &[IpAddr], now: Millis) {
        let edge = &self.edge;
        let outside = |port, vlan| edge.is_outside(port, vlan);
        self.pairs.find(&mut self.talks, leaves, outside, own, now);
    }

    /// Stores a name from a packet.
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
                // Another station may send with these addresses.
                Some(talk) if talk.mac != *mac => {}
                Some(talk) => {
                    talk.application = application(&key, Some(name));
                    talk.far_name = Some(name.clone());
                }
                None => drop(self.said.put(key, (*mac, name.clone(), now))),
            }
        }
    }

    /// Returns the name of a station, and its source.
    pub fn name_of(&self, device: &Device) -> Option<(&str, Source)> {
        self.names.device(&device.mac, &self.addresses(device))
    }

    /// Adds a port, or updates its properties.
    pub fn port(&mut self, link: u32, name: &str, uplink: bool) {
        self.port_with_vlans(link, name, uplink, BTreeSet::new());
    }

    /// Adds a port, of which only some VLANs may lead out: `vlans`.
    pub fn port_with_vlans(&mut self, link: u32, name: &str, uplink: bool, vlans: BTreeSet<u16>) {
        if self.edge.set_port(link, name, uplink, vlans) {
            // Another side is inside now.
            self.pairs.begin_anew(&mut self.talks, self.turned);
        }
    }

    /// A device is gone.
    pub fn port_gone(&mut self, link: u32) {
        self.edge.remove_port(link);
    }

    /// Sets the next hops of default routes: their stations are uplinks.
    pub fn gateways(&mut self, addresses: impl IntoIterator<Item = IpAddr>) {
        let gateways: HashSet<Mac> = addresses
            .into_iter()
            .filter_map(|address| self.neighbours.mac_of(&address))
            .collect();
        if gateways == *self.edge.gateways() {
            return;
        }
        if !gateways.is_empty() {
            // Up to now the former gateways counted. Traffic of an unknown gateway seemed to stay
            // in the LAN.
            self.judge();
            for talk in self.talks.values_mut() {
                talk.crosses = talk.crosses.filter(|crosses| *crosses);
            }
        }
        self.edge.set_gateways(gateways);
    }

    /// Returns true if a station is an uplink, so that it carries traffic of all devices.
    pub fn is_uplink(&self, device: &Device) -> bool {
        self.edge.is_uplink(device)
    }

    /// A neighbour has this hardware address, or none.
    pub fn neighbour(&mut self, address: IpAddr, mac: Option<Mac>) {
        self.neighbours.update(address, mac);
    }

    /// The hardware address of a neighbour.
    pub fn mac_of(&self, address: &IpAddr) -> Option<Mac> {
        self.neighbours.mac_of(address)
    }

    /// Returns the addresses of a station: those in the kernel's neighbour table; else its used LAN
    /// address, unless the station is a router. IPv4 comes first, then global, unique local and
    /// link-local IPv6: the order does not depend on the last use.
    pub fn addresses(&self, device: &Device) -> Vec<IpAddr> {
        let mut found = self.neighbours.addresses(&device.mac);
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
            let known = self.neighbours.mac_of(address);
            known.is_none() && self.edge.networks().is_on_link(*address)
        });
        found.extend(own);
        found.sort_unstable_by_key(|address| (scope(address), *address));
        found.dedup();
        found
    }

    /// Sets the port's traffic beyond records and stations: received, sent.
    pub fn rest(&mut self, link: u32, rest: [Rest; 2]) {
        if let Some(port) = self.edge.port_mut(link) {
            port.rest(rest);
        }
    }

    /// Advances the clock; due every second, after the readings. Removes conversations that are
    /// over.
    pub fn turn(&mut self, now: Millis) {
        let millis = now.saturating_sub(std::mem::replace(&mut self.turned, now));
        self.judge();
        self.devices.turn(millis);
        self.edge.turn(millis);
        self.turn_talks(millis, now);
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
        // A removed conversation is not stored again, as long as it is silent.
        if grown != Both::default() {
            if let Some(port) = self.edge.port_mut(key.port) {
                port.talk(Some(key.vlan), grown, link);
            }
            slot = slot.or_else(|| self.open(&key, mac, first, reading.goes_on(), now));
            let grown = Grown {
                key,
                mac,
                count: grown,
                outside: reading.outside,
                forwarded: false,
            };
            self.credit(&grown, slot, last);
        }
        let Some(talk) = slot.and_then(|slot| self.talks.at_mut(slot)) else {
            self.crowded += grown.sum();
            // The conversation is not stored: its record is soon freed for another.
            let patience = match pressure {
                ..FULL => Duration::from_secs(1),
                _ => IN_A_FLOOD,
            };
            return reading.idle < patience;
        };
        talk.total += grown;
        talk.rate.add(grown);
        talk.last = talk.last.max(last);
        if let Some(times) = reading.times {
            // A new record of the conversation starts at 0.
            let before = if times.count < talk.metered.count || times.again < talk.metered.again {
                Default::default()
            } else {
                talk.metered
            };
            talk.metered = times;
            let (waits, again) = latency::news(&before, &times);
            talk.times.add(&before, &times);
            if waits[0].is_some() {
                talk.timed = now;
            }
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
        let (grown, link) = one_way(way, count, forwarded.link);
        if let Some(port) = self.edge.port_mut(key.port) {
            port.talk(Some(key.vlan), grown, link);
        }
        let mut slot = self.talks.find(&key);
        let known = slot.and_then(|slot| Some(self.talks.at(slot)?.mac));
        let mac = known
            .or(forwarded.mac)
            .or_else(|| self.mac_of(&key.station))
            .unwrap_or_default();
        slot = slot.or_else(|| self.open(&key, mac, now, true, now));
        let more = Grown {
            key,
            mac,
            count: grown,
            outside: forwarded.outside,
            forwarded: true,
        };
        self.credit(&more, slot, now);
        let Some(talk) = slot.and_then(|slot| self.talks.at_mut(slot)) else {
            self.crowded += grown.sum();
            return;
        };
        talk.total += grown;
        talk.xdp = Some(forwarded.xdp);
        talk.rate.add(grown);
        talk.last = now;
    }

    /// Adds a waiting time of forwarded TCP. Unknown conversations are not timed.
    pub fn waited(&mut self, waited: &Waited, now: Millis) {
        let Some(talk) = self.talks.get_mut(&waited.key) else {
            return;
        };
        let mut waits = [None; 2];
        let (way, micros) = (waited.way as usize, waited.micros);
        talk.times.waited(way, micros, micros, 1);
        waits[way] = Some(micros);
        if waits[0].is_some() {
            talk.timed = now;
        }
        if let Some(device) = self.devices.get_mut(&talk.mac) {
            device.waited(waits, 0, now);
        }
    }

    /// Weir passed frames from one member of a bridge to another: `mac` is the station behind this
    /// one.
    pub fn bridged(&mut self, bridged: &Bridged, now: Millis) {
        let Bridged {
            port,
            mac,
            way,
            count,
            link,
            crosses,
        } = *bridged;
        let (grown, links) = one_way(way, count, link);
        if let Some(port) = self.edge.port_mut(port) {
            port.talk(None, grown, links);
        }
        let gathers = self.devices.gathers();
        if let Some(device) = self.devices.station(mac, port, 0, now) {
            device.total += grown;
            device.forwarded += grown;
            device.rate.add(grown);
            device.last = now;
            device.used(gathers, Application::Other, grown, crosses);
        }
    }

    /// A station has more without a record.
    pub fn loose(&mut self, loose: &Loose, now: Millis) {
        if let Some(port) = self.edge.port_mut(loose.port) {
            port.loose(loose.vlan, loose.unplaced, loose.other);
        }
        let gathers = self.devices.gathers();
        // Records are full in floods, which go to the Internet mostly; and who makes one must not
        // escape a quota by it.
        let crosses = self.edge.networks().has_uplink();
        if let Some(device) = self.devices.station(loose.mac, loose.port, loose.vlan, now) {
            device.total += loose.unplaced;
            device.rate.add(loose.unplaced);
            device.last = now;
            device.used(gathers, Application::Other, loose.unplaced, crosses);
        }
    }

    /// Adds to a station's sums. `slot`: the conversation, where it is remembered.
    fn credit(&mut self, grown: &Grown, slot: Option<Slot>, last: Millis) {
        let Grown {
            key, mac, count, ..
        } = *grown;
        let beyond = self.edge.is_beyond(key.port, key.vlan, &mac);
        let outside = grown.outside || beyond;
        let mut doubtful = count;
        if !outside {
            doubtful.received = Count::default();
        }
        let talk = slot.and_then(|slot| self.talks.at_mut(slot));
        let application = talk.as_ref().map(|talk| talk.application);
        // The destination is judged once both sides of the router are known. Traffic of another
        // station with equal ends does not belong to this conversation.
        let at_once = match talk {
            Some(talk) if talk.mac == mac => {
                talk.unjudged += doubtful;
                talk.outside |= outside;
                false
            }
            _ => true,
        };
        let crosses = at_once.then(|| self.edge.leads_out(&key, &mac, key.far));
        let application = application.unwrap_or(Application::Other);
        let gathers = self.devices.gathers();
        let Some(device) = self.devices.station(mac, key.port, key.vlan, last) else {
            return;
        };
        device.used(gathers, application, count.since(&doubtful), false);
        if let Some(crosses) = crosses {
            device.used(gathers, application, doubtful, crosses);
        }
        device.total += count;
        if grown.forwarded {
            device.forwarded += count;
        }
        device.rate.add(count);
        device.last = device.last.max(last);
        if count.sent != Count::default() {
            device.port = key.port;
            device.vlan = key.vlan;
            device.uses(key.station);
        }
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
        // A new conversation may belong to a new station.
        if let Some(device) = self.devices.station(mac, key.port, key.vlan, first) {
            device.talks += 1;
        }
        let id = self.next;
        self.next += 1;
        // A name from an earlier conversation with these ports does not apply.
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
            unjudged: Both::default(),
            crosses: None,
            crossed: false,
            outside: false,
            xdp: None,
            rate: Default::default(),
            first,
            last: first,
            tcp_flags: 0,
            times: Default::default(),
            metered: Default::default(),
            timed: 0,
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

    /// The routes of the router are these.
    pub fn networks(&mut self, networks: Networks) {
        if *self.edge.networks() == networks {
            return;
        }
        // Up to now the former ones counted.
        self.judge();
        self.edge.set_networks(networks);
        for talk in self.talks.values_mut() {
            talk.crosses = None;
        }
    }

    /// Returns true if a default route leads out.
    pub fn has_uplink(&self) -> bool {
        self.edge.networks().has_uplink()
    }

    /// Returns true if stations behind this VLAN of a port are beyond an uplink.
    pub fn is_outside(&self, port: u32, vlan: u16) -> bool {
        self.edge.is_outside(port, vlan)
    }

    /// Returns true if a station is beyond an uplink, or the way there.
    pub fn is_beyond(&self, port: u32, vlan: u16, mac: &Mac) -> bool {
        self.edge.is_beyond(port, vlan, mac)
    }

    /// Adds new traffic to the sums by destination; due before the sums are read, after
    /// [`Monitor::pair`] has found the other halves.
    pub fn judge(&mut self) {
        for slot in 0..self.talks.slots() {
            self.judge_at(slot);
        }
    }

    fn judge_at(&mut self, slot: Slot) {
        let Some(talk) = self.talks.at(slot) else {
            return;
        };
        // Exports need a verdict, even if no packet came since it was forgotten.
        if talk.unjudged == Both::default() && talk.crosses.is_some() {
            return;
        }
        // While there is no uplink, what crossed one before still does.
        let still = talk.crossed && !self.edge.networks().has_uplink();
        let by_edge = || self.edge.crosses(talk, self.talks.other_side(talk));
        let crosses = talk.crosses.unwrap_or_else(|| still || by_edge());
        let Some(talk) = self.talks.at_mut(slot) else {
            return;
        };
        (talk.crosses, talk.crossed) = (Some(crosses), crosses);
        let new = std::mem::take(&mut talk.unjudged);
        let gathers = self.devices.gathers();
        if let Some(device) = self.devices.get_mut(&talk.mac) {
            device.used(gathers, talk.application, new, crosses);
        }
    }

    /// Activates reports by [`Monitor::take_told`]: of every conversation at its end, and of
    /// running ones each `active` milliseconds.
    pub fn tell(&mut self, active: Option<Millis>) {
        self.reports.set_interval(active);
    }

    /// Advances the clock of all conversations: updates their rates, reports those that are due,
    /// and removes those that are over.
    fn turn_talks(&mut self, millis: u64, now: Millis) {
        let (mut quiet, mut due) = (Vec::new(), Vec::new());
        let mut most = self.reports.room();
        let mut lasting = 0;
        for talk in self.talks.values_mut() {
            talk.rate.turn(millis);
            lasting += usize::from(!talk.is_short());
            // A conversation led by another is reported with its leader. If too many are due, the
            // rest wait for the next second.
            if most == 0 || talk.led > 0 {
                continue;
            }
            if talk.is_quiet(self.pressure, now) {
                quiet.push(talk.key);
                most -= 1;
            } else if self.reports.is_due(talk, now) {
                due.push(talk.key);
                most -= 1;
            }
        }
        let pressure = std::mem::replace(&mut self.pressure, self.talks.pressure(lasting));
        for key in &due {
            self.reports.add(&mut self.talks, key, now);
        }
        let is_over = |key: &TalkKey| self.talks.is_over(key, pressure, now);
        let mut over: Vec<TalkKey> = quiet.into_iter().filter(is_over).collect();
        while let Some(key) = over.pop() {
            let twin = self.forget(&key, now);
            let is_quiet = |twin: &TalkKey| {
                let twin = self.talks.get(twin);
                twin.is_some_and(|twin| twin.is_quiet(pressure, now))
            };
            over.extend(twin.filter(is_quiet));
        }
    }

    /// Removes a conversation to make room for another. Returns false if none can be removed, or if
    /// too many were removed this second.
    fn make_room(&mut self, now: Millis) -> bool {
        if self.reports.is_crowded() {
            return false;
        }
        let Some(key) = self.talks.dispensable(now) else {
            return false;
        };
        let twin = self.forget(&key, now);
        let had_few = |twin: &TalkKey| self.talks.get(twin).is_some_and(Talk::may_go);
        if let Some(twin) = twin.filter(had_few) {
            self.forget(&twin, now);
        }
        true
    }

    /// Removes a conversation, and reports its rest. Returns a conversation that only this one led.
    fn forget(&mut self, key: &TalkKey, now: Millis) -> Option<TalkKey> {
        if let Some(slot) = self.talks.find(key) {
            self.judge_at(slot);
        }
        self.reports.add_ended(&mut self.talks, key, now);
        let talk = self.talks.remove(key)?;
        if let Some(device) = self.devices.get_mut(&talk.mac) {
            device.talks = device.talks.saturating_sub(1);
        }
        let twin = self.talks.get_mut(&talk.twin?)?;
        twin.led = twin.led.saturating_sub(1);
        (twin.led == 0).then_some(twin.key)
    }

    /// Reports running conversations before weir stops, some at a time. Returns false once there
    /// are no more.
    pub fn tell_rest(&mut self, now: Millis) -> bool {
        self.reports.add_rest(&mut self.talks, now)
    }

    /// Returns the conversations to report, see [`Monitor::tell`].
    pub fn take_told(&mut self) -> Vec<Told> {
        self.reports.take()
    }
}
