//! Browsers of guests, by the numbers that they keep.

use std::collections::HashMap;

use kernel::Mac;
use net::clock::unix_seconds;
use net::mac::text as mac_text;
use portal_core::pass::Pass;
use tracing::warn;

/// Devices of which is remembered that another browser was seen.
const MOST_OTHERS: usize = 1024;

/// Devices of which another browser was seen than theirs, and when.
#[derive(Default)]
pub struct Browsers(HashMap<Mac, u64>);

impl Browsers {
    /// Returns the time when a foreign browser was last seen at a device's address.
    pub fn other(&self, mac: &Mac) -> Option<u64> {
        self.0.get(mac).copied()
    }

    /// Compares a browser with the one that logged in at this address (`known`). With another
    /// browser, another device may have copied the hardware address.
    pub fn compare(&mut self, mac: Mac, known: u64, pass: Option<Pass>, logs_in: bool) {
        // A client without a pass may be another program of the same device.
        let other = pass.map_or(logs_in, |pass| pass.token != known);
        if !other || self.0.len() >= MOST_OTHERS {
            return;
        }
        if self.0.insert(mac, unix_seconds()).is_none() {
            let mac = mac_text(&mac);
            warn!(
                mac,
                "hardware address used by another browser than at log-in: two devices may share it"
            );
        }
    }
}

/// Returns a unique number; `None`: no random numbers are available.
pub fn number() -> Option<u64> {
    let mut octets = [0; 8];
    getrandom::fill(&mut octets).ok()?;
    Some(u64::from_be_bytes(octets))
}
