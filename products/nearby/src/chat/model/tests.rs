use super::*;

const ANNA: &str = "0598f7b34b75adcb";
const BEN: &str = "0598f7b3ffffffff";
const CLEO: &str = "c0ffee0000000001";

fn peer(id: &str) -> PeerInfo {
    PeerInfo {
        id: id.to_owned(),
        name: None,
        address: "00:00:5E:00:53:01".to_owned(),
        formats: vec!["v1".to_owned(), "v2".to_owned()],
        linked: Vec::new(),
        channel: false,
        signal: Some(-61),
        last_seen: 0,
        waiting: 2,
    }
}

fn own(number: u64, time: u64) -> Notification {
    Notification::Own {
        number,
        sender: CLEO.to_owned(),
        text: "Hello".to_owned(),
        time,
        to: 2,
        peer: None,
    }
}

fn heard(time: u64) -> Notification {
    Notification::Message {
        peer: ANNA.to_owned(),
        format: "v2".to_owned(),
        sender: ANNA.to_owned(),
        text: "Hello".to_owned(),
        time,
    }
}

fn outcome(number: u64, done: bool) -> DaemonEvent {
    DaemonEvent::Said(Notification::Outcome {
        number,
        peer: ANNA.to_owned(),
        done,
    })
}

fn typed(chat: &mut Chat, line: &str) -> Option<Action> {
    chat.input.put(line);
    chat.enter(0)
}

fn last(chat: &Chat) -> &Kind {
    &chat.entries().next_back().expect("an entry").kind
}

fn counts(chat: &Chat) -> Vec<[u64; 3]> {
    let counts = |it: &Entry| match &it.kind {
        Kind::Message(it) if it.own => Some([it.to, it.done, it.failed]),
        _ => None,
    };
    chat.entries().filter_map(counts).collect()
}

#[test]
fn what_becomes_of_a_message_is_counted_where_it_stands() {
    let mut chat = Chat::default();
    chat.told(DaemonEvent::Begun(Vec::new()), 0);
    chat.told(DaemonEvent::Said(own(1, 5)), 0);
    chat.told(DaemonEvent::Said(own(2, 6)), 0);
    for told in [
        outcome(1, true),
        outcome(2, false),
        outcome(1, true),
        outcome(9, true),
    ] {
        chat.told(told, 0);
    }
    assert_eq!(counts(&chat), [[2, 2, 0], [2, 0, 1]]);
}

#[test]
fn a_daemon_that_begins_anew_is_told_of_and_nothing_is_shown_twice() {
    let mut chat = Chat::default();
    let past = |said: &Notification| Message::of(said).expect("a message");
    chat.told(DaemonEvent::Begun(vec![past(&heard(1))]), 0);
    chat.told(DaemonEvent::Said(heard(1)), 0);
    chat.told(DaemonEvent::Said(heard(2)), 0);
    chat.told(DaemonEvent::Said(own(1, 3)), 0);
    assert_eq!(chat.entries().count(), 3);
    for _ in 0..3 {
        chat.told(DaemonEvent::Lost("it ended".to_owned()), 7);
    }
    assert!(!chat.is_there());
    assert_eq!(chat.entries().count(), 4, "told once");
    chat.told(
        DaemonEvent::Begun(vec![past(&heard(2)), past(&heard(4))]),
        8,
    );
    assert!(chat.is_there());
    let notes = chat.entries().filter_map(|it| match &it.kind {
        Kind::Note(text) | Kind::Wrong(text) => Some((it.time, text.as_str())),
        Kind::Message(_) => None,
    });
    let expected = [
        (7, "weir-nearby is not reachable: it ended. Trying again."),
        (8, "weir-nearby is reachable again"),
    ];
    assert_eq!(notes.collect::<Vec<_>>(), expected);
    assert_eq!(chat.entries().count(), 6);
    // The first of the new one is not the first of the old one.
    chat.told(outcome(1, true), 0);
    chat.told(DaemonEvent::Said(own(1, 9)), 0);
    chat.told(outcome(1, true), 0);
    assert_eq!(counts(&chat), [[2, 0, 0], [2, 1, 0]]);
}

#[test]
fn commands_say_to_whom() {
    let mut chat = Chat::default();
    chat.told(
        DaemonEvent::Peers(vec![peer(ANNA), peer(BEN), peer(CLEO)]),
        0,
    );
    let say = |to: &str, text: &str| Some(Action::Say(to.to_owned(), text.to_owned()));
    assert_eq!(typed(&mut chat, "Hello  all"), say("all", "Hello  all"));
    assert_eq!(typed(&mut chat, "/to c0 psst  you"), say(CLEO, "psst  you"));
    assert_eq!(typed(&mut chat, "Hello"), say("all", "Hello"));
    assert_eq!(typed(&mut chat, "/to C0"), None);
    assert_eq!(typed(&mut chat, "Hello"), say(CLEO, "Hello"));
    assert_eq!(typed(&mut chat, "/to all ho"), say("all", "ho"));
    assert_eq!(typed(&mut chat, "/to all"), None);
    assert_eq!(typed(&mut chat, "Hello"), say("all", "Hello"));
    for (line, why) in [
        (
            "/to 7",
            "no peer near has an id that begins with 7; see /peers",
        ),
        (
            "/to 05 x",
            "2 peers near have ids that begin with 05; see /peers",
        ),
        ("/shout x", "/shout is not a command: see /help"),
    ] {
        assert_eq!(typed(&mut chat, line), None, "{line}");
        assert_eq!(last(&chat), &Kind::Wrong(why.to_owned()));
    }
    assert_eq!(typed(&mut chat, "  "), None);
    assert_eq!(typed(&mut chat, " /quit "), Some(Action::Quit));
    typed(&mut chat, "/help");
    assert_eq!(last(&chat), &Kind::Note(HELP.to_owned()));
    typed(&mut chat, "/peers");
    let Kind::Note(text) = last(&chat) else {
        panic!("no note");
    };
    assert!(
        text.contains("0598f7b34b75adcb  v1 v2  -61 dBm  2 waiting\n"),
        "{text}"
    );
}

#[test]
fn ids_that_begin_alike_are_shown_whole() {
    let mut chat = Chat::default();
    chat.told(DaemonEvent::Peers(vec![peer(ANNA), peer(CLEO)]), 0);
    assert_eq!(chat.name(ANNA), "0598f7b3");
    chat.told(DaemonEvent::Peers(vec![peer(BEN), peer(CLEO)]), 0);
    assert_eq!(chat.name(ANNA), ANNA);
    assert_eq!(chat.name(CLEO), "c0ffee00");
}

#[test]
fn what_was_not_said_is_there_to_be_tried_again() {
    let mut chat = Chat::default();
    let not = |to: &str, text: &str| {
        DaemonEvent::Answered(Err([to, text, "nobody listens"].map(ToOwned::to_owned)))
    };
    chat.told(not("all", "Hello"), 0);
    assert_eq!(
        last(&chat),
        &Kind::Wrong("not sent: nobody listens".to_owned())
    );
    assert_eq!(chat.input.text(), "Hello");
    chat.told(not("all", "other"), 0);
    assert_eq!(chat.input.take(), "Hello");
    // A failed direct message is not sent to all on the next attempt.
    chat.told(not(ANNA, "psst"), 0);
    assert_eq!(chat.input.text(), format!("/to {ANNA} psst"));
}

#[test]
fn it_is_bounded() {
    let mut chat = Chat::default();
    for time in 0..2_000 {
        chat.told(DaemonEvent::Said(heard(time)), 0);
    }
    assert_eq!(chat.entries().count(), ENTRIES);
}
