use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::*;
use crate::chat::model::DaemonEvent;
use crate::daemon::{Notification, PeerInfo};

const ANNA: &str = "0598f7b34b75adcb";
const LOOK: TerminalStyle = TerminalStyle {
    colour: true,
    signs: true,
};

fn heard(text: &str) -> DaemonEvent {
    DaemonEvent::Said(Notification::Message {
        peer: ANNA.to_owned(),
        format: "v2".to_owned(),
        sender: ANNA.to_owned(),
        text: text.to_owned(),
        time: 1,
    })
}

fn own(text: &str, to: u64) -> DaemonEvent {
    DaemonEvent::Said(Notification::Own {
        number: 1,
        sender: "abcdef0000000001".to_owned(),
        text: text.to_owned(),
        time: 2,
        to,
        peer: None,
    })
}

fn peer(id: &str, signal: Option<i16>) -> PeerInfo {
    PeerInfo {
        id: id.to_owned(),
        name: None,
        address: "00:00:5E:00:53:01".to_owned(),
        formats: Vec::new(),
        linked: Vec::new(),
        channel: false,
        signal,
        last_seen: 0,
        waiting: 0,
    }
}

fn begun() -> Chat {
    let mut chat = Chat::default();
    chat.told(DaemonEvent::Begun(Vec::new()), 0);
    chat
}

fn clock(_: u64) -> String {
    "12:31".to_owned()
}

fn screen(chat: &mut Chat, columns: u16, rows: u16) -> (Vec<String>, (u16, u16)) {
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).expect("a terminal");
    terminal
        .draw(|frame| draw(chat, LOOK, &clock, frame))
        .expect("drawn");
    let at = terminal.get_cursor_position().expect("a cursor");
    let buffer = terminal.backend().buffer();
    let row = |y| {
        let mut text = String::new();
        let mut x = 0;
        while x < columns {
            let symbol = buffer[(x, y)].symbol();
            text += symbol;
            // Behind a wide letter is a cell without any.
            x += u16::try_from(width(symbol).max(1)).expect("small");
        }
        text.trim_end().to_owned()
    };
    ((0..rows).map(row).collect(), (at.x, at.y))
}

#[test]
fn what_is_said_who_is_near_and_what_is_typed() {
    let mut chat = begun();
    chat.told(
        DaemonEvent::Peers(vec![peer(ANNA, Some(-61)), peer("c0ffee0000000002", None)]),
        0,
    );
    chat.told(heard("Where are you? I am at the well."), 0);
    chat.told(own("here", 2), 0);
    chat.told(
        DaemonEvent::Said(Notification::Gone {
            peer: "c0ffee0000000002".to_owned(),
        }),
        0,
    );
    chat.input.put("写a");
    let (rows, cursor) = screen(&mut chat, 40, 8);
    let expected = [
        "12:31 0598f7b3  Where are you? I am at",
        "                the well.",
        "12:31 you  here  … 0/2",
        "12:31 c0ffee00 is no longer near",
        "",
        "",
        "1 near: 0598f7b3 -61 dBm",
        "all> 写a",
    ];
    assert_eq!(rows, expected);
    assert_eq!(cursor, (8, 7));
}

#[test]
fn what_became_of_it_is_said_with_and_without_signs() {
    let told = |to, done, failed| {
        let DaemonEvent::Said(said) = own("x", to) else {
            panic!("said");
        };
        let mut message = Message::of(&said).expect("a message");
        (message.done, message.failed) = (done, failed);
        let [(with, tone), (without, _)] = [true, false].map(|signs| outcome(&message, signs));
        (with, without, tone)
    };
    let row = |with: &str, without: &str, tone| (with.to_owned(), without.to_owned(), tone);
    assert_eq!(
        told(0, 0, 0),
        row("no peers near", "no peers near", Tone::Bad)
    );
    assert_eq!(told(3, 0, 0), row("… 0/3", "at 0 of 3", Tone::Dim));
    assert_eq!(told(3, 2, 0), row("✓ 2/3", "at 2 of 3", Tone::Dim));
    assert_eq!(told(3, 3, 0), row("✓ 3/3", "at 3 of 3", Tone::Good));
    assert_eq!(
        told(3, 1, 2),
        row("✓ 1/3 ✗ 2", "at 1 of 3, failed at 2", Tone::Bad)
    );
    assert_eq!(
        told(3, 0, 3),
        row("✗ 3/3", "at 0 of 3, failed at 3", Tone::Bad)
    );
}

