//! By which of its vouchers a device is let in: one after the other.

use std::cmp::Reverse;

use kernel::Mac;

use super::{Change, Guest, Guests, Kept, Refusal};
use crate::Millis;
use crate::voucher::{Origin, State, User};

/// Vouchers that one device has waiting at most.
const WAITING: usize = 8;

impl Guests {
    /// A device is let in by a voucher. Where all of the voucher's devices are there already, the
    /// one that came first makes room. A device that has others already loses none of them: one
    /// begins, and the rest wait for it.
    pub fn admit(
        &mut self,
        mac: Mac,
        id: &str,
        when: (Millis, u64),
        out: &mut Vec<Change>,
    ) -> Result<(), Refusal> {
        let kept = self.vouchers.get(id).ok_or(Refusal::Unknown)?;
        match kept.voucher.state(kept.used(when.0), when.1) {
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
        let known = self.vouchers.get(current);
        if current == id || known.is_none_or(|kept| kept.is_over(when.0)) {
            return self.begin(mac, id, when, out);
        }
        let mut all: Vec<&str> = guest.ids().map(String::as_str).collect();
        if !all.contains(&id) {
            let is_covered = all.iter().any(|one| self.covers(one, id, when.0));
            if is_covered || guest.next.len() >= WAITING {
                return Ok(());
            }
            all.push(id);
        }
        all.sort_by_key(|id| self.turn(id, when.0));
        match all[0] == id {
            true => self.begin(mac, id, when, out),
            false => {
                self.wait(mac, id, when, out);
                Ok(())
            }
        }
    }

    /// By this the vouchers of a device take turns. Of those that were used already the fastest is
    /// first, then what ends first; time that stands still can wait. Those that were not used yet follow
    /// in the order in which they came, and what is free is last.
    fn turn(&self, id: &str, now: Millis) -> (u8, Reverse<u64>, Millis) {
        match self.vouchers.get(id) {
            Some(kept) if kept.voucher.origin == Origin::Free => (2, Reverse(0), 0),
            Some(kept) if kept.has_begun() => {
                let end = kept.left(now).filter(|_| kept.runs());
                (0, Reverse(kept.rate()), end.unwrap_or(Millis::MAX))
            }
            _ => (1, Reverse(0), 0),
        }
    }

    /// With one voucher, another is of no use to a device: it is over before that ends, or never
    /// begins, and is no faster.
    fn covers(&self, one: &str, other: &str, now: Millis) -> bool {
        let (Some(one), Some(other)) = (self.vouchers.get(one), self.vouchers.get(other)) else {
            return false;
        };
        let is_no_faster = one.rate() >= other.rate() || !other.has_begun();
        let ends_later = match (one.left(now), other.left(now)) {
            (None, _) => true,
            (Some(one_left), Some(left)) => one.runs() && other.runs() && one_left >= left,
            (Some(_), None) => false,
        };
        one.voucher.bytes.is_none() && is_no_faster && ends_later
    }

    /// Time for which a device is let in by its vouchers one after the other, of which the first lasts
    /// for so long. `None`: without an end.
    pub(super) fn in_turn(
        &self,
        first: Option<Millis>,
        guest: &Guest,
        now: Millis,
    ) -> Option<Millis> {
        let next = guest.next.iter().filter_map(|id| self.vouchers.get(id));
        next.fold(first, |end, kept| {
            let (end, left) = (end?, kept.left(now)?);
            Some(match kept.runs() {
                true => end.max(left),
                false => end.saturating_add(left),
            })
        })
    }

    /// A device had these vouchers when weir ended, the first that came first.
    pub(super) fn resume(&mut self, mac: Mac, mut ids: Vec<String>, now: Millis) {
        ids.sort_by_key(|id| self.turn(id, now));
        let first = ids.first().and_then(|id| self.vouchers.get(id));
        if first.is_some_and(Kept::has_begun) {
            let next = ids.split_off(1);
            let guest = Guest {
                next,
                ..Guest::new(ids.pop())
            };
            self.guests.insert(mac, guest);
            return;
        }
        // They begin when their codes are typed again.
        for id in ids {
            if let Some(kept) = self.vouchers.get_mut(&id) {
                kept.voucher.users.retain(|user| user.mac != mac);
            }
        }
    }

    /// A voucher is to begin when those are over that a device has.
    fn wait(&mut self, mac: Mac, id: &str, when: (Millis, u64), out: &mut Vec<Change>) {
        self.take_in(mac, id, when, out);
        if let Some(guest) = self.guests.get_mut(&mac) {
            guest.next.retain(|one| one != id);
            guest.next.push(id.to_owned());
        }
        self.sort(mac, when.0);
        self.tell(mac, when.0, out);
    }

    /// The vouchers that wait for their turn are put in its order.
    fn sort(&mut self, mac: Mac, now: Millis) {
        let Some(guest) = self.guests.get_mut(&mac) else {
            return;
        };
        let mut next = std::mem::take(&mut guest.next);
        next.sort_by_key(|id| self.turn(id, now));
        if let Some(guest) = self.guests.get_mut(&mac) {
            guest.next = next;
        }
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
        self.sort(mac, when.0);
        let Some(guest) = self.guests.get_mut(&mac) else {
            return;
        };
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
        // The device goes back to its former voucher when this one is over.
        let former = guest.voucher.replace(id.to_owned());
        let is_good = |former: &String| {
            let kept = self.vouchers.get(former);
            kept.is_some_and(|kept| !kept.is_over(now) && kept.is_of(&mac))
        };
        let former = former.filter(|former| former != id).filter(is_good);
        if let Some((former, guest)) = former.zip(self.guests.get_mut(&mac)) {
            guest.next.insert(0, former);
        }
        self.sort(mac, now);
        self.tell(mac, now, out);
        Ok(())
    }
}
