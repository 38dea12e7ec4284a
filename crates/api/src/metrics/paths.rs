//! Of uplinks that are used as one. Addresses come and go, devices stay: they are told by device
//! and family.

use std::collections::BTreeMap;

use super::{
    MULTIPATH_CARRIED, MULTIPATH_DIRECT, MULTIPATH_OPEN, MULTIPATH_REFUSED, PARTNER_CONNECTED,
    PATH_BACKUP, PATH_BYTES, PATH_RETRANSMITTED, PATH_RTT, PATH_SUBFLOWS, PATH_TUNNEL_BYTES, Text,
    harmless,
};
use crate::types::{PartnerState, Path, Paths};

/// All addresses of a family at one device.
#[derive(Default)]
struct Sum {
    sent: u64,
    received: u64,
    tunnel: [u64; 2],
    retransmitted: u64,
    subflows: usize,
    /// Microseconds.
    rtt: Option<u32>,
    /// None of them is in use but in need.
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

impl Text {
    /// Of uplinks that are used as one, where there is a partner.
    pub fn paths(&mut self, paths: &Paths) {
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
            let sum = sums.entry((harmless(&path.device), family));
            sum.or_default().add(path);
        }
        self.family(PATH_BYTES);
        for ((device, family), sum) in &sums {
            self.sample(PATH_BYTES, &[device, family, "sent"], sum.sent);
            self.sample(PATH_BYTES, &[device, family, "received"], sum.received);
        }
        self.family(PATH_TUNNEL_BYTES);
        for ((device, family), sum) in &sums {
            for (direction, octets) in ["sent", "received"].into_iter().zip(sum.tunnel) {
                self.sample(PATH_TUNNEL_BYTES, &[device, family, direction], octets);
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
            self.family(metric);
            for ((device, family), sum) in &sums {
                if let Some(value) = value(sum) {
                    self.sample(metric, &[device, family], value);
                }
            }
        }
        self.family(PARTNER_CONNECTED);
        let connected = paths.state == PartnerState::Connected;
        self.sample(PARTNER_CONNECTED, &[], u8::from(connected));
        let connections = &paths.connections;
        for (metric, number) in [
            (MULTIPATH_OPEN, connections.open),
            (MULTIPATH_CARRIED, connections.all),
            (MULTIPATH_DIRECT, connections.direct),
            (MULTIPATH_REFUSED, connections.refused),
        ] {
            self.family(metric);
            self.sample(metric, &[], number);
        }
    }
}
