//! Both ends in memory.

use std::collections::HashSet;

use crate::handshake::{Responder, key_id};
use crate::session::{session_id, unknown};
use crate::welcome::tests::welcome;
use crate::{
    Cipher, Frame, FrameError, HandshakeError, Identity, IncomingConnection, Initiator, Key, KeyId,
    Kind, Open, OutgoingConnection, Session, SessionError, SessionId, Status, VERSION, Welcome,
};

fn partner() -> Identity {
    Identity::from([8; 32])
}

fn own() -> Identity {
    Identity::from([9; 32])
}

fn key() -> Key {
    Key::new(KeyId([5; 8]), [6; 32], partner().public())
}

fn answer(
    key: &Key,
    asked: &[u8],
    id: SessionId,
    welcome: &Welcome,
) -> Result<(Session, Vec<u8>), HandshakeError> {
    Responder::read(&partner(), key, asked)?.welcome(id, welcome)
}

/// Returns the body of a frame of one kind, as received.
fn body(kind: Kind, octets: &[u8]) -> Result<&[u8], &'static str> {
    match Frame::split(octets) {
        Ok(Some((frame, []))) if frame.kind == kind => Ok(frame.body),
        Ok(Some(_)) => Err("another frame"),
        Ok(None) => Err("not whole"),
        Err(_) => Err("no frame"),
    }
}

/// Makes the router's end and the partner's.
fn made_with(welcome: &Welcome) -> (Session, Session) {
    let (initiator, frame) = Initiator::begin(&key(), &own()).expect("random");
    assert_eq!(frame.len(), 108);
    let asked = body(Kind::Handshake, &frame).expect("a handshake");
    assert_eq!(key_id(asked), Ok(key().id()));
    let (partner, frame) = answer(&key(), asked, SessionId(9), welcome).expect("the key");
    let told = body(Kind::Welcome, &frame).expect("a welcome");
    let (router, read) = initiator.end(told).expect("the key");
    assert_eq!(&read, welcome);
    assert_eq!((router.id(), partner.id()), (SessionId(9), SessionId(9)));
    (router, partner)
}

fn made() -> (Session, Session) {
    made_with(&welcome())
}

fn open(encrypted: bool) -> Open {
    Open {
        destination: "[2001:db8::1]:443".parse().expect("an address"),
        client: "[fd00::7]:40000".parse().expect("an address"),
        encrypted,
        after: None,
    }
}

fn asked(
    router: &Session,
    partner: &Session,
    open: &Open,
) -> (OutgoingConnection, IncomingConnection) {
    let (opened, frame) = router.open(open);
    let body = body(Kind::Open, &frame).expect("an open");
    assert_eq!(session_id(body), Ok(partner.id()));
    let (accepted, read) = partner.accept(body).expect("an open");
    assert_eq!(&read, open);
    assert_eq!(accepted.counter(), opened.counter());
    (opened, accepted)
}

fn flips(octets: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    (0..octets.len() * 8).map(|bit| {
        let mut changed = octets.to_vec();
        changed[bit / 8] ^= 1 << (bit % 8);
        changed
    })
}

#[test]
fn sessions_are_shared_by_threads() {
    fn shared<T: Send + Sync>() {}
    fn sent<T: Send>() {}
    shared::<Session>();
    sent::<(Initiator, OutgoingConnection, IncomingConnection)>();
}

#[test]
fn both_ends_have_the_same_keys() {
    let (router, partner) = made();
    let (here, there) = (router.datagrams(), partner.datagrams());
    assert_eq!(here.seal, there.open);
    assert_eq!(here.open, there.seal);
    assert_ne!(here.seal, here.open);
    let (again, _) = made();
    assert_ne!(again.datagrams(), here, "each session has its own");
    assert_eq!(format!("{here:?}"), "DatagramKeys");
    assert_eq!(format!("{router:?}"), "Session(0000000000000009, Router)");
}

