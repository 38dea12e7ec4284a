mod browsers;
mod rest;

use proptest::prelude::*;

use super::devices::ADDRESSES;
use super::*;
use crate::code::Code;
use crate::voucher;

const HOUR: Millis = 3_600_000;
const ONE: Mac = [2, 0, 0, 0, 0, 1];
const TWO: Mac = [2, 0, 0, 0, 0, 2];
const WALL: u64 = 1_700_000_000;

fn at(last: u8) -> IpAddr {
    IpAddr::from([10, 0, 0, last])
}

fn voucher(number: u8) -> Voucher {
    Voucher {
        duration: Some(3600),
        ..Voucher::new(format!("{number:016x}"), Code::new([number; 5]), WALL)
    }
}

fn guests(vouchers: impl IntoIterator<Item = Voucher>) -> Guests {
    Guests::new(vouchers, 0, &mut Vec::new())
}

fn log_in(guests: &mut Guests, mac: Mac, last: u8, number: u8, now: Millis) -> Vec<Change> {
    let mut out = Vec::new();
    let when = (now, WALL + now / 1000);
    redeem(
        guests,
        (mac, at(last)),
        Code::new([number; 5]),
        when,
        &mut out,
    )
    .expect("let in");
    out
}

fn redeem(
    guests: &mut Guests,
    (mac, address): (Mac, IpAddr),
    code: Code,
    when: (Millis, u64),
    out: &mut Vec<Change>,
) -> Result<(), Refusal> {
    let attempt = Attempt {
        ticket: Ticket::Code(code),
        mac,
        addresses: &[address],
        token: None,
    };
    guests.redeem(&attempt, &key(9), when, out).map(drop)
}

#[test]
fn an_hour_is_an_hour_from_first_use() {
    let mut guests = guests([voucher(1)]);
    let out = log_in(&mut guests, ONE, 2, 1, 5 * HOUR);
    assert!(out.contains(&Change::Admit(ONE, Some(HOUR))));
    assert!(out.contains(&Change::AddAddress(ONE, at(2), Some(HOUR))));
    assert_eq!(guests.next(5 * HOUR), Some(6 * HOUR));
    let mut out = Vec::new();
    guests.expire((6 * HOUR - 1, WALL), &mut out);
    assert_eq!(out, []);
    guests.expire((6 * HOUR, WALL), &mut out);
    assert!(out.contains(&Change::Block(ONE)) && out.contains(&Change::EndConnections(at(2))));
    assert_eq!(guests.next(6 * HOUR), None);
    let again = redeem(
        &mut guests,
        (ONE, at(2)),
        Code::new([1; 5]),
        (7 * HOUR, WALL),
        &mut out,
    );
    assert_eq!(again, Err(Refusal::Expired));
}

#[test]
fn what_is_left_survives_a_reboot() {
    let mut before = guests([voucher(1)]);
    let mut kept = None;
    for change in log_in(&mut before, ONE, 2, 1, 0) {
        if let Change::Persist(voucher) = change {
            kept = Some(voucher);
        }
    }
    let mut kept = kept.expect("kept");
    kept.used = before.used(HOUR / 2)[&kept.id];
    let mut out = Vec::new();
    let mut after = Guests::new([*kept], 1000, &mut out);
    assert_eq!(out, [Change::Admit(ONE, Some(HOUR / 2))]);
    out.clear();
    after.assign_address(ONE, at(9), 1000, &mut out);
    assert_eq!(out, [Change::AddAddress(ONE, at(9), Some(HOUR / 2))]);
}

#[test]
fn an_address_is_one_devices() {
    let mut guests = guests([voucher(1), voucher(2)]);
    log_in(&mut guests, ONE, 2, 1, 0);
    log_in(&mut guests, TWO, 3, 2, 0);
    let mut out = Vec::new();
    guests.assign_address(TWO, at(2), 10, &mut out);
    assert_eq!(
        out,
        [
            Change::RemoveAddress(ONE, at(2)),
            Change::EndConnections(at(2)),
            Change::AddAddress(TWO, at(2), Some(HOUR - 10))
        ]
    );
    out.clear();
    // An unknown device takes the address.
    guests.assign_address([2; 6], at(2), 20, &mut out);
    assert_eq!(
        out,
        [
            Change::RemoveAddress(TWO, at(2)),
            Change::EndConnections(at(2))
        ]
    );
}

