//! Hellos between ports in memory, and attacks on them.

use std::fmt::Write;

use cables_core::hello::{
    BATMAN, FIRST, FOR_NEWCOMER, Fault, GROUP, InvalidKey, LONGEST, MOST_PEERS, MeshKey, NodeKey,
    PATIENCE, PAUSE, Port, ReceivedHello, SHORTEST, State,
};
use detect::Mac;
use proptest::prelude::*;

const SECRET: &[u8] = b"sixteen or more octets";
const A: Mac = [2, 0, 0, 0, 0, 0x0a];
const B: Mac = [2, 0, 0, 0, 0, 0x0b];
const C: Mac = [2, 0, 0, 0, 0, 0x0c];

fn mesh() -> MeshKey {
    MeshKey::from_secret(SECRET).expect("long enough")
}

fn node(seed: u8) -> NodeKey {
    NodeKey::from_seed([seed; 32]).expect("a key")
}

/// A port with a link, of the node of this seed.
fn port(seed: u8, mac: Mac, nonce: u8) -> Port {
    let mut port = Port::new(Some(&mesh()), &node(seed), mac, BATMAN);
    port.link([nonce; 16], 0);
    port
}

fn says(port: &mut Port, now: u64) -> Vec<u8> {
    port.due(now).expect("a hello is due")
}

fn hears(port: &mut Port, frame: &[u8], now: u64) -> State {
    heard(port, frame, now).state
}

fn heard(port: &mut Port, frame: &[u8], now: u64) -> ReceivedHello {
    port.heard(frame, &[], now).expect("a hello")
}

/// A and B, and the hello by which B proves itself to A.
fn met() -> (Port, Port, Vec<u8>) {
    let (mut a, mut b) = (port(1, A, 0xa0), port(2, B, 0xb0));
    let frame = says(&mut a, 0);
    assert_eq!(hears(&mut b, &frame, 0), State::NotYet);
    let proof = says(&mut b, 0);
    (a, b, proof)
}

fn proven(port: &Port) -> Vec<Mac> {
    let proven = port.peers().iter().filter(|peer| peer.proven);
    proven.map(|peer| peer.mac).collect()
}

/// Returns the times of all hellos of a port until it has none to send.
fn all(port: &mut Port, mut now: u64) -> Vec<u64> {
    let mut times = Vec::new();
    while let Some(next) = port.wake(now) {
        assert!(next >= now);
        now = next;
        assert!(port.due(now).is_some(), "awake for nothing");
        times.push(now);
    }
    times
}

#[test]
fn two_ports_prove_each_other_with_three_frames() {
    let (mut a, mut b, second) = met();
    let told = heard(&mut a, &second, 0);
    assert_eq!(told.state, State::Proven);
    assert_eq!((told.node, told.peer), (node(2).public(), B));
    assert_eq!((told.mesh, told.capabilities), (mesh().network(), BATMAN));
    assert_eq!(a.due(PAUSE - 1), None);
    let third = says(&mut a, PAUSE);
    assert_eq!(hears(&mut b, &third, PAUSE), State::Proven);
    assert_eq!((proven(&a), proven(&b)), (vec![B], vec![A]));
    assert!(!a.behind_switch());
}

#[test]
fn whoever_comes_when_all_was_said_is_met_too() {
    let mut a = port(1, A, 0xa0);
    assert_eq!(
        all(&mut a, 0),
        [0, 1, 3, 7, 15, 31, 63, 127].map(|s| s * PAUSE)
    );
    let late = 9_000_000;
    let mut b = Port::new(Some(&mesh()), &node(2), B, 0);
    b.link([0xb0; 16], late);
    let first = says(&mut b, late);
    assert_eq!(hears(&mut a, &first, late), State::NotYet);
    let second = says(&mut a, late);
    assert_eq!(hears(&mut b, &second, late), State::Proven);
    let third = says(&mut b, late + PAUSE);
    assert_eq!(hears(&mut a, &third, late + PAUSE), State::Proven);
}

