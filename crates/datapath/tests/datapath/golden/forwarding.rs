//! Ordinary packets of proven flows.

use frames::*;

/// Weir sends the same bytes as the kernel would, on both hooks, for every family, protocol and
/// direction, with and without translation.
#[test]
fn a_proven_flow_is_forwarded_as_the_kernel_did_it() {
    for translated in [true, false] {
        let mut router = Router::with_four(brief(), translated);
        router.prove_all();
        for connection in router.connections.clone() {
            for side in SIDES {
                let frame = connection.frame(side);
                let expected = connection.sent(side, &frame).bytes();
                for hook in HOOKS {
                    let outcome = router.run(hook, links(side).0, &frame.bytes());
                    assert_eq!(
                        outcome,
                        Outcome::Forwarded(expected.clone()),
                        "{} {side:?} at {hook:?}",
                        connection.original
                    );
                }
                let reading = router.path.read(connection.id).expect("known")[side as usize];
                assert_eq!(reading.packets, 2);
                assert_eq!(reading.bytes, 2 * (expected.len() as u64 - 14));
            }
        }
    }
}

/// The lowering of TTL is on the wire, in the byte itself, down to the last hop that may still
/// forward (trap 1).
#[test]
fn ttl_is_one_less_on_the_wire() {
    let mut router = Router::standard();
    for connection in router.connections.clone() {
        let side = Side::Original;
        let at = if connection.is_ipv6() { 21 } else { 22 };
        for ttl in [255, 64, 2] {
            router.prove_with(&connection, side, &connection.frame(side).ttl(ttl));
            for hook in HOOKS {
                let frame = connection.frame(side).ttl(ttl).bytes();
                let Outcome::Forwarded(out) = router.compare(hook, LAN, &frame) else {
                    panic!("TTL {ttl} was proven");
                };
                assert_eq!(out[at], ttl - 1);
            }
        }
        for ttl in [0, 1] {
            for hook in HOOKS {
                let frame = connection.frame(side).ttl(ttl).bytes();
                let outcome = router.compare(hook, LAN, &frame);
                assert_eq!(
                    outcome,
                    Outcome::Passed(Reason::Ttl),
                    "although 2 is proven"
                );
            }
        }
    }
}
