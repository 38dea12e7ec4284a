//! Vouchers, and the devices that came with them: what happens, and what changes by it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;

use kernel::Mac;

use crate::Millis;
use crate::code::Code;
use crate::voucher::{State, Voucher};

/// Addresses that one device has at most: an IPv4 address, and IPv6 addresses that change.
const ADDRESSES: usize = 16;

/// Something to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A device is let in, for so many milliseconds; `None`: for ever.
    Admit(Mac, Option<Millis>),
    /// It has this address.
    Address(Mac, IpAddr, Option<Millis>),
    /// It no longer has this address.
    Drop(Mac, IpAddr),
    /// A device is not let in any more.
    Refuse(Mac),
    /// Connections of this address end.
    End(IpAddr),
    /// A voucher is to be kept as it is now.
    Keep(Voucher),
}

/// Why somebody is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is no such voucher.
    Unknown,
    /// Its time is over.
    Expired,
    /// It was called back.
    Invalidated,
}

/// A device that was let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guest {
    /// Id of its voucher; `None`: it needs none.
    pub voucher: Option<String>,
    /// Its addresses, as far as they are known.
    pub addresses: BTreeSet<IpAddr>,
}

/// A voucher, and the time that goes by.
#[derive(Clone, Debug)]
struct Kept {
    voucher: Voucher,
    /// Since when its time goes by, beyond what is noted as used.
    since: Option<Millis>,
}

impl Kept {
    fn used(&self, now: Millis) -> Millis {
        let running = self.since.map_or(0, |since| now.saturating_sub(since));
        self.voucher.used.saturating_add(running)
    }

    fn left(&self, now: Millis) -> Option<Millis> {
        self.voucher.left(self.used(now))
    }

    fn is_over(&self, now: Millis) -> bool {
        self.left(now) == Some(0) || self.voucher.bytes_left() == Some(0)
    }

    /// As it is to be kept.
    fn noted(&mut self, now: Millis) -> Change {
        self.voucher.used = self.used(now);
        if self.since.is_some() {
            self.since = Some(now);
        }
        Change::Keep(self.voucher.clone())
    }
}

/// All vouchers and devices.
#[derive(Clone, Debug, Default)]
pub struct Guests {
    vouchers: BTreeMap<String, Kept>,
    codes: HashMap<Code, String>,
    guests: BTreeMap<Mac, Guest>,
    whose: HashMap<IpAddr, Mac>,
}

impl Guests {
    /// With the vouchers that there are: those in use go on from where they were when that was last
    /// noted, and their devices are let in.
    pub fn new(
        vouchers: impl IntoIterator<Item = Voucher>,
        now: Millis,
        out: &mut Vec<Change>,
    ) -> Self {
        let mut guests = Self::default();
        for voucher in vouchers {
            let (users, id) = (voucher.users.clone(), voucher.id.clone());
            let active = voucher.state(voucher.used, 0) == State::Active;
            guests.codes.insert(voucher.code, id.clone());
            let since = active.then_some(now);
            let left = voucher.left(voucher.used);
            guests.vouchers.insert(id.clone(), Kept { voucher, since });
            for mac in users.into_iter().filter(|_| active) {
                guests.guests.insert(
                    mac,
                    Guest {
                        voucher: Some(id.clone()),
                        addresses: BTreeSet::new(),
                    },
                );
                out.push(Change::Admit(mac, left));
            }
        }
        guests
    }

    /// Lets these devices in for ever, and no others that have no voucher.
    pub fn exempt(&mut self, macs: &[Mac], out: &mut Vec<Change>) {
        let free = self
            .guests
            .iter()
            .filter(|(_, guest)| guest.voucher.is_none());
        let gone: Vec<Mac> = free
            .map(|(mac, _)| *mac)
            .filter(|mac| !macs.contains(mac))
            .collect();
        for mac in gone {
            self.refuse(mac, out);
        }
        for mac in macs {
            let known = self.guests.get(mac);
            if known.is_some_and(|guest| guest.voucher.is_none()) {
                continue;
            }
            let addresses = known
                .map(|guest| guest.addresses.clone())
                .unwrap_or_default();
            out.push(Change::Admit(*mac, None));
            out.extend(
                addresses
                    .iter()
                    .map(|address| Change::Address(*mac, *address, None)),
            );
            let guest = Guest {
                voucher: None,
                addresses,
            };
            self.guests.insert(*mac, guest);
        }
    }

    /// One more voucher. Its code and id are nobody else's, or it is not taken.
    pub fn add(&mut self, voucher: Voucher) -> bool {
        if self.codes.contains_key(&voucher.code) || self.vouchers.contains_key(&voucher.id) {
            return false;
        }
        self.codes.insert(voucher.code, voucher.id.clone());
        let kept = Kept {
            voucher,
            since: None,
        };
        self.vouchers.insert(kept.voucher.id.clone(), kept);
        true
    }

