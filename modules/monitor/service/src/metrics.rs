//! Prometheus metrics of [`Devices`] and [`Probes`].
//!
//! A household has some dozen devices, a campus thousands, and phones change their addresses: each
//! device costs the scraper a handful of time series, for its whole retention. Hence at most as
//! many devices as given to [`Metrics::new`] have series of their own; all others add up to the
//! device `other`.

mod probes;
mod remembered;

use std::collections::{BTreeMap, HashMap, HashSet};

use answers::{Count, Device, Devices, PortCounters, Wifi};
use api::metrics::{Exposition, Metric, sanitized};

pub(super) use probes::probes;
pub(super) use remembered::remembered;

/// Default number of devices with time series of their own.
pub const DEVICE_LIMIT: usize = 256;

const DEVICE: &[&str] = &["mac", "name", "direction"];
const PORT: &[&str] = &["port", "direction", "kind"];

api::metrics! {
    DEVICE_BYTES "weir_device_bytes_total" Counter DEVICE, "Bytes of Internet traffic from (sent) \
        and to (received) a device.";
    DEVICE_PACKETS "weir_device_packets_total" Counter DEVICE, "IP packets of Internet traffic \
        from (sent) and to (received) a device.";
    DEVICE_LAN_BYTES "weir_device_lan_bytes_total" Counter DEVICE, "Bytes of IP packets from \
        (sent) and to (received) a device that crossed no uplink.";
    DEVICE_LAN_PACKETS "weir_device_lan_packets_total" Counter DEVICE, "IP packets from (sent) and \
        to (received) a device that crossed no uplink.";
    DEVICE_CONVERSATIONS "weir_device_conversations" Gauge &["mac", "name"], "Conversations of a device at the \
        moment.";
    DEVICE_RTT "weir_device_rtt_seconds" Gauge &["mac", "name", "side"],
        "Round trip of TCP, median of late: router to device (lan), router to the far ends (wan).";
    WIFI_SIGNAL "weir_device_wifi_signal_dbm" Gauge &["mac", "name"], "Signal of a Wi-Fi station.";
    WIFI_RATE "weir_device_wifi_rate_bits_per_second" Gauge DEVICE, "Link rate of a Wi-Fi \
        station, from (sent) and to (received) it.";
    WIFI_RETRIES "weir_device_wifi_retries_total" Counter &["mac", "name"], "Frames sent again to \
        a Wi-Fi station since it joined.";
    WIFI_FAILED "weir_device_wifi_failed_total" Counter &["mac", "name"], "Frames to a Wi-Fi \
        station that were given up since it joined.";
    WIFI_AIRTIME "weir_device_wifi_airtime_seconds_total" Counter &["mac", "name"],
        "Time on the air to and from a Wi-Fi station since it joined.";
    PORT_BYTES "weir_port_bytes_total" Counter PORT,
        "Bytes at a port: of IP in conversations, of IP without a record, of other protocols, of \
            link-layer headers.";
    PORT_PACKETS "weir_port_packets_total" Counter PORT, "Packets at a port: in conversations, without a \
        record, of other protocols.";
}

/// Counters of a device: received and sent, from and to the Internet and in the LAN.
type DeviceCounts = [Count; 4];

/// Writer of device metrics. It remembers the written devices, so that devices do not come and go,
/// and the sum of the others only rises.
#[derive(Debug)]
pub struct Metrics {
    limit: usize,
    shown: HashSet<String>,
    /// Traffic of every device at the last rendering.
    last: HashMap<String, DeviceCounts>,
    other: DeviceCounts,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new(DEVICE_LIMIT)
    }
}

