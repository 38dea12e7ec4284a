//! Announcements, right ones and any bytes.

use proptest::prelude::*;

use super::{lldp, mac};
use crate::{Capabilities, Cdp, Lldp, Maker, Mndp, Role, UnknownRole};

fn cdp() -> Vec<u8> {
    let mut body = vec![0xaa, 0xaa, 3, 0, 0, 0x0c, 0x20, 0, 2, 180, 0, 0];
    for (kind, value) in [
        (1u16, &b"sw1"[..]),
        (4, &[0, 0, 0, 0x28]),
        (6, b"cisco WS-C2960"),
    ] {
        body.extend(kind.to_be_bytes());
        body.extend((value.len() as u16 + 4).to_be_bytes());
        body.extend(value);
    }
    let length = (body.len() as u16).to_be_bytes();
    let to = [1, 0, 0x0c, 0xcc, 0xcc, 0xcc];
    [&to[..], &mac(1), &length, &body].concat()
}

fn mndp() -> Vec<u8> {
    let mut data = vec![0, 0, 0, 1];
    for (kind, value) in [
        (1u16, &mac(1)[..]),
        (5, b"roof"),
        (7, b"7.16"),
        (8, b"MikroTik"),
        (12, b"RBSXTsq5nD"),
    ] {
        data.extend(kind.to_be_bytes());
        data.extend((value.len() as u16).to_be_bytes());
        data.extend(value);
    }
    let ports = [0x16, 0x2e, 0x16, 0x2e];
    let length = (data.len() as u16 + 8).to_be_bytes();
    let mut packet = vec![
        0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 255, 255, 255, 255,
    ];
    packet.extend([&ports[..], &length, &[0, 0], &data].concat());
    [&[0xff; 6][..], &mac(1), &[8, 0], &packet].concat()
}

fn tagged(mut frame: Vec<u8>) -> Vec<u8> {
    frame.splice(12..12, [0x81, 0, 0, 7]);
    frame
}

#[test]
fn lldp_is_read() {
    let frame = lldp("LiteBeam\n5AC", 0x0c);
    for frame in [frame.clone(), tagged(frame)] {
        let said = Lldp::read(&frame).expect("LLDP");
        let bridge = Capabilities {
            bridge: true,
            wlan: true,
            ..Capabilities::default()
        };
        assert_eq!(said.chassis, "02:00:00:00:00:09");
        assert_eq!((said.port.as_str(), said.name.as_str()), ("eth0", "a name"));
        assert_eq!(said.description, "LiteBeam?5AC");
        assert_eq!(said.capabilities, bridge);
        assert_eq!(said.address, "192.0.2.7".parse().ok());
    }
    let long = Lldp::read(&lldp(&"x".repeat(255), 0)).expect("LLDP");
    assert_eq!(long.description.len(), 64);
}

#[test]
fn cdp_is_read() {
    for frame in [cdp(), tagged(cdp())] {
        let said = Cdp::read(&frame).expect("CDP");
        assert_eq!(
            (said.device.as_str(), said.platform.as_str()),
            ("sw1", "cisco WS-C2960")
        );
        assert!(said.capabilities.bridge && !said.capabilities.router);
    }
}

#[test]
fn mndp_is_read() {
    for frame in [mndp(), tagged(mndp())] {
        let said = Mndp::read(&frame).expect("MNDP");
        assert_eq!(
            (said.identity.as_str(), said.version.as_str()),
            ("roof", "7.16")
        );
        assert_eq!(
            (said.platform.as_str(), said.board.as_str()),
            ("MikroTik", "RBSXTsq5nD")
        );
        assert_eq!(Maker::radio(&said.board), Some(Maker::MikroTik));
    }
}