#[test]
fn what_is_called_back_ends_at_once_and_for_ever() {
    let mut guests = guests([voucher(1)]);
    log_in(&mut guests, ONE, 2, 1, 0);
    let mut out = Vec::new();
    assert!(guests.revoke(&voucher(1).id, (HOUR / 2, WALL), &mut out));
    assert!(out.contains(&Change::Block(ONE)));
    let Some(Change::Persist(kept)) = out.iter().find(|c| matches!(c, Change::Persist(_))) else {
        panic!("not kept");
    };
    assert_eq!((kept.revoked, kept.used), (Some(WALL), HOUR / 2));
    assert_eq!(guests.next(HOUR / 2), None);
    let again = redeem(
        &mut guests,
        (ONE, at(2)),
        Code::new([1; 5]),
        (HOUR / 2, WALL),
        &mut out,
    );
    assert_eq!(again, Err(Refusal::Revoked));
    assert!(!guests.revoke("none", (0, 0), &mut out));
}

#[test]
fn who_needs_no_voucher_is_let_in_for_ever() {
    let mut guests = guests([]);
    let mut out = Vec::new();
    guests.exempt(&[ONE], &mut out);
    guests.assign_address(ONE, at(2), 5, &mut out);
    assert_eq!(
        out,
        [
            Change::Admit(ONE, None),
            Change::AddAddress(ONE, at(2), None)
        ]
    );
    out.clear();
    guests.exempt(&[ONE], &mut out);
    assert_eq!(out, []);
    // A voucher that the guest holds for another person stays good.
    guests.add(voucher(1));
    assert_eq!(log_in(&mut guests, ONE, 2, 1, 10), []);
    assert_eq!(guests.next(10), None);
    guests.exempt(&[], &mut out);
    assert!(out.contains(&Change::Block(ONE)));
}

#[test]
fn one_device_has_so_many_addresses() {
    let mut guests = guests([voucher(1)]);
    log_in(&mut guests, ONE, 0, 1, 0);
    for last in 1..=255 {
        guests.assign_address(ONE, at(last), 1, &mut Vec::new());
    }
    assert_eq!(guests.guest(&ONE).expect("in").addresses.len(), ADDRESSES);
    assert_eq!(
        (0..=255)
            .filter(|last| guests.has_address(&at(*last)))
            .count(),
        ADDRESSES
    );
}

#[test]
fn a_voucher_of_bytes_is_over_when_they_are_gone() {
    let sold = Voucher {
        bytes: Some(1000),
        ..voucher(1)
    };
    let mut guests = guests([sold]);
    assert!(!guests.needs_counters());
    log_in(&mut guests, ONE, 2, 1, 0);
    assert!(guests.needs_counters());
    guests.add_traffic(&at(2), 999, 0, &mut Vec::new());
    guests.add_traffic(&at(3), 5000, 0, &mut Vec::new());
    let mut out = Vec::new();
    guests.expire((1, WALL), &mut out);
    assert_eq!(out, []);
    guests.add_traffic(&at(2), 1, 0, &mut Vec::new());
    guests.expire((2, WALL), &mut out);
    assert!(out.contains(&Change::Block(ONE)) && out.contains(&Change::EndConnections(at(2))));
    assert!(!guests.needs_counters());
    let again = redeem(
        &mut guests,
        (ONE, at(2)),
        Code::new([1; 5]),
        (3, WALL),
        &mut out,
    );
    assert_eq!(again, Err(Refusal::Expired));
}

/// Used bytes are written by share: the remaining bytes return after a power failure. Flash wears
/// out.
#[test]
fn bytes_are_noted_by_the_share_that_is_used() {
    const MIB: u64 = 1 << 20;
    for (bytes, bound) in [(1000, 62), (48 * MIB, 3 * MIB), (1 << 40, 16 * MIB)] {
        let sold = Voucher {
            bytes: Some(bytes),
            ..voucher(1)
        };
        let noted = |moved| BTreeMap::from([(voucher(1).id, moved)]);
        let mut guests = guests([sold, voucher(2)]);
        log_in(&mut guests, ONE, 2, 1, 0);
        log_in(&mut guests, TWO, 3, 2, 0);
        guests.add_traffic(&at(2), bound - 1, 0, &mut Vec::new());
        guests.add_traffic(&at(3), 99 * MIB, 0, &mut Vec::new());
        assert!(guests.moved_much().is_empty());
        guests.add_traffic(&at(2), 1, 0, &mut Vec::new());
        assert_eq!(guests.moved_much(), noted(bound));
        assert!(guests.moved_much().is_empty(), "once");
        guests.add_traffic(&at(2), 1, 0, &mut Vec::new());
        assert_eq!(guests.all_moved(), noted(bound + 1));
        guests.add_traffic(&at(2), bound - 1, 0, &mut Vec::new());
        assert!(guests.moved_much().is_empty(), "from the last note on");
        // The number of writes is small for any limit.
        let mut writes = 0;
        for _ in 0..100 {
            guests.add_traffic(&at(2), bytes / 100 + 1, 0, &mut Vec::new());
            writes += guests.moved_much().len() as u64;
        }
        assert!(writes <= 17.max(bytes / bound + 1), "{writes}");
    }
}

