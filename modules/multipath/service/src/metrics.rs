//! Prometheus metrics of uplinks that are used as one. Addresses come and go, devices stay: so the
//! labels are device and family.

use std::collections::BTreeMap;

use answers::{PartnerState, Path, Paths};
use api::metrics::{Exposition, sanitized};

const PATH: &[&str] = &["device", "family"];

api::metrics! {
    PATH_BYTES "weir_path_bytes_total" Counter &["device", "family", "direction"],
        "Bytes of clients' connections by way of an uplink to the partner (sent) and back \
            (received).";
    PATH_TUNNEL_BYTES "weir_path_tunnel_bytes_total" Counter &["device", "family", "direction"],
        "Bytes of the tunnel's datagrams by way of an uplink to the partner (sent) and back \
            (received), with UDP and IP.";
    PATH_RETRANSMITTED "weir_path_retransmitted_bytes_total" Counter PATH, "Bytes sent to the \
        partner again.";
    PATH_SUBFLOWS "weir_path_subflows" Gauge PATH, "Subflows of connections by way of an uplink \
        at the moment.";
    PATH_RTT "weir_path_rtt_seconds" Gauge PATH, "Shortest round trip of TCP to the partner; \
        absent while nothing moves.";
    PATH_BACKUP "weir_path_backup" Gauge PATH, "1: the uplink is kept in reserve.";
    PARTNER_CONNECTED "weir_partner_connected" Gauge &[], "1: the partner of multipath is there.";
    MULTIPATH_OPEN "weir_multipath_open_connections" Gauge &[], "Connections of clients that \
        multipath has at the moment.";
    MULTIPATH_CARRIED "weir_multipath_carried_connections_total" Counter &[],
        "Connections of clients that multipath had, with those that went directly.";
    MULTIPATH_DIRECT "weir_multipath_direct_connections_total" Counter &[],
        "Connections of clients that went directly, as the partner was not reached.";
    MULTIPATH_CLEAR "weir_multipath_clear_connections_total" Counter &[],
        "Connections of clients that went to the partner as the client sent them, not encrypted once \
            more.";
    MULTIPATH_REFUSED "weir_multipath_refused_connections_total" Counter &[],
        "Connections of clients that were turned away, as there was no room.";
}

/// Sums over all addresses of a family at a device.
#[derive(Default)]
struct Sum {
    sent: u64,
    received: u64,
    tunnel: [u64; 2],
    retransmitted: u64,
    subflows: usize,
    /// Microseconds.
    rtt: Option<u32>,
    /// True if all of them wait until others fail.
    backup: bool,
}

impl Sum {
    fn add(&mut self, path: &Path) {
        self.sent = self.sent.saturating_add(path.sent);
        self.received = self.received.saturating_add(path.received);
        for (sum, more) in self
            .tunnel
            .iter_mut()
            .zip([path.tunnel_sent, path.tunnel_received])
        {
            *sum = sum.saturating_add(more);
        }
        self.retransmitted = self.retransmitted.saturating_add(path.retransmitted);
        self.backup = path.backup && (self.subflows == 0 || self.backup);
        self.subflows = self.subflows.saturating_add(path.subflows);
        self.rtt = self.rtt.into_iter().chain(path.rtt).min();
    }
}

/// Writes the metrics, if there is a partner.
pub fn write(text: &mut Exposition, paths: &Paths) {
    if paths.partner.is_none() {
        return;
    }
    let mut sums: BTreeMap<(String, &str), Sum> = BTreeMap::new();
    for path in &paths.paths {
        let family = if path.address.is_ipv4() {
            "ipv4"
        } else {
            "ipv6"
        };
        let sum = sums.entry((sanitized(&path.device), family));
        sum.or_default().add(path);
    }
    text.family(PATH_BYTES);
    for ((device, family), sum) in &sums {
        text.sample(PATH_BYTES, &[device, family, "sent"], sum.sent);
        text.sample(PATH_BYTES, &[device, family, "received"], sum.received);
    }
    text.family(PATH_TUNNEL_BYTES);
    for ((device, family), sum) in &sums {
        for (direction, octets) in ["sent", "received"].into_iter().zip(sum.tunnel) {
            text.sample(PATH_TUNNEL_BYTES, &[device, family, direction], octets);
        }
    }
    for (metric, value) in [
        (
            PATH_RETRANSMITTED,
            (|sum| Some(sum.retransmitted as f64)) as fn(&Sum) -> Option<f64>,
        ),
        (PATH_SUBFLOWS, |sum| Some(sum.subflows as f64)),
        (PATH_RTT, |sum| sum.rtt.map(|rtt| f64::from(rtt) / 1e6)),
        (PATH_BACKUP, |sum| Some(f64::from(u8::from(sum.backup)))),
    ] {
        text.family(metric);
        for ((device, family), sum) in &sums {
            if let Some(value) = value(sum) {
                text.sample(metric, &[device, family], value);
            }
        }
    }
    text.family(PARTNER_CONNECTED);
    let connected = paths.state == PartnerState::Connected;
    text.sample(PARTNER_CONNECTED, &[], u8::from(connected));
    let connections = &paths.connections;
    for (metric, number) in [
        (MULTIPATH_OPEN, connections.open),
        (MULTIPATH_CARRIED, connections.all),
        (MULTIPATH_DIRECT, connections.direct),
        (MULTIPATH_CLEAR, connections.clear),
        (MULTIPATH_REFUSED, connections.refused),
    ] {
        text.family(metric);
        text.sample(metric, &[], number);
    }
}
