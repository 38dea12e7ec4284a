//! Keys and answers, and their effects.

use answers::{MeteredPort, Rate};
use proptest::prelude::*;

use super::*;

/// A device with so many bits a second to it.
fn device(mac: &str, name: &str, down: u64) -> Device {
    Device {
        mac: mac.into(),
        name: Some(name.into()),
        port: "lan0".into(),
        rate: Rate {
            received: down,
            sent: 1,
        },
        ..Device::default()
    }
}

/// A conversation of a device.
fn conversation(id: u64, mac: &str, remote_name: &str, down: u64) -> Conversation {
    Conversation {
        id,
        port: "lan0".into(),
        mac: mac.into(),
        protocol_number: 6,
        station: "192.168.1.2".into(),
        station_port: 40_000,
        remote: "198.51.100.1".into(),
        remote_port: 443,
        remote_name: Some(remote_name.into()),
        rate: Rate {
            received: down,
            sent: 0,
        },
        ..Conversation::default()
    }
}

fn devices(devices: &[Device]) -> Devices {
    let uplink = MeteredPort {
        name: "wan0".into(),
        uplink: true,
        ..MeteredPort::default()
    };
    Devices {
        devices: devices.to_vec(),
        ports: vec![uplink],
        ..Devices::default()
    }
}

fn good(asked: Request, of: &[Device], conversations: &[Conversation]) -> Response {
    let conversations = asked.conversations.is_some().then(|| Conversations {
        total: 0,
        conversations: conversations.to_vec(),
    });
    Response {
        asked,
        got: Ok((devices(of), conversations)),
    }
}

fn bad(asked: Request) -> Response {
    let trouble = Problem {
        what: "weir is not running".into(),
        hint: "start it".into(),
    };
    Response {
        asked,
        got: Err(trouble),
    }
}