#[test]
fn what_nobody_sold_is_forgotten() {
    let free = Voucher {
        origin: Origin::Free,
        ..voucher(1)
    };
    let mut guests = guests([]);
    assert!(guests.add(free.clone()));
    // The code of free access is not known, but its voucher is.
    assert_eq!(guests.vouchers.coded(&free.code), None);
    let admitted = guests.admit((ONE, &[]), &free.id, (0, WALL), &mut Vec::new());
    admitted.expect("let in");
    assert_eq!((guests.vouchers(1).count(), guests.used(1).len()), (0, 0));
    guests.expire((HOUR, WALL), &mut Vec::new());
    assert!(guests.guest(&ONE).is_none());
    assert!(guests.add(free), "the next one");
}

/// The remaining time of an account survives a restart; accounts that are over do not.
#[test]
fn an_account_is_known_for_as_long_as_it_holds() {
    let account = |number| Voucher {
        origin: Origin::Account,
        name: "Ada".to_owned(),
        ..voucher(number)
    };
    let mut guests = guests([voucher(5)]);
    let mut out = Vec::new();
    for (number, mac) in [(1, ONE), (2, TWO)] {
        assert!(guests.add(account(number)));
        let id = format!("{number:016x}");
        let when = (u64::from(number) * 1000, WALL + u64::from(number));
        guests
            .admit((mac, &[]), &id, when, &mut out)
            .expect("let in");
    }
    assert_eq!(guests.vouchers(1).count(), 1, "nobody sold it");
    assert_eq!(guests.used(4000).len(), 2);
    assert_eq!(
        guests.vouchers.coded(&Code::new([1; 5])),
        None,
        "nobody has its code"
    );
    assert_eq!([ONE, TWO].map(|mac| guests.account(&mac)), [Some("Ada"); 2]);
    let mut text = String::new();
    let mut keep = |out: &[Change]| {
        for change in out {
            if let Change::Persist(voucher) = change {
                text += &crate::journal::Entry::Voucher(voucher.clone()).line();
            }
        }
        crate::journal::read(text.as_bytes()).vouchers
    };
    let read = keep(&out);
    assert_eq!(read.len(), 2);
    let again = Guests::new(read.into_values(), 0, &mut Vec::new());
    assert_eq!(again.vouchers.coded(&Code::new([1; 5])), None);
    assert_eq!(again.account(&ONE), Some("Ada"));
    // The device leaves with one voucher; the time of the other ends.
    out.clear();
    assert!(guests.end(ONE, (5000, WALL), &mut out));
    assert_eq!(
        [ONE, TWO].map(|mac| guests.account(&mac)),
        [None, Some("Ada")]
    );
    assert_eq!(keep(&out).len(), 1);
    out.clear();
    guests.expire((HOUR + 9000, WALL), &mut out);
    assert!(keep(&out).is_empty());
    assert!(guests.guest(&TWO).is_none());
    let known = [1, 2, 5].map(|number| guests.voucher(&voucher(number).id, 0).is_some());
    assert_eq!(known, [false, false, true]);
}

/// A second device of an account takes the place of the first; a voucher of the first device stays
/// valid.
#[test]
fn an_account_that_moves_on_ends_no_voucher() {
    let account = |number| Voucher {
        origin: Origin::Account,
        name: "Ada".to_owned(),
        ..voucher(number)
    };
    for voucher_first in [true, false] {
        let mut guests = guests([voucher(5)]);
        let mut out = Vec::new();
        let when = (1000, WALL + 1);
        if voucher_first {
            log_in(&mut guests, ONE, 2, 5, 0);
        }
        assert!(guests.add(account(1)));
        let id = format!("{:016x}", 1);
        guests
            .admit((ONE, &[]), &id, when, &mut out)
            .expect("let in");
        if !voucher_first {
            log_in(&mut guests, ONE, 2, 5, 2000);
        }
        guests.make_room("ada", 2, (3000, WALL + 3), &mut out);
        assert_eq!(guests.guest(&ONE).map(|one| one.ids().count()), Some(2));
        out.clear();
        guests.make_room("ADA", 1, (3000, WALL + 3), &mut out);
        assert!(!out.contains(&Change::Block(ONE)), "{out:?}");
        assert_eq!(state(&guests, 5, 3000), State::Active);
        let ids = guests.guest(&ONE).map(|one| one.ids().count());
        assert_eq!((ids, guests.account(&ONE)), (Some(1), None));
        // A device without a voucher is removed.
        assert!(guests.add(account(2)));
        let id = format!("{:016x}", 2);
        guests
            .admit((TWO, &[]), &id, when, &mut out)
            .expect("let in");
        guests.make_room("ada", 1, (4000, WALL + 4), &mut out);
        assert!(out.contains(&Change::Block(TWO)) && guests.guest(&TWO).is_none());
    }
}

