//! What is asked of vouchers and devices: nothing changes by it.

use std::collections::BTreeMap;
use std::net::IpAddr;

use kernel::Mac;

use super::{Guest, Guests, Kept};
use crate::Millis;
use crate::rates::Slowed;
use crate::voucher::{Origin, Voucher};

impl Guests {
    /// When somebody's time is over next.
    pub fn next(&self, now: Millis) -> Option<Millis> {
        let running = self.vouchers.values().filter(|kept| kept.since.is_some());
        running.filter_map(|kept| Some(now + kept.left(now)?)).min()
    }

    /// What of their time is gone of the vouchers in use, to be noted.
    pub fn used(&self, now: Millis) -> BTreeMap<String, Millis> {
        let running = self.vouchers.values().filter(|kept| kept.since.is_some());
        running
            .filter(|kept| kept.voucher.origin != Origin::Free)
            .map(|kept| (kept.voucher.id.clone(), kept.used(now)))
            .collect()
    }

    /// Whether bytes of anybody are to be counted, or looked for.
    pub fn counts(&self) -> bool {
        let watched = |kept: &Kept| kept.voucher.bytes.is_some() || kept.voucher.online;
        let mut all = self.vouchers.values();
        all.any(|kept| kept.is_in_use() && watched(kept))
    }

    /// Devices whose rate is limited.
    pub fn slowed(&self) -> Slowed {
        let mut slowed = Slowed::default();
        // By vouchers, as few have a rate.
        for Kept { voucher, .. } in self.vouchers.values() {
            let Some(rate) = voucher.rate else { continue };
            for user in &voucher.users {
                let guest = self.guests.get(&user.mac);
                // One that waits has no say yet.
                let by_this = |guest: &&Guest| guest.voucher.as_ref() == Some(&voucher.id);
                if let Some(guest) = guest.filter(by_this) {
                    slowed.add(&user.mac, guest.addresses.iter().copied(), rate);
                }
            }
        }
        slowed
    }

    /// All vouchers that were sold, with what of their time is gone.
    pub fn vouchers(&self, now: Millis) -> impl Iterator<Item = (&Voucher, Millis)> {
        self.vouchers
            .values()
            .filter(|kept| kept.voucher.origin.is_sold())
            .map(move |kept| (&kept.voucher, kept.used(now)))
    }

    /// One of them.
    pub fn voucher(&self, id: &str, now: Millis) -> Option<(&Voucher, Millis)> {
        let kept = self.vouchers.get(id)?;
        Some((&kept.voucher, kept.used(now)))
    }

    /// Those who were let in.
    pub fn guests(&self) -> impl Iterator<Item = (&Mac, &Guest)> {
        self.guests.iter()
    }

    /// Whether somebody who was let in has this address.
    pub fn knows(&self, address: &IpAddr) -> bool {
        self.whose.contains_key(address)
    }

    /// One of them.
    pub fn guest(&self, mac: &Mac) -> Option<&Guest> {
        self.guests.get(mac)
    }

    /// What is left to a device: milliseconds and bytes, of all its vouchers together; `None`: no
    /// end.
    pub fn remaining(&self, mac: &Mac, now: Millis) -> (Option<Millis>, Option<u64>) {
        let Some(guest) = self.guests.get(mac) else {
            return (None, None);
        };
        let kept = guest.ids().filter_map(|id| self.vouchers.get(id));
        let bytes: Option<Vec<u64>> = kept.map(|kept| kept.voucher.bytes_left()).collect();
        let bytes = bytes.filter(|_| guest.voucher.is_some());
        let bytes = bytes.map(|all| all.into_iter().fold(0, u64::saturating_add));
        let first = guest.voucher.as_ref().and_then(|id| self.vouchers.get(id));
        let left = first.and_then(|first| self.in_turn(first.left(now), guest, now));
        (left, bytes)
    }
}
