//! Untrusted input at a router's port: any frame, and hellos of the mesh that are recorded, cut,
//! changed and replayed. No panic, no proof but for the neighbour that answered, and no more frames
//! than allowed.
#![no_main]

use std::sync::LazyLock;

use cables_core::hello::{
    AGAIN_AT_MOST, FIRST, FOR_NEWCOMER, LONGEST, MOST_PEERS, MeshKey, NodeKey, PAUSE, Port, State,
    VXLAN,
};
use libfuzzer_sys::fuzz_target;

const OURS: [u8; 6] = [2, 0, 0, 0, 0, 1];
const THEIRS: [u8; 6] = [2, 0, 0, 0, 0, 2];

/// The port under test, which received a neighbour's hello before and after its own.
static STARTED: LazyLock<(Port, [Vec<u8>; 3])> = LazyLock::new(|| {
    let mesh = MeshKey::from_secret(&[7; 32]).expect("long enough");
    let port = |seed, mac| {
        let node = NodeKey::from_seed([seed; 32]).expect("a key");
        let mut port = Port::new(Some(&mesh), &node, mac, VXLAN);
        port.link([seed; 16], 0);
        port
    };
    let (ours, mut theirs) = (port(1, OURS), port(2, THEIRS));
    let own = ours.clone().due(0).expect("the first");
    let first = theirs.clone().due(0).expect("the first");
    theirs.heard(&own, &[], 0);
    let proof = theirs.due(0).expect("the first");
    (ours, [first, proof, own])
});

fuzz_target!(|octets: &[u8]| {
    let (port, recorded) = &*STARTED;
    let (mut port, mut data) = (port.clone(), octets);
    let (mut now, mut sent, mut last) = (0_u64, 0, None);
    while let Some((&[how, length], rest)) = data.split_first_chunk() {
        let (part, rest) = rest.split_at(usize::from(length).min(rest.len()));
        data = rest;
        now += u64::from(how >> 4) * 100;
        let before = port.vxlan();
        if how & 12 == 12 {
            port.stations(part.as_chunks().0, now);
        }
        let mut frame = match recorded.get(usize::from(how & 3)) {
            Some(recorded) => recorded.clone(),
            None => part.to_vec(),
        };
        let whole = part.is_empty() || how & 3 == 3;
        if !whole {
            // Changes bytes from a position on, or replaces the whole tail.
            let place = usize::from(part[0]).min(frame.len());
            if how & 4 != 0 {
                frame.truncate(place);
            }
            for (at, octet) in part[1..].iter().enumerate() {
                match frame.get_mut(place + at) {
                    Some(changed) => *changed ^= octet,
                    None => frame.push(*octet),
                }
            }
        }
        let told = port.heard(&frame, &[OURS], now);
        if told.is_some_and(|told| told.state == State::Proven) {
            assert_eq!(frame, recorded[1]);
        }
        if let Some(frame) = port.due(now) {
            assert!(frame.len() <= LONGEST);
            assert!(last.is_none_or(|last| now - last >= PAUSE));
            last = Some(now);
            sent += 1;
        }
        // The VXLAN number is stable, and needs a neighbour.
        let proven = port.peers().iter().any(|peer| peer.proven);
        let vxlan = port.vxlan();
        assert!(vxlan.is_none() || proven && vxlan < Some(1 << 24));
        assert!(before.is_none() || vxlan == before);
        assert!(port.peers().len() <= MOST_PEERS);
        assert!(port.peers().iter().all(|peer| peer.mac == THEIRS));
    }
    // At most one neighbour and one VXLAN, whose membership is not announced.
    let most = FIRST + 2 * FOR_NEWCOMER + AGAIN_AT_MOST;
    assert!(sent <= most, "{sent}");
});
