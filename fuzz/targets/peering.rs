//! Untrusted input to an access point with peers: any beacons and action frames, and those of an
//! honest node, recorded, cut, changed and replayed. No panic, no peer, and a bounded number of
//! nodes.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use radio_core::peering::{
    Action, Beacon, Event, Instance, Machine, NodeKey, Secret, Settings, VENDOR,
};

const SSID: &[u8] = b"mesh";
const OURS: [u8; 6] = [2, 0, 0, 0, 0, 2];
const THEIRS: [u8; 6] = [2, 0, 0, 0, 0, 1];

fn machine(mac: [u8; 6], number: u8) -> Machine {
    let secret = Secret::new(&[7; 16]).expect("long enough");
    let node = NodeKey::from_seed([number; 32]);
    let settings = Settings::new("wlan0", mac, SSID, 2412);
    Machine::new(settings, secret, node, Instance([number; 8]))
}

fn beacon(mac: [u8; 6], elements: &[u8]) -> Vec<u8> {
    let head = [&[0x80, 0, 0, 0][..], &[0xff; 6], &mac, &mac, &[0; 14]].concat();
    let ssid = [&[0, SSID.len() as u8][..], SSID].concat();
    [head, ssid, elements.to_vec()].concat()
}

/// Beacon content of an honest node, and its hello to the node under test.
static HONEST: LazyLock<(Vec<u8>, Vec<u8>)> = LazyLock::new(|| {
    let mut theirs = machine(THEIRS, 1);
    let ours = machine(OURS, 2);
    let said = beacon(OURS, &ours.element().octets());
    let heard = Beacon::read(&said).expect("a beacon");
    let actions = theirs.handle(0, Event::Beacon(&heard, None));
    let hello = actions.into_iter().find_map(|action| match action {
        Action::Send(frame) => Some(frame),
        _ => None,
    });
    let said = beacon(THEIRS, &theirs.element().octets());
    (said, hello.expect("the lower address calls"))
});

fuzz_target!(|octets: &[u8]| {
    let (honest, hello) = &*HONEST;
    let mut ours = machine(OURS, 2);
    let (mut data, mut now) = (octets, 0);
    while let Some((&[how, length], rest)) = data.split_first_chunk() {
        let (part, rest) = rest.split_at(usize::from(length).min(rest.len()));
        data = rest;
        now += u64::from(how >> 4) * 40;
        let mut frame = match how & 7 {
            0 => honest.clone(),
            1 => hello.clone(),
            2 => beacon(THEIRS, part),
            3 => beacon(
                THEIRS,
                &[&[221, length][..], &VENDOR, &[1, 1], part].concat(),
            ),
            4 => [&hello[..31], &[2 + how % 3], part].concat(),
            _ => part.to_vec(),
        };
        if how & 8 != 0 {
            for (at, octet) in part.iter().enumerate() {
                match frame.get_mut(usize::from(how) + at) {
                    Some(changed) => *changed ^= octet,
                    None => frame.push(*octet),
                }
            }
        }
        let signal = Some(-i32::from(length));
        let actions = match Beacon::read(&frame) {
            Some(beacon) => ours.handle(now, Event::Beacon(&beacon, signal)),
            None => ours.handle(now, Event::Frame(&frame)),
        };
        for action in actions {
            // Without the keys, no sender can complete a handshake.
            assert!(
                matches!(action, Action::Send(_) | Action::Listen(_)),
                "{action:?}"
            );
        }
        assert!(ours.shown().count() <= 1);
    }
});
