//! Trap 18 and bridges: a port that may flood, a station that moves, and the device that the kernel
//! remembers.

use weir_datapath::{Port, STACK_PPP};

use frames::edit::{get16, is_tcp, l4, mend, put16, udp_length};
use frames::*;

/// A router whose WAN side is a bridge of two members.
fn bridged() -> Router {
    let mut router = Router::standard();
    for (link, mac) in [(WAN, ROUTER_WAN), (WAN_TOO, ROUTER_WAN)] {
        let port = Port {
            floods: true,
            ..Port::new(link, mac, true)
        };
        router.path.declare(&port).expect("a port");
    }
    router
}

/// Sends a packet, and returns the witness's reason for each copy.
fn passes_once(router: &mut Router, connection: &Connection, out: &[u32]) -> Vec<Option<Reason>> {
    let frame = connection.frame(ORIGINAL);
    let leaves = connection.sent(ORIGINAL, &frame).bytes();
    let outcome = router.run(Hook::Tc, LAN, &frame.bytes());
    assert!(matches!(outcome, Outcome::Passed(_)), "{outcome:?}");
    out.iter()
        .map(|link| router.leave(*link, &leaves))
        .collect()
}

/// Packets that leave by one port only prove with the second.
#[test]
fn a_member_of_a_bridge_proves_with_two_packets() {
    let mut router = bridged();
    for connection in router.connections.clone() {
        let mut tries = 0;
        while !router.proven(&connection, ORIGINAL) {
            let said = passes_once(&mut router, &connection, &[WAN]);
            assert!(
                matches!(said[0], None | Some(Reason::Once | Reason::NotSeen)),
                "{said:?}"
            );
            tries += 1;
            assert!(tries < 1000);
        }
        assert!(tries >= 2, "one packet was enough");
        router.forwards(LAN, &connection.frame(ORIGINAL), "proven");
    }
}

/// A bridge without an entry for the station sends to all members: weir must not choose one.
#[test]
fn a_flooded_packet_proves_nothing() {
    let mut router = bridged();
    for connection in router.connections.clone() {
        for _ in 0..20 {
            passes_once(&mut router, &connection, &[WAN, WAN_TOO]);
            assert!(
                !router.proven(&connection, ORIGINAL),
                "{}",
                connection.original
            );
        }
        // Learned at last.
        for _ in 0..1000 {
            passes_once(&mut router, &connection, &[WAN_TOO]);
            if router.proven(&connection, ORIGINAL) {
                break;
            }
        }
        assert!(
            router.proven(&connection, ORIGINAL),
            "{}",
            connection.original
        );
    }
}

/// Weir may not send by one of the members: weir still sees the copy there, whichever copy comes
/// first.
#[test]
fn a_copy_that_leaves_where_weir_may_not_send_is_one() {
    let mut router = bridged();
    let seen_only = Port {
        ingress: false,
        egress: false,
        floods: true,
        ..Port::new(WAN_TOO, [0; 6], false)
    };
    router.path.declare(&seen_only).expect("a port");
    for connection in router.connections.clone() {
        for out in [[WAN, WAN_TOO], [WAN_TOO, WAN]] {
            for _ in 0..20 {
                passes_once(&mut router, &connection, &out);
                let proven = router.proven(&connection, ORIGINAL);
                assert!(!proven, "{}, by {out:?}", connection.original);
            }
        }
        // Learned at last. The next copy ends the proof, even if it leaves first.
        for out in [[WAN, WAN_TOO], [WAN_TOO, WAN]] {
            while !router.proven(&connection, ORIGINAL) {
                passes_once(&mut router, &connection, &[WAN]);
            }
            let longer = connection.frame(ORIGINAL).payload(500);
            let leaves = connection.sent(ORIGINAL, &longer).bytes();
            router.run(Hook::Tc, LAN, &longer.bytes());
            for link in out {
                router.leave(link, &leaves);
            }
            let proven = router.proven(&connection, ORIGINAL);
            assert!(!proven, "{}, by {out:?}", connection.original);
        }
    }
}

