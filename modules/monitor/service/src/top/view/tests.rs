//! Screens, as drawn.

use std::path::Path;

use answers::{
    Conversations, Count, Devices, Hook, Latency, MeteredPort, Protocol, QuotaState, Rate, Wifi,
};
use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Modifier;

use super::*;
use crate::top::keys::Key;
use crate::top::state::tests::any_key;
use crate::top::state::{Problem, Response};
use runtime::output::width;

/// Compares with a file of `tests/golden`; with `WEIR_UPDATE_GOLDEN` set, writes it instead.
fn golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name);
    if std::env::var_os("WEIR_UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, text).expect("written");
        return;
    }
    let expected = std::fs::read_to_string(&path).expect("a golden file");
    assert!(text == expected, "{name} differs; it is now:\n{text}");
}

/// The screen, written like a terminal: only changes are written.
struct Drawn {
    terminal: Terminal<TestBackend>,
}

impl Drawn {
    fn new(columns: u16, rows: u16) -> Self {
        let terminal = Terminal::new(TestBackend::new(columns, rows)).expect("memory");
        Self { terminal }
    }

    fn of(&mut self, state: &mut State, now: Duration) -> String {
        let drawn = self.terminal.draw(|frame| {
            let area = frame.area();
            draw(state, now, area, frame.buffer_mut());
        });
        let buffer = drawn.expect("memory").buffer;
        let area = buffer.area;
        let mut text = String::new();
        for y in 0..area.height {
            let mut row = String::new();
            let mut x = 0;
            while x < area.width {
                let symbol = buffer[(x, y)].symbol();
                row.push_str(symbol);
                x += u16::try_from(width(symbol).max(1)).expect("narrow");
            }
            text.push_str(row.trim_end());
            text.push('\n');
        }
        text
    }
}

fn screen(state: &mut State, columns: u16, rows: u16) -> String {
    Drawn::new(columns, rows).of(state, Duration::from_secs(60))
}

fn gigabytes(number: f64) -> Count {
    let bytes = (number * 1e9) as u64;
    Count {
        bytes,
        packets: bytes / 1200,
    }
}

fn household(second: u64) -> Devices {
    // Rates that move as such rates do: a film in bursts, a call, a backup that begins.
    let film = if second % 12 < 4 {
        31_000_000
    } else {
        1_900_000
    };
    let call = 2_400_000 + second % 7 * 110_000;
    let backup = if second > 35 { 8_800_000 } else { 12_000 };
    let device =
        |mac: u8, name: Option<&str>, address: &str, received, sent, conversations| Device {
            mac: format!("02:00:5e:10:00:{mac:02x}"),
            name: name.map(Into::into),
            addresses: vec![address.into()],
            port: "lan0".into(),
            rate: Rate { received, sent },
            conversations,
            last_seen: 1_700_000_000 + second,
            ..Device::default()
        };
    let mut tv = device(0x21, Some("tv"), "192.168.1.21", film, film / 60, 4);
    tv.received = gigabytes(41.2);
    tv.sent = gigabytes(0.6);
    tv.latency = Some(Latency {
        lan: Some(1.8),
        wan: Some(18.2),
        bufferbloat: Some("good".into()),
        ..Latency::default()
    });
    let mut laptop = device(
        0x07,
        Some("laptop"),
        "192.168.1.7",
        call,
        call - 300_000,
        23,
    );
    laptop.received = gigabytes(9.87);
    laptop.sent = gigabytes(3.1);
    laptop.latency = Some(Latency {
        lan: Some(4.3),
        wan: Some(61.5),
        bufferbloat: Some("bad".into()),
        ..Latency::default()
    });
    laptop.wifi = Some(Wifi {
        signal: Some(-58),
        rate_to: Some(433_300_000),
        ..Wifi::default()
    });
    let mut nas = device(0x0a, Some("nas"), "192.168.1.10", backup / 40, backup, 2);
    nas.received = gigabytes(0.4);
    nas.sent = gigabytes(12.9);
    nas.quota = Some(QuotaState {
        period: "month".into(),
        limit: 15_000_000_000,
        used: 13_300_000_000,
        state: "warned".into(),
        resets: 1_700_900_000,
    });
    let mut printer = device(0x30, None, "192.168.1.48", 0, 0, 0);
    printer.received = gigabytes(0.0021);
    let mut gateway = device(0xfe, None, "203.0.113.1", 0, 0, 29);
    gateway.port = "wan0".into();
    gateway.uplink = true;
    let devices = vec![tv, laptop, nas, printer, gateway];
    let sum = |of: fn(&Rate) -> u64| devices.iter().map(|device| of(&device.rate)).sum();
    let uplink = MeteredPort {
        name: "wan0".into(),
        uplink: true,
        rate: Rate {
            received: sum(|rate| rate.sent),
            sent: sum(|rate| rate.received),
        },
        ..MeteredPort::default()
    };
    Devices {
        unseen: Vec::new(),
        since: 1_699_700_000,
        now: 1_700_000_000 + second,
        devices,
        ports: vec![uplink],
    }
}