impl Metrics {
    /// Creates the writer; at most `limit` devices have series of their own.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            shown: HashSet::new(),
            last: HashMap::new(),
            other: DeviceCounts::default(),
        }
    }

    /// Writes of devices, and of ports.
    pub fn devices(&mut self, text: &mut Exposition, devices: &Devices) {
        self.stations(text, devices);
        ports(text, devices);
    }

    fn stations(&mut self, text: &mut Exposition, devices: &Devices) {
        let all = merge(&devices.devices);
        self.choose(&all);
        let (shown, others): (Vec<_>, Vec<_>) = all
            .iter()
            .partition(|device| self.shown.contains(device.mac));
        for device in &others {
            // Traffic from the time when the device had its own series does not count as `other`.
            let before = self.last.get(device.mac).copied().unwrap_or_default();
            for (sum, (now, before)) in self.other.iter_mut().zip(device.both.iter().zip(before)) {
                sum.bytes = sum
                    .bytes
                    .saturating_add(now.bytes.saturating_sub(before.bytes));
                let packets = now.packets.saturating_sub(before.packets);
                sum.packets = sum.packets.saturating_add(packets);
            }
        }
        let other = Row {
            mac: "other",
            name: String::new(),
            both: self.other,
            conversations: others
                .iter()
                .fold(0, |sum: u64, d| sum.saturating_add(d.conversations)),
            rtt: [None, None],
            wifi: None,
        };
        let told = !others.is_empty() || self.other != DeviceCounts::default();
        let rows: Vec<&Row<'_>> = shown.into_iter().chain(told.then_some(&other)).collect();
        let counters =
            |text: &mut Exposition, metric: Metric, lan: bool, value: fn(&Count) -> u64| {
                text.family(metric);
                for row in &rows {
                    let both = &row.both[2 * usize::from(lan)..];
                    for (direction, count) in ["received", "sent"].into_iter().zip(both) {
                        text.sample(metric, &[row.mac, &row.name, direction], value(count));
                    }
                }
            };
        counters(text, DEVICE_BYTES, false, |count| count.bytes);
        counters(text, DEVICE_PACKETS, false, |count| count.packets);
        counters(text, DEVICE_LAN_BYTES, true, |count| count.bytes);
        counters(text, DEVICE_LAN_PACKETS, true, |count| count.packets);
        text.family(DEVICE_CONVERSATIONS);
        for row in &rows {
            text.sample(
                DEVICE_CONVERSATIONS,
                &[row.mac, &row.name],
                row.conversations,
            );
        }
        text.family(DEVICE_RTT);
        for row in &rows {
            for (side, rtt) in ["lan", "wan"].into_iter().zip(row.rtt) {
                if let Some(milliseconds) = rtt.filter(|rtt| rtt.is_finite() && *rtt >= 0.0) {
                    text.sample(
                        DEVICE_RTT,
                        &[row.mac, &row.name, side],
                        milliseconds / 1000.0,
                    );
                }
            }
        }
        wifi(text, &rows);
        self.last = all
            .iter()
            .map(|device| (device.mac.into(), device.both))
            .collect();
    }

    /// Selects the devices with series of their own. Selected ones stay, unless gone, or unless
    /// another device had more than twice as much traffic.
    fn choose(&mut self, all: &[Row<'_>]) {
        let there: HashSet<&str> = all.iter().map(|device| device.mac).collect();
        self.shown.retain(|mac| there.contains(mac.as_str()));
        let mut order: Vec<&Row<'_>> = all.iter().collect();
        order.sort_by_key(|device| (std::cmp::Reverse(device.bytes()), device.mac));
        let is_shown = |device: &&Row<'_>| self.shown.contains(device.mac);
        let (mut shown, candidates): (Vec<_>, Vec<_>) = order.into_iter().partition(is_shown);
        for candidate in candidates {
            if self.shown.len() >= self.limit {
                let Some(least) = shown.last() else { break };
                if candidate.bytes() / 2 <= least.bytes() {
                    break;
                }
                self.shown.remove(least.mac);
                shown.pop();
            }
            self.shown.insert(candidate.mac.into());
        }
    }
}

/// Time series of a device.
struct Row<'a> {
    mac: &'a str,
    name: String,
    both: DeviceCounts,
    conversations: u64,
    /// Milliseconds, LAN and WAN.
    rtt: [Option<f64>; 2],
    wifi: Option<&'a Wifi>,
}

impl Row<'_> {
    /// Returns the bytes of Internet traffic.
    fn bytes(&self) -> u64 {
        self.both[0].bytes.saturating_add(self.both[1].bytes)
    }
}

fn add(sum: &mut Count, more: &Count) {
    sum.bytes = sum.bytes.saturating_add(more.bytes);
    sum.packets = sum.packets.saturating_add(more.packets);
}

