//! What is counted: conversations, stations and ports get their sums.

use std::time::Duration;

use kernel::{Mac, TalkKey};

use super::{Monitor, application};
use crate::apps::Application;
use crate::count::{Both, Count};
use crate::device::Device;
use crate::flood::{FULL, IN_A_FLOOD};
use crate::latency;
use crate::names::Client;
use crate::reading::{Bridged, Forwarded, Loose, Millis, Reading, Waited, Way};
use crate::talk::Talk;
use crate::talks::Slot;

/// When a conversation began is not known to the millisecond.
const LATE: Millis = 2000;

/// A conversation grew, at one of its two ports.
struct Grown {
    key: TalkKey,
    /// Of the station.
    mac: Mac,
    count: Both,
    /// See [`Reading::outside`].
    outside: bool,
    /// By weir.
    forwarded: bool,
}

impl Monitor {
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
            // Nobody will remember it: let the next have the place.
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
            // Another record of the same conversation begins from 0.
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
        let mut grown = Both::default();
        let mut link = [0; 2];
        match way {
            Way::Sent => (grown.sent, link[0]) = (count, forwarded.link),
            Way::Received => (grown.received, link[1]) = (count, forwarded.link),
        }
        if let Some(port) = self.ports.get_mut(&key.port) {
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
        let mut grown = Both::default();
        let mut links = [0; 2];
        match way {
            Way::Sent => (grown.sent, links[0]) = (count, link),
            Way::Received => (grown.received, links[1]) = (count, link),
        }
        if let Some(port) = self.ports.get_mut(&port) {
            port.talk(None, grown, links);
        }
        let gathers = self.gathers;
        if let Some(device) = self.station(mac, port, 0, now) {
            device.total += grown;
            device.forwarded += grown;
            device.rate.add(grown);
            device.last = now;
            device.used(gathers, Application::Other, grown, crosses);
        }
    }

    /// A station has more without a record.
    pub fn loose(&mut self, loose: &Loose, now: Millis) {
        if let Some(port) = self.ports.get_mut(&loose.port) {
            port.loose(loose.vlan, loose.unplaced, loose.other);
        }
        let gathers = self.gathers;
        // Records are full in floods, which go to the Internet mostly; and who makes one must not
        // escape a quota by it.
        let crosses = self.networks.has_uplink();
        if let Some(device) = self.station(loose.mac, loose.port, loose.vlan, now) {
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
        let beyond = self.is_beyond(key.port, key.vlan, &mac);
        let outside = grown.outside || beyond;
        let mut doubtful = count;
        if !outside {
            doubtful.received = Count::default();
        }
        let talk = slot.and_then(|slot| self.talks.at_mut(slot));
        let application = talk.as_ref().map(|talk| talk.application);
        // The destination is judged once both sides of the router are known. Traffic that another
        // station sends with the same ends is not of this conversation.
        let at_once = match talk {
            Some(talk) if talk.mac == mac => {
                talk.unjudged += doubtful;
                talk.outside |= outside;
                false
            }
            _ => true,
        };
        let crosses = at_once.then(|| self.leads_out(&key, &mac, key.far));
        let application = application.unwrap_or(Application::Other);
        let gathers = self.gathers;
        let Some(device) = self.station(mac, key.port, key.vlan, last) else {
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

    fn station(&mut self, mac: Mac, port: u32, vlan: u16, now: Millis) -> Option<&mut Device> {
        if !net::mac::is_station(&mac)
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
}
