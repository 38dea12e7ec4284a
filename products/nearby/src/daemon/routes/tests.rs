use std::path::PathBuf;
use std::sync::Arc;

use super::*;
use crate::bluetooth::event::{BluetoothEvent, NewConnection};
use crate::daemon::Settings;
use crate::envelope::{Key, feed};
use crate::machine::Format;

#[test]
fn the_longest_text_makes_the_longest_message() {
    let key = Key::from_seed(&[7; 32]).expect("a key");
    let longest = "x".repeat(LONGEST);
    assert_eq!(feed(&key, &longest, u64::MAX).len(), crate::v1::LONGEST);
}

fn say(state: &State, to: &str, text: &str) -> Result<SendResult, (u16, String)> {
    let say = Say {
        to: to.to_owned(),
        text: text.to_owned(),
    };
    said(state, &say).map_err(|it| (it.status, it.error))
}

/// The program, without an adapter, in a folder that can be written or in one that cannot.
fn begin(folder: PathBuf) -> State {
    let settings = Settings {
        channels: true,
        power: crate::power::Power::Balanced,
        adapter: String::new(),
        formats: [Format::V1, Format::V2].into(),
        links: 4,
        state: folder,
        queue: 1 << 20,
        socket: PathBuf::new(),
        page: None,
        village: None,
    };
    let key = Key::from_seed(&[1; 32]).expect("a key");
    State::new(Arc::new(key), &settings, None)
}

#[test]
fn what_is_refused_has_no_number_and_was_not_said() {
    let name = format!("weir-nearby-refused-{}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    let state = begin(folder.clone());
    for text in ["", " \n\t"] {
        let refused = say(&state, "all", text).map(|_| ());
        assert_eq!(refused, Err((400, "empty".to_owned())), "{text:?}");
    }
    let nobody = "0102030405060708";
    for _ in 0..3 {
        let refused = say(&state, nobody, "?").map(|_| ());
        assert_eq!(refused, Err((404, "not_near".to_owned())));
    }
    let long = "x".repeat(LONGEST + 1);
    assert!(say(&state, "all", &long).is_err());
    // Without any peer, now or later, a message is refused.
    let refused = say(&state, "all", "one").map(|_| ());
    assert_eq!(refused, Err((404, "nobody".to_owned())));
    assert!(state.past().is_empty());
    let (writer, _frames) = tokio::sync::mpsc::channel(1);
    state.told(BluetoothEvent::Opened(NewConnection {
        link: 1,
        address: bluer::Address([1; 6]),
        format: Format::V2,
        caller: true,
        id: Some(Id([2; 8])),
        frame: 244,
        writer,
    }));
    assert_eq!(say(&state, "all", "one").map(|it| it.peers), Ok(1));
    let numbers: Vec<u64> = state.past().iter().filter_map(|it| it.number).collect();
    assert_eq!(numbers, [1], "without a gap");
    drop(state);
    let _ = std::fs::remove_dir_all(folder);
}