    /// A device with this address came with a code.
    pub fn log_in(
        &mut self,
        (mac, address): (Mac, IpAddr),
        code: Code,
        when: (Millis, u64),
        out: &mut Vec<Change>,
    ) -> Result<(), Refusal> {
        let id = self.codes.get(&code).ok_or(Refusal::Unknown)?.clone();
        self.admit(mac, &id, when, out)?;
        self.seen(mac, address, when.0, out);
        Ok(())
    }

    /// A device is let in by a voucher. Where all of the voucher's devices are there already, the
    /// one that came first makes room.
    pub fn admit(
        &mut self,
        mac: Mac,
        id: &str,
        (now, wall): (Millis, u64),
        out: &mut Vec<Change>,
    ) -> Result<(), Refusal> {
        // Who needs no voucher uses none up.
        let before = self.guests.get(&mac);
        if before.is_some_and(|guest| guest.voucher.is_none()) {
            return Ok(());
        }
        let kept = self.vouchers.get_mut(id).ok_or(Refusal::Unknown)?;
        match kept.voucher.state(kept.used(now), wall) {
            State::Expired => return Err(Refusal::Expired),
            State::Invalidated => return Err(Refusal::Invalidated),
            State::Available => {
                kept.voucher.activated = Some(wall);
                kept.since = Some(now);
            }
            State::Active => {}
        }
        let users = &mut kept.voucher.users;
        users.retain(|user| *user != mac);
        users.push(mac);
        let room = kept.voucher.devices.max(1) as usize;
        let excess = users.len().saturating_sub(room);
        let pushed: Vec<Mac> = users.drain(..excess).collect();
        let keep = kept.noted(now);
        let left = kept.left(now);
        out.push(keep);
        for other in pushed {
            self.refuse(other, out);
        }
        // One that comes with another voucher gives the former back.
        let before = self.guests.get(&mac);
        let former = before
            .and_then(|guest| guest.voucher.clone())
            .filter(|former| former != id);
        let addresses = before
            .map(|guest| guest.addresses.clone())
            .unwrap_or_default();
        if let Some(former) = former.and_then(|former| self.vouchers.get_mut(&former)) {
            former.voucher.users.retain(|user| *user != mac);
            out.push(former.noted(now));
        }
        out.push(Change::Admit(mac, left));
        out.extend(
            addresses
                .iter()
                .map(|known| Change::Address(mac, *known, left)),
        );
        let guest = Guest {
            voucher: Some(id.to_owned()),
            addresses,
        };
        self.guests.insert(mac, guest);
        Ok(())
    }

    /// This device has this address now, and nobody else does.
    pub fn seen(&mut self, mac: Mac, address: IpAddr, now: Millis, out: &mut Vec<Change>) {
        match self.whose.get(&address) {
            Some(whose) if *whose == mac => return,
            Some(_) => self.gone(address, out),
            None => {}
        }
        let Some(guest) = self.guests.get_mut(&mac) else {
            return;
        };
        let left = match &guest.voucher {
            None => None,
            Some(id) => match self.vouchers.get(id).map(|kept| kept.left(now)) {
                Some(left) => left,
                None => return,
            },
        };
        // The lowest is no better than another: what it still needs is seen again.
        if guest.addresses.len() >= ADDRESSES
            && let Some(old) = guest.addresses.first().copied()
        {
            self.gone(old, out);
        }
        if let Some(guest) = self.guests.get_mut(&mac) {
            guest.addresses.insert(address);
            self.whose.insert(address, mac);
            out.push(Change::Address(mac, address, left));
        }
    }

    /// Nobody has this address any more.
    pub fn gone(&mut self, address: IpAddr, out: &mut Vec<Change>) {
        let Some(mac) = self.whose.remove(&address) else {
            return;
        };
        if let Some(guest) = self.guests.get_mut(&mac) {
            guest.addresses.remove(&address);
        }
        out.push(Change::Drop(mac, address));
        out.push(Change::End(address));
    }

    fn refuse(&mut self, mac: Mac, out: &mut Vec<Change>) {
        let Some(guest) = self.guests.remove(&mac) else {
            return;
        };
        out.push(Change::Refuse(mac));
        for address in guest.addresses {
            self.whose.remove(&address);
            out.push(Change::Drop(mac, address));
            out.push(Change::End(address));
        }
    }

