//! Packets that the egress witness accepts as proof: the witness must see the packet that came in
//! leave as the kernel forwards it, and nothing else.

use frames::edit::*;
use frames::*;

type Line = (
    &'static str,
    fn(&Connection) -> bool,
    fn(&mut Vec<u8>),
    Option<Reason>,
);

const ALL: fn(&Connection) -> bool = |_| true;
const V4: fn(&Connection) -> bool = |c| !c.is_ipv6();
const V6: fn(&Connection) -> bool = |c| c.is_ipv6();
const TRANSLATED: &str = "192.168.1.2";

/// Tests a packet that leaves differently than the kernel forwards one: it proves nothing. `None`:
/// the witness does not even assign it to the flow.
#[test]
fn what_leaves_otherwise_proves_nothing() {
    let table: &[Line] = &[
        (
            "TTL not lowered: bridged",
            ALL,
            |f| ttl(f, 64),
            Some(Reason::TtlChanged),
        ),
        (
            "TTL lowered twice: a tunnel or another router in between",
            ALL,
            |f| ttl(f, 62),
            Some(Reason::TtlChanged),
        ),
        (
            "TTL set by a rule",
            ALL,
            |f| ttl(f, 255),
            Some(Reason::TtlChanged),
        ),
        (
            "DSCP set by a rule",
            ALL,
            |f| tos(f, 0xb8),
            Some(Reason::TosChanged),
        ),
        (
            "ECN marked by a queue",
            ALL,
            |f| tos(f, 3),
            Some(Reason::TosChanged),
        ),
        (
            "fragmented: the first part",
            V4,
            |f| fragment(f, 0x2000),
            None,
        ),
        (
            "fragmented: the last part",
            V4,
            |f| fragment(f, 0x0010),
            None,
        ),
        ("fragmented, IPv6", V6, |f| extension(f, 44), None),
        ("IP options put in", V4, |f| options(f, 1), None),
        ("an extension header put in", V6, |f| extension(f, 0), None),
        (
            "another source port than conntrack said",
            ALL,
            |f| {
                let at = l4(f);
                f[at + 1] ^= 1
            },
            None,
        ),
        (
            "another destination port",
            ALL,
            |f| {
                let at = l4(f);
                f[at + 3] ^= 1
            },
            None,
        ),
        (
            "another source address",
            ALL,
            |f| {
                let at = l4(f) - if is_ipv6(f) { 17 } else { 5 };
                f[at] ^= 0x10;
                mend(f)
            },
            None,
        ),
        (
            "another destination address",
            ALL,
            |f| {
                let at = l4(f) - 1;
                f[at] ^= 0x10;
                mend(f)
            },
            None,
        ),
        (
            "behind a tag weir does not know",
            ALL,
            |f| tag(f, 0x9100, 5),
            None,
        ),
        ("in a PPPoE session", ALL, |f| put16(f, 12, 0x8864), None),
        ("encrypted: ESP instead", V4, |f| protocol(f, 50), None),
        ("cut short", ALL, |f| f.truncate(f.len() - 1), None),
    ];
    let mut router = Router::standard();
    for (name, who, edit, objection) in table {
        for connection in router.connections.clone().into_iter().filter(who) {
            for side in SIDES {
                let frame = connection.frame(side);
                let mut leaves = connection.sent(side, &frame).bytes();
                edit(&mut leaves);
                let said = router.witnessed(&connection, side, &frame, &leaves);
                let place = format!("{name}: {} {side:?}", connection.original);
                assert_eq!(said, *objection, "{place}");
                assert!(!router.proven(&connection, side), "{place}: proven");
            }
        }
    }
    // The router still proves a packet that leaves as it should.
    router.prove_all();
}

/// A packet that leaves untranslated although conntrack translates (or vice versa) is not a proof.
#[test]
fn untranslated_proves_nothing() {
    let mut router = Router::standard();
    let connection = router.connections[0];
    assert_eq!(connection.original.source.to_string(), TRANSLATED);
    let side = Side::Original;
    let frame = connection.frame(side);
    let mut leaves = connection.sent(side, &frame);
    leaves.tuple = connection.original;
    let said = router.witnessed(&connection, side, &frame, &leaves.bytes());
    assert_eq!(said, None);
    assert!(!router.proven(&connection, side));
}

