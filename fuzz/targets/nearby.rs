//! What libqaul says to a module, and what strangers send by Bluetooth: frames of both formats, by connections that come and go, and what
//! messages carry. No panic, and no more peers than are kept.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use nearby::envelope::{self, Key};
use nearby::module::{Device, Module};
use nearby::room::{Action, Event, Format, PEERS, Room, Settings};

static NODE: LazyLock<envelope::Node> = LazyLock::new(|| {
    let key = Key::from_seed(&[1; 32]).expect("any seed");
    key.node()
});

fuzz_target!(|octets: &[u8]| {
    let _ = envelope::read(octets);
    let device = Device {
        name: String::new(),
        address: [1; 6],
        on: true,
    };
    let _ = Module::new(device, [Format::V2].into(), 4).command(0, octets);
    let mut room = Room::new(Settings {
        own: NODE.id(),
        node: Some(*NODE),
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
        let format = if head & 4 == 0 { Format::V1 } else { Format::V2 };
        let event = match head >> 5 {
            0 => Event::Tick,
            1 => Event::Closed(link),
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
    assert!(room.shown().count() <= PEERS);
});
