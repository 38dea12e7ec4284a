//! Frames between members of a bridge: a pair of addresses is the flow, any EtherType is its
//! payload, and nothing changes but tags.

use kernel::Mac;
use weir_datapath::{PAIRS, Port};

use frames::*;

const ANN: Mac = [2, 0, 0, 0, 0x11, 1];
const BOB: Mac = [2, 0, 0, 0, 0x22, 2];
const BRIDGE: Mac = [2, 0, 0, 0, 0, 9];
/// Number of attempts before a proof counts as refused: the machine may be busy for longer than a
/// frame may be under way.
const TRIES: usize = 1000;

/// A bridge of three members; Ann is behind the first, Bob behind the second.
fn bridged() -> Router {
    let mut router = Router::new(Options {
        bridge: true,
        ..brief()
    });
    for link in [LAN, WAN, WAN_TOO] {
        let port = Port {
            floods: true,
            bridges: true,
            ..Port::new(link, BRIDGE, true)
        };
        router.path.declare(&port).expect("a port");
    }
    router.path.bridges.set(true);
    router
        .path
        .install_pair(PAIRS, [BOB, ANN])
        .expect("there is room");
    router
}

/// Returns a frame: addresses, tags and EtherType as one row of 16-bit words, and a payload unique
/// to `number`.
fn frame(to: Mac, from: Mac, words: &[u16], number: u8, payload: usize) -> Vec<u8> {
    let mut frame = [to, from].concat();
    frame.extend(words.iter().flat_map(|word| word.to_be_bytes()));
    frame.extend((0..payload).map(|i| (i as u8).wrapping_mul(3).wrapping_add(number)));
    frame
}

/// Returns the frame that the bridge must send: it came in at `link`.
fn leaves(router: &mut Router, out: u32, came_in: u32, frame: &[u8]) -> Option<Reason> {
    let mut fields = SkbFields {
        ingress: came_in,
        ..Default::default()
    };
    router.leave_skb(out, frame, &mut fields)
}

/// Sends a frame through the kernel; returns the witness's reason.
fn through(router: &mut Router, (link, came): (u32, &[u8]), (out, left): (u32, &[u8])) -> Option<Reason> {
    match router.run(Hook::Tc, link, came) {
        Outcome::Passed(_) => leaves(router, out, link, left),
        Outcome::Forwarded(_) | Outcome::Dropped(_) => None,
    }
}

fn proven(router: &mut Router, way: usize) -> bool {
    router.path.read(PAIRS).expect("known")[way].proven
}