/// A proof ends when a copy leaves elsewhere: the bridge has forgotten the station.
#[test]
fn flooding_ends_a_proof() {
    let mut router = bridged();
    for connection in router.connections.clone() {
        while !router.proven(&connection, ORIGINAL) {
            passes_once(&mut router, &connection, &[WAN]);
        }
        let longer = connection.frame(ORIGINAL).payload(500);
        let leaves = connection.sent(ORIGINAL, &longer).bytes();
        let outcome = router.run(Hook::Tc, LAN, &longer.bytes());
        assert_eq!(outcome, Outcome::Passed(Reason::Length));
        router.leave(WAN, &leaves);
        assert_eq!(router.leave(WAN_TOO, &leaves), Some(Reason::Differs));
        assert!(
            !router.proven(&connection, ORIGINAL),
            "{}",
            connection.original
        );
    }
}

/// The station's packets come in elsewhere: packets to the station must prove again, even without a
/// message.
#[test]
fn a_station_that_moves() {
    let mut router = bridged();
    for connection in router.connections.clone() {
        while !router.proven(&connection, ORIGINAL) {
            passes_once(&mut router, &connection, &[WAN]);
        }
        router.prove_with(&connection, REPLY, &connection.frame(REPLY));
        let moved = connection.frame(REPLY).bytes();
        // XDP may not see which of two networks a packet is from: it passes, and leaves the
        // judgement to TC.
        assert_eq!(
            router.run(Hook::Xdp, WAN_TOO, &moved),
            Outcome::Passed(Reason::Moved)
        );
        assert!(router.proven(&connection, ORIGINAL));
        assert_eq!(
            router.run(Hook::Tc, WAN_TOO, &moved),
            Outcome::Passed(Reason::Moved)
        );
        assert!(
            !router.proven(&connection, ORIGINAL),
            "{}",
            connection.original
        );
    }
}

/// A bridge drops frames that no station can have sent; without a bridge, the kernel does not
/// check.
#[test]
fn a_source_that_no_station_has_is_left_to_the_bridge() {
    let sources = [[0; 6], [0xff; 6], [1, 0, 0x5e, 0, 0, 1], [3, 0, 0, 0, 0, 0]];
    let mut router = Router::standard();
    router.prove_all();
    for floods in [false, true] {
        let port = Port {
            floods,
            ..Port::new(LAN, ROUTER_LAN, true)
        };
        router.path.declare(&port).expect("a port");
        for connection in router.connections.clone() {
            for source_mac in sources {
                let mut forged = connection.frame(ORIGINAL);
                forged.source_mac = source_mac;
                for hook in [Hook::Xdp, Hook::Tc] {
                    let outcome = router.run(hook, LAN, &forged.bytes());
                    let passed = outcome == Outcome::Passed(Reason::NotOurs);
                    assert_eq!(passed, floods, "{source_mac:02x?} {hook:?}: {outcome:?}");
                }
                // Nor does it end anything.
                let forged = forged.flags(RST | ACK);
                if floods && connection.is_tcp() {
                    let outcome = router.run(Hook::Tc, LAN, &forged.bytes());
                    assert_eq!(outcome, Outcome::Passed(Reason::NotOurs));
                }
            }
            let mut other = connection.frame(ORIGINAL);
            other.source_mac = [2, 0, 0, 0, 0, 0];
            router.forwards(LAN, &other, "another station's");
        }
    }
}