/// A packet that did not come in is from another source: a socket of this machine, or a queue where
/// the packet waited.
#[test]
fn what_did_not_come_in_proves_nothing() {
    let mut router = Router::standard();
    for connection in router.connections.clone() {
        for side in SIDES {
            let leaves = connection.sent(side, &connection.frame(side)).bytes();
            let said = router.leave(links(side).1, &leaves);
            assert_eq!(said, Some(Reason::NotSeen), "{}", connection.original);
            assert!(!router.proven(&connection, side));
        }
    }
}

/// A packet that came in proves once: another packet needs a trial of its own.
#[test]
fn a_trial_is_used_up() {
    let mut router = Router::standard();
    let connection = router.connections[0];
    let side = Side::Original;
    router.prove_with(&connection, side, &connection.frame(side));
    router.path.invalidate(connection.id); // ends the proof
    assert!(!router.proven(&connection, side));
    let leaves = connection.sent(side, &connection.frame(side)).bytes();
    assert_eq!(router.leave(WAN, &leaves), Some(Reason::NotSeen));
    assert!(!router.proven(&connection, side));
}

/// The kernel judged a packet by the old rules if the packet came in before a change and leaves
/// after it.
#[test]
fn judged_before_a_change_proves_nothing() {
    let mut router = Router::standard();
    for connection in router.connections.clone() {
        let side = Side::Original;
        let frame = connection.frame(side);
        router.run(Hook::Xdp, LAN, &frame.bytes());
        router.path.heartbeat.invalidate_all().expect("bumps");
        std::thread::sleep(std::time::Duration::from_millis(20)); // the quiet period
        let said = router.leave(WAN, &connection.sent(side, &frame).bytes());
        assert_eq!(said, Some(Reason::NotSeen), "{}", connection.original);
        assert!(!router.proven(&connection, side));
    }
}

/// For a moment after a change, the kernel may still judge incoming packets by the old rules:
/// quiet.
#[test]
fn nothing_is_proven_while_a_change_settles() {
    let mut router = Router::with_four(
        Options {
            quiet: 60_000,
            ..brief()
        },
        true,
    );
    router.prove_all();
    router.path.heartbeat.invalidate_all().expect("bumps");
    for connection in router.connections.clone() {
        for side in SIDES {
            let frame = connection.frame(side);
            let leaves = connection.sent(side, &frame).bytes();
            let said = router.witnessed(&connection, side, &frame, &leaves);
            assert_eq!(said, Some(Reason::Quiet), "{}", connection.original);
            assert!(!router.proven(&connection, side));
        }
    }
}

/// Only out of a port of weir: not into a tunnel or an unmanaged device.
#[test]
fn leaving_by_another_device_proves_nothing() {
    let mut router = Router::standard();
    let connection = router.connections[0];
    let side = Side::Original;
    let frame = connection.frame(side);
    let leaves = connection.sent(side, &frame).bytes();
    for _ in 0..1000 {
        router.run(Hook::Xdp, LAN, &frame.bytes());
        match router.leave(1, &leaves) {
            Some(Reason::NotSeen) => {}
            said => {
                assert_eq!(said, Some(Reason::Port), "lo is no port");
                assert!(!router.proven(&connection, side));
                return;
            }
        }
    }
    panic!("never witnessed in time");
}

/// A packet that weir sent at TC is no evidence of the kernel's behaviour, and weir's mark on it is
/// removed.
#[test]
fn weirs_own_packets_prove_nothing() {
    let mut router = Router::standard();
    let connection = router.connections[0];
    let side = Side::Original;
    router.prove_with(&connection, side, &connection.frame(side));
    let mut fields = SkbFields::default();
    let frame = connection.frame(side).bytes();
    let Outcome::Forwarded(out) = router.run_skb(LAN, &frame, &mut fields) else {
        panic!("proven");
    };
    assert_ne!(fields.cb[..2], [0, 0], "marked as weir's");
    // Sent to another neighbour than proven, it would withdraw the proof if it were the kernel's.
    let mut elsewhere = out;
    elsewhere[5] = 9;
    router.run(Hook::Tc, LAN, &connection.frame(side).tos(4).bytes()); // a trial is open
    assert_eq!(router.leave_skb(WAN, &elsewhere, &mut fields), None);
    assert_eq!(fields.cb[0], 0, "the mark does not travel on");
    assert!(router.proven(&connection, side));
    assert_eq!(router.path.hops_used(), 1, "no hop was learned from it");
}