#[test]
fn what_strangers_write_stays_where_it_is() {
    let mut chat = begun();
    for text in [
        "\x1b[2J\x1b[H",
        "\u{202e}txt",
        "写真写真写真写真写真写真写真",
        "e\u{301}\u{301}\u{301}\n\n\n",
    ] {
        chat.told(heard(text), 0);
    }
    let (rows, _) = screen(&mut chat, 30, 14);
    assert_eq!(rows[0], "12:31 0598f7b3  �[2J�[H");
    assert_eq!(rows[1], "12:31 0598f7b3  �txt");
    assert_eq!(rows[2], "12:31 0598f7b3  写真写真写真写");
    assert_eq!(rows[3], "                真写真写真写真");
    assert_eq!(rows[4], "12:31 0598f7b3  e\u{301}\u{301}");
    assert_eq!(rows[12], "no peers near");
}

#[test]
fn one_can_go_back() {
    let mut chat = begun();
    for number in 0..20 {
        chat.told(heard(&format!("number {number}")), 0);
    }
    let (rows, _) = screen(&mut chat, 40, 6);
    assert!(
        rows[0].ends_with("number 16") && rows[3].ends_with("number 19"),
        "{rows:?}"
    );
    chat.scrolled = 3;
    let (rows, _) = screen(&mut chat, 40, 6);
    assert!(rows[3].ends_with("number 16"), "{rows:?}");
    assert!(rows[4].starts_with("3 rows below"), "{rows:?}");
    chat.scrolled = 1_000;
    let (rows, _) = screen(&mut chat, 40, 6);
    assert!(rows[0].ends_with("number 0"), "{rows:?}");
    assert_eq!(chat.scrolled, 16);
}

#[test]
fn who_does_not_fit_is_counted() {
    let mut chat = begun();
    let ids = (1..=9).map(|it| peer(&format!("{it:08x}00000000"), Some(-70)));
    chat.told(DaemonEvent::Peers(ids.collect()), 0);
    assert_eq!(
        near(&chat, 50),
        "9 near: 00000001 -70 dBm, 00000002 -70 dBm, +7"
    );
    assert_eq!(near(&chat, 5), "9 nea");
    chat.told(DaemonEvent::Lost("x".to_owned()), 0);
    assert_eq!(near(&chat, 20), "weir-nearby is not r");
}

#[test]
fn every_size_is_drawn() {
    let mut chat = begun();
    chat.told(heard("a long one, with 写真 and more of it"), 0);
    chat.told(own("写真 here", 2), 0);
    chat.told(DaemonEvent::Lost("it ended".to_owned()), 0);
    chat.input.put("写a and much more than fits");
    for columns in 1..45 {
        for rows in 1..9 {
            screen(&mut chat, columns, rows);
        }
    }
    for entry in chat.entries() {
        for columns in 2..60 {
            for row in rows(&chat, entry, columns, true, &clock) {
                let wide: usize = row.iter().map(|(text, _)| width(text)).sum();
                assert!(wide <= columns.max(4), "{columns}: {row:?}");
            }
        }
    }
}

#[test]
fn what_goes_to_one_alone_says_at_each_line_that_everybody_can_read_it() {
    for columns in [80, 40, 24, 12] {
        let mut chat = begun();
        chat.told(DaemonEvent::Peers(vec![peer(ANNA, None)]), 0);
        for number in 1..=2 {
            chat.told(
                DaemonEvent::Said(Notification::Own {
                    number,
                    sender: "abcdef0000000001".to_owned(),
                    text: "psst".to_owned(),
                    time: number,
                    to: 1,
                    peer: Some(ANNA.to_owned()),
                }),
                0,
            );
        }
        chat.told(own("to all", 1), 0);
        let (rows, _) = screen(&mut chat, columns, 30);
        let all: Vec<&str> = rows.iter().flat_map(|row| row.split_whitespace()).collect();
        let all = all.join(" ");
        assert_eq!(all.matches(PUBLIC).count(), 2, "{columns}: {rows:#?}");
        assert!(all.find("psst") < all.find(PUBLIC), "{rows:#?}");
    }
    let mut chat = begun();
    chat.told(DaemonEvent::Peers(vec![peer(ANNA, None)]), 0);
    chat.input.put(&format!("/to {ANNA}"));
    chat.enter(0);
    let (rows, _) = screen(&mut chat, 80, 4);
    assert!(rows[0].contains(PUBLIC), "{rows:#?}");
    assert_eq!(rows[3], "0598f7b3, public>");
}
