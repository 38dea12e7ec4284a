//! Vouchers and their devices: events, and the resulting changes.

mod change;
mod devices;
mod voucher_record;
mod vouchers;

use std::collections::BTreeMap;
use std::net::IpAddr;

use kernel::Mac;

use crate::Millis;
use crate::keys::{PublicKey, SecretKey};
use crate::notes::Note;
use crate::pass::Pass;
use crate::rates::RateLimits;
use crate::signed_voucher::{SignedVoucher, Ticket};
use crate::voucher::{Origin, State, Voucher};
pub use change::{Change, Refusal};
use devices::Devices;
pub use devices::Guest;
use voucher_record::Record;
use vouchers::Vouchers;

/// Vouchers that one device has waiting at most.
const WAITING: usize = 8;

/// Answer to a voucher of another portal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportResult {
    /// The voucher is new here.
    New,
    /// The voucher is here already.
    Known,
    /// The code is in use for another voucher.
    CodeTaken,
}

/// A guest's attempt to use a voucher.
pub struct Attempt<'a> {
    /// The typed text.
    pub ticket: Ticket,
    /// The guest's device.
    pub mac: Mac,
    /// Addresses of the device.
    pub addresses: &'a [IpAddr],
    /// Number of its browser, if that has one.
    pub token: Option<u64>,
}

/// All vouchers and devices.
#[derive(Clone, Debug, Default)]
pub struct Guests {
    vouchers: Vouchers,
    devices: Devices,
}

impl Guests {
    /// Starts with the stored vouchers: those in use resume from their stored times, and their
    /// devices are admitted.
    pub fn new(
        vouchers: impl IntoIterator<Item = Voucher>,
        now: Millis,
        out: &mut Vec<Change>,
    ) -> Self {
        let mut guests = Self::default();
        let mut brought = Vec::new();
        for voucher in vouchers {
            let state = voucher.state(voucher.used, 0);
            if matches!(state, State::Active | State::Available) {
                let users = voucher.users.iter();
                brought.extend(users.map(|user| (user.mac, user.since, voucher.id.clone())));
            }
            guests.vouchers.insert(voucher, now);
        }
        // Devices and their vouchers, in order of arrival.
        brought.sort();
        let mut all: BTreeMap<Mac, Vec<String>> = BTreeMap::new();
        for (mac, _, id) in brought {
            all.entry(mac).or_default().push(id);
        }
        for (mac, ids) in all {
            guests.resume(mac, ids, now);
        }
        let all = guests.devices.iter();
        out.extend(
            all.map(|(mac, guest)| {
                Change::Admit(*mac, guests.kernel_timeout(guest, now).flatten())
            }),
        );
        guests
    }

    /// Restores the vouchers that a device had when weir ended, in order of arrival.
    fn resume(&mut self, mac: Mac, mut ids: Vec<String>, now: Millis) {
        self.vouchers.sort(&mut ids, now);
        let first = ids.first().and_then(|id| self.vouchers.get(id));
        if first.is_some_and(Record::has_begun) {
            let next = ids.split_off(1);
            self.devices.entry(mac, ids.pop()).next = next;
            return;
        }
        // These vouchers begin when their codes are entered again.
        for id in ids {
            if let Some(record) = self.vouchers.get_mut(&id) {
                record.drop_user(&mac);
            }
        }
    }

    /// Returns how long the kernel is to admit a device, with its vouchers one after the other:
    /// `None` without a known voucher, `Some(None)` without an end.
    fn kernel_timeout(&self, guest: &Guest, now: Millis) -> Option<Option<Millis>> {
        let Some(id) = &guest.voucher else {
            return Some(None);
        };
        let first = self.vouchers.get(id)?.kernel_timeout(now);
        Some(self.vouchers.in_turn(first, &guest.next, now))
    }

    /// Admits these devices for ever, and no others without a voucher.
    pub fn exempt(&mut self, macs: &[Mac], out: &mut Vec<Change>) {
        let all = self.devices.iter();
        let free = all.filter(|(mac, guest)| guest.voucher.is_none() && !macs.contains(mac));
        let gone: Vec<Mac> = free.map(|(mac, _)| *mac).collect();
        for mac in gone {
            self.devices.refuse(mac, out);
        }
        for mac in macs {
            let known = self.devices.get(mac);
            if known.is_some_and(|guest| guest.voucher.is_none()) {
                continue;
            }
            let guest = Guest {
                addresses: known
                    .map(|guest| guest.addresses.clone())
                    .unwrap_or_default(),
                ..Guest::new(None)
            };
            out.push(Change::Admit(*mac, None));
            let addresses = guest.addresses.iter();
            out.extend(addresses.map(|address| Change::AddAddress(*mac, *address, None)));
            self.devices.insert(*mac, guest);
        }
    }

