use proptest::prelude::*;

use super::*;
use crate::code::Code;
use crate::voucher::User;

const HOUR: u64 = 3600;
const WALL: u64 = 1_790_000_000;

fn key(number: u8) -> SecretKey {
    SecretKey::new(&[number; 32]).expect("a key")
}

fn trusted(numbers: &[u8]) -> Vec<TrustedNode> {
    let trusted = |number: &u8| TrustedNode {
        key: key(*number).public(),
        name: String::new(),
    };
    numbers.iter().map(trusted).collect()
}

/// An hour for one device, sold by node 1.
fn voucher() -> Voucher {
    Voucher {
        duration: Some(HOUR),
        ..Voucher::new("00000000000000aa".to_owned(), Code::new([3; 5]), WALL)
    }
}

/// Builds the note of a node that admitted a device at one time, and wrote the note at another.
fn note(node: u8, device: u8, (since, noted): (u64, u64)) -> Note {
    let signed = voucher().sign(&key(1)).expect("signed");
    let mac = [2, 0, 0, 0, 0, device];
    let used = (noted - since).min(HOUR) * 1000;
    let used_up = Voucher {
        activated: Some(since),
        here: Some(since),
        over: (noted >= since + HOUR).then_some(since + HOUR),
        users: vec![User::new(mac, since)],
        ..voucher()
    };
    Note::of(&used_up, (signed, used), (key(node).public(), noted))
}

#[test]
fn a_line_is_taken_from_who_is_trusted() {
    let noted = note(2, 1, (WALL, WALL + 60));
    let line = noted.line(&key(2));
    assert_eq!(Note::checked(&line, &trusted(&[1, 2])), Ok(noted.clone()));
    let stranger = NoteError::Stranger(key(2).public());
    assert_eq!(Note::checked(&line, &trusted(&[1])), Err(stranger));
    let seller = NoteError::Seller(voucher().id);
    assert_eq!(Note::checked(&line, &trusted(&[2])), Err(seller));
    let forged = NoteError::Forged(key(2).public());
    let other = noted.line(&key(3));
    assert_eq!(
        Note::checked(&other, &trusted(&[1, 2, 3])),
        Err(forged.clone())
    );
    let changed = line.replace("\"used\":60000", "\"used\":60001");
    assert_eq!(Note::checked(&changed, &trusted(&[1, 2])), Err(forged));
    for text in ["", "weir notes 1", "x {}", &"x".repeat(LONGEST + 1)] {
        assert_eq!(
            Note::checked(text, &trusted(&[1])),
            Err(NoteError::NotANote)
        );
    }
}

#[test]
fn no_line_shows_a_hardware_address() {
    let line = note(2, 1, (WALL, WALL + 60)).line(&key(2));
    assert!(!line.contains("02:00:00") && line.contains("\"device\":"));
}

#[test]
fn what_grows_counts_before_the_clock() {
    let before = note(2, 1, (WALL, WALL + 60));
    let mut after = note(2, 1, (WALL, WALL + 90));
    after.noted = 5;
    assert!(after.is_newer(&before) && !before.is_newer(&after));
    assert!(!before.is_newer(&before));
}

/// Two devices at two nodes at one time: whatever the clocks, if notes come at once.
#[test]
fn two_devices_at_once_are_too_many() {
    let one = note(1, 1, (WALL, WALL + 600));
    let together = |two: &Note, late| double(&voucher(), (&one, 0), (two, late));
    let found = together(&note(2, 2, (WALL + 60, WALL + 600)), 0).expect("found");
    assert_eq!(found.how, DoubleUseKind::Together);
    assert_eq!(found.nodes, [key(1).public(), key(2).public()]);
    // A device that is at both nodes counts once.
    assert_eq!(together(&note(2, 1, (WALL + 60, WALL + 600)), 0), None);
    // The first device may have left by then.
    assert_eq!(together(&note(2, 2, (WALL + 599, WALL + 900)), 0), None);
    let three = Voucher {
        devices: 3,
        ..voucher()
    };
    let two = note(2, 2, (WALL + 60, WALL + 600));
    assert_eq!(double(&three, (&one, 0), (&two, 0)), None);
}

/// An hour at one, the next day an hour at the other.
#[test]
fn a_time_that_is_over_does_not_begin_again() {
    let one = note(1, 1, (WALL, WALL + 100_000));
    let two = note(2, 1, (WALL + 90_000, WALL + 90_100));
    let found = double(&voucher(), (&one, 0), (&two, 0)).expect("found");
    assert_eq!(found.how, DoubleUseKind::Again);
    // While it was still good elsewhere, it is a device that walked on.
    let roamed = note(2, 1, (WALL + 1800, WALL + 2000));
    assert_eq!(double(&voucher(), (&one, 0), (&roamed, 0)), None);
}

/// A clock that is a day ahead, or a file that took a day: neither makes a thief of who walked on.
#[test]
fn nobody_is_accused_by_a_clock() {
    let day = 86_400;
    let one = note(1, 1, (WALL, WALL + 5000));
    let ahead = note(2, 1, (WALL + day + 1800, WALL + day + 2000));
    // The note arrived at once, so its time lies in the future.
    assert_eq!(double(&voucher(), (&one, 0), (&ahead, -(day as i64))), None);
    let carried = note(2, 1, (WALL + 1800, WALL + 2000));
    assert_eq!(double(&voucher(), (&one, 0), (&carried, day as i64)), None);
    // A node that never had a clock.
    let old = note(2, 1, (1800, 2000));
    let late = (WALL - 200) as i64;
    assert_eq!(double(&voucher(), (&one, 0), (&old, late)), None);
}

proptest! {
    #[test]
    fn nothing_panics(line in ".{0,300}") {
        let _ = Note::checked(&line, &trusted(&[1]));
    }

    #[test]
    fn both_ways_the_same(a in 0_u64..10_000, b in 0_u64..10_000, late in -9000_i64..9000) {
        let one = note(1, 1, (WALL + a, WALL + a + 700));
        let two = note(2, 2, (WALL + b, WALL + b + 700));
        let how = |found: Option<VoucherDoubleUse>| found.map(|found| found.how);
        let there = how(double(&voucher(), (&one, 0), (&two, late)));
        prop_assert_eq!(there, how(double(&voucher(), (&two, late), (&one, 0))));
    }
}
