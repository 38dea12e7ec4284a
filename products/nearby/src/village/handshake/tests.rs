use proptest::prelude::*;

use super::*;
use crate::village::RECORD;

fn key(seed: u8) -> Arc<Key> {
    Arc::new(Key::from_seed(&[seed; 32]).expect("any seed"))
}

fn secret(seed: u8) -> Secret {
    Secret::new([seed; 32])
}

/// Passes bytes between both sides until no bytes are left.
fn between(
    secrets: [&Secret; 2],
    keys: [u8; 2],
    cut: usize,
) -> (
    Result<HandshakeResult, HandshakeError>,
    Result<HandshakeResult, HandshakeError>,
) {
    let (mut caller, first) = Handshake::call(secrets[0], key(keys[0])).expect("random numbers");
    let mut called = Handshake::answer(secrets[1], key(keys[1])).expect("a state");
    let mut done = [None, None];
    let mut wire = [Vec::new(), first];
    while wire.iter().any(|it| !it.is_empty()) {
        for (at, side) in [&mut caller, &mut called].into_iter().enumerate() {
            let octets = std::mem::take(&mut wire[at]);
            for piece in octets.chunks(cut) {
                let heard = match done[at] {
                    None => side.heard(piece, &mut wire[1 - at]),
                    Some(_) => break,
                };
                done[at] = heard.transpose();
            }
        }
    }
    let [one, other] = done.map(|it| it.unwrap_or(Err(HandshakeError::Secret)));
    (one, other)
}

#[test]
fn two_of_a_village_prove_who_they_are_however_octets_are_cut() {
    for cut in [1, 7, 49, 50, 51, 1000] {
        let village = secret(1);
        let (caller, called) = between([&village, &village], [2, 3], cut);
        let (caller, called) = (caller.expect("through"), called.expect("through"));
        assert_eq!(caller.node, key(3).node());
        assert_eq!(called.node, key(2).node());
        let (mut one, mut other) = (caller.session, called.session);
        for text in [&b"hello"[..], b"", &[7; RECORD]] {
            let sealed = one.sealer.seal(text).expect("short enough");
            assert_eq!(other.opener.heard(&sealed), Ok(vec![text.to_vec()]));
            let sealed = other.sealer.seal(text).expect("short enough");
            assert_eq!(one.opener.heard(&sealed), Ok(vec![text.to_vec()]));
        }
        assert_eq!(
            one.sealer.seal(&[0; RECORD + 1]),
            Err(crate::village::InvalidRecord)
        );
    }
}

#[test]
fn what_is_said_at_once_after_a_handshake_is_not_lost() {
    let village = secret(1);
    let (mut caller, first) = Handshake::call(&village, key(2)).expect("random numbers");
    let mut called = Handshake::answer(&village, key(3)).expect("a state");
    let (mut second, mut third, mut fourth) = (Vec::new(), Vec::new(), Vec::new());
    assert!(
        called
            .heard(&first, &mut second)
            .expect("the secret")
            .is_none()
    );
    assert!(
        caller
            .heard(&second, &mut third)
            .expect("the secret")
            .is_none()
    );
    let mut through = called
        .heard(&third, &mut fourth)
        .expect("a proof")
        .expect("through");
    fourth.extend(through.session.sealer.seal(b"hello").expect("short"));
    let through = caller
        .heard(&fourth, &mut Vec::new())
        .expect("a proof")
        .expect("through");
    assert_eq!(through.records, [b"hello"]);
}

#[test]
fn who_has_another_secret_gets_no_answer() {
    let (caller, called) = between([&secret(1), &secret(2)], [2, 3], 1000);
    assert_eq!(called.err(), Some(HandshakeError::Secret));
    assert_eq!(caller.err(), Some(HandshakeError::Secret));
    let mut out = Vec::new();
    let mut called = Handshake::answer(&secret(2), key(3)).expect("a state");
    let (_, first) = Handshake::call(&secret(1), key(2)).expect("random numbers");
    assert!(called.heard(&first, &mut out).is_err() && out.is_empty());
    assert!(
        called.heard(&first, &mut out).is_err() && out.is_empty(),
        "it stays over"
    );
}