#[test]
fn what_was_recorded_proves_nothing_elsewhere_or_later() {
    let (mut a, _, proof) = met();
    // At another port of the same router, at another router.
    assert_eq!(hears(&mut port(1, C, 0xa0), &proof, 0), State::NotYet);
    assert_eq!(hears(&mut port(3, C, 0xc0), &proof, 0), State::NotYet);
    assert_eq!(hears(&mut a, &proof, 0), State::Proven);
    // With another link of the same port, without one.
    a.link([0xa1; 16], 5000);
    assert!(a.peers().is_empty());
    assert_eq!(hears(&mut a, &proof, 5000), State::NotYet);
    assert!(proven(&a).is_empty());
    a.unlink();
    assert_eq!(hears(&mut a, &proof, 5000), State::NotYet);
    assert!(a.peers().is_empty());
    assert_eq!((a.due(9000), a.wake(9000)), (None, None));
}

#[test]
fn no_bit_can_be_changed() {
    let (a, _, proof) = met();
    assert_eq!(hears(&mut a.clone(), &proof, 0), State::Proven);
    for bit in 0..proof.len() * 8 {
        let mut changed = proof.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        let mut a = a.clone();
        let state = a.heard(&changed, &[], 0).map(|told| told.state);
        let refused = matches!(
            state,
            None | Some(
                State::OtherMesh | State::Forged(Fault::Source | Fault::Proof | Fault::Signature)
            )
        );
        assert!(refused, "bit {bit}: {state:?}");
        assert!(a.peers().is_empty(), "bit {bit}");
    }
}

#[test]
fn no_octet_can_be_left_out_or_added() {
    let (mut a, _, proof) = met();
    for end in 0..proof.len() {
        assert_eq!(a.heard(&proof[..end], &[], 0), None, "{end}");
    }
    let longer = [&proof[..], &[0]].concat();
    assert_eq!(a.heard(&longer, &[], 0), None);
    let mut tagged = proof;
    tagged.splice(12..12, [0x81, 0, 0, 7]);
    assert_eq!(a.heard(&tagged, &[], 0), None);
}

#[test]
fn another_mesh_is_told_and_not_answered() {
    let other = MeshKey::from_secret(b"another secret of a mesh").expect("long enough");
    let mut stranger = Port::new(Some(&other), &node(2), B, 0);
    stranger.link([0xb0; 16], 0);
    let frame = says(&mut stranger, 0);
    let mut a = port(1, A, 0xa0);
    let told = heard(&mut a, &frame, 0);
    assert_eq!((told.state, told.mesh), (State::OtherMesh, other.network()));
    assert_ne!(other.network(), mesh().network());
    assert_eq!(says(&mut a, 0).len(), SHORTEST);
    assert_eq!(all(&mut a, 0).len() as u32, FIRST - 1);
    // A node without a mesh sends nothing, and receives the hellos of others.
    let mut none = Port::new(None, &node(3), C, 0);
    none.link([0xc0; 16], 0);
    assert_eq!(hears(&mut none, &frame, 0), State::OtherMesh);
    assert_eq!((none.due(0), none.wake(0)), (None, None));
}

#[test]
fn whoever_has_the_name_of_the_mesh_and_not_its_key_forges() {
    let other = MeshKey::from_secret(b"another secret of a mesh").expect("long enough");
    let mut stranger = Port::new(Some(&other), &node(2), B, 0);
    stranger.link([0xb0; 16], 0);
    let mut frame = says(&mut stranger, 0);
    frame[22..30].copy_from_slice(&mesh().network());
    let state = hears(&mut port(1, A, 0xa0), &frame, 0);
    assert_eq!(state, State::Forged(Fault::Proof));
}

#[test]
fn whoever_has_the_key_of_the_mesh_is_no_other_node() {
    let (mut a, _, mut frame) = met();
    // B's place, C's key of a node: with the mesh's key a right proof can be made.
    frame[30..62].copy_from_slice(&node(3).public());
    let end = frame.len() - 96;
    let proof = prove(&frame[..end]);
    frame[end..end + 32].copy_from_slice(&proof);
    assert_eq!(hears(&mut a, &frame, 0), State::Forged(Fault::Signature));
}

/// The proof, made by the table of docs/reference/cables-hello.md.
fn prove(octets: &[u8]) -> Vec<u8> {
    use ring::hmac::{HMAC_SHA256, Key, sign};
    let secret = Key::new(HMAC_SHA256, SECRET);
    let key = Key::new(HMAC_SHA256, sign(&secret, b"weir hello 1 proof").as_ref());
    sign(&key, octets).as_ref().to_vec()
}

