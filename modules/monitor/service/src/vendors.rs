//! Manufacturers of devices: looked up once per device, on demand.

use std::cell::RefCell;
use std::collections::HashMap;

use kernel::Mac;
use monitor_core::vendor;

/// Maximum size of the cache, which is then emptied.
const MOST: usize = 4_096;

/// Cache of look-ups.
#[derive(Debug, Default)]
pub struct Vendors(RefCell<HashMap<Mac, Option<String>>>);

impl Vendors {
    /// Returns the manufacturer of the device with this hardware address.
    pub fn of(&self, mac: &Mac) -> Option<String> {
        let mut known = self.0.borrow_mut();
        if known.len() >= MOST {
            known.clear();
        }
        let found = known.entry(*mac).or_insert_with(|| vendor::of(mac));
        found.clone()
    }
}
