//! Conversations and their traffic: takes readings, produces sums.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use kernel::{ConversationKey, Endpoints, Mac};

use crate::apps::Application;
use crate::conversation::{Conversation, ConversationReport, Pressure};
use crate::conversation_table::{BYTES_PER_CONVERSATION, ConversationTable, Slot};
use crate::count::{Count, Counts, Traffic};
use crate::device::{Device, Devices};
use crate::edge::Edge;
use crate::flood::{FLOOD_LEVEL, FLOOD_TIMEOUT};
use crate::latency;
use crate::names::bounded::Bounded;
use crate::names::{Client, NameObservation, Names, Source};
use crate::neighbours::Neighbours;
use crate::networks::Networks;
use crate::pairs::Pairs;
use crate::port::Port;
use crate::reading::{
    BridgedTraffic, Direction, ForwardedTraffic, Millis, Reading, RttSample, UnrecordedPortTraffic,
    UnrecordedStationTraffic,
};
use crate::reports::Reports;

/// Returns a port and a VLAN as one number, for [`names`](crate::names).
pub fn observation_point(port: u32, vlan: u16) -> u64 {
    u64::from(port) << 16 | u64::from(vlan)
}

fn at_place(place: u64) -> (u32, u16) {
    ((place >> 16) as u32, place as u16)
}

/// Maximum number of names that conversations sent before their first reading.
const SAID: usize = 1024;

/// Returns the rank of a station's address: addresses that are useful to most hosts come first.
fn scope(address: &IpAddr) -> u8 {
    match address {
        IpAddr::V4(address) => u8::from(address.is_link_local()),
        IpAddr::V6(address) if address.is_unicast_link_local() => 4,
        IpAddr::V6(address) if address.is_unique_local() => 3,
        IpAddr::V6(_) => 2,
    }
}

fn application(key: &ConversationKey, name: Option<&str>) -> Application {
    Application::of(key.protocol, key.station_port, key.remote_port, name)
}

/// Returns a count of one direction and its link-layer bytes in the form for both directions.
fn one_way(way: Direction, count: Count, link: u64) -> (Counts, [u64; 2]) {
    let mut both = Counts::default();
    match way {
        Direction::Sent => both.sent = count,
        Direction::Received => both.received = count,
    }
    let mut links = [0; 2];
    links[way as usize] = link;
    (both, links)
}

/// Inaccuracy of a conversation's start.
const LATE: Millis = 2000;

/// A conversation grew, at one of its two ports.
struct TrafficDelta {
    key: ConversationKey,
    /// Hardware address of the station.
    mac: Mac,
    count: Counts,
    /// See [`Reading::outside`].
    outside: bool,
    /// True if weir forwarded the traffic.
    forwarded: bool,
}

/// Maximum numbers of stored entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of conversations. Beyond it, active conversations replace short ones; the
    /// others are counted for their device and port only.
    pub conversations: usize,
    /// Devices. Those beyond are counted for their port only.
    pub devices: usize,
    /// Neighbours with known addresses.
    pub neighbours: usize,
}

impl Limits {
    /// Returns the limits for a given memory of conversations, in bytes.
    pub fn of_memory(octets: u64) -> Self {
        let octets = usize::try_from(octets).unwrap_or(usize::MAX);
        Self {
            conversations: octets / BYTES_PER_CONVERSATION,
            ..Self::default()
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            conversations: 65_536,
            devices: 4_096,
            neighbours: 16_384,
        }
    }
}

/// All that is counted.
pub struct Monitor {
    limits: Limits,
    conversations: ConversationTable,
    pairs: Pairs,
    devices: Devices,
    edge: Edge,
    neighbours: Neighbours,
    /// Names of remote ends for conversations without a reading so far: weir reads a hello sooner
    /// than the counters.
    early_names: Bounded<ConversationKey, (Mac, Arc<str>, Millis)>,
    /// Names of devices and remote ends.
    pub names: Names,
    reports: Reports,
    next: u64,
    turned: Millis,
    /// Fill level at the last turn.
    pressure: Pressure,
    overflow: Count,
}