#[test]
fn another_key_makes_no_session() {
    let (initiator, frame) = Initiator::begin(&key(), &own()).expect("random");
    let asked = body(Kind::Handshake, &frame).expect("a handshake");
    let answered = |key: &Key| answer(key, asked, SessionId(9), &welcome()).map(|_| ());
    let [other, renamed] = [
        Key::new(key().id(), [7; 32], key().partner()),
        Key::new(KeyId([4; 8]), [6; 32], key().partner()),
    ];
    assert_eq!(answered(&other), Err(HandshakeError::Key));
    assert_eq!(answered(&renamed), Err(HandshakeError::Key));
    // A partner with another key, which another router asked.
    let (_, frame) = Initiator::begin(&other, &own()).expect("random");
    let asked = body(Kind::Handshake, &frame).expect("a handshake");
    let (_, frame) = answer(&other, asked, SessionId(9), &welcome()).expect("its key");
    let told = body(Kind::Welcome, &frame).expect("a welcome");
    assert_eq!(
        initiator.end(told).map(|_| ()).expect_err("another key"),
        HandshakeError::Key
    );
}

#[test]
fn a_line_makes_nobody_a_partner() {
    let (initiator, frame) = Initiator::begin(&key(), &own()).expect("random");
    let asked = body(Kind::Handshake, &frame).expect("a handshake");
    // An attacker on the path who has the line, and claims to be its partner.
    let thief = Identity::from([10; 32]);
    for key in [key(), Key::new(key().id(), *key().secret(), thief.public())] {
        let read = Responder::read(&thief, &key, asked).map(|_| ());
        assert_eq!(read, Err(HandshakeError::Key));
    }
    // The attacker's answer to a handshake that the attacker can read.
    let line = Key::new(key().id(), *key().secret(), thief.public());
    let (_, frame) = Initiator::begin(&line, &own()).expect("random");
    let asked = body(Kind::Handshake, &frame).expect("a handshake");
    let asked = Responder::read(&thief, &line, asked).expect("his");
    let (_, frame) = asked.welcome(SessionId(9), &welcome()).expect("a welcome");
    let told = body(Kind::Welcome, &frame).expect("a welcome");
    let ended = initiator.end(told).map(|_| ());
    assert_eq!(ended, Err(HandshakeError::Key));
}

#[test]
fn a_router_shows_who_it_is() {
    for router in [own(), Identity::of_line(&key())] {
        let (initiator, frame) = Initiator::begin(&key(), &router).expect("random");
        let asked = body(Kind::Handshake, &frame).expect("a handshake");
        let asked = Responder::read(&partner(), &key(), asked).expect("the key");
        assert_eq!(asked.router(), router.public());
        let frame = asked.refuse().expect("an answer");
        let told = body(Kind::Welcome, &frame).expect("a welcome");
        let ended = initiator.end(told).map(|_| ());
        assert_eq!(ended, Err(HandshakeError::Another));
    }
}

#[test]
fn a_replayed_handshake_is_of_no_use() {
    let (initiator, frame) = Initiator::begin(&key(), &own()).expect("random");
    let asked = body(Kind::Handshake, &frame).expect("a handshake");
    let (first, told) = answer(&key(), asked, SessionId(9), &welcome()).expect("the key");
    let (second, _) = answer(&key(), asked, SessionId(9), &welcome()).expect("the key");
    assert_ne!(first.datagrams().seal, second.datagrams().seal);
    let told = body(Kind::Welcome, &told).expect("a welcome");
    let (router, _) = initiator.end(told).expect("the key");
    let (_, frame) = router.open(&open(false));
    let opened = body(Kind::Open, &frame).expect("an open");
    assert_eq!(second.accept(opened).map(|_| ()), Err(SessionError::Forged));
    assert!(first.accept(opened).is_ok());
}

#[test]
fn a_welcome_that_makes_no_sense_is_not_sent() {
    let (_, frame) = Initiator::begin(&key(), &own()).expect("random");
    let asked = body(Kind::Handshake, &frame).expect("a handshake");
    let wrong = Welcome {
        mtu: 0,
        ..welcome()
    };
    let answered = answer(&key(), asked, SessionId(9), &wrong);
    assert!(matches!(answered, Err(HandshakeError::Welcome(_))));
}