    /// Adds a voucher. Returns false if its code or id is already in use.
    pub fn add(&mut self, voucher: Voucher) -> bool {
        self.vouchers.add(voucher, 0)
    }

    /// Adds a voucher of another portal, with its devices.
    pub fn import(&mut self, voucher: Voucher, now: Millis, out: &mut Vec<Change>) -> ImportResult {
        let (id, users) = (voucher.id.clone(), voucher.users.clone());
        let active = voucher.state(voucher.used, 0) == State::Active;
        if self.vouchers.get(&id).is_some() {
            return ImportResult::Known;
        }
        if !self.vouchers.add(voucher, now) {
            return ImportResult::CodeTaken;
        }
        out.extend(
            self.vouchers
                .get_mut(&id)
                .map(|record| record.persist_change(now)),
        );
        for user in users.iter().filter(|_| active) {
            // A device that another voucher admits already keeps that voucher.
            self.devices.entry(user.mac, Some(id.clone()));
            self.update_timeout(user.mac, now, out);
        }
        ImportResult::New
    }

    /// Admits a device by the voucher of a guest. Returns the pass for the guest's browser, signed
    /// with this node's key.
    pub fn redeem(
        &mut self,
        attempt: &Attempt<'_>,
        key: &SecretKey,
        when: (Millis, u64),
        out: &mut Vec<Change>,
    ) -> Result<Option<Pass>, Refusal> {
        let id = match &attempt.ticket {
            Ticket::Code(code) => self.vouchers.coded(code).cloned(),
            Ticket::Former(_) if !self.vouchers.has_formers() => return Err(Refusal::InvalidCode),
            Ticket::Former(former) => self.vouchers.former(former).cloned(),
            Ticket::Signed(signed) => {
                let is_known = self.vouchers.get(&signed.id()).is_some();
                // A voucher sold here but no longer known here is invalid.
                match is_known || signed.hint() != key.public().hint() {
                    true => self.present(signed, when.1),
                    false => None,
                }
            }
        };
        let id = id.ok_or(Refusal::Unknown)?;
        let mac = attempt.mac;
        if let Some(token) = attempt.token {
            self.move_browser(&id, (mac, token), when, out);
        }
        self.admit((mac, attempt.addresses), &id, when, out)?;
        let Some(token) = attempt.token else {
            return Ok(None);
        };
        self.mark(mac, token, when.0, out);
        Ok(self
            .signed(&mac, key)
            .map(|voucher| Pass { token, voucher }))
    }

    /// Returns the voucher that admits a device, as signed by this node or another.
    fn signed(&self, mac: &Mac, key: &SecretKey) -> Option<SignedVoucher> {
        let guest = self.devices.get(mac)?;
        let record = self.vouchers.get(guest.voucher.as_ref()?)?;
        let signed = record.voucher.signed;
        signed.or_else(|| record.voucher.sign(key))
    }

    /// Admits a device by a voucher that was not sold. `devices`: maximum number of devices of the
    /// voucher's account at once.
    pub fn grant(
        &mut self,
        voucher: Voucher,
        devices: Option<usize>,
        device: (Mac, &[IpAddr]),
        when: (Millis, u64),
        out: &mut Vec<Change>,
    ) -> Result<(), Refusal> {
        if let Some(devices) = devices {
            self.make_room(&voucher.name, devices, when, out);
        }
        let id = voucher.id.clone();
        self.add(voucher);
        self.admit(device, &id, when, out)
    }

    /// Updates the kernel's timeout for a device.
    fn update_timeout(&self, mac: Mac, now: Millis, out: &mut Vec<Change>) {
        let Some(guest) = self.devices.get(&mac) else {
            return;
        };
        let Some(left) = self
            .kernel_timeout(guest, now)
            .filter(|left| *left != Some(0))
        else {
            return;
        };
        out.push(Change::Admit(mac, left));
        let addresses = guest.addresses.iter();
        out.extend(addresses.map(|address| Change::AddAddress(mac, *address, left)));
    }