impl Monitor {
    /// Creates an empty monitor.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            conversations: ConversationTable::new(limits.conversations),
            pairs: Pairs::default(),
            devices: Devices::new(limits.devices),
            edge: Edge::default(),
            neighbours: Neighbours::new(limits.neighbours),
            early_names: Bounded::new(SAID),
            names: Names::default(),
            reports: Reports::new(limits.conversations),
            pressure: Pressure::default(),
            next: 1,
            turned: 0,
            overflow: Count::default(),
        }
    }

    /// Starts to collect usage per device for [`Monitor::take_usage`].
    pub fn collect_usage(&mut self) {
        self.devices.gather_usage();
    }

    /// Returns the usage per device and application since the last call. Uplink stations do not
    /// count as devices.
    pub fn take_usage(&mut self) -> HashMap<(Mac, Application), Traffic> {
        self.classify();
        let edge = &self.edge;
        self.devices.take_usage(|device| edge.is_uplink(device))
    }

    /// Returns conversations that are active, or were a moment ago.
    pub fn conversations(&self) -> impl Iterator<Item = &Conversation> {
        self.conversations.values()
    }

    /// Returns a conversation.
    pub fn conversation(&self, key: &ConversationKey) -> Option<&Conversation> {
        self.conversations.get(key)
    }

    /// Returns every known station.
    pub fn devices(&self) -> impl Iterator<Item = &Device> {
        self.devices.values()
    }

    /// Returns a device.
    pub fn device(&self, mac: &Mac) -> Option<&Device> {
        self.devices.get(mac)
    }

    /// Returns every port with a meter, and its index.
    pub fn ports(&self) -> impl Iterator<Item = (u32, &Port)> {
        self.edge.ports()
    }

    /// Returns the number of stored conversations, and the maximum.
    pub fn occupancy(&self) -> [usize; 2] {
        [self.conversations.len(), self.limits.conversations]
    }

    /// Returns the traffic of conversations without room in the table, at all ports.
    pub fn overflow(&self) -> Count {
        self.overflow
    }

    /// Finds the other halves of new conversations. `leaves` returns the egress endpoints of
    /// packets with the given endpoints, if known; `own` are the router's addresses.
    pub fn pair(
        &mut self,
        leaves: impl FnMut(&Endpoints) -> Option<Endpoints>,
        own: &[IpAddr],
        now: Millis,
    ) {
        let edge = &self.edge;
        let outside = |port, vlan| edge.is_outside(port, vlan);
        self.pairs
            .find(&mut self.conversations, leaves, outside, own, now);
    }

    /// Stores a name from a packet.
    pub fn learn(&mut self, learned: &NameObservation, now: Millis) {
        self.names.learn(learned, now);
        if let NameObservation::FlowName { key, mac, name, .. } = learned {
            let (port, vlan) = at_place(key.observation_point);
            let key = ConversationKey {
                port,
                vlan,
                protocol: key.protocol,
                station: key.station,
                station_port: key.station_port,
                remote: key.remote,
                remote_port: key.remote_port,
            };
            match self.conversations.get_mut(&key) {
                // Another station may send with these addresses.
                Some(conversation) if conversation.mac != *mac => {}
                Some(conversation) => {
                    conversation.application = application(&key, Some(name));
                    conversation.remote_name = Some(name.clone());
                }
                None => drop(self.early_names.put(key, (*mac, name.clone(), now))),
            }
        }
    }

    /// Returns the name of a station, and its source.
    pub fn name_of(&self, device: &Device) -> Option<(&str, Source)> {
        self.names.device(&device.mac, &self.addresses(device))
    }

    /// Adds a port, or updates its properties.
    pub fn set_port(&mut self, link: u32, name: &str, uplink: bool) {
        self.set_port_with_vlans(link, name, uplink, BTreeSet::new());
    }

    /// Adds a port of which only the VLANs in `vlans` may lead out.
    pub fn set_port_with_vlans(
        &mut self,
        link: u32,
        name: &str,
        uplink: bool,
        vlans: BTreeSet<u16>,
    ) {
        if self.edge.set_port(link, name, uplink, vlans) {
            // Another side is inside now.
            self.pairs.reset(&mut self.conversations, self.turned);
        }
    }

    /// Removes a port whose device has disappeared.
    pub fn remove_port(&mut self, link: u32) {
        self.edge.remove_port(link);
    }

    /// Sets the next hops of default routes: their stations are uplinks.
    pub fn set_gateways(&mut self, addresses: impl IntoIterator<Item = IpAddr>) {
        let gateways: HashSet<Mac> = addresses
            .into_iter()
            .filter_map(|address| self.neighbours.mac_of(&address))
            .collect();
        if gateways == *self.edge.gateways() {
            return;
        }
        if !gateways.is_empty() {
            // Until now the old gateways counted. Traffic through an unknown gateway seemed to stay
            // in the LAN.
            self.classify();
            for conversation in self.conversations.values_mut() {
                conversation.crosses_uplink =
                    conversation.crosses_uplink.filter(|crosses| *crosses);
            }
        }
        self.edge.set_gateways(gateways);
    }

    /// Returns true if a station is an uplink, so that it carries traffic of all devices.
    pub fn is_uplink(&self, device: &Device) -> bool {
        self.edge.is_uplink(device)
    }

    /// Sets the hardware address of a neighbour, or removes the neighbour.
    pub fn set_neighbour(&mut self, address: IpAddr, mac: Option<Mac>) {
        self.neighbours.update(address, mac);
    }

    /// Returns the hardware address of a neighbour.
    pub fn mac_of(&self, address: &IpAddr) -> Option<Mac> {
        self.neighbours.mac_of(address)
    }

    /// Returns the addresses of a station: those in the kernel's neighbour table; otherwise its
    /// used LAN address, unless the station is a router. IPv4 comes first, then global, unique
    /// local and link-local IPv6: the order does not depend on the last use.
    pub fn addresses(&self, device: &Device) -> Vec<IpAddr> {
        let mut found = self.neighbours.addresses(&device.mac);
        if found.is_empty() && !self.is_uplink(device) && !device.is_router() {
            found = device.used_addresses.iter().copied().collect();
        }
        found.sort_unstable_by_key(|address| (scope(address), *address));
        found
    }

    /// Returns the addresses of a station for display: also those of LANs that the station used and
    /// that the router did not need to resolve, as the station sent to other hosts there. Leaves
    /// out addresses of another neighbour.
    pub fn shown_addresses(&self, device: &Device) -> Vec<IpAddr> {
        let mut found = self.addresses(device);
        if self.is_uplink(device) {
            return found;
        }
        let used = device.used_addresses.iter().copied();
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
    pub fn set_unrecorded(&mut self, link: u32, rest: [UnrecordedPortTraffic; 2]) {
        if let Some(port) = self.edge.port_mut(link) {
            port.set_unrecorded(rest);
        }
    }

    /// Advances the clock; due every second, after the readings. Removes conversations that are
    /// over.
    pub fn advance(&mut self, now: Millis) {
        let millis = now.saturating_sub(std::mem::replace(&mut self.turned, now));
        self.classify();
        self.devices.turn(millis);
        self.edge.turn(millis);
        self.advance_conversations(millis, now);
    }

    /// Adds a reading of a record. Returns true if the record is still needed: `pressure` is the
    /// fill level of the records of its family, in 1/256.
    pub fn add_reading(&mut self, reading: &Reading, pressure: u32, now: Millis) -> bool {
        let Reading {
            key,
            mac,
            delta: grown,
            ..
        } = *reading;
        let last = now.saturating_sub(reading.idle.as_millis() as Millis);
        let first = now.saturating_sub(reading.age.as_millis() as Millis);
        let packets = [grown.sent.packets, grown.received.packets];
        let link = packets.map(|packets| packets * u64::from(reading.link_header));
        let mut slot = self.conversations.find(&key);
        // A removed conversation is not stored again, as long as it is silent.
        if grown != Counts::default() {
            if let Some(port) = self.edge.port_mut(key.port) {
                port.add_conversation(Some(key.vlan), grown, link);
            }
            slot =
                slot.or_else(|| self.add_conversation(&key, mac, first, reading.is_lasting(), now));
            let grown = TrafficDelta {
                key,
                mac,
                count: grown,
                outside: reading.outside,
                forwarded: false,
            };
            self.credit(&grown, slot, last);
        }
        let Some(conversation) = slot.and_then(|slot| self.conversations.at_mut(slot)) else {
            self.overflow += grown.sum();
            // The conversation is not stored: its record is soon freed for another.
            let patience = match pressure {
                ..FLOOD_LEVEL => Duration::from_secs(1),
                _ => FLOOD_TIMEOUT,
            };
            return reading.idle < patience;
        };
        conversation.total += grown;
        conversation.rate.add(grown);
        conversation.last = conversation.last.max(last);
        if let Some(times) = reading.rtt {
            // A new record of the conversation starts at 0.
            let before = if times.count < conversation.metered_rtt.count
                || times.retransmits < conversation.metered_rtt.retransmits
            {
                Default::default()
            } else {
                conversation.metered_rtt
            };
            conversation.metered_rtt = times;
            let (waits, again) = latency::changes(&before, &times);
            conversation.rtt.add(&before, &times);
            if waits[0].is_some() {
                conversation.rtt_measured_at = now;
            }
            for (sum, again) in conversation.retransmits.iter_mut().zip(again) {
                *sum += again;
            }
            if let Some(device) = self.devices.get_mut(&mac) {
                device.add_rtt(waits, again.iter().sum(), now);
            }
        }
        conversation.tcp_flags |= reading.tcp_flags;
        conversation.link_header = reading.link_header;
        if conversation.total == grown {
            conversation.tos = reading.tos;
            conversation.icmp = reading.icmp;
        }
        let silent = now.saturating_sub(conversation.last);
        u128::from(silent) < conversation.idle_timeout(pressure).as_millis()
    }

    /// Adds traffic that weir forwarded, which the meter did not see.
    pub fn add_forwarded(&mut self, forwarded: &ForwardedTraffic, now: Millis) {
        let ForwardedTraffic {
            key,
            direction: way,
            count,
            ..
        } = *forwarded;
        let (grown, link) = one_way(way, count, forwarded.link_bytes);
        if let Some(port) = self.edge.port_mut(key.port) {
            port.add_conversation(Some(key.vlan), grown, link);
        }
        let mut slot = self.conversations.find(&key);
        let known = slot.and_then(|slot| Some(self.conversations.at(slot)?.mac));
        let mac = known
            .or(forwarded.mac)
            .or_else(|| self.mac_of(&key.station))
            .unwrap_or_default();
        slot = slot.or_else(|| self.add_conversation(&key, mac, now, true, now));
        let more = TrafficDelta {
            key,
            mac,
            count: grown,
            outside: forwarded.outside,
            forwarded: true,
        };
        self.credit(&more, slot, now);
        let Some(conversation) = slot.and_then(|slot| self.conversations.at_mut(slot)) else {
            self.overflow += grown.sum();
            return;
        };
        conversation.total += grown;
        conversation.xdp = Some(forwarded.xdp);
        conversation.rate.add(grown);
        conversation.last = now;
    }

    /// Adds a waiting time of forwarded TCP. Unknown conversations are not timed.
    pub fn add_rtt(&mut self, waited: &RttSample, now: Millis) {
        let Some(conversation) = self.conversations.get_mut(&waited.key) else {
            return;
        };
        let mut waits = [None; 2];
        let (way, micros) = (waited.direction as usize, waited.micros);
        conversation.rtt.add_sample(way, micros, micros, 1);
        waits[way] = Some(micros);
        if waits[0].is_some() {
            conversation.rtt_measured_at = now;
        }
        if let Some(device) = self.devices.get_mut(&conversation.mac) {
            device.add_rtt(waits, 0, now);
        }
    }

    /// Adds frames that weir passed from one member of a bridge to another: `mac` is the station
    /// behind this member.
    pub fn add_bridged(&mut self, bridged: &BridgedTraffic, now: Millis) {
        let BridgedTraffic {
            port,
            mac,
            direction: way,
            count,
            link_bytes: link,
            crosses_uplink: crosses,
        } = *bridged;
        let (grown, links) = one_way(way, count, link);
        if let Some(port) = self.edge.port_mut(port) {
            port.add_conversation(None, grown, links);
        }
        let gathers = self.devices.gathers();
        if let Some(device) = self.devices.station(mac, port, 0, now) {
            device.total += grown;
            device.forwarded += grown;
            device.rate.add(grown);
            device.last = now;
            device.add_usage(gathers, Application::Other, grown, crosses);
        }
    }

    /// Adds traffic of a station without a record.
    pub fn add_unrecorded(&mut self, loose: &UnrecordedStationTraffic, now: Millis) {
        if let Some(port) = self.edge.port_mut(loose.port) {
            port.add_unrecorded(loose.vlan, loose.unplaced, loose.other);
        }
        let gathers = self.devices.gathers();
        // Records are full in floods, which go to the Internet mostly; and who makes one must not
        // escape a quota by it.
        let crosses = self.edge.networks().has_uplink();
        if let Some(device) = self.devices.station(loose.mac, loose.port, loose.vlan, now) {
            device.total += loose.unplaced;
            device.rate.add(loose.unplaced);
            device.last = now;
            device.add_usage(gathers, Application::Other, loose.unplaced, crosses);
        }
    }

    /// Adds to a station's sums. `slot`: the conversation, where it is remembered.
    fn credit(&mut self, grown: &TrafficDelta, slot: Option<Slot>, last: Millis) {
        let TrafficDelta {
            key, mac, count, ..
        } = *grown;
        let beyond = self.edge.is_beyond(key.port, key.vlan, &mac);
        let outside = grown.outside || beyond;
        let mut doubtful = count;
        if !outside {
            doubtful.received = Count::default();
        }
        let conversation = slot.and_then(|slot| self.conversations.at_mut(slot));
        let application = conversation
            .as_ref()
            .map(|conversation| conversation.application);
        // The destination is classified once both sides of the router are known. Traffic of another
        // station with equal endpoints does not belong to this conversation.
        let at_once = match conversation {
            Some(conversation) if conversation.mac == mac => {
                conversation.unclassified += doubtful;
                conversation.outside |= outside;
                false
            }
            _ => true,
        };
        let crosses = at_once.then(|| self.edge.leads_out(&key, &mac, key.remote));
        let application = application.unwrap_or(Application::Other);
        let gathers = self.devices.gathers();
        let Some(device) = self.devices.station(mac, key.port, key.vlan, last) else {
            return;
        };
        device.add_usage(gathers, application, count.since(&doubtful), false);
        if let Some(crosses) = crosses {
            device.add_usage(gathers, application, doubtful, crosses);
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
            device.add_address(key.station);
        }
    }

    /// Stores a new conversation. If the table is full, the new conversation replaces a short one,
    /// provided the new conversation is active.
    fn add_conversation(
        &mut self,
        key: &ConversationKey,
        mac: Mac,
        first: Millis,
        goes_on: bool,
        now: Millis,
    ) -> Option<Slot> {
        if self.conversations.is_full() && !(goes_on && self.make_room(now)) {
            return None;
        }
        // A new conversation may belong to a new station.
        if let Some(device) = self.devices.station(mac, key.port, key.vlan, first) {
            device.conversations += 1;
        }
        let id = self.next;
        self.next += 1;
        // A name from an earlier conversation with these ports does not apply.
        let said = self
            .early_names
            .remove(key)
            .filter(|(by, _, when)| *by == mac && first <= when + LATE);
        let client = Client::new(mac, key.station);
        let told = || self.names.remote_name(client, key.remote, first).cloned();
        let remote_name = said.map(|(_, name, _)| name).or_else(told);
        let conversation = Conversation {
            id,
            application: application(key, remote_name.as_deref()),
            remote_name,
            key: *key,
            mac,
            total: Counts::default(),
            unclassified: Counts::default(),
            crosses_uplink: None,
            crossed_uplink: false,
            outside: false,
            xdp: None,
            rate: Default::default(),
            first,
            last: first,
            tcp_flags: 0,
            rtt: Default::default(),
            metered_rtt: Default::default(),
            rtt_measured_at: 0,
            retransmits: [0; 2],
            tos: 0,
            icmp: (0, 0),
            link_header: 0,
            reported: Counts::default(),
            reported_retransmits: [0; 2],
            reported_at: now,
            egress_endpoints: None,
            other_half: None,
            leaders: 0,
        };
        let slot = self.conversations.insert(conversation);
        self.pairs.opened(key, self.limits.conversations, now);
        Some(slot)
    }

    /// Sets the routes of the router.
    pub fn set_networks(&mut self, networks: Networks) {
        if *self.edge.networks() == networks {
            return;
        }
        // Until now the old networks counted.
        self.classify();
        self.edge.set_networks(networks);
        for conversation in self.conversations.values_mut() {
            conversation.crosses_uplink = None;
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
    pub fn classify(&mut self) {
        for slot in 0..self.conversations.slots() {
            self.classify_at(slot);
        }
    }

    fn classify_at(&mut self, slot: Slot) {
        let Some(conversation) = self.conversations.at(slot) else {
            return;
        };
        // Exports need a verdict, even if no packet came since it was forgotten.
        if conversation.unclassified == Counts::default() && conversation.crosses_uplink.is_some() {
            return;
        }
        // While there is no uplink, a conversation that crossed one before still counts as
        // crossing.
        let still = conversation.crossed_uplink && !self.edge.networks().has_uplink();
        let by_edge = || {
            self.edge
                .crosses(conversation, self.conversations.other_half(conversation))
        };
        let crosses = conversation
            .crosses_uplink
            .unwrap_or_else(|| still || by_edge());
        let Some(conversation) = self.conversations.at_mut(slot) else {
            return;
        };
        (conversation.crosses_uplink, conversation.crossed_uplink) = (Some(crosses), crosses);
        let new = std::mem::take(&mut conversation.unclassified);
        let gathers = self.devices.gathers();
        if let Some(device) = self.devices.get_mut(&conversation.mac) {
            device.add_usage(gathers, conversation.application, new, crosses);
        }
    }

    /// Activates reports by [`Monitor::take_reports`]: of every conversation at its end, and of
    /// running ones each `active` milliseconds.
    pub fn set_report_interval(&mut self, active: Option<Millis>) {
        self.reports.set_interval(active);
    }

    /// Advances the clock of all conversations: updates their rates, reports those that are due,
    /// and removes those that are over.
    fn advance_conversations(&mut self, millis: u64, now: Millis) {
        let (mut quiet, mut due) = (Vec::new(), Vec::new());
        let mut most = self.reports.room();
        let mut lasting = 0;
        for conversation in self.conversations.values_mut() {
            conversation.rate.turn(millis);
            lasting += usize::from(!conversation.is_short());
            // A led conversation is reported with its leader. If too many are due, the others wait
            // for the next second.
            if most == 0 || conversation.leaders > 0 {
                continue;
            }
            if conversation.is_quiet(self.pressure, now) {
                quiet.push(conversation.key);
                most -= 1;
            } else if self.reports.is_due(conversation, now) {
                due.push(conversation.key);
                most -= 1;
            }
        }
        let pressure = std::mem::replace(&mut self.pressure, self.conversations.pressure(lasting));
        for key in &due {
            self.reports.add(&mut self.conversations, key, now);
        }
        let is_over = |key: &ConversationKey| self.conversations.is_over(key, pressure, now);
        let mut over: Vec<ConversationKey> = quiet.into_iter().filter(is_over).collect();
        while let Some(key) = over.pop() {
            let twin = self.remove(&key, now);
            let is_quiet = |twin: &ConversationKey| {
                let twin = self.conversations.get(twin);
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
        let Some(key) = self.conversations.dispensable(now) else {
            return false;
        };
        let twin = self.remove(&key, now);
        let had_few = |twin: &ConversationKey| {
            self.conversations
                .get(twin)
                .is_some_and(Conversation::is_evictable)
        };
        if let Some(twin) = twin.filter(had_few) {
            self.remove(&twin, now);
        }
        true
    }

    /// Removes a conversation, and reports the unreported part. Returns a conversation that only
    /// this one led.
    fn remove(&mut self, key: &ConversationKey, now: Millis) -> Option<ConversationKey> {
        if let Some(slot) = self.conversations.find(key) {
            self.classify_at(slot);
        }
        self.reports.add_ended(&mut self.conversations, key, now);
        let conversation = self.conversations.remove(key)?;
        if let Some(device) = self.devices.get_mut(&conversation.mac) {
            device.conversations = device.conversations.saturating_sub(1);
        }
        let twin = self.conversations.get_mut(&conversation.other_half?)?;
        twin.leaders = twin.leaders.saturating_sub(1);
        (twin.leaders == 0).then_some(twin.key)
    }

    /// Reports running conversations before weir stops, a batch at a time. Returns false after the
    /// last batch.
    pub fn report_rest(&mut self, now: Millis) -> bool {
        self.reports.add_rest(&mut self.conversations, now)
    }

    /// Returns the conversations to report, see [`Monitor::set_report_interval`].
    pub fn take_reports(&mut self) -> Vec<ConversationReport> {
        self.reports.take()
    }
}
