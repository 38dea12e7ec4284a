//! Vouchers, and the devices that came with them: what happens, and what changes by it.

mod accounts;
mod asked;
mod browsers;
mod elsewhere;
mod kept;
mod rests;
mod turns;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;

use kernel::Mac;

use crate::Millis;
use crate::code::{Code, Former};
use crate::voucher::{Origin, State, Voucher};
use kept::Kept;

/// Addresses that one device has at most: IPv6 addresses that change; a repeater has those of all
/// behind it.
const ADDRESSES: usize = 64;

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

/// Answer to a voucher of another portal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Brought {
    /// The voucher is new here.
    New,
    /// The voucher is here already.
    Known,
    /// Another voucher has the code.
    CodeTaken,
}

/// A device that was let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guest {
    /// Id of its voucher; `None`: it needs none.
    pub voucher: Option<String>,
    /// Ids of those that begin one after the other when that is over.
    pub next: Vec<String>,
    /// Its addresses, as far as they are known.
    pub addresses: BTreeSet<IpAddr>,
}

impl Guest {
    /// Ids of its vouchers, in their order.
    pub fn ids(&self) -> impl Iterator<Item = &String> {
        self.voucher.iter().chain(&self.next)
    }

    fn new(voucher: Option<String>) -> Self {
        Self {
            voucher,
            next: Vec::new(),
            addresses: BTreeSet::new(),
        }
    }
}