fn state(guests: &Guests, number: u8, now: Millis) -> State {
    let id = format!("{number:016x}");
    let (voucher, used) = guests.voucher(&id, now).expect("a voucher");
    voucher.state(used, WALL)
}

/// With half an hour left, a further hour begins when the first voucher is over. No connection ends
/// because of that.
#[test]
fn another_voucher_begins_when_the_first_is_over() {
    let mut guests = guests([voucher(1), voucher(2)]);
    log_in(&mut guests, ONE, 2, 1, 0);
    let out = log_in(&mut guests, ONE, 2, 2, HOUR / 2);
    assert!(out.contains(&Change::AddAddress(ONE, at(2), Some(HOUR + HOUR / 2))));
    assert_eq!(state(&guests, 2, HOUR / 2), State::Available);
    assert_eq!(guests.remaining(&ONE, HOUR / 2).0, Some(HOUR + HOUR / 2));
    let mut out = Vec::new();
    guests.expire((HOUR, WALL), &mut out);
    assert!(!out.contains(&Change::Block(ONE)) && !out.contains(&Change::EndConnections(at(2))));
    assert!(out.contains(&Change::Admit(ONE, Some(HOUR))));
    assert_eq!(state(&guests, 1, HOUR), State::Expired);
    assert_eq!(state(&guests, 2, HOUR), State::Active);
    assert_eq!(guests.next(HOUR), Some(2 * HOUR));
    let mut out = Vec::new();
    guests.expire((2 * HOUR, WALL), &mut out);
    assert!(out.contains(&Change::Block(ONE)) && out.contains(&Change::EndConnections(at(2))));
}

#[test]
fn what_waits_survives_a_restart_and_its_last_day() {
    let until = |number| Voucher {
        until: Some(WALL + 60),
        ..voucher(number)
    };
    let mut first = guests([until(1), until(2), until(3)]);
    log_in(&mut first, ONE, 2, 1, 0);
    for (number, second) in [(3, 1), (2, 2)] {
        let when = (second * 1000, WALL + second);
        let code = Code::new([number; 5]);
        let came = redeem(&mut first, (ONE, at(2)), code, when, &mut Vec::new());
        assert_eq!(came, Ok(()));
    }
    first.expire((1, WALL), &mut Vec::new());
    let kept: Vec<Voucher> = first.vouchers(5000).map(|(v, _)| v.clone()).collect();
    let mut out = Vec::new();
    let mut again = Guests::new(kept, 0, &mut out);
    assert_eq!(out, [Change::Admit(ONE, Some(3 * HOUR))]);
    again.expire((HOUR, WALL + 3600), &mut Vec::new());
    assert_eq!(state(&again, 3, HOUR), State::Active, "in their order");
    assert_eq!(state(&again, 2, HOUR), State::Available);
}

/// A waiting voucher is free: a device that logs in with its code gets it.
#[test]
fn what_waits_can_be_taken_elsewhere_and_given_back() {
    let mut guests = guests([voucher(1), voucher(2), voucher(3)]);
    for number in [1, 2, 3] {
        log_in(&mut guests, ONE, 2, number, 0);
    }
    let out = log_in(&mut guests, TWO, 3, 2, 1000);
    assert!(out.contains(&Change::Admit(ONE, Some(2 * HOUR - 1000))));
    assert!(out.contains(&Change::Admit(TWO, Some(HOUR))));
    let mut out = Vec::new();
    assert!(guests.end(ONE, (2000, WALL), &mut out));
    assert!(out.contains(&Change::Block(ONE)));
    assert!(
        guests
            .voucher(&voucher(3).id, 0)
            .expect("a voucher")
            .0
            .users
            .is_empty()
    );
    // The voucher is revoked while another waits: that one begins.
    log_in(&mut guests, ONE, 2, 1, 3000);
    log_in(&mut guests, ONE, 2, 3, 3000);
    let mut out = Vec::new();
    guests.revoke(&voucher(1).id, (4000, WALL), &mut out);
    assert!(!out.contains(&Change::Block(ONE)));
    assert_eq!(state(&guests, 3, 4000), State::Active);
}

