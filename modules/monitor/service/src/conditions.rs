//! Conditions that the monitor reports: uplinks that are down or full, quotas, and ports without
//! counters.

use std::collections::{BTreeMap, HashMap};
use std::net::{Ipv4Addr, UdpSocket};

use kernel::Link;
use monitor_core::saturation::{Direction, Saturation, median};
use monitor_core::{Conversation, Millis, Monitor, Verdict};
use tracing::debug;

use super::clock::unix_now;
use super::outages::{Outages, Uplink, unresolved};
use super::ports::Ports;
use super::unplaced::Unplaced;
use history::recorder::HistoryRecorder;
use net::mac::text as mac;
use runtime::daemon::{Finding, Value};

/// Milliseconds after its last packet for which a device counts as present.
const PRESENT: u64 = 600_000;
/// Milliseconds for which a measured round trip counts.
const FRESH: u64 = 3000;

/// Seconds after which a silent gateway is queried again.
const ASKS: u64 = 5;

/// State from which conditions of uplinks follow.
#[derive(Debug, Default)]
pub struct UplinkHealth {
    outages: Outages,
    full: BTreeMap<u32, Saturation>,
    unplaced: BTreeMap<u32, Unplaced>,
}

/// Returns the uplink of a conversation of an inside station. `uplinks`: all uplinks, by index.
fn through<T>(conversation: &Conversation, uplinks: &BTreeMap<u32, T>) -> Option<u32> {
    if conversation.is_internet() == Some(false) {
        return None;
    }
    let by = match conversation.other_half {
        Some(twin) => Some(twin.port).filter(|port| uplinks.contains_key(port)),
        // If there is only one uplink, the conversation goes through it.
        None if uplinks.len() == 1 => uplinks.keys().next().copied(),
        None => None,
    };
    by.filter(|by| *by != conversation.key.port)
}

/// Makes the kernel send an ARP request for a gateway: without a packet, a failed entry stays. The
/// datagram goes to the discard service (RFC 863).
fn ask(gateway: Ipv4Addr) {
    let sent = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).and_then(|socket| {
        socket.set_nonblocking(true)?;
        socket.send_to(&[], (gateway, 9))
    });
    if let Err(error) = sent {
        debug!(%error, %gateway, "cannot probe a gateway");
    }
}

impl UplinkHealth {
    /// Checks the uplinks; due every second.
    pub fn update<'a>(
        &mut self,
        links: impl Iterator<Item = &'a Link> + Clone,
        ports: &Ports,
        core: &Monitor,
        now: Millis,
    ) {
        // Devices are not listed yet.
        if !ports.is_complete() {
            return;
        }
        let uplinks = ports.uplinks();
        let gateways = uplinks.gateways_in_use();
        let silent = match gateways.is_empty() {
            true => BTreeMap::new(),
            false => {
                let text = std::fs::read_to_string("/proc/net/arp").unwrap_or_default();
                unresolved(&text, &gateways)
            }
        };
        let seconds = now / 1000;
        if seconds.is_multiple_of(ASKS) {
            silent.values().copied().for_each(ask);
        }
        let below = uplinks.below(links.clone());
        let devices = links.map(|link| {
            let uplink = Uplink {
                link: link.up,
                route: uplinks.devices.contains(&link.index),
                below: below.contains(&link.index),
                member: link.master.is_some(),
                tunnel: matches!(&*link.kind, "wireguard" | "tun"),
                silent: silent.get(&link.name).map(ToString::to_string),
            };
            (link.name.clone(), uplink)
        });
        let devices: BTreeMap<String, Uplink> = devices.collect();
        let elsewhere = uplinks.elsewhere;
        self.outages.look(&devices, elsewhere, seconds);
        self.look_for_queues(core, now);
        self.look_for_unplaced(core, seconds);
    }

    fn look_for_unplaced(&mut self, core: &Monitor, now: u64) {
        let sums = core.ports().map(|(link, port)| {
            let [incoming, outgoing] = port.counters();
            let packets = incoming.unplaced.packets + outgoing.unplaced.packets;
            let placed = incoming.conversations.packets + outgoing.conversations.packets;
            (link, [packets, placed])
        });
        let sums: BTreeMap<u32, [u64; 2]> = sums.collect();
        let known = &mut self.unplaced;
        known.retain(|link, _| sums.contains_key(link));
        for (link, sums) in sums {
            known.entry(link).or_default().turn(sums, now);
        }
    }

    fn look_for_queues(&mut self, core: &Monitor, now: Millis) {
        let uplinks = core.ports().filter(|(_, port)| port.uplink);
        let rates: BTreeMap<u32, [u64; 2]> = uplinks
            .map(|(link, port)| (link, [port.rate.sent, port.rate.received]))
            .collect();
        let mut growths: HashMap<u32, Vec<u32>> = HashMap::new();
        let fresh = |conversation: &&Conversation| {
            conversation.rtt.count[0] > 0
                && now.saturating_sub(conversation.rtt_measured_at) < FRESH
        };
        for conversation in core.conversations().filter(fresh) {
            let growth = conversation.rtt.last[0].saturating_sub(conversation.rtt.min[0]);
            if let Some(by) = through(conversation, &rates) {
                growths.entry(by).or_default().push(growth);
            }
        }
        let full = &mut self.full;
        full.retain(|link, _| rates.contains_key(link));
        for (link, rates) in rates {
            let growth = growths.remove(&link).and_then(median);
            full.entry(link).or_default().turn(rates, growth);
        }
    }

    /// Conditions of now.
    pub fn conditions(
        &self,
        ports: &Ports,
        core: &Monitor,
        past: Option<&HistoryRecorder>,
        now: Millis,
        findings: &mut Vec<Finding>,
    ) {
        findings.extend(self.outages.conditions());
        let of = |key| Finding::new(key, "monitor", "devices");
        for (link, line) in &self.full {
            let Some(port) = ports.get(*link) else {
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
        for (link, port) in core.ports() {
            let unplaced = self.unplaced.get(&link);
            if let Some(packets) = unplaced.and_then(Unplaced::many) {
                let finding = of("unplaced").at(&port.name);
                findings.push(finding.with("count", Value::Count(packets)));
            }
        }
        for device in core.devices() {
            let of = |key| {
                let address = mac(&device.mac);
                let name = core.name_of(device);
                let name = name.map_or_else(|| address.clone(), |(name, _)| name.to_owned());
                of(key).of(&address).with("name", Value::Text(name))
            };
            let present = now.saturating_sub(device.last) < PRESENT;
            let bad = device.latency.verdict() == Some(Verdict::Bad);
            if present && bad && !core.is_uplink(device) {
                findings.push(of("bloat"));
            }
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