/// All vouchers and devices.
#[derive(Clone, Debug, Default)]
pub struct Guests {
    vouchers: BTreeMap<String, Kept>,
    codes: HashMap<Code, String>,
    formers: HashMap<Former, String>,
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
        let mut brought = Vec::new();
        for voucher in vouchers {
            let id = voucher.id.clone();
            let state = voucher.state(voucher.used, 0);
            if matches!(state, State::Active | State::Available) {
                let users = voucher.users.iter();
                brought.extend(users.map(|user| (user.mac, user.since, id.clone())));
            }
            if voucher.origin.is_sold() {
                guests.codes.entry(voucher.code).or_insert(id.clone());
            }
            if let Some(former) = &voucher.former {
                guests.formers.entry(former.clone()).or_insert(id.clone());
            }
            // Whether somebody is on-line is seen later.
            let runs = state == State::Active && !voucher.online;
            let since = runs.then_some(now);
            let kept = Kept {
                since,
                ..Kept::new(voucher, now)
            };
            guests.vouchers.insert(id, kept);
        }
        // In the order in which they were brought.
        brought.sort();
        let mut all: BTreeMap<Mac, Vec<String>> = BTreeMap::new();
        for (mac, _, id) in brought {
            all.entry(mac).or_default().push(id);
        }
        for (mac, ids) in all {
            guests.resume(mac, ids, now);
        }
        let all = guests.guests.iter();
        out.extend(all.map(|(mac, guest)| Change::Admit(*mac, guests.told(guest, now).flatten())));
        guests
    }

    /// How long the kernel is to let a device in, its vouchers one after the other: `None` without a
    /// voucher that there is, `Some(None)` without an end.
    fn told(&self, guest: &Guest, now: Millis) -> Option<Option<Millis>> {
        let Some(id) = &guest.voucher else {
            return Some(None);
        };
        let first = self.vouchers.get(id)?.told(now);
        Some(self.in_turn(first, guest, now))
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
                addresses,
                ..Guest::new(None)
            };
            self.guests.insert(*mac, guest);
        }
    }

    /// One more voucher. Its code and id are nobody else's, or it is not taken.
    pub fn add(&mut self, voucher: Voucher) -> bool {
        // Of two that were sold at two nodes with one code, the second is had by its signed form.
        let coded = voucher.origin.is_sold();
        let taken = coded && voucher.signed.is_none() && self.codes.contains_key(&voucher.code);
        let former = voucher.former.as_ref();
        let taken = taken || former.is_some_and(|code| self.formers.contains_key(code));
        if taken || self.vouchers.contains_key(&voucher.id) {
            return false;
        }
        let id = voucher.id.clone();
        if let Some(former) = &voucher.former {
            self.formers.insert(former.clone(), id.clone());
        }
        // Nobody has the code of one that nobody sold.
        if coded {
            self.codes.entry(voucher.code).or_insert(id);
        }
        let kept = Kept::new(voucher, 0);
        self.vouchers.insert(kept.voucher.id.clone(), kept);
        true
    }

    /// Takes a voucher that another portal sold, with its devices.
    pub fn bring(&mut self, voucher: Voucher, now: Millis, out: &mut Vec<Change>) -> Brought {
        let (id, users) = (voucher.id.clone(), voucher.users.clone());
        let active = voucher.state(voucher.used, 0) == State::Active;
        if self.vouchers.contains_key(&id) {
            return Brought::Known;
        }
        if !self.add(voucher) {
            return Brought::CodeTaken;
        }
        let Some(kept) = self.vouchers.get_mut(&id) else {
            return Brought::Known;
        };
        kept.since = (active && !kept.voucher.online).then_some(now);
        out.push(kept.noted(now));
        for user in users.iter().filter(|_| active) {
            // Who is in by another voucher already stays in by that.
            let guest = self.guests.entry(user.mac);
            guest.or_insert_with(|| Guest::new(Some(id.clone())));
            self.tell(user.mac, now, out);
        }
        Brought::New
    }

    /// Whether there are vouchers that another portal sold.
    pub fn has_formers(&self) -> bool {
        !self.formers.is_empty()
    }

    /// The voucher of a code.
    pub fn coded(&self, code: &Code) -> Option<&str> {
        self.codes.get(code).map(String::as_str)
    }

    /// The voucher of such a code.
    pub fn former(&self, code: &Former) -> Option<&str> {
        self.formers.get(code).map(String::as_str)
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

    /// The kernel is told how long a device may.
    fn tell(&self, mac: Mac, now: Millis, out: &mut Vec<Change>) {
        let Some(guest) = self.guests.get(&mac) else {
            return;
        };
        let Some(left) = self.told(guest, now).filter(|left| *left != Some(0)) else {
            return;
        };
        out.push(Change::Admit(mac, left));
        let addresses = guest.addresses.iter();
        out.extend(addresses.map(|address| Change::Address(mac, *address, left)));
    }

    /// This device has this address now, and nobody else does.
    pub fn seen(&mut self, mac: Mac, address: IpAddr, now: Millis, out: &mut Vec<Change>) {
        match self.whose.get(&address) {
            Some(whose) if *whose == mac => return,
            Some(_) => self.gone(address, out),
            None => {}
        }
        let Some(guest) = self.guests.get(&mac) else {
            return;
        };
        let Some(left) = self.told(guest, now) else {
            return;
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
    pub fn end(&mut self, mac: Mac, (now, wall): (Millis, u64), out: &mut Vec<Change>) -> bool {
        let Some(guest) = self.guests.get(&mac) else {
            return false;
        };
        let ids: Vec<_> = guest.ids().cloned().collect();
        for id in ids {
            let Some(kept) = self.vouchers.get_mut(&id) else {
                continue;
            };
            kept.voucher.users.retain(|user| user.mac != mac);
            let account = kept.voucher.origin == Origin::Account;
            if account {
                kept.voucher.over.get_or_insert(wall);
            }
            out.push(kept.noted(now));
            if account {
                self.vouchers.remove(&id);
            }
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
            self.without(user.mac, id, (now, wall), out);
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
            let (users, origin) = (kept.voucher.users.clone(), kept.voucher.origin);
            for user in users {
                self.without(user.mac, &id, (now, wall), out);
            }
            if !origin.is_sold() {
                self.vouchers.remove(&id);
            }
        }
    }

    /// So many bytes were sent or received by who has this address: the device, if a voucher lets it
    /// in.
    pub fn moved(
        &mut self,
        address: &IpAddr,
        bytes: u64,
        now: Millis,
        out: &mut Vec<Change>,
    ) -> Option<Mac> {
        let mac = *self.whose.get(address).filter(|_| bytes > 0)?;
        let id = self.guests.get(&mac)?.voucher.clone()?;
        if let Some(kept) = self.vouchers.get_mut(&id) {
            kept.voucher.moved = kept.voucher.moved.saturating_add(bytes);
        }
        self.wake(&id, now, out);
        Some(mac)
    }

    /// Returns the used bytes that have to be noted now, of each voucher in use that has a limit of bytes.
    pub fn all_moved(&mut self) -> BTreeMap<String, u64> {
        self.note_moved(|_| true)
    }

    /// The bytes of those of which too many are gone to wait until all are noted.
    pub fn moved_much(&mut self) -> BTreeMap<String, u64> {
        self.note_moved(Kept::is_due)
    }

    fn note_moved(&mut self, is_due: impl Fn(&Kept) -> bool) -> BTreeMap<String, u64> {
        let limited = self.vouchers.values_mut();
        let limited = limited.filter(|kept| kept.voucher.bytes.is_some() && kept.is_in_use());
        let due = limited.filter(|kept| is_due(kept));
        due.map(|kept| {
            kept.noted = kept.voucher.moved;
            (kept.voucher.id.clone(), kept.noted)
        })
        .collect()
    }

    /// What the kernel is to know, all of it.
    pub fn all(&self, now: Millis) -> Vec<Change> {
        let mut out = Vec::new();
        for mac in self.guests.keys() {
            self.tell(*mac, now, &mut out);
        }
        out
    }
}

#[cfg(test)]
mod tests;