/// If the bytes of a voucher are used up early, the next voucher begins; a voucher without an end
/// has no next one.
#[test]
fn bytes_that_are_gone_make_way_for_the_next() {
    let limited = |number| Voucher {
        bytes: Some(1000),
        ..voucher(number)
    };
    let endless = Voucher {
        duration: None,
        ..voucher(3)
    };
    let mut guests = guests([limited(1), limited(2), endless, voucher(4)]);
    log_in(&mut guests, ONE, 2, 1, 0);
    log_in(&mut guests, ONE, 2, 2, 0);
    assert_eq!(guests.remaining(&ONE, 0), (Some(2 * HOUR), Some(2000)));
    guests.add_traffic(&at(2), 1000, 0, &mut Vec::new());
    let mut out = Vec::new();
    guests.expire((1000, WALL), &mut out);
    assert!(out.contains(&Change::Admit(ONE, Some(HOUR))));
    assert!(!out.contains(&Change::EndConnections(at(2))));
    log_in(&mut guests, TWO, 3, 3, 0);
    log_in(&mut guests, TWO, 3, 4, 0);
    assert_eq!(state(&guests, 4, 0), State::Available);
    assert_eq!(guests.remaining(&TWO, 0), (None, None));
}

fn by(guests: &Guests, mac: &Mac) -> Option<String> {
    guests.guest(mac)?.voucher.clone()
}

/// A guest with an hour left gains nothing from a voucher of a minute: the state stays.
#[test]
fn a_voucher_that_adds_nothing_is_left_to_its_devices() {
    let minute = Voucher {
        duration: Some(60),
        bytes: Some(1000),
        ..voucher(2)
    };
    let mut guests = guests([voucher(1), minute]);
    log_in(&mut guests, ONE, 2, 1, 0);
    log_in(&mut guests, TWO, 3, 2, 0);
    assert_eq!(log_in(&mut guests, ONE, 2, 2, 3000), []);
    assert_eq!(by(&guests, &ONE), Some(voucher(1).id));
    assert_eq!(by(&guests, &TWO), Some(voucher(2).id));
}

/// Time that passes anyway is used first, if the other voucher has a byte limit; then the device
/// returns to that.
#[test]
fn a_device_goes_back_to_its_first_voucher() {
    let limited = Voucher {
        bytes: Some(1000),
        ..voucher(1)
    };
    let minute = Voucher {
        duration: Some(60),
        ..voucher(2)
    };
    let mut guests = guests([limited, minute]);
    log_in(&mut guests, ONE, 2, 1, 0);
    log_in(&mut guests, TWO, 3, 2, 0);
    let out = log_in(&mut guests, ONE, 2, 2, 3000);
    assert_eq!(by(&guests, &ONE), Some(voucher(2).id));
    assert!(out.contains(&Change::Block(TWO)), "it is for one device");
    assert!(out.contains(&Change::Admit(ONE, Some(HOUR - 3000))));
    guests.add_traffic(&at(2), 5000, 4000, &mut Vec::new());
    let mut out = Vec::new();
    guests.expire((60_000, WALL), &mut out);
    assert!(!out.contains(&Change::Block(ONE)) && !out.contains(&Change::EndConnections(at(2))));
    assert!(out.contains(&Change::Admit(ONE, Some(HOUR - 60_000))));
    assert_eq!(
        guests.remaining(&ONE, 60_000),
        (Some(HOUR - 60_000), Some(1000))
    );
    guests.expire((HOUR, WALL), &mut out);
    assert!(out.contains(&Change::Block(ONE)));
}

#[test]
fn bytes_that_are_gone_lead_back_to_the_first_voucher() {
    let slow = Voucher {
        rate: Some(1_000_000),
        ..voucher(1)
    };
    let few = Voucher {
        bytes: Some(1000),
        devices: 2,
        ..voucher(2)
    };
    let mut guests = guests([slow, few]);
    log_in(&mut guests, TWO, 3, 2, 0);
    log_in(&mut guests, ONE, 2, 1, 0);
    log_in(&mut guests, ONE, 2, 2, 3000);
    assert_eq!(by(&guests, &ONE), Some(voucher(2).id), "the faster");
    guests.add_traffic(&at(2), 1000, 4000, &mut Vec::new());
    let mut out = Vec::new();
    guests.expire((5000, WALL), &mut out);
    assert_eq!(by(&guests, &ONE), Some(voucher(1).id));
    assert!(out.contains(&Change::Block(TWO)) && !out.contains(&Change::EndConnections(at(2))));
}