#[test]
fn every_flipped_bit_of_a_handshake_is_refused() {
    let (_, frame) = Initiator::begin(&key(), &own()).expect("random");
    for changed in flips(&frame) {
        let Ok(body) = body(Kind::Handshake, &changed) else {
            continue;
        };
        // The partner looks the key up by its id: this partner has one secret for all.
        let id = key_id(body).expect("long enough");
        let key = Key::new(id, *key().secret(), key().partner());
        let answered = answer(&key, body, SessionId(9), &welcome()).map(|_| ());
        assert_eq!(answered, Err(HandshakeError::Key));
    }
}

#[test]
fn every_flipped_bit_of_a_welcome_is_refused() {
    let octets = 120;
    for bit in 0..octets * 8 {
        let (initiator, frame) = Initiator::begin(&key(), &own()).expect("random");
        let asked = body(Kind::Handshake, &frame).expect("a handshake");
        let (_, mut frame) = answer(&key(), asked, SessionId(9), &welcome()).expect("the key");
        assert_eq!(frame.len(), octets);
        frame[bit / 8] ^= 1 << (bit % 8);
        if let Ok(told) = body(Kind::Welcome, &frame) {
            let ended = initiator.end(told).map(|_| ());
            assert_eq!(ended, Err(HandshakeError::Key), "bit {bit}");
        }
    }
}

#[test]
fn every_flipped_bit_of_an_open_is_refused() {
    let (router, partner) = made();
    let (_, frame) = router.open(&open(true));
    assert_eq!(frame.len(), 79);
    for changed in flips(&frame) {
        if let Ok(body) = body(Kind::Open, &changed) {
            let accepted = partner.accept(body).map(|_| ());
            assert!(
                matches!(accepted, Err(SessionError::Forged | SessionError::Other(_))),
                "{accepted:?}"
            );
        }
    }
    let body = body(Kind::Open, &frame).expect("an open");
    assert!(partner.accept(body).is_ok(), "none of them counted");
}

#[test]
fn every_flipped_bit_of_a_status_is_refused() {
    let (router, partner) = made();
    let (opened, accepted) = asked(&router, &partner, &open(false));
    let frame = accepted.status(Status::Refused);
    assert_eq!(frame.len(), 23);
    for changed in flips(&frame) {
        if let Ok(body) = body(Kind::Status, &changed) {
            assert_eq!(opened.status(body), Err(SessionError::Forged));
        }
    }
    let body = body(Kind::Status, &frame).expect("a status");
    assert_eq!(opened.status(body), Ok(Status::Refused));
}

#[test]
fn a_status_is_for_its_open() {
    let (router, partner) = made();
    let (one, _) = asked(&router, &partner, &open(false));
    let (other, accepted) = asked(&router, &partner, &open(false));
    let frame = accepted.status(Status::Connected);
    let body = body(Kind::Status, &frame).expect("a status");
    assert_eq!(one.status(body), Err(SessionError::Forged));
    assert_eq!(other.status(body), Ok(Status::Connected));
}

#[test]
fn an_open_is_accepted_once_and_in_any_order() {
    let (router, partner) = made();
    let frames: Vec<_> = (0..100).map(|_| router.open(&open(false)).1).collect();
    for (counter, frame) in frames.iter().enumerate().rev() {
        let body = body(Kind::Open, frame).expect("an open");
        let (accepted, _) = partner.accept(body).expect("new");
        assert_eq!(accepted.counter(), counter as u64);
        let again = partner.accept(body).map(|_| ());
        assert_eq!(again, Err(SessionError::Replayed(counter as u64)));
    }
}

#[test]
fn an_open_is_for_its_session() {
    let (router, _) = made();
    let (_, partner) = made();
    let (_, frame) = router.open(&open(false));
    let body = body(Kind::Open, &frame).expect("an open");
    // Both have the number 9, as sessions of two partners may.
    assert_eq!(partner.accept(body).map(|_| ()), Err(SessionError::Forged));
    let other = [&8_u64.to_be_bytes(), &body[8..]].concat();
    assert_eq!(
        partner.accept(&other).map(|_| ()),
        Err(SessionError::Other(SessionId(8)))
    );
}

#[test]
fn what_the_router_sealed_does_not_come_back() {
    let (router, _) = made();
    let (opened, frame) = router.open(&open(false));
    let body = body(Kind::Open, &frame).expect("an open");
    assert_eq!(opened.status(&body[16..]), Err(SessionError::Forged));
}