#[test]
fn what_is_cut_is_read_up_to_there() {
    for frame in [lldp("LiteBeam", 4), cdp(), mndp()] {
        for end in 0..frame.len() {
            let part = &frame[..end];
            let read = (Lldp::read(part), Cdp::read(part), Mndp::read(part));
            let all = usize::from(read.0.is_some())
                + usize::from(read.1.is_some())
                + usize::from(read.2.is_some());
            assert!(all <= 1);
        }
    }
    let cut = lldp("LiteBeam", 4);
    let said = Lldp::read(&cut[..30]).expect("LLDP");
    assert_eq!(said.description, "");
}

#[test]
fn lengths_that_are_too_short_are_no_lengths() {
    let mut frame = mndp();
    (frame[38], frame[39]) = (0, 7);
    assert_eq!(Mndp::read(&frame), None);
    let mut frame = cdp();
    (frame[28], frame[29]) = (0, 3);
    assert_eq!(Cdp::read(&frame), Some(Cdp::default()));
}

#[test]
fn radios_are_known_by_whole_words() {
    for (text, maker) in [
        ("LiteBeam 5AC, XC.V8.7.1", Some(Maker::Ubiquiti)),
        ("LBE-5AC-Gen2", Some(Maker::Ubiquiti)),
        ("NBE5AC19", Some(Maker::Ubiquiti)),
        ("Rocket M5", Some(Maker::Ubiquiti)),
        ("SXTsq 5 ac", Some(Maker::MikroTik)),
        ("RBLHG-5nD", Some(Maker::MikroTik)),
        ("Cambium ePMP 3000", Some(Maker::Cambium)),
        ("Mimosa B5c", Some(Maker::Mimosa)),
        ("sprocket", None),
        ("rocketry", None),
        ("linuxptp 4.0, PTP", None),
        ("EdgeSwitch 8", None),
        ("RB750Gr3", None),
        ("OpenWrt 24.10", None),
    ] {
        assert_eq!(Maker::radio(text), maker, "{text}");
    }
    assert_eq!(Maker::of(&[0, 0x0c, 0x42, 1, 2, 3]), Some(Maker::MikroTik));
    assert_eq!(Maker::of(&mac(1)), None);
}

#[test]
fn roles_are_words() {
    for role in Role::ALL {
        assert_eq!(role.word().parse(), Ok(role));
    }
    assert_eq!("lan".parse::<Role>(), Err(UnknownRole));
    let words = "valid roles: uplink, mesh, radio, client, border, switch, loop, unknown";
    assert_eq!(UnknownRole.to_string(), words);
}

fn harmless(text: &str) {
    let plain = |letter: char| matches!(letter, ' '..='~') || letter.is_alphanumeric();
    assert!(text.chars().all(plain), "{text:?}");
    assert!(text.chars().count() <= 64, "{text:?}");
}

fn read(frame: &[u8]) {
    if let Some(said) = Lldp::read(frame) {
        [said.chassis, said.port, said.name, said.description]
            .iter()
            .for_each(|text| harmless(text));
    }
    if let Some(said) = Cdp::read(frame) {
        [said.device, said.platform]
            .iter()
            .for_each(|text| harmless(text));
    }
    if let Some(said) = Mndp::read(frame) {
        [said.identity, said.platform, said.version, said.board]
            .iter()
            .for_each(|text| harmless(text));
    }
}

proptest! {
    #[test]
    fn any_octets_are_read(octets in proptest::collection::vec(any::<u8>(), 0..400)) {
        read(&octets);
        for begin in [&lldp("x", 4)[..14], &cdp()[..26], &mndp()[..38], &mndp()[..46]] {
            let mut frame = [begin, &octets[..]].concat();
            if frame[12] == 0 {
                frame[12] = 1;
            }
            read(&frame);
        }
    }

    #[test]
    fn right_ones_with_damage_are_read(
        which in 0..3usize,
        places in proptest::collection::vec((0..200usize, any::<u8>()), 0..8),
    ) {
        let mut frame = [lldp("LiteBeam", 4), cdp(), mndp()][which].clone();
        for (place, octet) in places {
            let place = place % frame.len();
            frame[place] = octet;
        }
        read(&frame);
    }
}