    /// Assigns an address to a device, and takes it from any other.
    pub fn assign_address(
        &mut self,
        mac: Mac,
        address: IpAddr,
        now: Millis,
        out: &mut Vec<Change>,
    ) {
        match self.devices.at(&address) {
            Some(whose) if whose == mac => return,
            Some(_) => self.devices.gone(address, out),
            None => {}
        }
        let guest = self.devices.get(&mac);
        let Some(left) = guest.and_then(|guest| self.kernel_timeout(guest, now)) else {
            return;
        };
        if self.devices.place(mac, address, out) {
            out.push(Change::AddAddress(mac, address, left));
        }
    }

    /// Logs out a device, for the guest or the administrator. Returns true if the device was in.
    pub fn end(&mut self, mac: Mac, when: (Millis, u64), out: &mut Vec<Change>) -> bool {
        let Some(guest) = self.devices.get(&mac) else {
            return false;
        };
        for id in guest.ids() {
            let Some(record) = self.vouchers.get_mut(id) else {
                continue;
            };
            record.drop_user(&mac);
            match record.voucher.origin {
                Origin::Account => {
                    record.end(when, out);
                    self.vouchers.remove(id);
                }
                _ => out.push(record.persist_change(when.0)),
            }
        }
        self.devices.refuse(mac, out);
        true
    }

    /// Revokes a voucher and its devices. Returns true if there is one.
    pub fn revoke(&mut self, id: &str, when: (Millis, u64), out: &mut Vec<Change>) -> bool {
        let Some(record) = self.vouchers.get_mut(id) else {
            return false;
        };
        for mac in record.revoke(when, out) {
            self.withdraw(mac, id, when, out);
        }
        true
    }

    /// Renames a voucher. Returns true if the voucher exists.
    pub fn rename(&mut self, id: &str, name: String, now: Millis, out: &mut Vec<Change>) -> bool {
        let Some(record) = self.vouchers.get_mut(id) else {
            return false;
        };
        record.voucher.name = name;
        out.push(record.persist_change(now));
        true
    }

    /// Ends expired vouchers.
    pub fn expire(&mut self, when: (Millis, u64), out: &mut Vec<Change>) {
        for id in self.vouchers.over(when.0) {
            let Some(record) = self.vouchers.get_mut(&id) else {
                continue;
            };
            record.end(when, out);
            let (macs, origin) = (record.macs(), record.voucher.origin);
            for mac in macs {
                self.withdraw(mac, &id, when, out);
            }
            if !origin.is_sold() {
                self.vouchers.remove(&id);
            }
        }
    }

    /// Adds bytes sent or received by this address. Returns the device, if a voucher admits it.
    pub fn add_traffic(
        &mut self,
        address: &IpAddr,
        bytes: u64,
        now: Millis,
        out: &mut Vec<Change>,
    ) -> Option<Mac> {
        let mac = self.devices.at(address).filter(|_| bytes > 0)?;
        let id = self.devices.get(&mac)?.voucher.clone()?;
        if let Some(record) = self.vouchers.get_mut(&id) {
            record.voucher.moved = record.voucher.moved.saturating_add(bytes);
        }
        self.record_activity(&id, now, out);
        Some(mac)
    }

    /// Handles a sign of life of a voucher's devices.
    fn record_activity(&mut self, id: &str, now: Millis, out: &mut Vec<Change>) {
        let mut macs = Vec::new();
        if let Some(record) = self.vouchers.get_mut(id)
            && record.resume(now)
        {
            macs = record.macs();
        }
        for mac in macs {
            self.update_timeout(mac, now, out);
        }
    }

    /// Pauses vouchers whose devices are silent, and updates the kernel's timeouts for paused ones.
    pub fn pause_idle(&mut self, now: Millis, out: &mut Vec<Change>) {
        let mut told = Vec::new();
        for record in self.vouchers.iter_mut().filter(|one| one.voucher.online) {
            if record.pause(now, out) {
                told.extend(record.macs());
            }
        }
        for mac in told {
            self.update_timeout(mac, now, out);
        }
    }

    /// Returns the used bytes to be stored now, for each voucher in use with a byte limit.
    pub fn all_moved(&mut self) -> BTreeMap<String, u64> {
        self.vouchers.note_moved(|_| true)
    }

    /// Returns the used bytes of vouchers that cannot wait for the next regular write.
    pub fn moved_much(&mut self) -> BTreeMap<String, u64> {
        self.vouchers.note_moved(Record::is_due)
    }

    /// Returns the complete state that the kernel needs.
    pub fn kernel_state(&self, now: Millis) -> Vec<Change> {
        let mut out = Vec::new();
        for (mac, _) in self.devices.iter() {
            self.update_timeout(*mac, now, &mut out);
        }
        out
    }

