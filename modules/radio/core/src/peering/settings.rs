//! Settings of a machine.

use kernel::Mac;

/// Limits for the choice of peers. Times are milliseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The access point's device, of which peers' devices have their names.
    pub device: String,
    /// The access point's address.
    pub own: Mac,
    /// Name of the network: beacons with another name are ignored.
    pub ssid: Vec<u8>,
    /// The channel's centre, MHz.
    pub frequency: u32,
    /// Peers at most.
    pub most: usize,
    /// A node with at least this signal becomes a peer, dBm.
    pub admit: i32,
    /// A peer whose mean signal is below this value is removed, dBm.
    pub release: i32,
    /// Time without a beacon after which a peer has left.
    pub silent: u64,
    /// Time without a frame after which a peer has left, too: each peer sends every second.
    pub inactive: u64,
    /// Number of unacknowledged frames between two readings that ends a silent peer, too.
    pub failed: u32,
    /// A key is in use for so long.
    pub rekey: u64,
    /// Only these nodes may be peers; empty: all nodes that prove the secret.
    pub allow: Vec<Mac>,
    /// Nodes that may not become peers.
    pub deny: Vec<Mac>,
    /// A node with the network's name but without our element becomes a peer, too, **in clear**, as
    /// in `APuP`: prefix of its device's name, 11 bytes at most. `None`: such nodes are ignored.
    pub clear: Option<String>,
}

impl Settings {
    /// Returns the default settings.
    pub fn new(device: &str, own: Mac, ssid: &[u8], frequency: u32) -> Self {
        Self {
            device: device.to_owned(),
            own,
            ssid: ssid.to_owned(),
            frequency,
            most: 8,
            admit: -75,
            release: -85,
            silent: 5_000,
            inactive: 4_000,
            failed: 20,
            rekey: 3_600_000,
            allow: Vec::new(),
            deny: Vec::new(),
            clear: None,
        }
    }

    pub(super) fn may_be_peer(&self, mac: &Mac) -> bool {
        !self.deny.contains(mac) && (self.allow.is_empty() || self.allow.contains(mac))
    }
}