/// The kernel remembers the topmost device where a packet came in; ingress knows the lowest.
#[test]
fn the_device_that_the_kernel_remembers() {
    const BRIDGE: u32 = 700;
    const PPP: u32 = 701;
    const STRANGER: u32 = 702;
    let mut router = Router::standard();
    let said = |router: &mut Router, connection: &Connection, ingress| {
        router.path.heartbeat.invalidate_all().expect("bumps");
        for _ in 0..2000 {
            let frame = connection.frame(ORIGINAL);
            let leaves = connection.sent(ORIGINAL, &frame).bytes();
            router.run(Hook::Tc, LAN, &frame.bytes());
            let mut fields = SkbFields {
                ingress,
                ..Default::default()
            };
            match router.leave_skb(WAN, &leaves, &mut fields) {
                Some(Reason::Quiet) => std::thread::sleep(std::time::Duration::from_micros(200)),
                other => return other,
            }
        }
        panic!("never quiet");
    };
    let stacks = [(LAN, 1), (BRIDGE, 1), (WAN, 2), (PPP, STACK_PPP)];
    router.path.set_stacks(&stacks).expect("told");
    for connection in router.connections.clone() {
        for (device, seen) in [
            (LAN, true),
            (BRIDGE, true),
            (PPP, false),
            (0, true),
            (WAN, false),
            (STRANGER, false),
        ] {
            let outcome = said(&mut router, &connection, device);
            assert_eq!(outcome.is_none(), seen, "{device}: {outcome:?}");
            assert_eq!(router.proven(&connection, ORIGINAL), seen, "{device}");
        }
    }
    // The bridge is dissolved.
    router
        .path
        .set_stacks(&[(LAN, 1), (BRIDGE, 3)])
        .expect("told");
    for connection in router.connections.clone() {
        assert_eq!(
            said(&mut router, &connection, BRIDGE),
            Some(Reason::NotSeen)
        );
    }
}

/// A router whose LAN and a PPP device are members of a VRF: a packet comes in, and a possibly
/// different packet leaves.
fn in_a_vrf(
    came: &Behind,
    ingress: u32,
    other: impl Fn(&mut Vec<u8>, &mut SkbFields),
) -> Vec<(Connection, Option<Reason>, bool)> {
    let mut router = Router::standard();
    let stacks = [
        (LAN, LAN),
        (VRF, LAN | STACK_PPP),
        (WAN, WAN),
        (PPP, STACK_PPP),
    ];
    router.path.set_stacks(&stacks).expect("told");
    let mut all = Vec::new();
    for connection in router.connections.clone() {
        let frame = connection.frame(ORIGINAL);
        let (mut leaves, mut merged) = (
            connection.sent(ORIGINAL, &frame).bytes(),
            SkbFields::default(),
        );
        other(&mut leaves, &mut merged);
        let mut said = Some(Reason::NotSeen);
        // Again, where the trial was too old.
        for _ in 0..20 {
            router.run(Hook::Tc, LAN, &came.put_on(&frame.bytes()));
            let mut fields = SkbFields { ingress, ..merged };
            said = router.leave_skb(WAN, &leaves, &mut fields);
            if said.is_none() {
                break;
            }
        }
        let proven = router.proven(&connection, ORIGINAL);
        all.push((connection, said, proven));
    }
    all
}

/// Lengthens a packet by this many bytes.
fn lengthen(frame: &mut Vec<u8>, octets: u16) {
    let at = if frame[12..14] == [8, 0] { 16 } else { 18 };
    let length = get16(frame, at) + octets;
    put16(frame, at, length);
    frame.resize(frame.len() + usize::from(octets), 0);
    if !is_tcp(frame) {
        let length = get16(frame, l4(frame) + 4) + octets;
        udp_length(frame, length);
    }
    mend(frame);
}

const VRF: u32 = 703;
const PPP: u32 = 704;

