//! Headers of a connection, at both ends, and pairing lines: messages not sealed with the right
//! keys are refused, and parsed values survive being written and parsed again; never a panic. The
//! first byte chooses the reader.
#![no_main]

use std::fmt::{Debug, Display};
use std::str::FromStr;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use multipath_core::frame::{HEADER, MOST, versions};
use multipath_core::handshake::{Responder, key_id};
use multipath_core::io::RouterEntry;
use multipath_core::lock::Lock;
use multipath_core::session::session_id;
use multipath_core::{
    Clients, Forward, Frame, Identity, Initiator, Key, KeyId, Kind, Open, Pairing, Ports, Session,
    SessionId, Status, TrafficPolicy, Welcome,
};

struct Ends {
    router: Session,
    partner: Session,
}

static PARTNER: LazyLock<Identity> = LazyLock::new(|| Identity::from([8; 32]));
static ROUTER: LazyLock<Identity> = LazyLock::new(|| Identity::from([9; 32]));
static KEY: LazyLock<Key> = LazyLock::new(|| Key::new(KeyId([5; 8]), [6; 32], PARTNER.public()));

fn welcome() -> Welcome {
    Welcome {
        ipv4: true,
        ipv6: true,
        aes: false,
        tunnel4: None,
        tunnel6: None,
        mtu: 1400,
        version: String::new(),
        forwards: Vec::new(),
        places: None,
    }
}

/// A session, made once.
static ENDS: LazyLock<Ends> = LazyLock::new(|| {
    let (initiator, asked) = Initiator::begin(&KEY, &ROUTER).expect("random");
    let asked = Responder::read(&PARTNER, &KEY, &asked[HEADER..]).expect("the key");
    let (partner, told) = asked.welcome(SessionId(7), &welcome()).expect("a welcome");
    let (router, _) = initiator.end(&told[HEADER..]).expect("the key");
    Ends { router, partner }
});

fn pairing(text: &str) {
    match text.parse::<Pairing>() {
        Ok(pairing) => {
            let line = pairing.to_string();
            assert!(!line.contains(char::is_whitespace), "{line:?}");
            assert_eq!(line.parse(), Ok(pairing));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// Checks that a parsed value, written and parsed again, stays the same.
fn again<T: FromStr<Err: Debug> + Display + PartialEq + Debug>(text: &str) {
    if let Ok(read) = text.parse::<T>() {
        assert_eq!(
            read.to_string().parse::<T>().expect("what was written"),
            read
        );
    }
}

fn frame(data: &[u8]) {
    let Ok(Some((frame, rest))) = Frame::split(data) else {
        return;
    };
    assert!(frame.body.len() <= MOST);
    assert_eq!(HEADER + frame.body.len() + rest.len(), data.len());
    match frame.kind {
        Kind::Handshake => {
            if let Ok(id) = key_id(frame.body) {
                let key = Key::new(id, [6; 32], PARTNER.public());
                let answered = Responder::read(&PARTNER, &key, frame.body);
                assert!(answered.is_err(), "without the key");
            }
        }
        Kind::Welcome => {
            let (initiator, _) = Initiator::begin(&KEY, &ROUTER).expect("random");
            assert!(initiator.end(frame.body).is_err(), "without the key");
        }
        Kind::Open => assert!(ENDS.partner.accept(frame.body).is_err(), "without the key"),
        Kind::Status => {
            let (opened, _) = ENDS.router.open(&open());
            assert!(opened.status(frame.body).is_err(), "without the key");
        }
        Kind::UnknownSession => drop(session_id(frame.body)),
        Kind::OtherVersion => drop(versions(frame.body)),
    }
}

fn open() -> Open {
    Open {
        destination: ([192, 0, 2, 1], 443).into(),
        client: ([192, 0, 2, 2], 40000).into(),
        encrypted: true,
        after: Some(39_999),
    }
}

/// Tests a sealed message with changes.
fn changed(data: &[u8]) {
    let (_, frame) = ENDS.router.open(&open());
    let mut body = frame[HEADER..].to_vec();
    body.iter_mut()
        .zip(data)
        .for_each(|(octet, change)| *octet ^= change);
    body.extend(&data[body.len().min(data.len())..]);
    let same = body == frame[HEADER..];
    match ENDS.partner.accept(&body) {
        Ok((_, read)) => assert!(same && read == open()),
        Err(_) => assert!(!same),
    }
}

/// Tests the bytes of a record, cut into pieces, with a change at one position.
fn stream(data: &[u8]) {
    let Some((&[high, low, change, cut], text)) = data.split_first_chunk() else {
        return;
    };
    let (mut opened, asked) = ENDS.router.open(&open());
    let (mut accepted, _) = ENDS.partner.accept(&asked[HEADER..]).expect("an open");
    let (mut sealer, _) = opened.stream().expect("encrypted");
    let (_, mut opener) = accepted.stream().expect("encrypted");
    let mut sealed = Vec::new();
    for part in text.chunks(usize::from(cut) + 1) {
        sealer.seal(part, &mut sealed);
    }
    sealer.end(&mut sealed);
    let place = usize::from(u16::from_be_bytes([high, low])) % sealed.len();
    sealed[place] ^= change;
    let mut plain = Vec::new();
    let mut read = Ok(());
    for piece in sealed.chunks(usize::from(cut >> 4) * 7 + 1) {
        read = read.and(opener.open(piece, &mut plain));
        assert!(text.starts_with(&plain));
    }
    assert_eq!(read.and(opener.finish()).is_ok(), change == 0);
    assert!(change != 0 || plain == text);

    // Data that was never sealed.
    let (mut accepted, _) = {
        let (_, asked) = ENDS.router.open(&open());
        ENDS.partner.accept(&asked[HEADER..]).expect("an open")
    };
    let (_, mut opener) = accepted.stream().expect("encrypted");
    plain.clear();
    assert!(opener.open(text, &mut plain).and(opener.finish()).is_err());
    assert!(plain.is_empty());
}

fuzz_target!(|data: &[u8]| {
    let Some((&kind, data)) = data.split_first() else {
        return;
    };
    match kind % 6 {
        0 => {
            if let Ok(text) = std::str::from_utf8(data) {
                pairing(text);
                again::<Ports>(text);
                again::<Clients>(text);
                again::<Forward>(text);
                again::<RouterEntry>(text);
                if let Some(lock) = Lock::read(text) {
                    let file = lock.file("weir-tunnel", &TrafficPolicy::default());
                    assert_eq!(Lock::read(&file), Some(lock));
                }
            }
        }
        1 => frame(data),
        2 => changed(data),
        3 => stream(data),
        4 => {
            if let Ok((session, welcome)) = Welcome::decode(data) {
                let again = Welcome::decode(&welcome.encode(session));
                assert_eq!(again, Ok((session, welcome)));
            }
        }
        _ => {
            if let Ok((open, cipher)) = Open::decode(data) {
                assert_eq!(Open::decode(&open.encode(cipher)), Ok((open, cipher)));
            }
            if let Ok(status) = Status::decode(data) {
                assert_eq!(Status::decode(&status.encode()), Ok(status));
            }
        }
    }
});