/// Merges devices into a row for each hardware address: duplicate rows would invalidate the whole
/// scrape. Uplinks are omitted: they carry traffic of all devices.
fn merge(devices: &[Device]) -> Vec<Row<'_>> {
    let mut rows: BTreeMap<&str, Row<'_>> = BTreeMap::new();
    for device in devices.iter().filter(|device| !device.uplink) {
        let row = rows.entry(&device.mac).or_insert_with(|| Row {
            mac: &device.mac,
            name: String::new(),
            both: DeviceCounts::default(),
            conversations: 0,
            rtt: [None, None],
            wifi: None,
        });
        let lan = &device.lan;
        let all = [&device.received, &device.sent, &lan.received, &lan.sent];
        for (sum, more) in row.both.iter_mut().zip(all) {
            add(sum, more);
        }
        row.conversations = row.conversations.saturating_add(device.conversations);
        if row.name.is_empty() {
            row.name = sanitized(device.name.as_deref().unwrap_or_default());
        }
        row.wifi = row.wifi.or(device.wifi.as_ref());
        if let Some(latency) = &device.latency {
            row.rtt = [row.rtt[0].or(latency.lan), row.rtt[1].or(latency.wan)];
        }
    }
    rows.into_values().collect()
}

/// Writes the radio links of devices, as the drivers report.
fn wifi(text: &mut Exposition, rows: &[&Row<'_>]) {
    let stations = || rows.iter().filter_map(|row| Some((row, row.wifi?)));
    text.family(WIFI_SIGNAL);
    for (row, wifi) in stations() {
        if let Some(signal) = wifi.signal {
            text.sample(WIFI_SIGNAL, &[row.mac, &row.name], signal);
        }
    }
    text.family(WIFI_RATE);
    for (row, wifi) in stations() {
        for (direction, rate) in [("received", wifi.rate_to), ("sent", wifi.rate_from)] {
            if let Some(rate) = rate {
                text.sample(WIFI_RATE, &[row.mac, &row.name, direction], rate);
            }
        }
    }
    for (metric, value) in [
        (WIFI_RETRIES, (|wifi| wifi.retries) as fn(&Wifi) -> _),
        (WIFI_FAILED, |wifi| wifi.failed),
    ] {
        text.family(metric);
        for (row, wifi) in stations() {
            if let Some(frames) = value(wifi) {
                text.sample(metric, &[row.mac, &row.name], frames);
            }
        }
    }
    text.family(WIFI_AIRTIME);
    for (row, wifi) in stations() {
        if let Some(micros) = wifi.airtime {
            text.sample(WIFI_AIRTIME, &[row.mac, &row.name], micros as f64 / 1e6);
        }
    }
}

fn ports(text: &mut Exposition, devices: &Devices) {
    let mut ports: BTreeMap<&str, [PortCounters; 2]> = BTreeMap::new();
    for port in &devices.ports {
        let sums = ports.entry(&port.name).or_default();
        for (sum, way) in sums.iter_mut().zip([&port.incoming, &port.outgoing]) {
            add(&mut sum.conversations, &way.conversations);
            add(&mut sum.unplaced, &way.unplaced);
            add(&mut sum.other, &way.other);
            sum.link = sum.link.saturating_add(way.link);
        }
    }
    let each =
        |text: &mut Exposition, metric: Metric, kind: &str, value: fn(&PortCounters) -> u64| {
            for (port, ways) in &ports {
                for (direction, way) in ["in", "out"].into_iter().zip(ways) {
                    text.sample(metric, &[port, direction, kind], value(way));
                }
            }
        };
    text.family(PORT_BYTES);
    each(text, PORT_BYTES, "conversations", |way| {
        way.conversations.bytes
    });
    each(text, PORT_BYTES, "unplaced", |way| way.unplaced.bytes);
    each(text, PORT_BYTES, "other", |way| way.other.bytes);
    each(text, PORT_BYTES, "link", |way| way.link);
    text.family(PORT_PACKETS);
    each(text, PORT_PACKETS, "conversations", |way| {
        way.conversations.packets
    });
    each(text, PORT_PACKETS, "unplaced", |way| way.unplaced.packets);
    each(text, PORT_PACKETS, "other", |way| way.other.packets);
}
