use proptest::prelude::*;

use super::super::element::Instance;
use super::super::frame::{Frame, Kind};
use super::super::handshake::{HandshakeContext, HandshakeError, Initiator, Party, answer};
use super::super::peer::CONFIRM;
use super::super::{Action, Beacon, Event, Machine, NodeKey, Secret, State};
use super::air::{Air, FREQUENCY, SSID, beacon, mac, machine, secret};

fn party(number: u8) -> Party {
    Party {
        mac: mac(number),
        instance: Instance([number; 8]),
        public: NodeKey::from_seed([number; 32]).public(),
    }
}

fn place() -> HandshakeContext<'static> {
    HandshakeContext {
        caller: party(1),
        called: party(2),
        frequency: FREQUENCY,
        ssid: SSID,
    }
}

fn node(number: u8) -> NodeKey {
    NodeKey::from_seed([number; 32])
}

#[test]
fn both_have_one_key_and_each_time_another() -> Result<(), HandshakeError> {
    let mut keys = Vec::new();
    for _ in 0..3 {
        let (mut caller, hello) = Initiator::begin(&secret(), &node(1), &place())?;
        let (called, body) = answer(&secret(), &node(2), &place(), &hello)?;
        // An invalid proof does not end the handshake.
        let mut wrong = body.clone();
        wrong[40] ^= 1;
        assert!(caller.end(&wrong).is_err());
        assert!(caller.end(&[0; 48]).is_err());
        let heard = caller.end(&body)?;
        let session = caller.session(heard)?;
        assert_eq!(session.key(), called.key());
        let confirm = session.seal(Kind::Confirm)?;
        assert!(called.proves(Kind::Confirm, &confirm));
        assert!(!called.proves(Kind::Done, &confirm));
        // A side does not accept its own confirmation.
        assert!(!session.proves(Kind::Confirm, &confirm));
        assert!(session.proves(Kind::Done, &called.seal(Kind::Done)?));
        keys.push(session.key());
    }
    assert!(keys[0] != keys[1] && keys[1] != keys[2]);
    Ok(())
}

