//! Devices by their browsers.

use super::*;

/// Comes with voucher 7 by a browser, which gets a pass.
fn come(guests: &mut Guests, last: u8, token: u64) -> Vec<Change> {
    let mut out = Vec::new();
    let attempt = Attempt {
        ticket: Ticket::Code(Code::new([7; 5])),
        mac: [2, 0, 0, 0, 0, last],
        addresses: &[at(last)],
        token: Some(token),
    };
    let pass = guests.redeem(&attempt, &key(1), (0, WALL), &mut out);
    let pass = pass.expect("let in").expect("a pass");
    assert_eq!((pass.token, pass.voucher.id()), (token, voucher(7).id));
    out
}

/// A browser that changed its address keeps its own slot: no other device leaves.
#[test]
fn a_browser_takes_its_own_place() {
    let sold = Voucher {
        devices: 2,
        ..voucher(7)
    };
    let mut guests = guests([sold]);
    come(&mut guests, 1, 70);
    come(&mut guests, 2, 71);
    let out = come(&mut guests, 3, 71);
    assert!(out.contains(&Change::Block([2, 0, 0, 0, 0, 2])), "{out:?}");
    let inside: Vec<u8> = guests.guests().map(|(mac, _)| mac[5]).collect();
    assert_eq!(inside, [1, 3]);
    assert_eq!(guests.token(&[2, 0, 0, 0, 0, 3]), Some(71));
    assert_eq!(guests.token(&[2, 0, 0, 0, 0, 2]), None);
    // For an unknown browser, the oldest device makes room.
    come(&mut guests, 4, 72);
    let inside: Vec<u8> = guests.guests().map(|(mac, _)| mac[5]).collect();
    assert_eq!(inside, [3, 4]);
}