/// A slower voucher that lasts longer waits, before an unused one: its time passes.
#[test]
fn a_slower_voucher_waits_and_its_time_goes_by() {
    let slow = Voucher {
        duration: Some(2 * 3600),
        rate: Some(1_000_000),
        devices: 2,
        ..voucher(3)
    };
    let mut first = guests([voucher(1), voucher(2), slow]);
    log_in(&mut first, TWO, 3, 3, 0);
    for number in [1, 2, 3] {
        log_in(&mut first, ONE, 2, number, 0);
    }
    let order = |guests: &Guests| -> Vec<String> {
        guests.guest(&ONE).expect("in").ids().cloned().collect()
    };
    let ids = [1, 3, 2].map(|number| voucher(number).id);
    assert_eq!(order(&first), ids);
    assert_eq!(first.remaining(&ONE, HOUR / 2).0, Some(HOUR / 2 * 5));
    // Also over a restart.
    let kept: Vec<Voucher> = first.vouchers(0).map(|(v, _)| v.clone()).collect();
    let mut out = Vec::new();
    let mut again = Guests::new(kept, 0, &mut out);
    assert!(out.contains(&Change::Admit(ONE, Some(3 * HOUR))), "{out:?}");
    assert_eq!(order(&again), ids);
    again.expire((HOUR, WALL), &mut out);
    assert_eq!(by(&again, &ONE), Some(voucher(3).id));
    again.expire((2 * HOUR, WALL), &mut out);
    assert_eq!(state(&again, 2, 2 * HOUR), State::Active);
}

/// A voucher with paused time waits for one with running time, but not for a slower voucher.
#[test]
fn time_that_stands_still_waits() {
    let online = Voucher {
        online: true,
        ..voucher(1)
    };
    let slow = Voucher {
        rate: Some(1_000_000),
        devices: 2,
        ..voucher(3)
    };
    let both = |number| Voucher {
        devices: 2,
        ..voucher(number)
    };
    let mut guests = guests([online, both(2), slow]);
    log_in(&mut guests, TWO, 3, 2, 0);
    log_in(&mut guests, TWO, 3, 3, 0);
    guests.end(TWO, (0, WALL), &mut Vec::new());
    log_in(&mut guests, TWO, 3, 3, 0);
    log_in(&mut guests, ONE, 2, 1, 0);
    log_in(&mut guests, ONE, 2, 3, 0);
    assert_eq!(by(&guests, &ONE), Some(voucher(1).id), "the faster");
    log_in(&mut guests, ONE, 2, 2, 0);
    assert_eq!(by(&guests, &ONE), Some(voucher(2).id), "its time goes by");
    assert_eq!(guests.remaining(&ONE, 0).0, Some(2 * HOUR));
    guests.pause_idle(60_000, &mut Vec::new());
    guests.expire((HOUR, WALL), &mut Vec::new());
    assert_eq!(by(&guests, &ONE), Some(voucher(1).id));
    assert_eq!(guests.remaining(&ONE, HOUR).0, Some(HOUR - 1000));
}

/// A guest with free access has it again when a short voucher is over.
#[test]
fn what_is_free_is_not_lost() {
    let free = Voucher {
        origin: Origin::Free,
        ..voucher(1)
    };
    let minute = Voucher {
        duration: Some(60),
        ..voucher(2)
    };
    let mut guests = guests([minute]);
    guests.add(free);
    let admitted = guests.admit((ONE, &[]), &voucher(1).id, (0, WALL), &mut Vec::new());
    admitted.expect("let in");
    log_in(&mut guests, ONE, 2, 2, 1000);
    assert_eq!(by(&guests, &ONE), Some(voucher(2).id));
    guests.expire((61_000, WALL), &mut Vec::new());
    assert_eq!(by(&guests, &ONE), Some(voucher(1).id));
    guests.expire((HOUR, WALL), &mut Vec::new());
    assert_eq!(by(&guests, &ONE), None);
}

