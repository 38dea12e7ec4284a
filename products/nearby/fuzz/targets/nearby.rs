//! Feeds all parsers: messages of libqaul, Bluetooth frames of both formats on connections that
//! open and close, their envelopes, and IP traffic of clients and nodes of a village. Checks for
//! panics and for the limits on peers and links.
#![no_main]

use std::sync::{Arc, LazyLock};

use libfuzzer_sys::fuzz_target;
use nearby::envelope::{self, Key};
use nearby::machine::{Action, Event, Format, LINKS, Machine, PEERS, Settings};
use nearby::module::{Device, Module};
use nearby::village::{Handshake, Secret};

static KEY: LazyLock<Arc<Key>> =
    LazyLock::new(|| Arc::new(Key::from_seed(&[1; 32]).expect("any seed")));

/// Passes untrusted bytes to either end of a handshake.
fn shake(octets: &[u8]) {
    let secret = Secret::new([1; 32]);
    let called = Handshake::answer(&secret, Arc::clone(&KEY));
    let caller = Handshake::call(&secret, Arc::clone(&KEY)).map(|it| it.0);
    for mut side in [called, caller].into_iter().flatten() {
        let mut out = Vec::new();
        for piece in octets.chunks(40) {
            if side.heard(piece, &mut out).is_err() {
                break;
            }
        }
        assert!(out.is_empty());
    }
    if let Ok(text) = std::str::from_utf8(octets) {
        let _ = text.parse::<Secret>();
    }
}

fuzz_target!(|octets: &[u8]| {
    let _ = envelope::read(octets);
    shake(octets);
    let device = Device {
        name: String::new(),
        address: [1; 6],
        on: true,
    };
    let _ = Module::new(device, [Format::V2].into(), 4).command(0, octets);
    let mut room = Machine::new(Settings {
        own: KEY.node().id(),
        node: Some(KEY.node()),
        address: [1; 6],
        formats: [Format::V1, Format::V2].into(),
        links: 4,
    });
    let (mut now, mut links, mut rest) = (0, 0, octets);
    while let [head, length, body @ ..] = rest {
        let (frame, after) = body.split_at(body.len().min(usize::from(*length)));
        rest = after;
        now += u64::from(*head) * 10;
        let link = links.min(u32::from(head % 4));
        let address = [2, 0, 0, 0, 0, head % 8];
        let format = if head & 4 == 0 {
            Format::V1
        } else {
            Format::V2
        };
        let event = match head >> 5 {
            0 => Event::Tick,
            1 => Event::Closed(link),
            5 if head & 16 == 0 => {
                links += 1;
                Event::Reached {
                    link: links,
                    address: ([192, 0, 2, *head], 9351).into(),
                    caller: head & 8 == 0,
                    id: nearby::Id(*frame.first_chunk().unwrap_or(&[head & 3; 8])),
                }
            }
            2 => {
                links += 1;
                Event::Opened {
                    link: links,
                    address,
                    format,
                    caller: head & 8 == 0,
                    id: frame.first_chunk().copied().map(nearby::Id),
                    frame: usize::from(*length),
                }
            }
            3 => Event::Seen {
                address,
                format,
                prefix: frame.first_chunk().copied(),
                signal: Some(-50),
            },
            4 => Event::Refused(address),
            _ => Event::Heard(link, frame),
        };
        let actions = room.handle(now, event);
        for action in &actions {
            if let Action::Wake(link) = action {
                let mut out = Vec::new();
                let _ = room.next(now, *link, &mut out);
            }
        }
    }
    assert!(room.shown().count() <= PEERS + LINKS);
    let linked = room.shown().filter(|it| room.reaches(it.id));
    assert!(linked.count() <= LINKS);
});
