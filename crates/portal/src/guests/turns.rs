//! By which of its vouchers a device is let in: one after the other.

use kernel::Mac;

use super::{Change, Guest, Guests, Refusal};
use crate::Millis;
use crate::voucher::{Origin, State, User};

/// Vouchers that one device has waiting at most.
const WAITING: usize = 8;

impl Guests {
    /// A device is let in by a voucher. Where all of the voucher's devices are there already, the
    /// one that came first makes room. Where the device has another that is not over, this one
    /// waits for that.
    pub fn admit(
        &mut self,
        mac: Mac,
        id: &str,
        when: (Millis, u64),
        out: &mut Vec<Change>,
    ) -> Result<(), Refusal> {
        let kept = self.vouchers.get(id).ok_or(Refusal::Unknown)?;
        let state = kept.voucher.state(kept.used(when.0), when.1);
        match state {
            State::Expired => return Err(Refusal::Expired),
            State::Invalidated => return Err(Refusal::Invalidated),
            State::Available | State::Active => {}
        }
        let Some(guest) = self.guests.get(&mac) else {
            return self.begin(mac, id, when, out);
        };
        // Who needs no voucher uses none up.
        let Some(current) = &guest.voucher else {
            return Ok(());
        };
        let Some(kept) = self.vouchers.get(current).filter(|_| current != id) else {
            return self.begin(mac, id, when, out);
        };
        let voucher = &kept.voucher;
        if state == State::Active || voucher.origin == Origin::Free || kept.is_over(when.0) {
            return self.begin(mac, id, when, out);
        }
        let endless = voucher.duration.is_none() && voucher.bytes.is_none();
        if !endless && guest.next.len() < WAITING && !guest.next.iter().any(|one| one == id) {
            self.wait(mac, id, when, out);
        }
        Ok(())
    }

    /// A voucher is to begin when those are over that a device has.
    fn wait(&mut self, mac: Mac, id: &str, when: (Millis, u64), out: &mut Vec<Change>) {
        self.take_in(mac, id, when, out);
        if let Some(guest) = self.guests.get_mut(&mac) {
            guest.next.push(id.to_owned());
        }
        self.tell(mac, when.0, out);
    }

    /// A device is one of a voucher's, and others that have no room any more are not.
    fn take_in(&mut self, mac: Mac, id: &str, when: (Millis, u64), out: &mut Vec<Change>) {
        let Some(kept) = self.vouchers.get_mut(id) else {
            return;
        };
        let users = &mut kept.voucher.users;
        let known = users.iter().find(|user| user.mac == mac).copied();
        users.retain(|user| user.mac != mac);
        users.push(known.unwrap_or(User::new(mac, when.1)));
        let room = kept.voucher.devices.max(1) as usize;
        let excess = users.len().saturating_sub(room);
        let pushed: Vec<Mac> = users.drain(..excess).map(|user| user.mac).collect();
        out.push(kept.noted(when.0));
        for other in pushed {
            self.without(other, id, when, out);
        }
    }

    /// A voucher lets a device in no more: the next that it has does, or it goes.
    pub(super) fn without(
        &mut self,
        mac: Mac,
        id: &str,
        when: (Millis, u64),
        out: &mut Vec<Change>,
    ) {
        let Some(guest) = self.guests.get_mut(&mac) else {
            return;
        };
        guest.next.retain(|one| one != id);
        if guest.voucher.as_deref() != Some(id) {
            // It has less time than the kernel was told.
            self.tell(mac, when.0, out);
            return;
        }
        for next in std::mem::take(&mut guest.next) {
            let Some(kept) = self.vouchers.get(&next) else {
                continue;
            };
            let state = kept.voucher.state(kept.used(when.0), when.1);
            if !matches!(state, State::Available | State::Active) {
                continue;
            }
            match self
                .guests
                .get_mut(&mac)
                .filter(|g| g.voucher.as_deref() != Some(id))
            {
                Some(guest) => guest.next.push(next),
                None => {
                    // It is one of the voucher's devices, and the voucher is good.
                    let _ = self.begin(mac, &next, when, out);
                }
            }
        }
        match self.guests.get(&mac) {
            Some(guest) if guest.voucher.as_deref() != Some(id) => self.tell(mac, when.0, out),
            _ => self.refuse(mac, out),
        }
    }

    /// A voucher lets a device in, from now on.
    fn begin(
        &mut self,
        mac: Mac,
        id: &str,
        (now, wall): (Millis, u64),
        out: &mut Vec<Change>,
    ) -> Result<(), Refusal> {
        let kept = self.vouchers.get_mut(id).ok_or(Refusal::Unknown)?;
        if kept.voucher.activated.is_none() {
            kept.voucher.activated = Some(wall);
            kept.since = Some(now);
        }
        self.wake(id, now, out);
        let kept = self.vouchers.get_mut(id).ok_or(Refusal::Unknown)?;
        kept.voucher.here.get_or_insert(wall);
        self.take_in(mac, id, (now, wall), out);
        let guest = self.guests.entry(mac).or_insert(Guest::new(None));
        guest.next.retain(|one| one != id);
        // One that comes with another voucher gives the former back.
        let former = guest.voucher.replace(id.to_owned());
        let former = former.filter(|former| former != id);
        if let Some(former) = former.and_then(|former| self.vouchers.get_mut(&former))
            && !former.is_over(now)
        {
            former.voucher.users.retain(|user| user.mac != mac);
            out.push(former.noted(now));
        }
        self.tell(mac, now, out);
        Ok(())
    }
}