proptest! {
    /// Codes typed in any order never reduce a guest's time: the guest is in for as long as any of
    /// the vouchers is good.
    #[test]
    fn no_code_costs_anything(
        terms in prop::collection::vec(
            (
                prop::option::of(1..100_u64),
                prop::option::of(1..10_000_u64),
                prop::option::of(1..3_u64),
                any::<bool>(),
            ),
            1..7,
        ),
        steps in prop::collection::vec((0..7_u8, any::<bool>(), 0..20_000_u64, 0..3000_u64), 1..40),
    ) {
        let vouchers = (1..).zip(&terms).map(|(number, (duration, bytes, rate, online))| Voucher {
            duration: *duration,
            bytes: *bytes,
            rate: *rate,
            online: *online,
            devices: 2,
            ..voucher(number)
        });
        let (mut guests, mut now, mut out) = (guests(vouchers), 0, Vec::new());
        for (number, by_other, wait, bytes) in steps {
            now += wait;
            guests.add_traffic(&at(2), bytes, now, &mut out);
            guests.pause_idle(now, &mut out);
            guests.expire((now, WALL), &mut out);
            // A repeated code brings its voucher to the front. The time of the previous voucher
            // passes meanwhile, so at most this time may be lost.
            let id = voucher(number).id;
            let is_new = |guest: &super::Guest| guest.ids().all(|had| *had != id);
            let in_use = |guest: &super::Guest| {
                let kept = guests.vouchers.get(guest.voucher.as_ref()?)?;
                kept.left(now)
            };
            let before = guests.guest(&ONE).map(|guest| {
                let loss = if is_new(guest) { 0 } else { in_use(guest).unwrap_or(0) };
                (loss, in_use(guest), guests.remaining(&ONE, now))
            });
            let code = Code::new([number; 5]);
            let (mac, last) = if by_other { (TWO, 3) } else { (ONE, 2) };
            let _ = redeem(&mut guests, (mac, at(last)), code, (now, WALL), &mut out);
            // Time of a waiting voucher passes once another device uses it. A voucher still counts
            // in the very moment in which it ends.
            let lasting = before.filter(|(_, left, _)| !by_other && *left != Some(0));
            if let Some((loss, _, (time, bytes))) = lasting {
                let after = guests.remaining(&ONE, now);
                // A paused second may count as used already.
                let no_less = |after| time.is_some_and(|time| time <= after + 1000 + loss);
                prop_assert!(after.0.is_none_or(no_less));
                prop_assert!(after.1.is_none_or(|after| bytes.is_some_and(|bytes| bytes <= after)));
            }
            prop_assert!(before.is_none() || guests.guest(&ONE).is_some());
            let is_in = guests.guest(&ONE).is_some();
            let mut good = guests.vouchers(now).filter(|(voucher, used)| {
                let is_active = voucher.state(*used, WALL) == State::Active;
                is_active && voucher.users.iter().any(|user| user.mac == ONE)
            });
            prop_assert!(is_in || good.next().is_none());
        }
    }
}

fn key(number: u8) -> SecretKey {
    SecretKey::new(&[number; 32]).expect("a key")
}

/// Builds a node's note about a voucher that the node sold or admitted a device by.
fn told(guests: &Guests, (node, seller): (u8, u8), now: Millis) -> (Note, String) {
    let (voucher, used) = guests.vouchers(now).next().expect("a voucher");
    let signed = voucher.signed;
    let signed = signed.or_else(|| voucher.sign(&key(seller)));
    let when = (key(node).public(), WALL + now / 1000);
    let note = Note::of(voucher, (signed.expect("signed"), used), when);
    let line = note.line(&key(node));
    (note, line)
}

fn hear(guests: &mut Guests, node: u8, told: &(Note, String), now: Millis) -> Vec<Change> {
    let mut out = Vec::new();
    let own = key(node).public();
    assert!(guests.apply_note((&told.0, &told.1), (own, now, WALL + now / 1000), &mut out));
    assert!(!guests.apply_note(
        (&told.0, &told.1),
        (own, now, WALL + now / 1000),
        &mut Vec::new()
    ));
    out
}

/// Node 1 sold the voucher; node 2 has no record of the sale.
#[test]
fn what_was_signed_elsewhere_lets_in_and_its_time_is_one() {
    let mut first = guests([voucher(1)]);
    let mut second = guests([]);
    let signed = voucher(1).sign(&key(1)).expect("signed");
    let mut out = Vec::new();
    let attempt = Attempt {
        ticket: Ticket::Signed(signed),
        mac: TWO,
        addresses: &[],
        token: None,
    };
    let came = second.redeem(&attempt, &key(2), (0, WALL), &mut out);
    came.expect("let in");
    log_in(&mut first, ONE, 1, 1, HOUR / 2);
    // The nodes exchange notes: 50 minutes are gone, of which the first knew 20.
    let now = HOUR / 2 + HOUR / 3;
    let out = hear(&mut first, 1, &told(&second, (2, 1), now), now);
    assert!(out.contains(&Change::Admit(ONE, Some(HOUR / 6))));
    let (voucher, _) = first.vouchers(now).next().expect("a voucher");
    let double = voucher.double.expect("two devices at once");
    assert_eq!(double.how, voucher::DoubleUseKind::Together);
    hear(&mut second, 2, &told(&first, (1, 1), now), now);
    let (other, _) = second.vouchers(now).next().expect("a voucher");
    assert_eq!(
        other.double.map(|double| double.how),
        Some(voucher::DoubleUseKind::Together)
    );
    assert_eq!(first.next(now), Some(HOUR));
    assert_eq!(second.next(now), Some(HOUR));
}

