//! Metrics of radios for Prometheus.

use answers::{Radio, RadioPeers};
use api::metrics::{Exposition, sanitized};

api::metrics! {
    POWER "weir_radio_power_dbm" Gauge &["device"], "What an access point sends with, dBm.";
    MOST "weir_radio_max_dbm" Gauge &["device"], "The most that weir lets it send with, dBm.";
    ARRIVES "weir_radio_throughput_bits_per_second" Gauge &["device", "mac"], "What arrives at a \
        station if the radio sends to it alone, all the time, by what was sent in the last second.";
    PEER "weir_radio_peer_expected_bits_per_second" Gauge &["device", "mac", "interface"], "What is \
        expected to get through to a peer.";
    PEERS "weir_radio_peers" Gauge &["device", "key"], "Access points that have a device here: with \
        a key (yes), or INSECURE, in clear (none).";
}

/// Writes the metrics of access points.
pub fn write(text: &mut Exposition, radios: &[Radio]) {
    if radios.is_empty() {
        return;
    }
    text.family(POWER);
    for radio in radios {
        if let Some(power) = radio.power_dbm {
            text.sample(POWER, &[&sanitized(&radio.device)], f64::from(power));
        }
    }
    text.family(MOST);
    for radio in radios {
        text.sample(MOST, &[&sanitized(&radio.device)], f64::from(radio.max_dbm));
    }
    text.family(ARRIVES);
    for radio in radios {
        for station in &radio.stations {
            if let Some(arrives) = station.throughput_mbit {
                let labels: [&str; 2] = [&sanitized(&radio.device), &station.mac];
                text.sample(ARRIVES, &labels, arrives * 1e6);
            }
        }
    }
}

/// Writes the metrics of an access point's peers.
pub fn write_peers(text: &mut Exposition, told: &RadioPeers) {
    if told.peers.is_empty() {
        return;
    }
    text.family(PEER);
    for peer in &told.peers {
        if let Some(expected) = peer.expected_mbit {
            let labels: [&str; 3] = [&sanitized(&told.device), &peer.address, &peer.interface];
            text.sample(PEER, &labels, expected * 1e6);
        }
    }
}

/// Writes the number of peers with a device, with a key and without.
pub fn write_count(text: &mut Exposition, told: &RadioPeers) {
    let has_device = |state: &str| matches!(state, "installed" | "alive");
    let there = || told.peers.iter().filter(|peer| has_device(&peer.state));
    text.family(PEERS);
    for (key, encrypted) in [("yes", true), ("none", false)] {
        let count = there().filter(|peer| peer.encrypted == encrypted).count();
        text.sample(PEERS, &[&sanitized(&told.device), key], count as f64);
    }
}
