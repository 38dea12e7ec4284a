//! The life of a proof: what gives it, what it covers, what ends it.

use std::time::Duration;

use crate::common::*;

const ORIGINAL: Side = Side::Original;

fn passes(router: &mut Router, link: u32, frame: &Frame, reason: Reason, why: &str) {
    for hook in HOOKS {
        let outcome = router.compare(hook, link, &frame.bytes());
        assert_eq!(outcome, Outcome::Passed(reason), "{why}: {} at {hook:?}", frame.tuple);
    }
}

fn forwards(router: &mut Router, link: u32, frame: &Frame, why: &str) {
    for hook in HOOKS {
        let outcome = router.compare(hook, link, &frame.bytes());
        assert!(matches!(outcome, Outcome::Forwarded(_)), "{why}: {} at {hook:?}: {outcome:?}", frame.tuple);
    }
}

/// Known is not enough, and one direction says nothing of the other: replies may take another way.
#[test]
fn each_direction_is_proven_by_itself() {
    let mut router = Router::standard();
    for connection in router.connections.clone() {
        for side in SIDES {
            passes(&mut router, links(side).0, &connection.frame(side), Reason::Unproven, "known only");
        }
        router.prove_with(&connection, ORIGINAL, &connection.frame(ORIGINAL));
        forwards(&mut router, LAN, &connection.frame(ORIGINAL), "proven");
        passes(&mut router, WAN, &connection.frame(Side::Reply), Reason::Unproven, "the other way is not");
        router.prove_with(&connection, Side::Reply, &connection.frame(Side::Reply));
        forwards(&mut router, WAN, &connection.frame(Side::Reply), "proven too");
    }
}

/// Rules may go by the device a packet came in at (trap 18: a station that roams): another one passes, and proves there.
#[test]
fn another_port_passes_and_proves_anew() {
    let mut router = Router::standard();
    for connection in router.connections.clone() {
        router.prove_with(&connection, ORIGINAL, &connection.frame(ORIGINAL));
        let mut moved = connection.frame(ORIGINAL);
        moved.destination_mac = ROUTER_WAN;
        passes(&mut router, WAN, &moved, Reason::Moved, "came in at another port");
        forwards(&mut router, LAN, &connection.frame(ORIGINAL), "one stray packet does not end the proof");

        // The kernel forwards what comes in there: proven there, and no longer here.
        let leaves = connection.sent(ORIGINAL, &moved).bytes();
        let mut there = false;
        for _ in 0..1000 {
            if matches!(router.run(Hook::Tc, WAN, &moved.bytes()), Outcome::Forwarded(_)) {
                there = true;
                break;
            }
            router.leave(WAN, &leaves);
        }
        assert!(there, "proven at the other port");
        passes(&mut router, LAN, &connection.frame(ORIGINAL), Reason::Moved, "and not here any more");
    }
}

/// Another DSCP passes, and takes the proof with it once the kernel was seen to forward it (trap 20).
#[test]
fn another_dscp_proves_anew() {
    let mut router = Router::standard();
    for connection in router.connections.clone() {
        router.prove_with(&connection, ORIGINAL, &connection.frame(ORIGINAL));
        let urgent = connection.frame(ORIGINAL).tos(0xb8);
        passes(&mut router, LAN, &urgent, Reason::Tos, "another DSCP");
        forwards(&mut router, LAN, &connection.frame(ORIGINAL), "the old one stays proven");
        let leaves = connection.sent(ORIGINAL, &urgent).bytes();
        for _ in 0..1000 {
            if matches!(router.run(Hook::Tc, LAN, &urgent.bytes()), Outcome::Forwarded(_)) {
                break;
            }
            router.leave(WAN, &leaves);
        }
        forwards(&mut router, LAN, &urgent, "the new one is proven");
        let marked = connection.frame(ORIGINAL).tos(0xbb);
        forwards(&mut router, LAN, &marked, "whatever its ECN");
        passes(&mut router, LAN, &connection.frame(ORIGINAL), Reason::Tos, "one DSCP at a time");
    }
}

