//! Conditions that the monitor sees: uplinks that are down or full, quotas, and what it cannot
//! count.

use std::collections::{BTreeMap, HashMap};
use std::net::{Ipv4Addr, UdpSocket};

use kernel::Link;
use monitor_core::saturation::{Direction, Saturation, median};
use monitor_core::{Talk, Verdict};
use tracing::debug;

use super::keeper::{Keeper, unix_now};
use super::outages::{Outages, Uplink, unresolved};
use super::unplaced::Unplaced;
use net::mac::text as mac;
use runtime::daemon::{Finding, Value};

/// A device is there for so many milliseconds after its last packet.
const PRESENT: u64 = 600_000;
/// A round trip counts for so many milliseconds after it was measured.
const FRESH: u64 = 3000;

/// Seconds after which a silent gateway is asked again.
const ASKS: u64 = 5;

/// State from which conditions of uplinks follow.
#[derive(Debug, Default)]
pub struct Lines {
    outages: Outages,
    full: BTreeMap<u32, Saturation>,
    unplaced: BTreeMap<u32, Unplaced>,
}

/// The uplink that a conversation of a station inside goes through. `uplinks`: all, by index.
fn through<T>(talk: &Talk, uplinks: &BTreeMap<u32, T>) -> Option<u32> {
    if talk.is_internet() == Some(false) {
        return None;
    }
    let by = match talk.twin {
        Some(twin) => Some(twin.port).filter(|port| uplinks.contains_key(port)),
        // If there is only one uplink, the conversation goes through it.
        None if uplinks.len() == 1 => uplinks.keys().next().copied(),
        None => None,
    };
    by.filter(|by| *by != talk.key.port)
}

/// Makes the kernel ask for a gateway by ARP: without a packet for it, an entry that failed stays as it
/// is. The datagram goes to the discard service (RFC 863).
fn ask(gateway: Ipv4Addr) {
    let sent = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).and_then(|socket| {
        socket.set_nonblocking(true)?;
        socket.send_to(&[], (gateway, 9))
    });
    if let Err(error) = sent {
        debug!(%error, %gateway, "cannot ask for a gateway");
    }
}

impl Keeper {
    /// Looks at the uplinks; due every second.
    pub fn look_at_lines<'a>(&mut self, links: impl Iterator<Item = &'a Link> + Clone) {
        // Devices were not told of yet.
        if !self.complete {
            return;
        }
        let gateways = self.uplinks.gateways_in_use();
        let silent = match gateways.is_empty() {
            true => BTreeMap::new(),
            false => {
                let text = std::fs::read_to_string("/proc/net/arp").unwrap_or_default();
                unresolved(&text, &gateways)
            }
        };
        let seconds = self.now() / 1000;
        if seconds.is_multiple_of(ASKS) {
            silent.values().copied().for_each(ask);
        }
        let below = self.uplinks.below(links.clone());
        let devices = links.map(|link| {
            let uplink = Uplink {
                link: link.up,
                route: self.uplinks.devices.contains(&link.index),
                below: below.contains(&link.index),
                member: link.master.is_some(),
                tunnel: matches!(&*link.kind, "wireguard" | "tun"),
                silent: silent.get(&link.name).map(ToString::to_string),
            };
            (link.name.clone(), uplink)
        });
        let devices: BTreeMap<String, Uplink> = devices.collect();
        let elsewhere = self.uplinks.elsewhere;
        self.lines.outages.look(&devices, elsewhere, seconds);
        self.look_for_queues();
        self.look_for_unplaced(seconds);
    }

    fn look_for_unplaced(&mut self, now: u64) {
        let sums = self.core.ports().map(|(link, port)| {
            let [incoming, outgoing] = port.metered();
            let packets = incoming.unplaced.packets + outgoing.unplaced.packets;
            let placed = incoming.talks.packets + outgoing.talks.packets;
            (link, [packets, placed])
        });
        let sums: BTreeMap<u32, [u64; 2]> = sums.collect();
        let known = &mut self.lines.unplaced;
        known.retain(|link, _| sums.contains_key(link));
        for (link, sums) in sums {
            known.entry(link).or_default().turn(sums, now);
        }
    }

    fn look_for_queues(&mut self) {
        let uplinks = self.core.ports().filter(|(_, port)| port.uplink);
        let rates: BTreeMap<u32, [u64; 2]> = uplinks
            .map(|(link, port)| (link, [port.rate.sent, port.rate.received]))
            .collect();
        let mut growths: HashMap<u32, Vec<u32>> = HashMap::new();
        let now = self.now();
        let fresh =
            |talk: &&Talk| talk.times.count[0] > 0 && now.saturating_sub(talk.timed) < FRESH;
        for talk in self.core.talks().filter(fresh) {
            let growth = talk.times.last[0].saturating_sub(talk.times.least[0]);
            if let Some(by) = through(talk, &rates) {
                growths.entry(by).or_default().push(growth);
            }
        }
        let full = &mut self.lines.full;
        full.retain(|link, _| rates.contains_key(link));
        for (link, rates) in rates {
            let growth = growths.remove(&link).and_then(median);
            full.entry(link).or_default().turn(rates, growth);
        }
    }

    /// Conditions of now.
    pub fn conditions(&self, findings: &mut Vec<Finding>) {
        findings.extend(self.lines.outages.conditions());
        let of = |key| Finding::new(key, "monitor", "devices");
        for (link, line) in &self.lines.full {
            let Some(port) = self.metered.get(link) else {
                continue;
            };
            findings.extend(line.full().map(|full| {
                let key = match full.direction {
                    Direction::Upload => "upload-full",
                    Direction::Download => "download-full",
                };
                of(key)
                    .at(&port.name)
                    .with("rate", Value::Rate(full.rate))
                    .with("delay", Value::Millis(full.delay.into()))
            }));
        }
        for (link, port) in self.core.ports() {
            let unplaced = self.lines.unplaced.get(&link);
            if let Some(packets) = unplaced.and_then(Unplaced::many) {
                let finding = of("unplaced").at(&port.name);
                findings.push(finding.with("count", Value::Count(packets)));
            }
        }
        let now = self.now();
        for device in self.core.devices() {
            let of = |key| {
                let address = mac(&device.mac);
                let name = self.core.name_of(device);
                let name = name.map_or_else(|| address.clone(), |(name, _)| name.to_owned());
                of(key).of(&address).with("name", Value::Text(name))
            };
            let present = now.saturating_sub(device.last) < PRESENT;
            let bad = device.latency.verdict() == Some(Verdict::Bad);
            if present && bad && !self.core.is_uplink(device) {
                findings.push(of("bloat"));
            }
            let past = self.past.as_ref();
            let Some(quota) = past.and_then(|past| past.quota(&device.mac)) else {
                continue;
            };
            let key = match quota.state.as_str() {
                "warned" => "quota-warned",
                "exceeded" => "quota-exceeded",
                "cut" => "quota-cut",
                _ => continue,
            };
            let share = quota.used as f64 / quota.limit.max(1) as f64;
            let offset = past.map_or(0, |past| past.offset_minutes(unix_now()));
            let finding = of(key)
                .with("used", Value::Bytes(quota.used))
                .with("limit", Value::Bytes(quota.limit))
                .with("share", Value::Share(share))
                .with("resets", Value::Moment(quota.resets, offset));
            findings.push(finding);
        }
    }
}