    /// A device goes: by its own wish, or the administrator's. Whether it was let in.
    pub fn end(&mut self, mac: Mac, now: Millis, out: &mut Vec<Change>) -> bool {
        let Some(guest) = self.guests.get(&mac) else {
            return false;
        };
        if let Some(kept) = guest
            .voucher
            .as_ref()
            .and_then(|id| self.vouchers.get_mut(id))
        {
            kept.voucher.users.retain(|user| *user != mac);
            out.push(kept.noted(now));
        }
        self.refuse(mac, out);
        true
    }

    /// A voucher is called back, with all its devices. Whether there is one.
    pub fn invalidate(
        &mut self,
        id: &str,
        (now, wall): (Millis, u64),
        out: &mut Vec<Change>,
    ) -> bool {
        let Some(kept) = self.vouchers.get_mut(id) else {
            return false;
        };
        let users = std::mem::take(&mut kept.voucher.users);
        kept.voucher.invalidated.get_or_insert(wall);
        out.push(kept.noted(now));
        kept.since = None;
        for mac in users {
            self.refuse(mac, out);
        }
        true
    }

    /// A voucher gets another name. Whether there is one.
    pub fn rename(&mut self, id: &str, name: String, now: Millis, out: &mut Vec<Change>) -> bool {
        let Some(kept) = self.vouchers.get_mut(id) else {
            return false;
        };
        kept.voucher.name = name;
        out.push(kept.noted(now));
        true
    }

    /// Those whose time is over go.
    pub fn expire(&mut self, now: Millis, out: &mut Vec<Change>) {
        let over: Vec<String> = self
            .vouchers
            .iter()
            .filter(|(_, kept)| kept.since.is_some() && kept.is_over(now))
            .map(|(id, _)| id.clone())
            .collect();
        for id in over {
            let Some(kept) = self.vouchers.get_mut(&id) else {
                continue;
            };
            out.push(kept.noted(now));
            kept.since = None;
            let (users, free) = (kept.voucher.users.clone(), kept.voucher.free);
            for mac in users {
                self.refuse(mac, out);
            }
            if free && let Some(kept) = self.vouchers.remove(&id) {
                self.codes.remove(&kept.voucher.code);
            }
        }
    }

    /// When somebody's time is over next.
    pub fn next(&self, now: Millis) -> Option<Millis> {
        let running = self.vouchers.values().filter(|kept| kept.since.is_some());
        running.filter_map(|kept| Some(now + kept.left(now)?)).min()
    }

    /// What of their time is gone of the vouchers in use, to be noted.
    pub fn used(&self, now: Millis) -> BTreeMap<String, Millis> {
        let running = self.vouchers.values().filter(|kept| kept.since.is_some());
        running
            .filter(|kept| !kept.voucher.free)
            .map(|kept| (kept.voucher.id.clone(), kept.used(now)))
            .collect()
    }

    /// So many bytes were sent or received by who has this address.
    pub fn moved(&mut self, address: &IpAddr, bytes: u64) {
        let guest = self.whose.get(address).and_then(|mac| self.guests.get(mac));
        let id = guest.and_then(|guest| guest.voucher.as_ref());
        if let Some(kept) = id.and_then(|id| self.vouchers.get_mut(id)) {
            kept.voucher.moved = kept.voucher.moved.saturating_add(bytes);
        }
    }

    fn counted(&self) -> impl Iterator<Item = &Kept> {
        let running = self.vouchers.values().filter(|kept| kept.since.is_some());
        running.filter(|kept| kept.voucher.bytes.is_some())
    }

    /// Whether bytes of anybody are to be counted.
    pub fn counts(&self) -> bool {
        self.counted().next().is_some()
    }

    /// What of their bytes is gone of the vouchers in use that have an end of them, to be noted.
    pub fn all_moved(&self) -> BTreeMap<String, u64> {
        let counted = self.counted();
        counted
            .map(|kept| (kept.voucher.id.clone(), kept.voucher.moved))
            .collect()
    }

    /// All vouchers that were sold, with what of their time is gone.
    pub fn vouchers(&self, now: Millis) -> impl Iterator<Item = (&Voucher, Millis)> {
        self.vouchers
            .values()
            .filter(|kept| !kept.voucher.free)
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

    /// What the kernel is to know, all of it.
    pub fn all(&self, now: Millis) -> Vec<Change> {
        let mut out = Vec::new();
        for (mac, guest) in &self.guests {
            let left = match &guest.voucher {
                None => None,
                Some(id) => match self.vouchers.get(id) {
                    Some(kept) => kept.left(now),
                    None => continue,
                },
            };
            if left == Some(0) {
                continue;
            }
            out.push(Change::Admit(*mac, left));
            let addresses = guest.addresses.iter();
            out.extend(addresses.map(|address| Change::Address(*mac, *address, left)));
        }
        out
    }
}

#[cfg(test)]
#[path = "guests_tests.rs"]
mod tests;
