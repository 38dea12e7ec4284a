//! Vouchers whose time goes by only while one of their devices is on-line: while something goes to
//! it or comes from it.
//!
//! The kernel knows no such time. It is told the whole that is left, each time the voucher begins to
//! rest or to run; and while it rests from time to time again, so that what is left does not run out
//! there.

use super::{Change, Guests, Kept};
use crate::Millis;

/// After so long without a packet a device is not on-line. It does not count. Less of what is almost
/// over; but not all the time, as the kernel is told each time.
const SILENCE: std::ops::RangeInclusive<Millis> = 1_000..=60_000;

/// By so much longer than what is left the kernel lets in who rests. With weir dead it is what he may
/// have too much.
const SPARE: Millis = 60_000;

/// How often is looked at what they send and get: by so much earlier it may have begun.
const LOOK: Millis = 1_000;

impl Kept {
    /// Its time stands still until it is used.
    pub(super) fn rests(&self) -> bool {
        let voucher = &self.voucher;
        let begun = voucher.activated.is_some() && voucher.invalidated.is_none();
        voucher.online && begun && self.since.is_none() && voucher.over.is_none()
    }

    /// How long nothing is seen of who is on-line still.
    fn silence(&self, now: Millis) -> Millis {
        let quarter = self.left(now).unwrap_or(Millis::MAX) / 4;
        quarter.clamp(*SILENCE.start(), *SILENCE.end())
    }

    /// What of its time the kernel is told; `None`: for ever.
    pub(super) fn told(&self, now: Millis) -> Option<Millis> {
        let left = self.left(now)?;
        Some(match self.rests() && left > 0 {
            true => left.saturating_add(SPARE),
            false => left,
        })
    }
}

impl Guests {
    /// Those who were silent for a while rest; the kernel is told anew of those who do.
    pub fn rest(&mut self, now: Millis, out: &mut Vec<Change>) {
        let mut told = Vec::new();
        for kept in self
            .vouchers
            .values_mut()
            .filter(|kept| kept.voucher.online)
        {
            match kept.since {
                Some(since) if now.saturating_sub(kept.seen) >= kept.silence(now) => {
                    let ran = kept.seen.saturating_sub(since);
                    kept.voucher.used = kept.voucher.used.saturating_add(ran);
                    kept.since = None;
                    out.push(kept.noted(now));
                }
                // Before half of it is gone, but not all the time.
                None if kept.rests() => {
                    let half = kept.left(now).map_or(Millis::MAX, |left| left / 2);
                    if now.saturating_sub(kept.told_at) < half.max(SPARE / 2) {
                        continue;
                    }
                }
                _ => continue,
            }
            kept.told_at = now;
            told.extend(kept.voucher.users.iter().map(|user| user.mac));
        }
        for mac in told {
            self.tell(mac, now, out);
        }
    }

    /// Something of a voucher's devices was seen.
    pub(super) fn wake(&mut self, id: &str, now: Millis, out: &mut Vec<Change>) {
        let Some(kept) = self.vouchers.get_mut(id) else {
            return;
        };
        kept.seen = now;
        if !kept.rests() {
            return;
        }
        kept.since = Some(now.saturating_sub(LOOK));
        let users: Vec<_> = kept.voucher.users.iter().map(|user| user.mac).collect();
        for mac in users {
            self.tell(mac, now, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use kernel::Mac;

    use super::*;
    use crate::code::Code;
    use crate::voucher::Voucher;

    const WALL: u64 = 1_700_000_000;
    const MAC: Mac = [2, 0, 0, 0, 0, 1];
    const MINUTE: Millis = 60_000;
    const HOUR: Millis = 60 * MINUTE;

    fn at() -> IpAddr {
        IpAddr::from([10, 0, 0, 2])
    }

    fn sold() -> Voucher {
        Voucher {
            duration: Some(3600),
            online: true,
            ..Voucher::new("00112233445566ff".to_owned(), Code::new([7; 5]), WALL)
        }
    }

    /// In since 0, of vouchers that are good for an hour.
    fn inside() -> Guests {
        let mut guests = Guests::new([sold()], 0, &mut Vec::new());
        let came = guests.log_in((MAC, at()), Code::new([7; 5]), (0, WALL), &mut Vec::new());
        came.expect("let in");
        guests
    }

    fn rest(guests: &mut Guests, now: Millis) -> Vec<Change> {
        let mut out = Vec::new();
        guests.rest(now, &mut out);
        out
    }

    fn moved(guests: &mut Guests, now: Millis) -> Vec<Change> {
        let mut out = Vec::new();
        guests.moved(&at(), 100, now, &mut out);
        out
    }

    fn left(guests: &Guests, now: Millis) -> Option<Millis> {
        guests.remaining(&MAC, now).0
    }

    #[test]
    fn time_stands_still_while_nothing_is_seen() {
        let mut guests = inside();
        assert!(guests.counts());
        assert!(moved(&mut guests, 10 * MINUTE).is_empty());
        assert!(rest(&mut guests, 11 * MINUTE - 1).is_empty());
        // What was silent does not count; the kernel has a little more.
        let out = rest(&mut guests, 11 * MINUTE);
        assert!(
            out.contains(&Change::Admit(MAC, Some(51 * MINUTE))),
            "{out:?}"
        );
        assert_eq!(left(&guests, 5 * HOUR), Some(50 * MINUTE));
        assert_eq!(guests.next(5 * HOUR), None);
        // It is told again before half of it is gone there.
        assert!(rest(&mut guests, 11 * MINUTE + 25 * MINUTE - 1).is_empty());
        let out = rest(&mut guests, 11 * MINUTE + 25 * MINUTE);
        assert!(
            out.contains(&Change::Address(MAC, at(), Some(51 * MINUTE))),
            "{out:?}"
        );
        // It goes on with the first packet, and the kernel has it to the second.
        let out = moved(&mut guests, 5 * HOUR);
        let rest = 50 * MINUTE - LOOK;
        assert!(out.contains(&Change::Admit(MAC, Some(rest))), "{out:?}");
        assert_eq!(guests.next(5 * HOUR), Some(5 * HOUR + rest));
        assert_eq!(left(&guests, 5 * HOUR + MINUTE), Some(rest - MINUTE));
    }

    #[test]
    fn what_rests_is_not_over_and_what_ran_out_does_not_rest() {
        let mut guests = inside();
        moved(&mut guests, HOUR - 1000);
        let mut out = Vec::new();
        guests.expire((HOUR, WALL), &mut out);
        assert!(out.contains(&Change::Refuse(MAC)), "{out:?}");
        assert!(rest(&mut guests, 3 * HOUR).is_empty());
        assert!(!guests.counts());
    }

    /// Nobody knows whether somebody is on-line when weir begins.
    #[test]
    fn it_rests_over_a_new_start() {
        let mut guests = inside();
        moved(&mut guests, 10 * MINUTE);
        let mut kept = None;
        for change in rest(&mut guests, 20 * MINUTE) {
            if let Change::Keep(voucher) = change {
                kept = Some(*voucher);
            }
        }
        let mut out = Vec::new();
        let mut guests = Guests::new(kept, 0, &mut out);
        assert_eq!(out, [Change::Admit(MAC, Some(51 * MINUTE))]);
        guests.seen(MAC, at(), 0, &mut out);
        assert_eq!(left(&guests, HOUR), Some(50 * MINUTE));
        moved(&mut guests, HOUR);
        assert_eq!(left(&guests, HOUR + MINUTE), Some(49 * MINUTE - LOOK));
    }
}