/// Behind a VRF or a PPP device the kernel does not distinguish ports: the packet that leaves must
/// be the one on trial.
#[test]
fn behind_one_device_of_several_ports_only_the_same_packet_proves() {
    let (plain, session) = (Behind::default(), Behind::default().session(7));
    for (name, came, ingress) in [
        ("VRF", &plain, VRF),
        ("PPP", &session, PPP),
        ("PPP in a VRF", &session, VRF),
    ] {
        for (connection, said, proven) in in_a_vrf(came, ingress, |_, _| {}) {
            assert!(proven, "{name}: {}: {said:?}", connection.original);
        }
        let other_id = |frame: &mut Vec<u8>, _: &mut SkbFields| {
            if frame[12..14] == [8, 0] {
                put16(frame, 18, 77);
                mend(frame);
            }
        };
        for (connection, said, proven) in in_a_vrf(came, ingress, other_id) {
            let place = format!("{name}: another id: {}: {said:?}", connection.original);
            assert_eq!(proven, connection.is_ipv6(), "{place}");
        }
        let longer = |frame: &mut Vec<u8>, _: &mut SkbFields| lengthen(frame, 4);
        for (connection, said, proven) in in_a_vrf(came, ingress, longer) {
            assert!(!proven, "{name}: longer: {}: {said:?}", connection.original);
        }
    }
    // The packet did not come in over PPP.
    for (connection, said, proven) in in_a_vrf(&plain, PPP, |_, _| {}) {
        assert!(
            !proven,
            "PPP, and no session: {}: {said:?}",
            connection.original
        );
    }
}

/// A packet is sent twice, as by `dup` in a rule: whichever copy comes first, neither path stays
/// proven.
#[test]
fn a_packet_that_leaves_by_two_ports_proves_nothing() {
    for into_port in [true, false] {
        let mut router = Router::standard();
        router
            .path
            .declare(&Port::new(WAN_TOO, ROUTER_WAN, true))
            .expect("a port");
        if !into_port {
            let seen_only = Port {
                egress: false,
                ..Port::new(WAN, ROUTER_WAN, true)
            };
            router.path.declare(&seen_only).expect("a port");
        }
        for connection in router.connections.clone() {
            for out in [[WAN_TOO, WAN], [WAN, WAN_TOO]] {
                for length in 0..20 {
                    let frame = connection.frame(ORIGINAL).payload(100 + length);
                    let leaves = connection.sent(ORIGINAL, &frame).bytes();
                    let outcome = router.run(Hook::Tc, LAN, &frame.bytes());
                    let passed = matches!(outcome, Outcome::Passed(_));
                    assert!(passed, "{}: {outcome:?}", connection.original);
                    for link in out {
                        router.leave(link, &leaves);
                    }
                    let proven = router.proven(&connection, ORIGINAL);
                    assert!(!proven, "{}, by {out:?}", connection.original);
                }
            }
            if !into_port {
                continue;
            }
            // No longer copied.
            for _ in 0..1000 {
                passes_once(&mut router, &connection, &[WAN]);
                if router.proven(&connection, ORIGINAL) {
                    break;
                }
            }
            router.forwards(LAN, &connection.frame(ORIGINAL), "no longer copied");
        }
    }
}

/// GRO may merge frames that XDP saw as single before they leave: the frame on trial is the last of
/// them.
#[test]
fn the_packet_on_trial_may_have_been_merged_with_those_before_it() {
    for (gso_segs, fits) in [(3, true), (2, false), (0, false)] {
        let merged = |frame: &mut Vec<u8>, fields: &mut SkbFields| {
            if frame[12..14] == [8, 0] {
                let last = get16(frame, 18);
                put16(frame, 18, last.wrapping_sub(2));
            }
            lengthen(frame, 2_000);
            (fields.gso_size, fields.gso_segs) = (if gso_segs > 0 { 1_000 } else { 0 }, gso_segs);
        };
        for (connection, said, proven) in in_a_vrf(&Behind::default(), VRF, merged) {
            let tcp = is_tcp(&connection.frame(ORIGINAL).bytes());
            let fits = fits || connection.is_ipv6() && gso_segs > 0;
            let place = format!("{gso_segs} merged: {}: {said:?}", connection.original);
            assert!(!tcp || proven == fits, "{place}");
        }
    }
}