fn conversations() -> Conversations {
    let conversation =
        |id, port, remote_name: Option<&str>, application: &str, rate, received| Conversation {
            id,
            port: "lan0".into(),
            vlan: None,
            mac: "02:00:5e:10:00:07".into(),
            device: Some("laptop".into()),
            protocol_number: 17,
            protocol: Some(Protocol::Udp),
            station: "192.168.1.7".into(),
            station_port: port,
            remote: format!("198.51.100.{id}"),
            remote_port: 443,
            remote_name: remote_name.map(Into::into),
            application: Some(application.into()),
            translated: Some(format!("203.0.113.7:{port}")),
            behind: None,
            outside: false,
            lan: false,
            uplink: Some("wan0".into()),
            received: gigabytes(received),
            sent: gigabytes(received / 3.0),
            rate,
            hook: Some(Hook::Xdp),
            first_seen: 1_699_999_000,
            last_seen: 1_700_000_059,
            latency: None,
        };
    let rate = |received, sent| Rate { received, sent };
    let mut list = vec![
        conversation(
            1,
            50_112,
            Some("meet.example.net"),
            "call",
            rate(2_700_000, 2_450_000),
            0.41,
        ),
        conversation(
            2,
            50_340,
            Some("www.example.com"),
            "web",
            rate(210_000, 9_000),
            0.012,
        ),
        conversation(3, 41_000, None, "other", rate(0, 0), 0.0004),
    ];
    list[1].protocol = Some(Protocol::Tcp);
    list[1].latency = Some(Latency {
        lan: Some(4.4),
        wan: Some(62.0),
        retransmissions: 31,
        ..Latency::default()
    });
    list[2].hook = None;
    Conversations {
        total: 3,
        conversations: list,
    }
}

/// State after a minute in that household.
fn state(charset: Charset) -> State {
    let mut state = State::new(charset, true);
    for second in 0..60 {
        let now = Duration::from_secs(second);
        let asked = state.tick(now).expect("asks");
        let got = Ok((household(second), None));
        state.answer(Response { asked, got }, now);
    }
    state
}

/// Returns the state with the laptop's conversations open.
fn looking_in(charset: Charset) -> State {
    let mut state = state(charset);
    let now = Duration::from_secs(60);
    state.key(Key::Enter, now);
    let asked = state.tick(now).expect("asks");
    state.answer(
        Response {
            asked,
            got: Ok((household(60), Some(conversations()))),
        },
        now,
    );
    state
}

#[test]
fn pictures_are_as_drawn() {
    golden(
        "top-devices.txt",
        &screen(&mut state(Charset::Unicode), 118, 24),
    );
    golden(
        "top-wide.txt",
        &screen(&mut state(Charset::Unicode), 160, 28),
    );
    golden(
        "top-narrow.txt",
        &screen(&mut state(Charset::Ascii), 60, 16),
    );
    golden(
        "top-conversations.txt",
        &screen(&mut looking_in(Charset::Unicode), 100, 20),
    );
    let mut detail = looking_in(Charset::Unicode);
    detail.key(Key::Down, Duration::ZERO);
    detail.key(Key::Enter, Duration::ZERO);
    golden("top-conversation.txt", &screen(&mut detail, 100, 24));
    let mut help = state(Charset::Unicode);
    help.key(Key::Char('?'), Duration::ZERO);
    golden("top-help.txt", &screen(&mut help, 80, 24));
}

#[test]
fn trouble_is_told_by_words() {
    let mut state = state(Charset::Unicode);
    let now = Duration::from_secs(60);
    let asked = state.tick(now).expect("asks");
    let trouble = Problem {
        what: "weir is not running".into(),
        hint: "start it".into(),
    };
    state.answer(
        Response {
            asked,
            got: Err(trouble),
        },
        now,
    );
    let text = screen(&mut state, 100, 24);
    assert!(
        text.contains(" NO ANSWER\n")
            && text.ends_with("trying again: weir is not running; start it\n"),
        "{text}"
    );
    assert!(text.contains("> laptop"), "what was known stays");
    let mut new = State::new(Charset::Unicode, true);
    assert!(screen(&mut new, 100, 24).contains("asking weir…"));
}