/// The signature of the node of this seed, by the same table.
fn sign(seed: u8, octets: &[u8]) -> Vec<u8> {
    let key = ring::signature::Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).expect("a key");
    key.sign(&[b"weir hello 1\n", octets].concat())
        .as_ref()
        .to_vec()
}

/// Any content of a node of the mesh is either a hello of this version, to this group, or no hello.
#[test]
fn another_version_and_another_group_are_no_hello_though_they_are_proven() {
    let (mut a, _, proof) = met();
    let again = |place: usize, octet: u8| {
        let mut frame = proof[..proof.len() - 96].to_vec();
        frame[place] = octet;
        frame.extend(prove(&frame));
        frame.extend(sign(2, &frame));
        frame
    };
    assert_eq!(again(18, 1), proof);
    for (place, octet) in [
        (5, 0),
        (0, 3),
        (13, 0xb6),
        (14, b'W'),
        (18, 0),
        (18, 2),
        (19, 0),
    ] {
        assert_eq!(a.heard(&again(place, octet), &[], 0), None, "{place}");
    }
}

#[test]
fn an_own_hello_that_comes_back_is_a_loop() {
    let (mut one, mut two) = (port(1, A, 0xa0), port(1, B, 0xa1));
    let frame = says(&mut one, 0);
    let told = two.heard(&frame, &[A, B], 0).expect("a hello");
    assert_eq!((told.state, told.peer), (State::Own, A));
    assert_eq!(Some(told.nonce), one.nonce());
    // At the same port: a switch with a loop behind it.
    assert_eq!(hears(&mut one, &frame, 0), State::Own);
    assert!(one.peers().is_empty() && two.peers().is_empty());
    // With the next link it is one that was recorded.
    one.link([0xa2; 16], 0);
    assert_eq!(hears(&mut one, &frame, 0), State::Forged(Fault::Old));
    // An address of ours needs our key, our key an address of ours.
    let stranger = says(&mut port(2, A, 0xb0), 0);
    let state = two.heard(&stranger, &[A, B], 0).map(|told| told.state);
    assert_eq!(state, Some(State::Forged(Fault::OwnMac)));
    let copy = says(&mut port(1, C, 0xb0), 0);
    let state = two.heard(&copy, &[A, B], 0).map(|told| told.state);
    assert_eq!(state, Some(State::Forged(Fault::OwnKey)));
}

#[test]
fn a_hello_that_is_sent_on_from_another_address_is_refused() {
    let (mut a, _, mut proof) = met();
    proof[6..12].copy_from_slice(&C);
    assert_eq!(hears(&mut a, &proof, 0), State::Forged(Fault::Source));
}

#[test]
fn an_answer_to_somebody_else_proves_nothing() {
    let (_, _, to_a) = met();
    // C has A's nonce, or A's address, but not both.
    assert_eq!(hears(&mut port(3, C, 0xa0), &to_a, 0), State::NotYet);
    assert_eq!(hears(&mut port(3, A, 0xc0), &to_a, 0), State::NotYet);
}

#[test]
fn two_nodes_at_one_port_are_a_switch() {
    let (mut a, _, proof) = met();
    let mut c = port(3, C, 0xc0);
    let next = says(&mut a, PAUSE);
    assert_eq!(hears(&mut c, &next, 0), State::NotYet);
    let of_c = says(&mut c, 0);
    assert_eq!(hears(&mut a, &proof, 0), State::Proven);
    assert!(!a.behind_switch());
    assert_eq!(hears(&mut a, &of_c, 0), State::Proven);
    assert_eq!(proven(&a), [B, C]);
    assert!(a.behind_switch());
}

#[test]
fn a_neighbour_with_a_new_link_of_its_own_is_one_neighbour() {
    let (mut a, mut b, proof) = met();
    assert_eq!(hears(&mut a, &proof, 0), State::Proven);
    b.link([0xb1; 16], 2000);
    let first = says(&mut b, 2000);
    assert_eq!(hears(&mut a, &first, 2000), State::NotYet);
    // Until the new one is proven, the old one is.
    assert_eq!((proven(&a), a.peers().len()), (vec![B], 2));
    let answer = says(&mut a, 3000);
    assert_eq!(hears(&mut b, &answer, 3000), State::Proven);
    let again = says(&mut b, 3000);
    assert_eq!(hears(&mut a, &again, 3000), State::Proven);
    assert_eq!((proven(&a), a.peers().len()), (vec![B], 1));
    assert_eq!(a.peers()[0].nonce, [0xb1; 16]);
    assert!(!a.behind_switch());
}