/// TTLs that were witnessed are covered, and all between them: the range grows, either way (trap 1).
#[test]
fn the_range_of_ttls_grows() {
    let mut router = Router::standard();
    for connection in router.connections.clone() {
        let frame = |ttl| connection.frame(ORIGINAL).ttl(ttl);
        router.prove_with(&connection, ORIGINAL, &frame(64));
        for (ttl, also) in [(60, 62), (128, 100), (2, 3)] {
            passes(&mut router, LAN, &frame(ttl), Reason::TtlNew, "not witnessed yet");
            let leaves = connection.sent(ORIGINAL, &frame(ttl)).bytes();
            assert_eq!(router.witnessed(&connection, ORIGINAL, &frame(ttl), &leaves), None);
            for ttl in [ttl, also, 64] {
                forwards(&mut router, LAN, &frame(ttl), "witnessed, or between");
            }
        }
        passes(&mut router, LAN, &frame(129), Reason::TtlNew, "beyond");
        passes(&mut router, LAN, &frame(1), Reason::Ttl, "never");
    }
}

/// MTU by evidence: the longest packet that the kernel sent in one piece. Longer ones pass, keep the proof, and raise it (trap 4).
#[test]
fn the_longest_length_grows() {
    let mut router = Router::standard();
    for connection in router.connections.clone() {
        let frame = |payload| connection.frame(ORIGINAL).payload(payload);
        router.prove_with(&connection, ORIGINAL, &frame(500));
        forwards(&mut router, LAN, &frame(500), "as proven");
        passes(&mut router, LAN, &frame(501), Reason::Length, "one octet more");
        passes(&mut router, LAN, &frame(1400), Reason::Length, "much more");
        forwards(&mut router, LAN, &frame(500), "the proof is kept");
        let leaves = connection.sent(ORIGINAL, &frame(1400)).bytes();
        assert_eq!(router.witnessed(&connection, ORIGINAL, &frame(1400), &leaves), None);
        forwards(&mut router, LAN, &frame(1400), "witnessed");
        passes(&mut router, LAN, &frame(1401), Reason::Length, "no further");
    }
}

/// Any change of rules or routes ends every proof with one store; the next packets prove anew.
#[test]
fn a_bump_ends_all_proofs() {
    let mut router = Router::standard();
    router.prove_all();
    router.path.bump().expect("bumps");
    for connection in router.connections.clone() {
        for side in SIDES {
            passes(&mut router, links(side).0, &connection.frame(side), Reason::Unproven, "after a bump");
        }
    }
    router.prove_all();
    for connection in router.connections.clone() {
        for side in SIDES {
            forwards(&mut router, links(side).0, &connection.frame(side), "proven anew");
        }
    }
}

/// A neighbour's change ends the proofs of what leaves to it, and no others.
#[test]
fn bump_hops_ends_only_those() {
    let mut router = Router::standard();
    router.prove_all();
    assert_eq!(router.path.bump_hops(WAN, &[2, 0, 0, 0, 0, 9]), 0, "nobody there");
    assert_eq!(router.path.bump_hops(LAN, &SERVER), 0, "not on that side");
    for connection in router.connections.clone() {
        forwards(&mut router, LAN, &connection.frame(ORIGINAL), "not touched");
    }
    assert!(router.path.bump_hops(WAN, &SERVER) > 0);
    for connection in router.connections.clone() {
        passes(&mut router, LAN, &connection.frame(ORIGINAL), Reason::Unproven, "over the bumped hop");
        forwards(&mut router, WAN, &connection.frame(Side::Reply), "over another hop");
    }
    router.prove_all();
}