#[test]
fn without_colour_there_is_none_and_nothing_is_lost() {
    let mut looks = Vec::new();
    for colour in [true, false] {
        let mut state = state(Charset::Unicode);
        state.colour = colour;
        let mut drawn = Drawn::new(160, 28);
        let text = drawn.of(&mut state, Duration::from_secs(60));
        let buffer = drawn.terminal.backend().buffer();
        let coloured = buffer
            .content
            .iter()
            .any(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset);
        assert_eq!(coloured, colour);
        assert!(
            buffer
                .content
                .iter()
                .any(|cell| cell.modifier.contains(Modifier::REVERSED))
        );
        looks.push(text);
    }
    assert_eq!(looks[0], looks[1]);
}

/// Names that an attacker chose to do harm.
fn hostile() -> Vec<String> {
    vec![
        "\u{1b}[2J\u{1b}[31mred".into(),
        "\u{1b}]0;title\u{7}".into(),
        "a\u{202e}gnp.exe\u{2066}".into(),
        "写真".repeat(100),
        "x".repeat(100_000),
        "e".to_owned() + &"\u{301}".repeat(1000),
        "\u{9b}31m\r\n\t\u{85}\u{2028}".into(),
        "👩\u{200d}👩\u{200d}👧".into(),
        "\u{301}\u{feff}".into(),
        String::new(),
    ]
}

#[test]
fn hostile_names_are_never_interpreted() {
    for name in hostile() {
        let mut answer = household(0);
        for device in &mut answer.devices {
            device.name = Some(name.clone());
            device.addresses = vec![name.clone()];
            device.port.clone_from(&name);
            device.mac = format!("{name}{}", device.mac);
        }
        answer.ports[0].name.clone_from(&name);
        let mut spoken = conversations();
        for conversation in &mut spoken.conversations {
            conversation.device = Some(name.clone());
            conversation.remote_name = Some(name.clone());
            conversation.remote.clone_from(&name);
            conversation.station.clone_from(&name);
            conversation.application = Some(name.clone());
            conversation.uplink = Some(name.clone());
            conversation.translated = Some(name.clone());
        }
        for keys in ["", "?", "c", "c>", "\n", "\n\n", "/\u{1b}\u{202e}"] {
            let mut state = State::new(Charset::Unicode, true);
            state.devices = Some(answer.clone());
            for key in keys.chars() {
                state.key(
                    if key == '\n' {
                        Key::Enter
                    } else {
                        Key::Char(key)
                    },
                    Duration::ZERO,
                );
                if state.conversations.is_none() {
                    state.conversations = Some(spoken.clone());
                }
            }
            for (columns, rows) in [(40, 8), (60, 20), (161, 50)] {
                let text = screen(&mut state, columns, rows);
                let bad = |letter: char| {
                    letter != '\n'
                        && (letter.is_control()
                            || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'))
                };
                assert!(!text.contains(bad), "{name:?} {keys:?}: {text}");
                for row in text.lines() {
                    assert!(
                        width(row) <= usize::from(columns),
                        "{name:?} {keys:?}: {row}"
                    );
                    let marks = row
                        .split(|letter| width(&char::to_string(&letter)) > 0)
                        .map(|marks| marks.chars().count());
                    assert!(marks.max() <= Some(2), "marks do not pile up: {row}");
                }
            }
        }
    }
}

#[test]
fn whatever_is_chosen_is_seen() {
    let mut state = State::new(Charset::Unicode, true);
    let mut answer = household(0);
    answer.devices = (0..500)
        .map(|number| Device {
            mac: format!("{number:03}"),
            name: Some(format!("device-{number:03}")),
            ..Device::default()
        })
        .collect();
    state.devices = Some(answer);
    let mut drawn = Drawn::new(80, 20);
    let now = Duration::ZERO;
    for (key, chosen) in [
        (Key::Down, "001"),
        (Key::End, "499"),
        (Key::Up, "498"),
        (Key::Home, "000"),
        (Key::Up, "000"),
        (Key::PageDown, "014"),
    ] {
        state.key(key, now);
        let text = drawn.of(&mut state, now);
        assert!(
            text.contains(&format!("> device-{chosen}")),
            "{key:?}: {text}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_size_can_be_drawn(columns in 0u16..220, rows in 0u16..70, keys in prop::collection::vec(any_key(), 0..6)) {
        let mut state = looking_in(Charset::Unicode);
        for key in keys {
            state.key(key, Duration::from_secs(60));
            state.conversations = Some(conversations());
            let area = Rect::new(0, 0, columns, rows);
            let mut buffer = Buffer::empty(area);
            draw(&mut state, Duration::from_secs(60), area, &mut buffer);
        }
    }
}