#[test]
fn a_hello_is_for_one_place_and_time() -> Result<(), HandshakeError> {
    let (_, hello) = Initiator::begin(&secret(), &node(1), &place())?;
    let others: [fn(&mut HandshakeContext<'static>); 6] = [
        |place| place.caller.mac = mac(9),
        |place| place.called.mac = mac(9),
        |place| place.caller.instance = Instance([9; 8]),
        |place| place.called.instance = Instance([9; 8]),
        |place| place.frequency += 5,
        |place| place.ssid = b"freifunc",
    ];
    for (at, change) in others.iter().enumerate() {
        let mut other = place();
        change(&mut other);
        let told = answer(&secret(), &node(2), &other, &hello);
        assert_eq!(told.err(), Some(HandshakeError::Proof), "{at}");
    }
    assert!(answer(&secret(), &node(2), &place(), &hello).is_ok());
    Ok(())
}

#[test]
fn neither_a_stranger_nor_another_node_is_answered() -> Result<(), HandshakeError> {
    let stranger = Secret::new(b"another secret, just as long").expect("long enough");
    let (_, hello) = Initiator::begin(&stranger, &node(1), &place())?;
    assert!(answer(&secret(), &node(2), &place(), &hello).is_err());
    // A node that knows the secret calls in the name of the first.
    let (_, hello) = Initiator::begin(&secret(), &node(3), &place())?;
    assert!(answer(&secret(), &node(2), &place(), &hello).is_err());
    // An answer of one that has not the key of the called.
    let (mut caller, hello) = Initiator::begin(&secret(), &node(1), &place())?;
    assert!(answer(&secret(), &node(3), &place(), &hello).is_err());
    assert!(caller.end(&[7; 48]).is_err());
    Ok(())
}

#[test]
fn nothing_secret_is_printed() {
    let text = format!("{:?} {:?}", secret(), node(1));
    assert_eq!(text, "Secret(..) NodeKey(..)");
    let (caller, _) = Initiator::begin(&secret(), &node(1), &place()).expect("random numbers");
    assert_eq!(format!("{caller:?}"), "Caller(..)");
    let mut air = Air::usual(2);
    air.run(1000);
    let text = format!("{:?}", air.nodes[0].machine);
    assert!(
        text.contains("PairwiseKey(..)") || !text.contains("PairwiseKey"),
        "{text}"
    );
}

/// All messages are replayed, to an unchanged node and to a restarted one.
#[test]
fn what_is_recorded_is_of_no_use() {
    let mut air = Air::usual(2);
    air.run(1000);
    let recorded = air.frames.clone();
    assert_eq!(recorded.len(), 5);
    let keys: Vec<_> = air.nodes.iter().map(|node| node.keys.len()).collect();
    for _ in 0..20 {
        for frame in &recorded {
            for at in [0, 1] {
                air.happen(at, Event::Frame(frame));
            }
        }
        air.run(200);
    }
    assert!(air.is_whole());
    let now: Vec<_> = air.nodes.iter().map(|node| node.keys.len()).collect();
    assert_eq!(now, keys);
    assert!(air.nodes.iter().all(|node| node.removed.is_empty()));

    // The called side restarts, and the caller is absent.
    air.nodes[0].off = true;
    air.restart(1);
    let stale = beacon(mac(1), SSID, &air.nodes[0].machine.element().octets());
    for _ in 0..20 {
        air.said(0, &stale);
        for frame in &recorded {
            air.happen(1, Event::Frame(frame));
        }
        air.run(200);
    }
    assert!(air.nodes[1].stations.is_empty());
}

/// A hello that is repeated between an answer and the end of the handshake changes nothing.
#[test]
fn a_hello_said_again_does_not_disturb_the_first() {
    let (mut caller, mut called) = (machine(1, |_| {}), machine(2, |_| {}));
    called.handle(1000, Event::Beacon(&beacon_of(&caller, 1), None));
    let hello = sent(caller.handle(1000, Event::Beacon(&beacon_of(&called, 2), None)));
    let hello = hello.expect("the lower address calls");
    let answer = sent(hears(&mut called, 1000, &hello)).expect("an answer");
    assert_eq!(sent(hears(&mut called, 1010, &hello)), None);
    assert_eq!(called.refused.frames, 1);
    hears(&mut caller, 1020, &answer);
    let confirm = sent(caller.handle(1020, Event::Installed(mac(2), true)));
    let actions = hears(&mut called, 1030, &confirm.expect("it is through"));
    let installs = |action: &Action| matches!(action, Action::Install { .. });
    assert!(actions.iter().any(installs), "{actions:?}");
}

/// A node without processor time receives timely frames late, and behind other frames.
#[test]
fn what_waits_to_be_heard_counts_before_it_is_too_late() {
    let (mut caller, mut called) = (machine(1, |_| {}), machine(2, |_| {}));
    called.handle(1000, Event::Beacon(&beacon_of(&caller, 1), None));
    let hello = sent(caller.handle(1000, Event::Beacon(&beacon_of(&called, 2), None)));
    let answer = sent(hears(&mut called, 1000, &hello.expect("hello")));
    let answer = answer.expect("an answer");
    hears(&mut caller, 1000, &answer);
    let confirm = sent(caller.handle(1000, Event::Installed(mac(2), true)));
    hears(&mut called, 1000, &confirm.expect("it is through"));
    let done = sent(called.handle(1000, Event::Installed(mac(1), true)));
    let late = 1000 + CONFIRM[1] + 1000;
    caller.handle(late - 1500, Event::Beacon(&beacon_of(&called, 2), None));
    hears(&mut caller, late, &answer);
    hears(&mut caller, late, &done.expect("it is through, too"));
    caller.handle(late, Event::Tick);
    let states: Vec<State> = caller.shown().map(|shown| shown.state).collect();
    assert_eq!(states, [State::Alive]);
}

fn beacon_of(machine: &Machine, number: u8) -> Beacon {
    let frame = beacon(mac(number), SSID, &machine.element().octets());
    Beacon::read(&frame).expect("a beacon")
}

fn sent(actions: Vec<Action>) -> Option<Vec<u8>> {
    actions.into_iter().find_map(|action| match action {
        Action::Send(frame) => Some(frame),
        _ => None,
    })
}

fn hears(machine: &mut Machine, now: u64, frame: &[u8]) -> Vec<Action> {
    machine.handle(now, Event::Frame(frame))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Frames of a handshake in progress are changed, truncated, repeated and mixed with others: a
    /// station exists only with a key that the other side has.
    #[test]
    fn nobody_is_a_peer_without_a_proof(
        changes in prop::collection::vec((0_usize..8, 0_usize..150, any::<u8>(), any::<bool>()), 1..60)
    ) {
        let mut victim = machine(2, |_| {});
        let honest = machine(1, |_| {});
        let heard = beacon_of(&honest, 1);
        // Messages of an honest node to another one, to that one before its restart, and to us.
        let mut air = Air::usual(2);
        air.run(500);
        let mut known = air.frames.clone();
        let mut now = 1000;
        let mut answers = 0;
        for (which, at, change, cut) in changes {
            now += 50;
            victim.handle(now, Event::Beacon(&heard, Some(-50)));
            let mut frame = known.get(which % known.len()).cloned().unwrap_or_default();
            match frame.get_mut(at) {
                Some(octet) => *octet ^= change,
                None => frame.push(change),
            }
            if cut {
                frame.truncate(at);
            }
            for action in hears(&mut victim, now, &frame) {
                match action {
                    Action::Send(frame) => {
                        let read = Frame::read(&frame).expect("ours");
                        prop_assert!(matches!(read.kind, Kind::Answer));
                        answers += 1;
                        known.push(frame.clone());
                    }
                    Action::Listen(_) => {}
                    other => prop_assert!(false, "{other:?}"),
                }
            }
        }
        prop_assert!(answers <= 60);
        prop_assert!(victim.shown().count() <= 1);
    }
}
