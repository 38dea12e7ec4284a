//! Vouchers, and the devices that came with them: what happens, and what changes by it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;

use kernel::Mac;

use crate::Millis;
use crate::code::Code;
use crate::keys::PublicKey;
use crate::notes::{self, Heard, Note};
use crate::signed::Signed;
use crate::voucher::{State, User, Voucher};

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
    Keep(Box<Voucher>),
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

    /// Its time so far counts as used.
    fn fold(&mut self, now: Millis) {
        self.voucher.used = self.used(now);
        if self.since.is_some() {
            self.since = Some(now);
        }
    }

    /// As it is to be kept.
    fn noted(&mut self, now: Millis) -> Change {
        self.fold(now);
        Change::Keep(Box::new(self.voucher.clone()))
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
            let users = users.into_iter().map(|user| user.mac);
            let active = voucher.state(voucher.used, 0) == State::Active;
            guests.codes.entry(voucher.code).or_insert(id.clone());
            let since = active.then_some(now);
            let left = voucher.left(voucher.used);
            guests.vouchers.insert(id.clone(), Kept { voucher, since });
            for mac in users.filter(|_| active) {
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
        // Of two that were sold at two nodes with one code, the second is had by its signed form.
        let taken = voucher.signed.is_none() && self.codes.contains_key(&voucher.code);
        if taken || self.vouchers.contains_key(&voucher.id) {
            return false;
        }
        let id = voucher.id.clone();
        self.codes.entry(voucher.code).or_insert(id);
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
        kept.voucher.here.get_or_insert(wall);
        let users = &mut kept.voucher.users;
        let known = users.iter().find(|user| user.mac == mac).copied();
        users.retain(|user| user.mac != mac);
        users.push(known.unwrap_or(User { mac, since: wall }));
        let room = kept.voucher.devices.max(1) as usize;
        let excess = users.len().saturating_sub(room);
        let pushed: Vec<Mac> = users.drain(..excess).map(|user| user.mac).collect();
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
            former.voucher.users.retain(|user| user.mac != mac);
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
            kept.voucher.users.retain(|user| user.mac != mac);
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
        for user in users {
            self.refuse(user.mac, out);
        }
        true
    }

    /// Somebody came with a voucher that was signed elsewhere, and checked.
    pub fn present(&mut self, signed: &Signed, wall: u64) -> Result<String, Refusal> {
        let voucher = signed.voucher(wall);
        let (id, code) = (voucher.id.clone(), voucher.code);
        self.add(voucher);
        match self.vouchers.get(&id).map(|kept| kept.voucher.code) {
            Some(known) if known == code => Ok(id),
            _ => Err(Refusal::Unknown),
        }
    }

    /// Another node noted something of a voucher. Whether that was new.
    pub fn hear(
        &mut self,
        (note, line): (&Note, &str),
        (own, now, wall): (PublicKey, Millis, u64),
        out: &mut Vec<Change>,
    ) -> bool {
        if note.node == own {
            return false;
        }
        let Ok(id) = self.present(&note.voucher, note.noted) else {
            return false;
        };
        let Some(kept) = self.vouchers.get_mut(&id) else {
            return false;
        };
        let before = kept.voucher.elsewhere.get(&note.node);
        let before = before.and_then(|heard| Note::read(&heard.line));
        if before.is_some_and(|before| !note.is_newer(&before)) {
            return false;
        }
        kept.fold(now);
        let voucher = &mut kept.voucher;
        let heard = Heard {
            line: line.to_owned(),
            moved: note.moved,
            late: wall as i64 - note.noted as i64,
        };
        voucher.elsewhere.insert(note.node, heard);
        if voucher.signed.is_some() && voucher.name.is_empty() {
            voucher.name.clone_from(&note.name);
        }
        voucher.used = voucher.used.max(note.used);
        if let Some(activated) = note.activated {
            voucher.activated.get_or_insert(activated.min(wall));
        }
        let called_back = voucher.invalidated.is_none() && note.invalidated.is_some();
        if called_back {
            voucher.invalidated = note.invalidated;
            kept.since = None;
        } else if voucher.activated.is_some() && voucher.invalidated.is_none() {
            kept.since.get_or_insert(now);
        }
        let voucher = &mut kept.voucher;
        let used = voucher.used;
        let own = Note::of(voucher, (note.voucher, used), (own, wall));
        voucher.double = voucher.double.or_else(|| {
            let others = voucher.elsewhere.values();
            let mut others = others.filter_map(|one| Some((Note::read(&one.line)?, one.late)));
            let found = |other: &(Note, i64)| {
                let (late, other) = (wall as i64 - note.noted as i64, (&other.0, other.1));
                notes::double(voucher, (note, late), other)
                    .filter(|_| other.0.node != note.node)
                    .or_else(|| notes::double(voucher, (&own, 0), other))
            };
            others.find_map(|other| found(&other))
        });
        let users = match called_back {
            true => std::mem::take(&mut voucher.users),
            false => voucher.users.clone(),
        };
        out.push(Change::Keep(Box::new(voucher.clone())));
        let left = kept.left(now);
        for user in users {
            match called_back {
                true => self.refuse(user.mac, out),
                // They have less time than the kernel was told.
                false => self.tell(user.mac, left, out),
            }
        }
        true
    }

    /// The kernel is told anew how long a device may.
    fn tell(&self, mac: Mac, left: Option<Millis>, out: &mut Vec<Change>) {
        let Some(guest) = self.guests.get(&mac).filter(|_| left != Some(0)) else {
            return;
        };
        out.push(Change::Admit(mac, left));
        let addresses = guest.addresses.iter();
        out.extend(addresses.map(|address| Change::Address(mac, *address, left)));
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
    pub fn expire(&mut self, (now, wall): (Millis, u64), out: &mut Vec<Change>) {
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
            kept.voucher.over.get_or_insert(wall);
            out.push(kept.noted(now));
            kept.since = None;
            let (users, free) = (kept.voucher.users.clone(), kept.voucher.free);
            for user in users {
                self.refuse(user.mac, out);
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