/// The kernel sends a proven flow differently (a route, a neighbour): the proof ends, and the next
/// packet proves the new path.
#[test]
fn another_hop_ends_the_proof() {
    let mut router = Router::standard();
    for connection in router.connections.clone() {
        let side = Side::Original;
        router.prove_with(&connection, side, &connection.frame(side));
        // Packets that the proof does not cover go through the kernel, and update the proof.
        let mut frame = connection.frame(side);
        frame.payload = 300;
        let mut sent = connection.sent(side, &frame);
        sent.destination_mac = [2, 0, 0, 0, 0, 5];
        let said = router.witnessed(&connection, side, &frame, &sent.bytes());
        assert_eq!(said, Some(Reason::Differs), "{}", connection.original);
        assert!(!router.proven(&connection, side));
        let outcome = router.run(Hook::Xdp, LAN, &connection.frame(side).bytes());
        assert_eq!(outcome, Outcome::Passed(Reason::Unproven));
        let said = router.witnessed(&connection, side, &frame, &sent.bytes());
        assert_eq!(said, None);
        let Outcome::Forwarded(out) = router.run(Hook::Xdp, LAN, &frame.bytes()) else {
            panic!("proven anew");
        };
        assert_eq!(out, sent.bytes(), "to the new neighbour");
    }
}

/// Two devices receive packets of one tuple (one source is spoofed, say), and the rules accept only
/// one device. A packet from that device must not prove the other device, whichever came last.
#[test]
fn a_packet_from_another_port_is_not_the_one_on_trial() {
    let mut router = Router::standard();
    for connection in router.connections.clone() {
        let side = Side::Original;
        let frame = connection.frame(side);
        let mut elsewhere = frame.clone();
        elsewhere.destination_mac = ROUTER_WAN;
        let leaves = connection.sent(side, &frame).bytes();
        for _ in 0..20 {
            router.run(Hook::Xdp, LAN, &frame.bytes());
            router.run(Hook::Xdp, WAN, &elsewhere.bytes());
            let mut fields = SkbFields {
                ingress: LAN,
                ..Default::default()
            };
            let said = router.leave_skb(WAN, &leaves, &mut fields);
            assert_eq!(said, Some(Reason::NotSeen), "{}", connection.original);
            assert!(!router.proven(&connection, side));
        }
        // With its own trial it proves, and its own port.
        for _ in 0..1000 {
            router.run(Hook::Xdp, LAN, &frame.bytes());
            let mut fields = SkbFields {
                ingress: LAN,
                ..Default::default()
            };
            router.leave_skb(WAN, &leaves, &mut fields);
            if router.proven(&connection, side) {
                break;
            }
        }
        let outcome = router.compare(Hook::Xdp, LAN, &frame.bytes());
        assert!(matches!(outcome, Outcome::Forwarded(_)), "{outcome:?}");
        let outcome = router.compare(Hook::Xdp, WAN, &elsewhere.bytes());
        assert_eq!(outcome, Outcome::Passed(Reason::Moved));
    }
}

/// The daemon ends one flow's proof (its mark changed): the kernel judged a packet under way before
/// that, so the packet must not renew the proof.
#[test]
fn a_packet_under_way_does_not_renew_an_ended_proof() {
    let mut router = Router::standard();
    for connection in router.connections.clone() {
        for side in SIDES {
            let frame = connection.frame(side);
            router.run(Hook::Xdp, links(side).0, &frame.bytes());
            router.path.invalidate(connection.id);
            let said = router.leave(links(side).1, &connection.sent(side, &frame).bytes());
            assert_eq!(said, Some(Reason::NotSeen), "{}", connection.original);
            assert!(!router.proven(&connection, side));
        }
    }
}
