use super::super::connection::{ALIVE, SETTLED};
use super::super::*;
use crate::envelope::Key;

fn room() -> Machine {
    let key = Key::from_seed(&[1; 32]).expect("any seed");
    Machine::new(Settings {
        own: key.node().id(),
        node: Some(key.node()),
        address: [0; 6],
        formats: [Format::V1, Format::V2].into(),
        links: 4,
    })
}

/// Sees a device with the highest id. Returns true if the room calls it.
fn hears(room: &mut Machine, now: u64, address: Address) -> bool {
    let seen = Event::Seen {
        address,
        format: Format::V2,
        prefix: Some([0xff; 5]),
        signal: None,
    };
    let actions = room.handle(now, seen);
    actions.contains(&Action::Connect(address))
}

#[test]
fn without_a_radio_nobody_is_called_and_with_the_next_one_all_at_once() {
    let mut room = room();
    assert!(hears(&mut room, 0, [1; 6]));
    // The radio is lost during a call, after some calls failed.
    assert!(room.handle(10, Event::Refused([1; 6])).is_empty());
    room.anew(None);
    let actions = room.handle(10 + AGAIN[0], Event::Tick);
    assert!(actions.is_empty(), "{actions:?}");
    room.anew(Some([9; 6]));
    assert_eq!(room.sightings.address(), [9; 6]);
    assert!(hears(&mut room, 100 + AGAIN[0], [1; 6]));
}

#[test]
fn what_became_of_a_call_by_the_radio_before_ends_no_call_by_the_next() {
    let mut room = room();
    assert!(hears(&mut room, 0, [1; 6]));
    room.anew(Some([0; 6]));
    assert!(hears(&mut room, 10, [2; 6]));
    let actions = room.handle(20, Event::Refused([1; 6]));
    assert!(actions.is_empty(), "{actions:?}");
    assert!(!hears(&mut room, 30, [3; 6]), "one call at a time");
    let actions = room.handle(40, Event::Refused([2; 6]));
    assert_eq!(actions, [Action::Connect([3; 6])]);
}

/// Opens a connection of v2 with the highest id. Returns the connections closed for it.
fn opens(room: &mut Machine, now: u64, link: u32, caller: bool) -> Vec<Action> {
    let opened = Event::Opened {
        link,
        address: [link as u8; 6],
        format: Format::V2,
        caller,
        id: Some(Id([0xff; 8])),
        frame: 20,
    };
    let actions = room.handle(now, opened);
    let closes = actions.into_iter();
    closes.filter(|it| matches!(it, Action::Close(_))).collect()
}

/// Any device can claim an id. Of simultaneous calls by both sides, one connection closes.
#[test]
fn who_says_the_id_of_one_who_is_there_does_not_take_its_place() {
    let mut room = room();
    assert!(opens(&mut room, 0, 1, false).is_empty());
    assert_eq!(opens(&mut room, SETTLED - 1, 2, true), [Action::Close(1)]);
    for link in [1, 2] {
        room.handle(SETTLED - 1, Event::Closed(link));
    }
    assert!(opens(&mut room, SETTLED, 3, false).is_empty());
    let now = 3 * SETTLED;
    let ping = [6];
    room.handle(now, Event::Heard(3, &ping));
    assert_eq!(
        opens(&mut room, now + ALIVE - 1, 4, true),
        [Action::Close(4)]
    );
    room.handle(now + ALIVE - 1, Event::Closed(4));
    // A silent connection may belong to a restarted peer.
    assert_eq!(opens(&mut room, now + ALIVE, 5, true), [Action::Close(3)]);
}

/// A device that can notify only one other would drop each caller before it calls itself.
#[test]
fn who_was_called_and_let_go_without_a_word_is_left_to_call() {
    let mut room = room();
    let address = [3; 6];
    assert!(hears(&mut room, 0, address));
    assert!(opens(&mut room, 100, 3, true).is_empty());
    room.handle(2_200, Event::Closed(3));
    for now in [2_300, 10_000, 20_000, 32_000] {
        assert!(!hears(&mut room, now, address), "{now}");
    }
    assert!(hears(&mut room, 32_300, address));
    // A device that sent a frame, or was cut off before, is called at once.
    assert!(opens(&mut room, 32_400, 3, true).is_empty());
    room.handle(32_500, Event::Heard(3, &[6]));
    let calls = |room: &mut Machine, now| {
        let actions = room.handle(now, Event::Closed(3));
        actions.contains(&Action::Connect(address)) || hears(room, now, address)
    };
    assert!(calls(&mut room, 40_000));
    assert!(opens(&mut room, 40_100, 3, true).is_empty());
    assert!(calls(&mut room, 40_200));
}

/// BlueZ was asked to forget the address and cannot call it: each such call would lengthen the
/// pause before the next.
#[test]
fn who_was_connected_is_called_when_it_is_heard_again_and_at_once() {
    let mut room = room();
    assert!(hears(&mut room, 0, [1; 6]));
    opens(&mut room, 10, 1, true);
    room.handle(20, Event::Heard(1, &[6]));
    let actions = room.handle(5_000, Event::Closed(1));
    assert!(!actions.contains(&Action::Connect([1; 6])), "{actions:?}");
    let actions = room.handle(5_100, Event::Tick);
    assert!(!actions.contains(&Action::Connect([1; 6])), "{actions:?}");
    assert!(hears(&mut room, 5_200, [1; 6]));
    // A failed call and a pause have the same effect.
    room.handle(6_000, Event::Refused([1; 6]));
    let actions = room.handle(6_000 + AGAIN[0], Event::Tick);
    assert!(!actions.contains(&Action::Connect([1; 6])), "{actions:?}");
    assert!(hears(&mut room, 6_001 + AGAIN[0], [1; 6]));
    room.handle(6_100 + AGAIN[0], Event::Refused([1; 6]));
    assert!(!hears(&mut room, 6_200 + AGAIN[0], [1; 6]), "not yet");
}

/// The radio pauses between two rounds of discovery.
#[test]
fn where_the_radio_rests_nobody_is_gone_sooner() {
    let mut room = room();
    room.rests(25_000);
    assert!(hears(&mut room, 0, [1; 6]));
    opens(&mut room, 10, 1, true);
    room.handle(20, Event::Closed(1));
    let gone = |actions: &[Action]| actions.contains(&Action::Near(Id([0xff; 8]), false));
    assert!(!gone(&room.handle(GONE + 24_000, Event::Tick)));
    assert!(gone(&room.handle(GONE + 26_000, Event::Tick)));
}