#[test]
fn what_was_called_back_elsewhere_ends_here() {
    let mut first = guests([voucher(1)]);
    let mut second = guests([]);
    hear(&mut second, 2, &told(&first, (1, 1), 0), 0);
    log_in(&mut second, TWO, 2, 1, 1000);
    first.revoke(&voucher(1).id, (2000, WALL), &mut Vec::new());
    let out = hear(&mut second, 2, &told(&first, (1, 1), 2000), 2000);
    assert!(out.contains(&Change::Block(TWO)) && out.contains(&Change::EndConnections(at(2))));
    let again = redeem(
        &mut second,
        (TWO, at(2)),
        Code::new([1; 5]),
        (3000, WALL),
        &mut Vec::new(),
    );
    assert_eq!(again, Err(Refusal::Revoked));
}

/// A third node brings the notes of two others, in any order.
#[test]
fn notes_go_over_others_and_count_once() {
    let limited = Voucher {
        bytes: Some(1000),
        ..voucher(1)
    };
    let mut first = guests([limited]);
    log_in(&mut first, ONE, 1, 1, 0);
    first.add_traffic(&at(1), 300, 0, &mut Vec::new());
    let mut second = guests([]);
    let note = told(&first, (1, 1), 1000);
    hear(&mut second, 2, &note, 1000);
    log_in(&mut second, ONE, 1, 1, 2000);
    second.add_traffic(&at(1), 400, 0, &mut Vec::new());
    let mut third = guests([]);
    hear(&mut third, 3, &told(&second, (2, 1), 3000), 3000);
    hear(&mut third, 3, &note, 3000);
    let left = |guests: &Guests| guests.vouchers(0).next().and_then(|(v, _)| v.bytes_left());
    assert_eq!(
        (left(&first), left(&second), left(&third)),
        (Some(700), Some(300), Some(300))
    );
    // An older line changes nothing.
    let own = (key(3).public(), 4000, WALL);
    assert!(!third.apply_note((&note.0, &note.1), own, &mut Vec::new()));
}

#[test]
fn a_rate_is_that_of_the_voucher_by_which_a_device_is_in() {
    let slow = |id| Voucher {
        rate: Some(1_000_000),
        ..voucher(id)
    };
    let mut guests = guests([slow(1), voucher(2), slow(3)]);
    log_in(&mut guests, ONE, 2, 1, 0);
    log_in(&mut guests, TWO, 3, 2, 0);
    assert_eq!(guests.rate_limits().addresses(), &[at(2)].into());
    // A voucher that waits has no say yet.
    log_in(&mut guests, TWO, 3, 3, 0);
    assert_eq!(guests.rate_limits().addresses(), &[at(2)].into());
    guests.expire((HOUR, WALL), &mut Vec::new());
    assert_eq!(guests.rate_limits().addresses(), &[at(3)].into());
}

#[test]
fn of_two_vouchers_with_one_former_code_the_first_is_taken() {
    let former = |id: &str| Voucher {
        former: Some("ZRJUXO".parse().expect("a code")),
        duration: Some(3600),
        ..Voucher::new(id.to_owned(), Code::new([id.len() as u8; 5]), WALL)
    };
    let (mut guests, mut out) = (Guests::default(), Vec::new());
    let first = former("00112233445566f");
    assert_eq!(guests.import(first.clone(), 0, &mut out), ImportResult::New);
    assert_eq!(guests.import(first, 0, &mut out), ImportResult::Known);
    let second = former("00112233445566ff");
    assert_eq!(
        guests.import(second.clone(), 0, &mut out),
        ImportResult::CodeTaken
    );
    assert!(guests.voucher(&second.id, 0).is_none());
    let code = "ZRJUXO".parse().expect("a code");
    assert_eq!(
        guests.vouchers.former(&code).map(String::as_str),
        Some("00112233445566f")
    );
    // If a file has both, the first keeps the code, too.
    let both = [former("00112233445566e"), former("00112233445566ee")];
    let guests = Guests::new(both, 0, &mut out);
    assert_eq!(
        guests.vouchers.former(&code).map(String::as_str),
        Some("00112233445566e")
    );
}