    /// Admits a device with these addresses by a voucher. If all slots of the voucher are taken,
    /// the oldest device leaves. A device with other vouchers keeps them: one begins, and the
    /// others wait.
    pub fn admit(
        &mut self,
        (mac, addresses): (Mac, &[IpAddr]),
        id: &str,
        when: (Millis, u64),
        out: &mut Vec<Change>,
    ) -> Result<(), Refusal> {
        let record = self.vouchers.get(id).ok_or(Refusal::Unknown)?;
        match record.state(when) {
            State::Expired => return Err(Refusal::Expired),
            State::Revoked => return Err(Refusal::Revoked),
            State::Available | State::Active => {}
        }
        self.take_turn(mac, id, when, out);
        for address in addresses {
            self.assign_address(mac, *address, when.0, out);
        }
        Ok(())
    }

    /// Begins a valid voucher for a device, or queues it after the vouchers that the device has.
    fn take_turn(&mut self, mac: Mac, id: &str, when: (Millis, u64), out: &mut Vec<Change>) {
        let Some(guest) = self.devices.get(&mac) else {
            return self.begin(mac, id, when, out);
        };
        // A device that needs no voucher uses none up.
        let Some(current) = &guest.voucher else {
            return;
        };
        let known = self.vouchers.get(current);
        if current == id || known.is_none_or(|record| record.is_over(when.0)) {
            return self.begin(mac, id, when, out);
        }
        let mut all: Vec<String> = guest.ids().cloned().collect();
        if !all.iter().any(|one| one == id) {
            let is_covered = all.iter().any(|one| self.vouchers.covers(one, id, when.0));
            if is_covered || guest.next.len() >= WAITING {
                return;
            }
            all.push(id.to_owned());
        }
        self.vouchers.sort(&mut all, when.0);
        match all[0] == id {
            true => self.begin(mac, id, when, out),
            false => self.enqueue(mac, id, when, out),
        }
    }

    /// Queues a voucher until the device's other vouchers are over.
    fn enqueue(&mut self, mac: Mac, id: &str, when: (Millis, u64), out: &mut Vec<Change>) {
        self.take_in(mac, id, when, out);
        if let Some(guest) = self.devices.get_mut(&mac) {
            guest.next.retain(|one| one != id);
            guest.next.push(id.to_owned());
            self.vouchers.sort(&mut guest.next, when.0);
        }
        self.update_timeout(mac, when.0, out);
    }

    /// Adds a device to a voucher, and removes devices that no longer have room.
    fn take_in(&mut self, mac: Mac, id: &str, when: (Millis, u64), out: &mut Vec<Change>) {
        let Some(record) = self.vouchers.get_mut(id) else {
            return;
        };
        let pushed = record.take_in(mac, when.1);
        out.push(record.persist_change(when.0));
        for other in pushed {
            self.withdraw(other, id, when, out);
        }
    }

    /// Removes a voucher from a device. The next voucher of the device takes over; without one, the
    /// device is removed.
    fn withdraw(&mut self, mac: Mac, id: &str, when: (Millis, u64), out: &mut Vec<Change>) {
        let Some(guest) = self.devices.get_mut(&mac) else {
            return;
        };
        guest.next.retain(|one| one != id);
        if !guest.is_by(id) {
            // The device has less time than the kernel has.
            self.update_timeout(mac, when.0, out);
            return;
        }
        self.vouchers.sort(&mut guest.next, when.0);
        for next in std::mem::take(&mut guest.next) {
            if !self.vouchers.is_good(&next, when) {
                continue;
            }
            let guest = self.devices.get_mut(&mac);
            match guest.filter(|guest| !guest.is_by(id)) {
                Some(guest) => guest.next.push(next),
                None => self.begin(mac, &next, when, out),
            }
        }
        match self.devices.get(&mac) {
            Some(guest) if !guest.is_by(id) => self.update_timeout(mac, when.0, out),
            _ => self.devices.refuse(mac, out),
        }
    }