/// One flow's proof can be ended alone.
#[test]
fn a_flow_can_be_made_to_prove_anew() {
    let mut router = Router::standard();
    router.prove_all();
    let [first, second] = [router.connections[0], router.connections[1]];
    router.path.prove(first.id);
    for side in SIDES {
        passes(&mut router, links(side).0, &first.frame(side), Reason::Unproven, "ended");
        forwards(&mut router, links(side).0, &second.frame(side), "not touched");
    }
}

/// FIN, RST and SYN: conntrack decides what they mean. Until the daemon has heard, neither direction proves (traps 10 and 12).
#[test]
fn a_disturbed_flow_is_held() {
    for flags in [FIN | ACK, RST, SYN] {
        let mut router = Router::with_four(
            Options {
                hold: 60_000,
                ..brief()
            },
            true,
        );
        router.prove_all();
        for connection in router.connections.clone().into_iter().filter(Connection::is_tcp) {
            for side in SIDES {
                let last = connection.frame(side).flags(flags);
                let outcome = router.compare(Hook::Xdp, links(side).0, &last.bytes());
                assert_eq!(outcome, Outcome::Passed(Reason::TcpFlags));
                for other in SIDES {
                    assert!(!router.proven(&connection, other), "{flags:#x} {side:?}: {other:?}");
                    let frame = connection.frame(other);
                    let leaves = connection.sent(other, &frame).bytes();
                    let said = router.witnessed(&connection, other, &frame, &leaves);
                    assert_eq!(said, Some(Reason::Held));
                    assert!(!router.proven(&connection, other));
                }
            }
        }
        // The datagrams of the same addresses and ports are another connection.
        for connection in router.connections.clone().into_iter().filter(|c| !c.is_tcp()) {
            forwards(&mut router, LAN, &connection.frame(ORIGINAL), "UDP knows no flags");
        }
    }
}

/// Flags are looked at before the port: a reset that comes in elsewhere, or while nothing is proven, holds as well.
#[test]
fn a_disturbance_counts_wherever_it_comes_from() {
    let options = Options {
        hold: 60_000,
        ..brief()
    };
    let mut router = Router::with_four(options, true);
    for connection in router.connections.clone().into_iter().filter(Connection::is_tcp) {
        router.prove(&connection);
        let mut reset = connection.frame(ORIGINAL).flags(RST).ttl(1);
        reset.destination_mac = ROUTER_WAN;
        let outcome = router.compare(Hook::Tc, WAN, &reset.bytes());
        assert_eq!(outcome, Outcome::Passed(Reason::TcpFlags));
        for side in SIDES {
            assert!(!router.proven(&connection, side));
        }
    }
}

/// The hold ends by itself: a keep-alive connection after a stray reset is not slow for ever.
#[test]
fn a_hold_ends() {
    let mut router = Router::standard();
    for connection in router.connections.clone().into_iter().filter(Connection::is_tcp) {
        router.prove(&connection);
        router.compare(Hook::Xdp, LAN, &connection.frame(ORIGINAL).flags(RST).bytes());
        assert!(!router.proven(&connection, ORIGINAL));
        router.prove(&connection);
        forwards(&mut router, LAN, &connection.frame(ORIGINAL), "proven again");
    }
}

/// A daemon that hangs or died: everything goes to the kernel (trap 26). Its next beat, and all is as before.
#[test]
fn an_overdue_heartbeat_passes_everything() {
    let options = Options {
        silence: 40,
        ..brief()
    };
    let mut router = Router::with_four(options, true);
    for connection in router.connections.clone() {
        router.prove(&connection);
        std::thread::sleep(Duration::from_millis(100));
        for hook in HOOKS {
            let outcome = router.run_unbeaten(hook, LAN, &connection.frame(ORIGINAL).bytes());
            assert_eq!(outcome, Outcome::Passed(Reason::Silent), "at {hook:?}");
        }
        assert!(router.proven(&connection, ORIGINAL), "the proof is only not used");
        let forwarded = (0..1000).any(|_| {
            let outcome = router.run(Hook::Xdp, LAN, &connection.frame(ORIGINAL).bytes());
            matches!(outcome, Outcome::Forwarded(_))
        });
        assert!(forwarded, "after a beat");
    }
}