#[test]
#[should_panic(expected = "only a router opens")]
fn a_partner_has_nothing_to_open() {
    let (_, partner) = made();
    let _ = partner.open(&open(false));
}

#[test]
fn threads_use_each_counter_once() {
    let (router, partner) = made();
    let frames: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    (0..50)
                        .map(|_| router.open(&open(false)))
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined
            .flat_map(|opened| opened.expect("no panic"))
            .collect()
    });
    let counters: HashSet<_> = frames.iter().map(|(opened, _)| opened.counter()).collect();
    assert_eq!(counters, (0..200).collect());
    for (_, frame) in &frames {
        let body = body(Kind::Open, frame).expect("an open");
        assert!(partner.accept(body).is_ok());
    }
}

#[test]
fn what_is_too_short_or_too_long_is_refused() {
    let (router, partner) = made();
    let (opened, frame) = router.open(&open(true));
    let opening = body(Kind::Open, &frame).expect("an open");
    for length in 0..opening.len() {
        assert!(partner.accept(&opening[..length]).is_err());
        assert!(opened.status(&opening[..length]).is_err());
    }
    for length in [1025, 70_000] {
        let long = [opening, &vec![0; length]].concat();
        let wrong = SessionError::Length(long.len());
        assert_eq!(partner.accept(&long).map(|_| ()), Err(wrong));
        assert_eq!(opened.status(&long), Err(wrong));
    }
    let (_, frame) = Initiator::begin(&key(), &own()).expect("random");
    let asked = body(Kind::Handshake, &frame).expect("a handshake");
    for length in 0..asked.len() {
        let answered = answer(&key(), &asked[..length], SessionId(9), &welcome());
        assert!(answered.is_err(), "{length}");
    }
    for length in [0, 1, 31, 32, 47, 48, 1024, 70_000] {
        let (initiator, _) = Initiator::begin(&key(), &own()).expect("random");
        assert!(initiator.end(&vec![0; length]).is_err(), "{length}");
    }
}

#[test]
fn streams_of_both_directions() {
    for aes in [true, false] {
        let (router, partner) = made_with(&Welcome { aes, ..welcome() });
        let (mut opened, mut accepted) = asked(&router, &partner, &open(true));
        let (mut up, mut up_end) = opened.stream().expect("encrypted");
        let (mut down, mut down_end) = accepted.stream().expect("encrypted");
        assert!(
            opened.stream().is_none() && accepted.stream().is_none(),
            "once only: the nonces begin anew"
        );
        let cipher = if aes && Cipher::aes_is_fast() {
            "Aes256Gcm"
        } else {
            "ChaCha20Poly1305"
        };
        assert!(format!("{up:?}").contains(cipher), "{up:?}");
        let [mut sent, mut answered, mut plain] = [const { Vec::new() }; 3];
        up.seal(b"hello", &mut sent);
        down.seal(b"hello", &mut answered);
        assert_ne!(sent, answered, "each direction has its own key");
        down_end.open(&sent, &mut plain).expect("the router's");
        up_end.open(&answered, &mut plain).expect("the partner's");
        assert_eq!(plain, b"hellohello");
        // Another connection of the same session.
        let (_, mut other) = asked(&router, &partner, &open(true));
        let (_, mut other) = other.stream().expect("encrypted");
        assert!(other.open(&sent, &mut plain).is_err());
    }
}

#[test]
fn no_stream_without_encryption() {
    let (router, partner) = made();
    let (mut opened, mut accepted) = asked(&router, &partner, &open(false));
    assert!(opened.stream().is_none() && accepted.stream().is_none());
}

#[test]
fn a_session_that_the_partner_forgot() {
    let frame = unknown(SessionId(9));
    let body = body(Kind::UnknownSession, &frame).expect("a frame");
    assert_eq!(session_id(body), Ok(SessionId(9)));
    assert_eq!(session_id(&body[..7]), Err(SessionError::Length(7)));
}

#[test]
fn other_versions_are_told_apart() {
    let (_, mut frame) = Initiator::begin(&key(), &own()).expect("random");
    for version in [0, VERSION + 1, 255] {
        frame[0] = version;
        assert_eq!(Frame::split(&frame), Err(FrameError::Version(version)));
    }
}
