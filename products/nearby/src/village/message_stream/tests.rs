use proptest::prelude::*;

use super::*;

fn exchange() -> MessageStream {
    MessageStream::new(Id([7; 8]), 0)
}

/// Passes records until none are left, and returns the receiver's events.
fn flow(from: &mut MessageStream, to: &mut MessageStream, now: u64) -> Vec<Event> {
    let mut events = Vec::new();
    while let Some(record) = from.next(now) {
        assert!(record.len() <= RECORD);
        events.extend(to.heard(now, &record));
    }
    events
}

#[test]
fn messages_of_any_size_come_in_order_and_are_acknowledged() {
    let (mut one, mut other) = (exchange(), exchange());
    let sizes = [
        0,
        1,
        500,
        RECORD - 10,
        RECORD - 9,
        RECORD,
        5 * RECORD,
        MESSAGE,
    ];
    for (number, size) in sizes.iter().enumerate() {
        let octets: Vec<u8> = (0..*size).map(|at| (at % 251) as u8).collect();
        assert!(one.send(100 + number as u64, 5, octets.clone()));
        let events = flow(&mut one, &mut other, 0);
        assert_eq!(events, [Event::Hopped(5, octets)]);
        let events = flow(&mut other, &mut one, 0);
        assert_eq!(events, [Event::Outcome(100 + number as u64, true)]);
    }
    assert!(one.end().is_empty());
}

#[test]
fn what_was_not_acknowledged_is_given_back() {
    let (mut one, mut other) = (exchange(), exchange());
    for number in 0..5 {
        assert!(one.send(number, 8, b"text"));
    }
    let first = one.next(0).expect("a message");
    other.heard(0, &first);
    let taken = other.next(0).expect("an acknowledgement");
    assert_eq!(taken, [3, 0, 0, 0, 0]);
    assert_eq!(one.heard(0, &taken), [Event::Outcome(0, true)]);
    assert_eq!(one.heard(0, &taken), [], "once");
    assert_eq!(
        one.heard(0, &[3, 0, 0, 0, 4]),
        [],
        "that is not written yet"
    );
    assert_eq!(one.end(), [1, 2, 3, 4]);
}

#[test]
fn what_is_under_way_is_bounded() {
    let mut one = exchange();
    let taken = (0..1000).filter(|it| one.send(*it, 8, b"text")).count();
    assert_eq!(taken, AHEAD);
    let mut one = exchange();
    let taken = (0..1000)
        .filter(|it| one.send(*it, 8, &[0; MESSAGE]))
        .count();
    assert_eq!(taken, 2);
    assert!(!exchange().send(1, 8, &[0; MESSAGE + 1]));
    // A peer that sends messages and reads nothing.
    let mut other = exchange();
    let ends = (0..1000u32).take_while(|number| {
        let record = [&[1][..], &number.to_be_bytes(), &[8, 0, 0, 0, 1, b'x']].concat();
        other.heard(0, &record) != [Event::Close(CloseReason::Noise)]
    });
    assert_eq!(ends.count(), ACKNOWLEDGEMENTS);
}

#[test]
fn who_is_silent_is_pinged_and_given_up() {
    let (mut one, mut other) = (exchange(), exchange());
    assert_eq!(one.next(9_999), None);
    let ping = one.next(10_000).expect("a ping");
    assert_eq!(ping, [0]);
    assert_eq!(one.next(10_000), None);
    assert_eq!(other.heard(10_000, &ping), []);
    assert_eq!(other.tick(39_999), []);
    assert_eq!(other.tick(40_000), [Event::Close(CloseReason::Silent)]);
}

#[test]
fn what_is_no_message_ends_the_link() {
    let first =
        |size: u32, octets: &[u8]| [&[1, 0, 0, 0, 9, 8][..], &size.to_be_bytes(), octets].concat();
    let over = [Event::Close(CloseReason::Noise)];
    for wrong in [
        vec![],
        vec![1, 0, 0, 0],
        vec![2, 0, 0, 0, 9, b'x'],
        vec![3, 0],
        first(3, b"four"),
        first(3, b""),
        first(MESSAGE as u32 + 1, b"x"),
        first(u32::MAX, b"x"),
    ] {
        assert_eq!(exchange().heard(0, &wrong), over, "{wrong:?}");
    }
    let mut one = exchange();
    assert_eq!(one.heard(0, &first(9, b"begun")), []);
    assert_eq!(
        one.heard(0, &first(1, b"x")),
        over,
        "the one before is not whole"
    );
    assert_eq!(
        one.heard(0, &[2, 0, 0, 0, 8, b'x']),
        over,
        "that is another"
    );
    assert_eq!(one.heard(0, &[2, 0, 0, 0, 9]), over, "it brings nothing");
    let mut one = exchange();
    assert_eq!(one.heard(0, &[77, 1, 2, 3]), [], "of a newer one");
    let more = [1, 0, 0, 0, 9, 200, 0, 0, 0, 1, b'x'];
    assert_eq!(
        one.heard(0, &more),
        [Event::Hopped(HOPS, b"x".to_vec())],
        "no more than that"
    );
}

proptest! {
    #[test]
    fn records_of_any_kind_never_panic(
        records in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..200),
        kinds: Vec<u8>,
    ) {
        let mut one = exchange();
        for number in 0..10 {
            one.send(number, 8, &[1; 40_000]);
        }
        for (mut record, kind) in records.into_iter().zip(kinds) {
            if let Some(first) = record.first_mut() {
                *first = kind % 5;
            }
            one.heard(0, &record);
            one.next(0);
            prop_assert!(one.taken.len() <= ACKNOWLEDGEMENTS);
            let held = one.unfinished.as_ref().map_or(0, |it| it.octets.len());
            prop_assert!(held <= MESSAGE);
        }
    }
}