/// Disarmed, everything goes to the kernel, and armed again it goes on.
#[test]
fn disarmed_passes_everything() {
    let mut router = Router::standard();
    router.prove_all();
    router.path.disarm();
    for connection in router.connections.clone() {
        passes_disarmed(&mut router, &connection);
    }
    router.path.arm().expect("arms");
    for connection in router.connections.clone() {
        forwards(&mut router, LAN, &connection.frame(ORIGINAL), "armed again");
    }
}

fn passes_disarmed(router: &mut Router, connection: &Connection) {
    for hook in HOOKS {
        let outcome = router.run(hook, LAN, &connection.frame(ORIGINAL).bytes());
        assert_eq!(outcome, Outcome::Passed(Reason::Silent));
    }
}

/// A way out that XDP cannot or must not send by (no ndo_xdp_xmit, a qdisc): XDP leaves it to TC (traps 20 and 23).
#[test]
fn a_hop_that_needs_an_skb_is_forwarded_at_tc() {
    let mut router = Router::standard();
    router.prove_all();
    router.path.declare(WAN, &ROUTER_WAN, false).expect("a port");
    for connection in router.connections.clone() {
        let frame = connection.frame(ORIGINAL).bytes();
        assert_eq!(router.compare(Hook::Xdp, LAN, &frame), Outcome::Passed(Reason::Hook));
        assert!(matches!(router.compare(Hook::Tc, LAN, &frame), Outcome::Forwarded(_)));
        forwards(&mut router, WAN, &connection.frame(Side::Reply), "the other way out takes frames");
    }
    router.path.declare(WAN, &ROUTER_WAN, true).expect("a port");
    for connection in router.connections.clone() {
        forwards(&mut router, LAN, &connection.frame(ORIGINAL), "and again");
    }
}

/// A device that is not a port, or not this one: trap 26, a device index used again.
#[test]
fn other_devices_pass() {
    let mut router = Router::standard();
    router.prove_all();
    let frame = router.connections[0].frame(ORIGINAL).bytes();
    for hook in HOOKS {
        assert_eq!(router.compare(hook, 1, &frame), Outcome::Passed(Reason::Port), "lo");
    }
    router.path.detach(LAN).expect("detaches");
    for hook in HOOKS {
        assert_eq!(router.compare(hook, LAN, &frame), Outcome::Passed(Reason::Port), "detached");
    }
}

/// Hairpin (trap 15): in and out by one device is an ordinary way.
#[test]
fn in_and_out_by_one_device() {
    for (protocol, ends) in [
        (Tcp, ("192.168.1.2", "192.168.1.1", "192.168.1.3")),
        (Udp, ("fd00:1::2", "fd00:1::1", "fd00:1::3")),
    ] {
        let mut router = Router::new(brief());
        let (client, outside, server) = ends;
        let original = tuple(protocol, client, 40000, outside, 443);
        let reply = tuple(protocol, server, 8443, outside, 50000);
        let connection = router.connect(original, reply).expect("room");
        let frame = connection.frame(ORIGINAL);
        let mut sent = connection.sent(ORIGINAL, &frame);
        sent.source_mac = ROUTER_LAN;
        for _ in 0..1000 {
            if router.proven(&connection, ORIGINAL) {
                break;
            }
            router.run(Hook::Xdp, LAN, &frame.bytes());
            router.leave(LAN, &sent.bytes());
        }
        for hook in HOOKS {
            let outcome = router.compare(hook, LAN, &frame.bytes());
            assert_eq!(outcome, Outcome::Forwarded(sent.bytes()), "{original} at {hook:?}");
        }
    }
}