    /// Admits a device by a voucher, from now on.
    fn begin(&mut self, mac: Mac, id: &str, when: (Millis, u64), out: &mut Vec<Change>) {
        let now = when.0;
        let Some(record) = self.vouchers.get_mut(id) else {
            return;
        };
        record.activate(when);
        record.voucher.here.get_or_insert(when.1);
        self.record_activity(id, now, out);
        self.take_in(mac, id, when, out);
        let guest = self.devices.entry(mac, None);
        guest.next.retain(|one| one != id);
        // The device returns to its previous voucher when this one expires.
        let former = guest.voucher.replace(id.to_owned());
        let is_good = |former: &String| {
            let record = self.vouchers.get(former);
            record.is_some_and(|record| !record.is_over(now) && record.is_of(&mac))
        };
        if let Some(former) = former.filter(|former| former != id).filter(is_good) {
            guest.next.insert(0, former);
        }
        self.vouchers.sort(&mut guest.next, now);
        self.update_timeout(mac, now, out);
    }

    /// Returns the number of the browser with which a device logged in.
    pub fn token(&self, mac: &Mac) -> Option<u64> {
        let id = self.devices.get(mac)?.voucher.as_ref()?;
        let users = &self.vouchers.get(id)?.voucher.users;
        users.iter().find(|user| user.mac == *mac)?.token
    }

    /// Moves a browser with a new hardware address: its previous device leaves the voucher, and no
    /// other device does.
    fn move_browser(
        &mut self,
        id: &str,
        (mac, token): (Mac, u64),
        when: (Millis, u64),
        out: &mut Vec<Change>,
    ) {
        let Some(record) = self.vouchers.get_mut(id) else {
            return;
        };
        let users = &mut record.voucher.users;
        let former = users.extract_if(.., |user| user.token == Some(token) && user.mac != mac);
        for former in former.collect::<Vec<_>>() {
            self.withdraw(former.mac, id, when, out);
        }
    }

    /// Records the browser with which a device logged in.
    fn mark(&mut self, mac: Mac, token: u64, now: Millis, out: &mut Vec<Change>) {
        let Some(guest) = self.devices.get(&mac) else {
            return;
        };
        for id in guest.ids() {
            let Some(record) = self.vouchers.get_mut(id) else {
                continue;
            };
            let mut users = record.voucher.users.iter_mut();
            let user = users.find(|user| user.mac == mac && user.token != Some(token));
            if let Some(user) = user {
                user.token = Some(token);
                out.push(record.persist_change(now));
            }
        }
    }

    /// Returns the account name that a device logged in with.
    pub fn account(&self, mac: &Mac) -> Option<&str> {
        let id = self.devices.get(mac)?.voucher.as_ref()?;
        let voucher = &self.vouchers.get(id)?.voucher;
        (voucher.origin == Origin::Account).then_some(&*voucher.name)
    }

    /// Makes room for one more device of an account, given the maximum number at once: the oldest
    /// devices leave. Their other vouchers stay. Names are compared without regard to case.
    fn make_room(
        &mut self,
        account: &str,
        devices: usize,
        when: (Millis, u64),
        out: &mut Vec<Change>,
    ) {
        let account = account.to_lowercase();
        let all = self.vouchers.iter().map(|record| &record.voucher);
        let theirs = all.filter(|voucher| {
            voucher.origin == Origin::Account && voucher.name.to_lowercase() == account
        });
        let theirs = theirs.flat_map(|voucher| {
            let users = voucher.users.iter();
            users.map(|user| (user.since, user.mac, voucher.id.clone()))
        });
        let mut theirs: Vec<_> = theirs.collect();
        theirs.sort_unstable();
        let excess = (theirs.len() + 1).saturating_sub(devices);
        for (_, mac, id) in theirs.into_iter().take(excess) {
            let Some(record) = self.vouchers.get_mut(&id) else {
                continue;
            };
            record.drop_user(&mac);
            record.end(when, out);
            self.withdraw(mac, &id, when, out);
            self.vouchers.remove(&id);
        }
    }

    /// Takes a verified voucher of another node. Returns its id, unless another voucher has the id.
    fn present(&mut self, signed: &SignedVoucher, wall: u64) -> Option<String> {
        let voucher = Voucher::of(*signed, wall);
        let (id, code) = (voucher.id.clone(), voucher.code);
        self.add(voucher);
        let known = self.vouchers.get(&id)?;
        (known.voucher.code == code).then_some(id)
    }

    /// Stores another node's note on a voucher. Returns true if the note was new.
    pub fn apply_note(
        &mut self,
        (note, line): (&Note, &str),
        (own, now, wall): (PublicKey, Millis, u64),
        out: &mut Vec<Change>,
    ) -> bool {
        if note.node == own {
            return false;
        }
        let Some(id) = self.present(&note.voucher, note.noted) else {
            return false;
        };
        let Some(record) = self.vouchers.get_mut(&id) else {
            return false;
        };
        let Some(called_back) = record.apply_note((note, line), (own, now, wall)) else {
            return false;
        };
        let macs = record.macs();
        if called_back {
            record.voucher.users.clear();
        }
        out.push(Change::Persist(Box::new(record.voucher.clone())));
        for mac in macs {
            match called_back {
                true => self.withdraw(mac, &id, (now, wall), out),
                // The devices have less time than the kernel has.
                false => self.update_timeout(mac, now, out),
            }
        }
        true
    }

