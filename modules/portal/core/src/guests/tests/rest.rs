//! Vouchers whose time passes only while a device is online.

use super::*;
use crate::guests::voucher_record::LOOK;

const MINUTE: Millis = 60_000;

/// In since 0, of vouchers that are good for an hour.
fn inside() -> Guests {
    let online = Voucher {
        online: true,
        ..voucher(1)
    };
    let mut guests = guests([online]);
    log_in(&mut guests, ONE, 2, 1, 0);
    guests
}

fn rest(guests: &mut Guests, now: Millis) -> Vec<Change> {
    let mut out = Vec::new();
    guests.pause_idle(now, &mut out);
    out
}

fn moved(guests: &mut Guests, now: Millis) -> Vec<Change> {
    let mut out = Vec::new();
    guests.add_traffic(&at(2), 100, now, &mut out);
    out
}

fn left(guests: &Guests, now: Millis) -> Option<Millis> {
    guests.remaining(&ONE, now).0
}

#[test]
fn time_stands_still_while_nothing_is_seen() {
    let mut guests = inside();
    assert!(guests.needs_counters());
    assert!(moved(&mut guests, 10 * MINUTE).is_empty());
    assert!(rest(&mut guests, 11 * MINUTE - 1).is_empty());
    // Silent time does not count; the kernel has a little more.
    let out = rest(&mut guests, 11 * MINUTE);
    assert!(
        out.contains(&Change::Admit(ONE, Some(51 * MINUTE))),
        "{out:?}"
    );
    assert_eq!(left(&guests, 5 * HOUR), Some(50 * MINUTE));
    assert_eq!(guests.next(5 * HOUR), None);
    // The kernel gets an update before half of its spare time is gone.
    assert!(rest(&mut guests, 11 * MINUTE + 25 * MINUTE - 1).is_empty());
    let out = rest(&mut guests, 11 * MINUTE + 25 * MINUTE);
    assert!(
        out.contains(&Change::AddAddress(ONE, at(2), Some(51 * MINUTE))),
        "{out:?}"
    );
    // Time resumes with the first packet, and the kernel has it to the second.
    let out = moved(&mut guests, 5 * HOUR);
    let rest = 50 * MINUTE - LOOK;
    assert!(out.contains(&Change::Admit(ONE, Some(rest))), "{out:?}");
    assert_eq!(guests.next(5 * HOUR), Some(5 * HOUR + rest));
    assert_eq!(left(&guests, 5 * HOUR + MINUTE), Some(rest - MINUTE));
}

#[test]
fn what_rests_is_not_over_and_what_ran_out_does_not_rest() {
    let mut guests = inside();
    moved(&mut guests, HOUR - 1000);
    let mut out = Vec::new();
    guests.expire((HOUR, WALL), &mut out);
    assert!(out.contains(&Change::Block(ONE)), "{out:?}");
    assert!(rest(&mut guests, 3 * HOUR).is_empty());
    assert!(!guests.needs_counters());
}

/// After a restart, weir does not know which devices are online.
#[test]
fn it_rests_over_a_new_start() {
    let mut guests = inside();
    moved(&mut guests, 10 * MINUTE);
    let mut kept = None;
    for change in rest(&mut guests, 20 * MINUTE) {
        if let Change::Persist(voucher) = change {
            kept = Some(*voucher);
        }
    }
    let mut out = Vec::new();
    let mut guests = Guests::new(kept, 0, &mut out);
    assert_eq!(out, [Change::Admit(ONE, Some(51 * MINUTE))]);
    guests.assign_address(ONE, at(2), 0, &mut out);
    assert_eq!(left(&guests, HOUR), Some(50 * MINUTE));
    moved(&mut guests, HOUR);
    assert_eq!(left(&guests, HOUR + MINUTE), Some(49 * MINUTE - LOOK));
}
