//! The life of a proof: what gives it, what it covers, what ends it.

use frames::*;

/// A known flow is not enough, and one direction proves nothing about the other: replies may take
/// another path.
#[test]
fn each_direction_is_proven_by_itself() {
    let mut router = Router::standard();
    for connection in router.connections.clone() {
        for side in SIDES {
            router.passes(
                links(side).0,
                &connection.frame(side),
                Reason::Unproven,
                "known only",
            );
        }
        router.prove_with(&connection, ORIGINAL, &connection.frame(ORIGINAL));
        router.forwards(LAN, &connection.frame(ORIGINAL), "proven");
        router.passes(
            WAN,
            &connection.frame(Side::Reply),
            Reason::Unproven,
            "the other way is not",
        );
        router.prove_with(&connection, Side::Reply, &connection.frame(Side::Reply));
        router.forwards(WAN, &connection.frame(Side::Reply), "proven too");
    }
}

/// Another DSCP passes, and takes the proof with it once the kernel was seen to forward it (trap
/// 20).
#[test]
fn another_dscp_proves_anew() {
    let mut router = Router::standard();
    for connection in router.connections.clone() {
        router.prove_with(&connection, ORIGINAL, &connection.frame(ORIGINAL));
        let urgent = connection.frame(ORIGINAL).tos(0xb8);
        router.passes(LAN, &urgent, Reason::Tos, "another DSCP");
        router.forwards(LAN, &connection.frame(ORIGINAL), "the old one stays proven");
        let leaves = connection.sent(ORIGINAL, &urgent).bytes();
        for _ in 0..1000 {
            if matches!(
                router.run(Hook::Tc, LAN, &urgent.bytes()),
                Outcome::Forwarded(_)
            ) {
                break;
            }
            router.leave(WAN, &leaves);
        }
        router.forwards(LAN, &urgent, "the new one is proven");
        let marked = connection.frame(ORIGINAL).tos(0xbb);
        router.forwards(LAN, &marked, "whatever its ECN");
        router.passes(
            LAN,
            &connection.frame(ORIGINAL),
            Reason::Tos,
            "one DSCP at a time",
        );
    }
}

/// The range of covered TTLs includes all witnessed ones and all between them: the range grows in
/// both directions (trap 1).
#[test]
fn the_range_of_ttls_grows() {
    let mut router = Router::standard();
    for connection in router.connections.clone() {
        let frame = |ttl| connection.frame(ORIGINAL).ttl(ttl);
        router.prove_with(&connection, ORIGINAL, &frame(64));
        for (ttl, also) in [(60, 62), (128, 100), (2, 3)] {
            router.passes(LAN, &frame(ttl), Reason::TtlNew, "not witnessed yet");
            let leaves = connection.sent(ORIGINAL, &frame(ttl)).bytes();
            assert_eq!(
                router.witnessed(&connection, ORIGINAL, &frame(ttl), &leaves),
                None
            );
            for ttl in [ttl, also, 64] {
                router.forwards(LAN, &frame(ttl), "witnessed, or between");
            }
        }
        router.passes(LAN, &frame(129), Reason::TtlNew, "beyond");
        router.passes(LAN, &frame(1), Reason::Ttl, "never");
    }
}

/// MTU by evidence: the longest packet that the kernel sent in one piece. Longer ones pass, keep
/// the proof, and raise it (trap 4).
#[test]
fn the_longest_length_grows() {
    let mut router = Router::standard();
    for connection in router.connections.clone() {
        let frame = |payload| connection.frame(ORIGINAL).payload(payload);
        router.prove_with(&connection, ORIGINAL, &frame(500));
        router.forwards(LAN, &frame(500), "as proven");
        router.passes(LAN, &frame(501), Reason::Length, "one byte more");
        router.passes(LAN, &frame(1400), Reason::Length, "much more");
        router.forwards(LAN, &frame(500), "the proof is kept");
        let leaves = connection.sent(ORIGINAL, &frame(1400)).bytes();
        assert_eq!(
            router.witnessed(&connection, ORIGINAL, &frame(1400), &leaves),
            None
        );
        router.forwards(LAN, &frame(1400), "witnessed");
        router.passes(LAN, &frame(1401), Reason::Length, "no further");
    }
}

/// Any change of rules or routes ends every proof with one store; the next packets prove again.
#[test]
fn a_bump_ends_all_proofs() {
    let mut router = Router::standard();
    router.prove_all();
    router.path.heartbeat.invalidate_all().expect("bumps");
    for connection in router.connections.clone() {
        for side in SIDES {
            router.passes(
                links(side).0,
                &connection.frame(side),
                Reason::Unproven,
                "after a bump",
            );
        }
    }
    router.prove_all();
    for connection in router.connections.clone() {
        for side in SIDES {
            router.forwards(links(side).0, &connection.frame(side), "proven anew");
        }
    }
}

/// A neighbour's change ends the proofs of what leaves to it, and no others.
#[test]
fn bump_hops_ends_only_those() {
    let mut router = Router::standard();
    router.prove_all();
    assert_eq!(
        router
            .path
            .invalidate_hops(&[[2, 0, 0, 0, 0, 9]].into())
            .unwrap(),
        0,
        "nobody there"
    );
    for connection in router.connections.clone() {
        router.forwards(LAN, &connection.frame(ORIGINAL), "not touched");
    }
    assert!(router.path.invalidate_hops(&[SERVER].into()).unwrap() > 0);
    for connection in router.connections.clone() {
        router.passes(
            LAN,
            &connection.frame(ORIGINAL),
            Reason::Unproven,
            "over the bumped hop",
        );
        router.forwards(WAN, &connection.frame(Side::Reply), "over another hop");
    }
    router.prove_all();
}

/// Ending one flow's proof leaves the others alone.
#[test]
fn a_flow_can_be_made_to_prove_anew() {
    let mut router = Router::standard();
    router.prove_all();
    let [first, second] = [router.connections[0], router.connections[1]];
    router.path.invalidate(first.id);
    for side in SIDES {
        router.passes(links(side).0, &first.frame(side), Reason::Unproven, "ended");
        router.forwards(links(side).0, &second.frame(side), "not touched");
    }
}
