use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use testing::Directory;

use super::*;
use crate::daemon::Settings;
use crate::envelope::{Key, feed};
use crate::machine::{Event, Format};

fn key(seed: u8) -> Key {
    Key::from_seed(&[seed; 32]).expect("any seed")
}

/// The program without an adapter.
fn begin(folder: &Path) -> State {
    let settings = Settings {
        adapter: String::new(),
        formats: [Format::V1, Format::V2].into(),
        links: 4,
        channels: true,
        power: crate::power::Power::Balanced,
        state: folder.to_owned(),
        queue: 1 << 20,
        socket: PathBuf::new(),
        page: None,
        village: None,
    };
    State::new(Arc::new(key(1)), &settings, None)
}

fn opened(state: &State, link: u32, id: Id) {
    let opened = Event::Opened {
        link,
        address: [link as u8; 6],
        format: Format::V2,
        caller: true,
        id: Some(id),
        frame: 244,
    };
    state.0.borrow_mut().happen(opened);
}

fn later(state: &State, seconds: u64) {
    state.0.borrow_mut().mailbox.skip(seconds * 1000);
    state.tick();
}

#[test]
fn what_is_said_to_one_who_was_near_waits_through_a_restart() {
    let folder = Directory::new();
    let (away, near) = (key(2).node().id(), key(3).node().id());
    let state = begin(&folder);
    assert_eq!(
        (
            state.say(Recipients::One(away), "?"),
            state.waits(Recipients::One(away))
        ),
        (0, Ok(0))
    );
    opened(&state, 1, away);
    state.0.borrow_mut().happen(Event::Closed(1));
    later(&state, 20);
    assert_eq!(state.say(Recipients::One(away), "one"), 0);
    assert_eq!(state.waits(Recipients::One(away)), Ok(1));
    opened(&state, 2, near);
    assert_eq!(
        (
            state.say(Recipients::All, "two"),
            state.waits(Recipients::All)
        ),
        (1, Ok(1))
    );
    // Another message is passed on, and is in memory when the program ends.
    let passed = feed(&key(9), "three", 1);
    let mut out = Vec::new();
    let frame = crate::v1::frame(Id([9; 8]), &passed);
    {
        let mut inner = state.0.borrow_mut();
        inner.happen(Event::Opened {
            link: 3,
            address: [3; 6],
            format: Format::V1,
            caller: false,
            id: None,
            frame: 20,
        });
        inner.happen(Event::Heard(3, &frame));
        out.extend(inner.mailbox.room().delivery().remembered());
    }
    drop(state);
    let state = begin(&folder);
    let waiting = |id: Id| {
        let all = state.away();
        let one = all.iter().find(|it| it.id == id.to_string());
        one.map(|it| (it.waiting, it.last_seen.is_some()))
    };
    assert_eq!(waiting(away), Some((3, true)));
    assert_eq!(waiting(near), Some((2, true)));
    assert_eq!(
        state
            .0
            .borrow()
            .mailbox
            .room()
            .delivery()
            .remembered()
            .collect::<Vec<_>>(),
        out
    );
    assert_eq!(state.0.borrow_mut().mailbox.next_number(), 4);
    // A returned peer gets its messages from the disk.
    opened(&state, 1, away);
    let waits = |state: &State| state.peers().first().map(|(it, _)| it.waiting);
    assert_eq!(waits(&state), Some(3));
}

/// Equal times would make both one message to others.
#[test]
fn what_is_said_twice_in_a_millisecond_is_two_messages() {
    let folder = Directory::new();
    let state = begin(&folder);
    opened(&state, 1, key(2).node().id());
    for _ in 0..100 {
        assert_eq!(state.say(Recipients::All, "the same"), 1);
    }
    let times: BTreeSet<u64> = state.past().iter().map(|it| it.time).collect();
    assert_eq!(times.len(), 100);
    assert_eq!([after(10, 9), after(10, 10), after(10, 11)], [11, 11, 11]);
    assert_eq!(after(DRIFT + 10, 5), 5, "the clock was set back");
}