#[test]
fn a_thousand_forged_hellos_change_nothing() {
    let (mut a, _, proof) = met();
    assert_eq!(hears(&mut a, &proof, 0), State::Proven);
    let mut quiet = a.clone();
    for place in 0..1000_u64 {
        let mut forged = proof.clone();
        forged[68..76].copy_from_slice(&place.to_be_bytes());
        assert_eq!(hears(&mut a, &forged, place), State::Forged(Fault::Proof));
    }
    assert_eq!((proven(&a), a.peers().len()), (vec![B], 1));
    assert_eq!(all(&mut a, 1000), all(&mut quiet, 1000));
}

#[test]
fn a_thousand_recorded_hellos_are_answered_slowly_and_push_nobody_out() {
    let (mut a, _, proof) = met();
    assert_eq!(hears(&mut a, &proof, 0), State::Proven);
    // Ten seconds between them, and all that is said in the meantime.
    let (mut now, mut sent) = (0, 0);
    for place in 0..1000_u16 {
        let [high, low] = place.to_be_bytes();
        let frame = says(&mut port(3, [2, 0, 0, 1, high, low], low), 0);
        assert_eq!(hears(&mut a, &frame, now), State::NotYet);
        assert!(a.peers().len() <= MOST_PEERS);
        for second in 0..10 {
            let frame = a.due(now + second * PAUSE);
            assert!(frame.as_ref().is_none_or(|frame| frame.len() <= LONGEST));
            sent += u32::from(frame.is_some());
        }
        now += 10 * PAUSE;
    }
    assert_eq!(proven(&a), [B]);
    let turns = (now / PATIENCE + 1) as u32 * (MOST_PEERS as u32 - 1);
    assert!(sent <= FIRST + turns * FOR_NEWCOMER, "{sent}");
    // A burst of them, later: as many as have places.
    let mut burst = a.clone();
    all(&mut burst, now);
    now += 10 * PATIENCE;
    for low in 0..200 {
        let frame = says(&mut port(4, [2, 0, 0, 2, 0, low], low), 0);
        hears(&mut burst, &frame, now);
    }
    assert_eq!(all(&mut burst, now).len() as u32, FOR_NEWCOMER);
}

#[test]
fn a_recorded_hello_of_this_link_takes_nothing_from_its_sender() {
    let (mut a, mut b) = (port(1, A, 0xa0), port(2, B, 0xb0));
    let early = says(&mut b, 0);
    let frame = says(&mut a, 0);
    hears(&mut b, &frame, 0);
    let proof = says(&mut b, PAUSE);
    assert_eq!(hears(&mut a, &proof, PAUSE), State::Proven);
    assert_eq!(hears(&mut a, &early, PAUSE), State::NotYet);
    assert_eq!(proven(&a), [B]);
}

#[test]
fn four_neighbours_at_most_and_320_octets() {
    let mut a = port(1, A, 0xa0);
    let first = says(&mut a, 0);
    for place in 0..6 {
        let mut other = port(10 + place, [2, 0, 0, 0, 1, place], place);
        hears(&mut other, &first, 0);
        let frame = says(&mut other, 0);
        assert_eq!(hears(&mut a, &frame, 0), State::Proven);
    }
    assert_eq!(proven(&a).len(), MOST_PEERS);
    let frame = says(&mut a, PAUSE);
    assert_eq!((frame.len(), &frame[..6]), (LONGEST, &GROUP[..]));
    assert!(frame.len() <= 320);
}

#[test]
fn who_is_proven_gets_the_place_of_who_is_not() {
    let (mut a, _, proof) = met();
    for low in 0..5 {
        let frame = says(&mut port(3, [2, 0, 0, 1, 0, low], low), 0);
        hears(&mut a, &frame, 0);
    }
    assert_eq!((a.peers().len(), proven(&a).len()), (MOST_PEERS, 0));
    assert_eq!(hears(&mut a, &proof, 0), State::Proven);
    assert_eq!((a.peers().len(), proven(&a)), (MOST_PEERS, vec![B]));
}

