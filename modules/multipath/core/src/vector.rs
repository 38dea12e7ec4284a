//! The example of `docs/reference/multipath-protocol.md`, compared with the frames that the code sends.

use std::fmt::Write;

use crate::frame::{Frame, HEADER};
use crate::handshake::fixed;
use crate::{Identity, Key, KeyId, Master, Open, Pairing, SessionId, Status, Welcome};

/// Returns bytes from `first` on, each one greater than the previous one.
fn counting<const N: usize>(first: u8) -> [u8; N] {
    std::array::from_fn(|place| first + place as u8)
}

/// Writes a name and bytes, 32 per line.
fn line(text: &mut String, name: &str, octets: &[u8]) {
    for (place, octets) in octets.chunks(32).enumerate() {
        let name = if place == 0 { name } else { "" };
        let _ = writeln!(text, "{name:<18}{}", net::hex::text(octets));
    }
}

fn key() -> Key {
    Master::from(counting(0x00)).key(KeyId(counting(0x20)))
}

fn example() -> String {
    let mut text = String::new();
    let key = key();
    line(&mut text, "master", &counting::<32>(0x00));
    line(&mut text, "key id", &key.id().0);
    line(&mut text, "key", key.secret());
    let pairing = Pairing::new("192.0.2.1", 9347, key.clone()).expect("an address");
    let _ = writeln!(text, "{:<18}{pairing}", "pairing line");

    line(&mut text, "partner's public", &key.partner().0);
    let router = Identity::from(counting(0x80));
    line(&mut text, "router's own", router.octets());
    line(&mut text, "router's public", &router.public().0);
    let (mine, theirs) = (counting(0x40), counting(0x60));
    line(&mut text, "router's once", &mine);
    line(&mut text, "partner's once", &theirs);
    let welcome = Welcome {
        ipv4: true,
        ipv6: true,
        aes: false,
        tunnel4: Some(([10, 93, 47, 2].into(), 24)),
        tunnel6: None,
        mtu: 1400,
        version: "weir 0.1.0".to_owned(),
        forwards: Vec::new(),
        places: None,
    };
    let (initiator, frame) = fixed::begin(&key, &router, &mine).expect("a handshake");
    line(&mut text, "handshake", &frame);
    let session = SessionId(0x0102_0304_0506_0708);
    line(&mut text, "items of welcome", &welcome.encode(session));
    let master = Master::from(counting(0x00));
    let asked = fixed::read(master.identity(), &key, &theirs, &frame[HEADER..]);
    let asked = asked.expect("the key");
    let (partner, frame) = asked.welcome(session, &welcome).expect("a welcome");
    line(&mut text, "welcome", &frame);
    let (router, _) = initiator.end(&frame[HEADER..]).expect("a session");
    line(&mut text, "datagrams up", &router.datagrams().seal);
    line(&mut text, "datagrams down", &router.datagrams().open);

    let open = Open {
        destination: "[2001:db8::1]:443".parse().expect("an address"),
        client: "192.0.2.2:40000".parse().expect("an address"),
        encrypted: true,
        after: None,
    };
    let (mut opened, frame) = router.open(&open);
    let (frame, _) = Frame::split(&frame).expect("a frame").expect("whole");
    let (accepted, _) = partner.accept(frame.body).expect("an open");
    line(&mut text, "open", &frame.octets());
    let (mut sealer, _) = opened.stream().expect("encrypted");
    let mut records = Vec::new();
    sealer.seal(b"hello", &mut records);
    line(&mut text, "record", &records);
    records.clear();
    sealer.end(&mut records);
    line(&mut text, "last record", &records);
    line(&mut text, "status", &accepted.status(Status::Connected));
    text
}

#[test]
fn the_example_in_the_documentation_is_right() {
    let page = include_str!("../../../../docs/reference/multipath-protocol.md");
    let example = example();
    assert!(page.contains(&example), "it should say:\n{example}");
}