fn at(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn state() -> State {
    let mut state = State::new(Charset::Unicode, true);
    let asked = state.tick(at(0)).expect("asks at once");
    let three = [
        device("a", "Laptop", 30),
        device("b", "tv", 20),
        device("c", "phone", 10),
    ];
    state.answer(good(asked, &three, &[]), at(100));
    state
}

fn names(state: &State) -> Vec<String> {
    state
        .listed()
        .iter()
        .map(|device| device.mac.clone())
        .collect()
}

#[test]
fn asks_once_a_second_and_never_twice_at_once() {
    let mut state = State::new(Charset::Unicode, true);
    let asked = state.tick(at(0)).expect("asks at once");
    assert_eq!(state.tick(at(1)), None);
    assert_eq!(state.tick(at(5000)), None, "the first is not answered");
    assert!(state.problem(at(2999)).is_none());
    assert!(
        state
            .problem(at(5000))
            .is_some_and(|(what, _)| what == "weir has not answered for 5 s")
    );
    state.answer(good(asked, &[], &[]), at(5100));
    assert!(state.tick(at(5100)).is_some(), "a second has passed");
    let mut state = self::state();
    assert_eq!(
        (state.tick(at(999)), state.patience(at(999))),
        (None, at(1))
    );
    assert!(state.tick(at(1000)).is_some());
}

#[test]
fn what_was_known_stays_while_the_daemon_is_gone() {
    let mut state = state();
    let asked = state.tick(at(1000)).expect("asks");
    state.answer(bad(asked), at(1001));
    assert_eq!(
        state.problem(at(1001)),
        Some(("weir is not running".into(), "start it"))
    );
    assert_eq!(names(&state), ["a", "b", "c"]);
    let asked = state.tick(at(2000)).expect("tries again");
    state.answer(good(asked, &[device("d", "new", 1)], &[]), at(2001));
    assert_eq!(
        (state.problem(at(2001)), names(&state)),
        (None, vec!["d".to_owned()])
    );
}

#[test]
fn sorts_filters_and_shows_uplinks() {
    let mut state = state();
    for (keys, order) in [
        ("1", "acb"),
        ("1", "bca"),
        ("r", "acb"),
        ("2", "abc"),
        ("9", "abc"),
        ("S", "acb"),
        ("s", "abc"),
    ] {
        for key in keys.chars() {
            assert_eq!(state.key(Key::Char(key), at(200)), None);
        }
        assert_eq!(names(&state).concat(), order, "{keys}");
    }
    for key in "/LAPq".chars() {
        assert_eq!(
            state.key(Key::Char(key), at(200)),
            None,
            "q is a letter here"
        );
    }
    assert!(names(&state).is_empty());
    state.key(Key::Backspace, at(200));
    assert_eq!(names(&state), ["a"]);
    state.key(Key::Enter, at(200));
    assert!(!state.typing);
    state.key(Key::Esc, at(200));
    assert_eq!(names(&state).len(), 3);

    let mut gateway = device("z", "gateway", 99);
    gateway.uplink = true;
    state.devices.as_mut().expect("known").devices.push(gateway);
    assert_eq!(names(&state).len(), 3);
    state.key(Key::Char('u'), at(200));
    assert_eq!(names(&state).concat(), "zabc");
}

#[test]
fn goes_in_and_out_again() {
    let mut state = state();
    state.key(Key::Down, at(150));
    state.key(Key::Enter, at(200));
    assert_eq!(state.view, View::Conversations(Some("b".into())));
    let asked = state.tick(at(200)).expect("at once");
    let query = asked.conversations.clone().expect("conversations");
    assert_eq!(
        (query.device.as_deref(), query.sort, query.limit),
        (Some("b"), ConversationSort::Rate, CONVS)
    );
    let two = [
        conversation(1, "b", "slow.example", 1),
        conversation(2, "b", "fast.example", 9),
    ];
    state.answer(good(asked, &[device("b", "tv", 1)], &two), at(300));
    assert_eq!(state.ids(), [2, 1]);
    state.key(Key::End, at(300));
    state.key(Key::Enter, at(300));
    assert!(
        state.detail
            && state
                .chosen_conversation()
                .is_some_and(|conversation| conversation.id == 1)
    );
    state.key(Key::Esc, at(300));
    assert!(!state.detail);
    state.key(Key::Esc, at(300));
    assert_eq!((&state.view, state.ids().len()), (&View::Devices, 0));
    state.key(Key::Esc, at(300));
    assert_eq!(state.view, View::Devices, "there is nothing behind it");
}

#[test]
fn an_answer_for_another_view_is_not_shown_in_this() {
    let mut state = state();
    let asked = state.tick(at(1000)).expect("asks");
    state.key(Key::Enter, at(1001));
    state.answer(good(asked, &[device("a", "x", 1)], &[]), at(1002));
    assert!(state.conversations.is_none());
    let asked = state
        .tick(at(1002))
        .expect("asks for what is shown, at once");
    state.key(Key::Esc, at(1003));
    state.key(Key::Char('c'), at(1003));
    state.answer(good(asked, &[], &[conversation(1, "a", "x", 1)]), at(1004));
    assert!(state.conversations.is_none(), "that was of one device");
}

#[test]
fn what_is_seen_outside_is_turned_in_the_list_of_all() {
    for (key, turned) in [(Key::Tab, true), (Key::Enter, false)] {
        let mut state = state();
        state.key(key, at(200));
        let asked = state.tick(at(200)).expect("asks");
        let mut own = conversation(1, "a", "far", 7);
        own.outside = true;
        state.answer(good(asked, &[device("a", "x", 1)], &[own]), at(201));
        let listed = state.listed_conversations();
        assert_eq!(
            (listed[0].rate.sent == 7, listed[0].outside),
            (turned, !turned)
        );
    }
}

#[test]
fn a_pause_is_a_pause() {
    let mut state = state();
    let asked = state.tick(at(1000)).expect("asks");
    state.key(Key::Char('p'), at(1001));
    state.answer(good(asked, &[], &[]), at(1002));
    assert_eq!(names(&state).len(), 3, "the picture stands still");
    assert_eq!(state.tick(at(9000)), None);
    state.key(Key::Char('p'), at(9000));
    assert!(state.tick(at(9000)).is_some());
}

#[test]
fn ends_when_told() {
    for (before, key) in [
        ("", Key::Char('q')),
        ("", Key::Interrupt),
        ("/ab", Key::Interrupt),
        ("?", Key::Char('q')),
    ] {
        let mut state = state();
        for letter in before.chars() {
            state.key(Key::Char(letter), at(1));
        }
        assert_eq!(
            state.key(key, at(1)),
            Some(Action::Quit),
            "{before} {key:?}"
        );
    }
    assert_eq!(state().key(Key::Redraw, at(1)), Some(Action::Redraw));
}

pub(in crate::top) fn any_key() -> impl Strategy<Value = Key> {
    prop_oneof![
        4 => any::<char>().prop_map(Key::Char),
        4 => prop::sample::select("qhjkgGsSrupc/? 123456789".chars().collect::<Vec<_>>()).prop_map(Key::Char),
        4 => prop::sample::select(vec![
            Key::Up, Key::Down, Key::PageUp, Key::PageDown, Key::Home, Key::End, Key::Enter, Key::Esc, Key::Backspace, Key::Tab,
        ]),
    ]
}

proptest! {
    #[test]
    fn any_keys_and_answers_are_taken(
        events in prop::collection::vec((any_key(), 0usize..5, any::<bool>(), 0u64..4000), 0..60)
    ) {
        let mut state = State::new(Charset::Ascii, false);
        let mut now = 0;
        for (key, known, answers, passed) in events {
            now += passed;
            state.key(key, at(now));
            if let Some(asked) = state.tick(at(now)) {
                let some: Vec<_> = (0..known).map(|n| device(&n.to_string(), "\u{202e}x", u64::MAX - n as u64)).collect();
                let conversations: Vec<_> = (0..known).map(|n| conversation(n as u64, "0", "y", u64::MAX)).collect();
                state.answer(if answers { good(asked, &some, &conversations) } else { bad(asked) }, at(now));
            }
            prop_assert!(state.filter.chars().count() <= LONGEST_FILTER);
            prop_assert!(state.patience(at(now)) <= EVERY);
        }
    }
}