#[test]
fn keys_are_long_enough_and_not_shown() {
    let short = MeshKey::from_secret(&[7; 15]).map(|_| ());
    assert_eq!(short, Err(InvalidKey::Short));
    let shown = format!("{:?} {:?} {:?}", mesh(), node(0x77), port(0x77, A, 1));
    let secret = format!("{SECRET:?}");
    let seed = format!("{:?}", [0x77_u8; 32]);
    for hidden in [&secret, &seed] {
        let inner = hidden.trim_matches(['[', ']']);
        assert!(!shown.contains(inner), "{shown}");
    }
}

fn line(text: &mut String, name: &str, octets: &[u8]) {
    for (place, octets) in octets.chunks(32).enumerate() {
        let name = if place == 0 { name } else { "" };
        let _ = writeln!(text, "{name:<14}{}", net::hex::text(octets));
    }
}

/// Bytes from `first` on, each one more than the one before.
fn counting<const N: usize>(first: u8) -> [u8; N] {
    std::array::from_fn(|place| first + place as u8)
}

#[test]
fn the_example_of_the_documentation_is_what_is_said() {
    let mesh = MeshKey::from_secret(&counting::<32>(0)).expect("long enough");
    let (one, two) = (counting(0x20), counting(0x40));
    let key = |seed| NodeKey::from_seed(seed).expect("a key");
    let mut a = Port::new(Some(&mesh), &key(one), A, 0);
    let mut b = Port::new(Some(&mesh), &key(two), B, BATMAN);
    a.link(counting(0x60), 0);
    b.link(counting(0x70), 0);
    let first = says(&mut a, 0);
    assert_eq!(hears(&mut b, &first, 0), State::NotYet);
    let second = says(&mut b, 0);
    assert_eq!(hears(&mut a, &second, 0), State::Proven);
    let mut text = String::new();
    line(&mut text, "secret", &counting::<32>(0));
    line(&mut text, "mesh", &mesh.network());
    let _ = writeln!(text, "VXLAN         {}", mesh.vxlan());
    line(&mut text, "A's seed", &one);
    line(&mut text, "A's key", &key(one).public());
    line(&mut text, "A's nonce", &counting::<16>(0x60));
    line(&mut text, "B's seed", &two);
    line(&mut text, "B's key", &key(two).public());
    line(&mut text, "B's nonce", &counting::<16>(0x70));
    line(&mut text, "A's hello", &first);
    line(&mut text, "B's hello", &second);
    let page = include_str!("../../../../../docs/reference/cables-hello.md");
    assert!(page.contains(&text), "the page needs:\n{text}");
}

proptest! {
    // Each case signs many times, which is slow in unoptimised builds.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_octets_are_read_or_left(octets: Vec<u8>, tail: Vec<u8>, count in 0_u8..6) {
        let mut a = port(1, A, 0xa0);
        a.heard(&octets, &[A, B], 0);
        let mut frame = says(&mut port(2, B, 0xb0), 0);
        frame[19] = count;
        frame.truncate(20);
        frame.extend(tail);
        frame.resize(SHORTEST + usize::from(count) * 22, 0x5a);
        let told = a.heard(&frame, &[], u64::MAX).map(|told| told.state);
        prop_assert!(!matches!(told, Some(State::Proven | State::NotYet | State::Own)));
        prop_assert!(a.peers().is_empty());
    }

    #[test]
    fn never_more_than_one_in_a_second(
        steps in prop::collection::vec((0_u64..3000, 0_u8..9), 0..60),
    ) {
        let (mut a, mut now, mut last) = (port(1, A, 0xa0), 0, None);
        for (step, who) in steps {
            now += step;
            let frame = says(&mut port(5 + who, [2, 0, 0, 0, 2, who], who), 0);
            a.heard(&frame, &[], now);
            if let Some(frame) = a.due(now) {
                prop_assert!(frame.len() <= LONGEST);
                prop_assert!(last.is_none_or(|last| now - last >= PAUSE));
                last = Some(now);
            }
        }
    }
}