/// Lets frames pass until they are proven.
fn prove(router: &mut Router, way: usize, came: (u32, &[u8]), left: (u32, &[u8])) {
    for _ in 0..TRIES {
        if proven(router, way) {
            return;
        }
        through(router, came, left);
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    panic!("never proven");
}

/// Ann to Bob, by IPv4.
fn ordinary() -> Vec<u8> {
    frame(BOB, ANN, &[0x0800], 1, 100)
}

fn prove_ordinary(router: &mut Router) {
    let frame = ordinary();
    prove(router, 0, (LAN, &frame), (WAN, &frame));
}

#[test]
fn two_frames_prove_and_nothing_in_those_after_them_changes() {
    let mut router = bridged();
    let first = ordinary();
    assert_eq!(router.run(Hook::Tc, LAN, &first), Outcome::Passed(Reason::Unproven));
    prove_ordinary(&mut router);
    assert!(!proven(&mut router, 1), "each direction by itself");
    for (words, payload, what) in [
        (&[0x0800][..], 100, "IPv4"),
        (&[0x0800], 46, "as short as Ethernet has it"),
        (&[0x86dd], 90, "IPv6"),
        (&[0x8864], 60, "a PPPoE session that ends elsewhere"),
        (&[0x88b5], 60, "anything"),
        (&[0x0040], 64, "a length: LLC"),
    ] {
        let sent = frame(BOB, ANN, words, 7, payload);
        for hook in HOOKS {
            let outcome = router.run(hook, LAN, &sent);
            assert_eq!(outcome, Outcome::Forwarded(sent.clone()), "{what} at {hook:?}");
        }
    }
    let back = frame(ANN, BOB, &[0x0800], 1, 100);
    for hook in HOOKS {
        assert_eq!(router.run(hook, WAN, &back), Outcome::Passed(Reason::Unproven));
    }
    let readings = router.path.read(PAIRS).expect("known");
    assert_eq!((readings[0].packets, readings[1].packets), (12, 0));
}

#[test]
fn what_is_the_kernels_whatever_is_proven() {
    let mut router = bridged();
    prove_ordinary(&mut router);
    let group: Mac = [0x01, 0x80, 0xc2, 0, 0, 0];
    for (to, from, words, payload, reason, why) in [
        (group, ANN, &[0x0027][..], 60, Reason::NotOurs, "spanning tree"),
        ([0xff; 6], ANN, &[0x0800], 60, Reason::NotOurs, "broadcast"),
        ([3, 0, 0, 0, 0x22, 2], ANN, &[0x0800], 60, Reason::NotOurs, "a group that looks like Bob"),
        (BRIDGE, ANN, &[0x88b5], 60, Reason::Ethertype, "for the router itself"),
        (BOB, ANN, &[0x0806], 60, Reason::Ethertype, "ARP: a bridge may answer it"),
        (BOB, ANN, &[0x888e], 60, Reason::Ethertype, "EAPOL"),
        (BOB, ANN, &[0x8100, 7, 0x0806], 60, Reason::Ethertype, "ARP behind a tag"),
        (BOB, BOB, &[0x0800], 60, Reason::Unknown, "another pair"),
        (BOB, ANN, &[0x0800], 101, Reason::Length, "longer than proven"),
        (BOB, ANN, &[0x8100, 7, 0x0800], 60, Reason::Moved, "behind a tag"),
    ] {
        let sent = frame(to, from, words, 7, payload);
        for hook in HOOKS {
            prove_ordinary(&mut router);
            assert_eq!(router.run(hook, LAN, &sent), Outcome::Passed(reason), "{why} at {hook:?}");
        }
    }
    for hook in HOOKS {
        assert_eq!(router.run(hook, WAN_TOO, &ordinary()), Outcome::Passed(Reason::Moved), "another member");
    }
}

#[test]
fn every_bit_of_both_addresses_counts() {
    let mut router = bridged();
    prove_ordinary(&mut router);
    for bit in 0..96 {
        let mut other = ordinary();
        other[bit / 8] ^= 1 << (bit % 8);
        for hook in HOOKS {
            let outcome = router.run(hook, LAN, &other);
            let known = matches!(outcome, Outcome::Passed(Reason::Unknown | Reason::NotOurs));
            assert!(known, "bit {bit} at {hook:?}: {outcome:?}");
        }
    }
}

#[test]
fn tags_come_and_go_as_the_bridge_was_seen_to_do_it() {
    let untagged: &[u16] = &[0x0800];
    let seven: &[u16] = &[0x8100, 0x6007, 0x0800];
    let both: &[u16] = &[0x88a8, 0x0064, 0x8100, 0x0007, 0x0800];
    for (came, left) in [
        (untagged, seven),
        (seven, untagged),
        (seven, &[0x8100, 0x0008, 0x0800]),
        (untagged, both),
        (both, untagged),
        (both, seven),
        (seven, both),
        (both, both),
    ] {
        let mut router = bridged();
        let at = |words, number| frame(BOB, ANN, words, number, 200);
        prove(&mut router, 0, (LAN, &at(came, 1)), (WAN, &at(left, 1)));
        for hook in HOOKS {
            let outcome = router.run(hook, LAN, &at(came, 2));
            // At TC the outermost tag, if added, is in the skb's metadata, which is not shown here.
            let shown = if hook == Hook::Tc && came != left && left.len() > 1 { &left[2..] } else { left };
            assert_eq!(outcome, Outcome::Forwarded(at(shown, 2)), "{came:x?} to {left:x?} at \
                {hook:?}");
        }
    }
    // Three: the third is payload.
    let mut router = bridged();
    let three = frame(BOB, ANN, &[0x8100, 1, 0x8100, 2, 0x8100, 3, 0x0800], 1, 100);
    prove(&mut router, 0, (LAN, &three), (WAN, &three));
    for hook in HOOKS {
        assert_eq!(router.run(hook, LAN, &three), Outcome::Forwarded(three.clone()));
    }
}

/// Ethernet requires 60 bytes: if a frame of just this length loses a tag, XDP pads it.
#[test]
fn a_frame_without_its_tag_is_not_too_short() {
    let mut router = bridged();
    let tagged = frame(BOB, ANN, &[0x8100, 7, 0x0800], 1, 42);
    let plain = frame(BOB, ANN, &[0x0800], 1, 42);
    prove(&mut router, 0, (LAN, &tagged), (WAN, &plain));
    let mut filled = plain.clone();
    filled.resize(60, 0);
    assert_eq!(router.run(Hook::Xdp, LAN, &tagged), Outcome::Forwarded(filled));
    assert_eq!(router.run(Hook::Tc, LAN, &tagged), Outcome::Forwarded(plain));
}

#[test]
fn what_left_is_no_proof_unless_it_is_what_came_in() {
    let mut router = bridged();
    let came = ordinary();
    let other = frame(BOB, ANN, &[0x0800], 2, 100);
    let longer = frame(BOB, ANN, &[0x0800], 1, 101);
    let short = frame(BOB, ANN, &[0x0800], 1, 27);
    for (came, came_in, left, why) in [
        (&came, LAN, &other, "another frame, perhaps of another VLAN"),
        (&came, LAN, &longer, "longer"),
        (&came, WAN_TOO, &came, "the kernel remembers another member"),
        (&short, LAN, &short, "too short to be known again"),
    ] {
        for _ in 0..10 {
            assert!(matches!(router.run(Hook::Tc, LAN, came), Outcome::Passed(_)));
            leaves(&mut router, WAN, came_in, left);
            assert!(!proven(&mut router, 0), "{why}");
        }
    }
    // Passed up to the bridge's own device and routed: a trial as a bridged frame proves nothing
    // about the routed one.
    for _ in 0..10 {
        router.run(Hook::Tc, LAN, &came);
        leaves(&mut router, WAN, 99, &came);
        assert!(!proven(&mut router, 0));
    }
    prove_ordinary(&mut router);
}

#[test]
fn a_flooded_frame_proves_nothing_and_flooding_ends_a_proof() {
    let mut router = bridged();
    let sent = ordinary();
    for _ in 0..20 {
        router.run(Hook::Tc, LAN, &sent);
        leaves(&mut router, WAN, LAN, &sent);
        leaves(&mut router, WAN_TOO, LAN, &sent);
        assert!(!proven(&mut router, 0));
    }
    prove_ordinary(&mut router);
    // The witness learned it, so it is a known hop.
    let longer = frame(BOB, ANN, &[0x0800], 1, 300);
    assert_eq!(router.run(Hook::Tc, LAN, &longer), Outcome::Passed(Reason::Length));
    leaves(&mut router, WAN, LAN, &longer);
    assert_eq!(leaves(&mut router, WAN_TOO, LAN, &longer), Some(Reason::Differs));
    assert!(!proven(&mut router, 0));
}

/// The station's frames come in elsewhere: frames to the station must prove again, even without a
/// message.
#[test]
fn a_station_that_moves() {
    let mut router = bridged();
    let (there, back) = (ordinary(), frame(ANN, BOB, &[0x0800], 1, 100));
    prove_ordinary(&mut router);
    prove(&mut router, 1, (WAN, &back), (LAN, &back));
    assert_eq!(router.run(Hook::Xdp, WAN_TOO, &back), Outcome::Passed(Reason::Moved));
    assert!(proven(&mut router, 0), "XDP leaves the judgement to TC");
    assert_eq!(router.run(Hook::Tc, WAN_TOO, &back), Outcome::Passed(Reason::Moved));
    assert!(!proven(&mut router, 0));
    prove(&mut router, 0, (LAN, &there), (WAN_TOO, &there));
    for hook in HOOKS {
        assert_eq!(router.run(hook, LAN, &there), Outcome::Forwarded(there.clone()));
    }
}

#[test]
fn pairs_that_are_not_known_are_told_once() {
    let mut router = bridged();
    let stranger: Mac = [2, 0, 0, 0, 0x33, 3];
    let sent = frame(BOB, stranger, &[0x0800], 1, 100);
    for _ in 0..3 {
        assert_eq!(through(&mut router, (LAN, &sent), (WAN, &sent)), None);
    }
    through(&mut router, (LAN, &ordinary()), (WAN, &ordinary()));
    assert_eq!(router.path.bridges.take_pairs().expect("read"), [[BOB, stranger]]);
    assert_eq!(router.path.bridges.take_pairs().expect("read"), [[BOB; 2]; 0]);
    // Routed: no pair of the bridge's.
    leaves(&mut router, WAN, 99, &sent);
    assert_eq!(router.path.bridges.take_pairs().expect("read"), [[BOB; 2]; 0]);
}

#[test]
fn switched_off_it_is_the_kernels_and_ports_that_do_not_bridge_do_not() {
    let mut router = bridged();
    prove_ordinary(&mut router);
    router.path.bridges.set(false);
    for hook in HOOKS {
        assert_eq!(router.run(hook, LAN, &ordinary()), Outcome::Passed(Reason::NotOurs));
    }
    router.path.bridges.set(true);
    for (port, way) in [
        (Port { ingress: false, ..Port::new(LAN, BRIDGE, true) }, Reason::Port),
        (Port { bridges: false, ..Port::new(LAN, BRIDGE, true) }, Reason::NotOurs),
    ] {
        router.path.declare(&port).expect("a port");
        for hook in HOOKS {
            assert_eq!(router.run(hook, LAN, &ordinary()), Outcome::Passed(way));
        }
    }
    let blind = Port { bridges: true, sees_tags: false, ..Port::new(LAN, BRIDGE, true) };
    router.path.declare(&blind).expect("a port");
    assert_eq!(router.run(Hook::Xdp, LAN, &ordinary()), Outcome::Passed(Reason::NotOurs));
    assert_eq!(router.run(Hook::Tc, LAN, &ordinary()), Outcome::Forwarded(ordinary()));
}

#[test]
fn a_pair_that_was_removed_is_not_known_and_a_bump_ends_its_proof() {
    let mut router = bridged();
    prove_ordinary(&mut router);
    router.path.heartbeat.invalidate_all().expect("bumps");
    for hook in HOOKS {
        assert_eq!(router.run(hook, LAN, &ordinary()), Outcome::Passed(Reason::Unproven));
    }
    prove_ordinary(&mut router);
    router.path.remove(PAIRS);
    for hook in HOOKS {
        assert_eq!(router.run(hook, LAN, &ordinary()), Outcome::Passed(Reason::Unknown));
    }
}

/// A frame of a routed connection that is bridged all the same: it is the bridge's, and no proof
/// for the connection.
#[test]
fn routed_connections_are_not_touched() {
    let mut router = bridged();
    let original = tuple(Tcp, "192.168.1.2", 40000, "10.0.0.2", 443);
    let connection = router
        .connect(original, original.reversed())
        .expect("room");
    let packet = connection.frame(ORIGINAL).bytes();
    let mut bridged = packet.clone();
    bridged[..6].copy_from_slice(&BOB);
    bridged[6..12].copy_from_slice(&ANN);
    for _ in 0..5 {
        through(&mut router, (LAN, &bridged), (WAN, &bridged));
        assert!(!router.proven(&connection, ORIGINAL));
    }
}

/// No device takes a frame in several buffers from XDP before Linux 6.3, and not all do later.
#[test]
fn a_frame_in_several_buffers_is_passed_by_xdp() {
    let mut router = bridged();
    // Of a super-packet the segments count.
    let short = frame(BOB, ANN, &[0x88b5], 1, 3000);
    let fields = || SkbFields {
        ingress: LAN,
        gso_size: 8000,
        gso_segs: 2,
        ..Default::default()
    };
    for _ in 0..TRIES {
        if proven(&mut router, 0) {
            break;
        }
        router.run_skb(LAN, &short, &mut fields());
        router.leave_skb(WAN, &short, &mut fields());
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert!(proven(&mut router, 0));
    let long = frame(BOB, ANN, &[0x88b5], 1, 8000);
    let outcome = router.run(Hook::Xdp, LAN, &long);
    assert_eq!(outcome, Outcome::Passed(Reason::Hook));
    let outcome = router.run(Hook::Xdp, LAN, &short);
    assert_eq!(outcome, Outcome::Forwarded(short));
}