#[test]
fn a_recorded_handshake_is_of_no_use() {
    let village = secret(1);
    let (mut caller, first) = Handshake::call(&village, key(2)).expect("random numbers");
    let mut called = Handshake::answer(&village, key(3)).expect("a state");
    let (mut second, mut third, mut fourth) = (Vec::new(), Vec::new(), Vec::new());
    called.heard(&first, &mut second).expect("the secret");
    caller.heard(&second, &mut third).expect("the secret");
    called.heard(&third, &mut fourth).expect("a proof");
    // A replay to the called side yields an answer, and nothing more is accepted.
    let mut again = Handshake::answer(&village, key(3)).expect("a state");
    let mut out = Vec::new();
    assert!(again.heard(&first, &mut out).expect("the secret").is_none());
    assert_ne!(out, second);
    let length = out.len();
    assert!(again.heard(&third, &mut out).is_err());
    assert_eq!(out.len(), length, "and does not say who it is");
    // Old answers are replayed to another caller.
    let (mut other, _) = Handshake::call(&village, key(2)).expect("random numbers");
    assert!(other.heard(&second, &mut Vec::new()).is_err());
}

/// A node in the middle that has the secret cannot reuse proofs: each is bound to one handshake and
/// one side.
#[test]
fn a_proof_is_of_no_use_to_who_stands_between() {
    let village = secret(1);
    let hash = |seed| [seed; 32];
    let signature = key(2).sign(&signed(true, &hash(1)));
    let proves = |signed: &[u8]| {
        let key = UnparsedPublicKey::new(&ED25519, key(2).node().0);
        key.verify(signed, &signature).is_ok()
    };
    assert!(proves(&signed(true, &hash(1))));
    assert!(!proves(&signed(true, &hash(2))));
    assert!(!proves(&signed(false, &hash(1))));

    // A peer with the secret, and another node's public key.
    let mut state = builder(&village)
        .and_then(|it| it.build_initiator())
        .expect("a state");
    let first = write(&mut state).expect("a message");
    let mut called = Handshake::answer(&village, key(3)).expect("a state");
    let mut out = Vec::new();
    called.heard(&first, &mut out).expect("the secret");
    assert!(called.is_known());
    state
        .read_message(&out[LENGTH..], &mut [0; MESSAGE])
        .expect("an answer");
    let hash: [u8; 32] = state.get_handshake_hash().try_into().expect("32 octets");
    let mut session = Session::new(state.into_stateless_transport_mode().expect("through"));
    let lie = [&key(2).node().0[..], &key(4).sign(&signed(true, &hash))].concat();
    let lie = session.sealer.seal(&lie).expect("short");
    let length = out.len();
    assert_eq!(
        called.heard(&lie, &mut out).err(),
        Some(HandshakeError::Proof)
    );
    assert_eq!(out.len(), length);
}

#[test]
fn who_calls_itself_is_told() {
    let village = secret(1);
    let (_, called) = between([&village, &village], [2, 2], 1000);
    assert_eq!(called.err(), Some(HandshakeError::Itself));
}

#[test]
fn a_changed_record_ends_the_session() {
    let village = secret(1);
    let (caller, called) = between([&village, &village], [2, 3], 1000);
    let mut sealer = caller.expect("through").session.sealer;
    let mut opener = called.expect("through").session.opener;
    let one = sealer.seal(b"one").expect("short");
    let two = sealer.seal(b"two").expect("short");
    assert_eq!(opener.heard(&one), Ok(vec![b"one".to_vec()]));
    assert!(opener.heard(&one).is_err(), "it was here");
    let mut wrong = two.clone();
    wrong[7] ^= 1;
    assert!(opener.heard(&wrong).is_err());
}

proptest! {
    #[test]
    fn strangers_octets_never_panic_and_are_not_kept(octets: Vec<u8>, cut in 1..200usize) {
        let village = secret(1);
        let mut called = Handshake::answer(&village, key(3)).expect("a state");
        let (mut caller, _) = Handshake::call(&village, key(2)).expect("random numbers");
        for side in [&mut called, &mut caller] {
            let mut out = Vec::new();
            for piece in octets.chunks(cut) {
                let over = side.heard(piece, &mut out).is_err();
                prop_assert!(out.is_empty());
                prop_assert!(side.held.len() <= LENGTH + MESSAGE + cut);
                if over {
                    break;
                }
            }
        }
    }

    #[test]
    fn octets_of_any_kind_in_a_session_never_panic(octets: Vec<u8>, cut in 1..200usize) {
        let village = secret(1);
        let (caller, _) = between([&village, &village], [2, 3], 1000);
        let mut opener = caller.expect("through").session.opener;
        for piece in octets.chunks(cut) {
            match opener.heard(piece) {
                Ok(records) => prop_assert!(records.is_empty()),
                Err(_) => break,
            }
        }
    }
}