    /// Returns when the next voucher's time is over.
    pub fn next(&self, now: Millis) -> Option<Millis> {
        self.vouchers.next(now)
    }

    /// Returns the used time of each voucher in use, to be persisted.
    pub fn used(&self, now: Millis) -> BTreeMap<String, Millis> {
        self.vouchers.used(now)
    }

    /// Returns true if any voucher needs byte counters or online checks.
    pub fn needs_counters(&self) -> bool {
        let watched = |record: &Record| record.voucher.bytes.is_some() || record.voucher.online;
        let mut all = self.vouchers.iter();
        all.any(|record| record.is_in_use() && watched(record))
    }

    /// Returns the devices with a rate limit.
    pub fn rate_limits(&self) -> RateLimits {
        let mut slowed = RateLimits::default();
        // The loop runs over vouchers, as few have a rate.
        for Record { voucher, .. } in self.vouchers.iter() {
            let Some(rate) = voucher.rate else { continue };
            for user in &voucher.users {
                let guest = self.devices.get(&user.mac);
                // A waiting voucher does not limit the rate yet.
                if let Some(guest) = guest.filter(|guest| guest.is_by(&voucher.id)) {
                    slowed.add(&user.mac, guest.addresses.iter().copied(), rate);
                }
            }
        }
        slowed
    }

    /// Returns all issued vouchers with their used time.
    pub fn vouchers(&self, now: Millis) -> impl Iterator<Item = (&Voucher, Millis)> {
        let all = self.vouchers.iter();
        all.filter(|record| record.voucher.origin.is_sold())
            .map(move |record| (&record.voucher, record.used(now)))
    }

    /// Returns a voucher and its used time.
    pub fn voucher(&self, id: &str, now: Millis) -> Option<(&Voucher, Millis)> {
        let record = self.vouchers.get(id)?;
        Some((&record.voucher, record.used(now)))
    }

    /// Returns true if a verified signed voucher admits a device now. `key`: this node's.
    pub fn admits(&self, signed: &SignedVoucher, key: &PublicKey, when: (Millis, u64)) -> bool {
        let id = signed.id();
        match self.vouchers.get(&id) {
            Some(_) => self.vouchers.is_good(&id, when),
            None => signed.hint() != key.hint(),
        }
    }

    /// Returns all admitted devices.
    pub fn guests(&self) -> impl Iterator<Item = (&Mac, &Guest)> {
        self.devices.iter()
    }

    /// Returns true if an admitted device has this address.
    pub fn has_address(&self, address: &IpAddr) -> bool {
        self.devices.at(address).is_some()
    }

    /// Returns the guest with this hardware address.
    pub fn guest(&self, mac: &Mac) -> Option<&Guest> {
        self.devices.get(mac)
    }

    /// Returns true if a device is admitted, not only by free access.
    pub fn is_entitled(&self, mac: &Mac) -> bool {
        self.devices.get(mac).is_some_and(|guest| {
            let id = guest.voucher.as_ref();
            let record = id.and_then(|id| self.vouchers.get(id));
            record.is_none_or(|record| record.voucher.origin != Origin::Free)
        })
    }

    /// Returns the remaining milliseconds and bytes of a device, over all its vouchers; `None`: no
    /// end.
    pub fn remaining(&self, mac: &Mac, now: Millis) -> (Option<Millis>, Option<u64>) {
        let Some(guest) = self.devices.get(mac) else {
            return (None, None);
        };
        let records = guest.ids().filter_map(|id| self.vouchers.get(id));
        let bytes: Option<Vec<u64>> = records.map(|record| record.voucher.bytes_left()).collect();
        let bytes = bytes.filter(|_| guest.voucher.is_some());
        let bytes = bytes.map(|all| all.into_iter().fold(0, u64::saturating_add));
        let first = guest.voucher.as_ref().and_then(|id| self.vouchers.get(id));
        let left = first.and_then(|first| {
            let left = first.left(now);
            self.vouchers.in_turn(left, &guest.next, now)
        });
        (left, bytes)
    }
}

#[cfg(test)]
mod tests;
