//! Events that stop a proven flow at once: flags that only conntrack may judge, a silent daemon, or
//! a stop by the daemon.

use std::time::{Duration, Instant};

use frames::*;

/// FIN, RST and SYN: conntrack decides their meaning. Until the daemon has received the event,
/// neither direction proves (traps 10 and 12).
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
        for connection in router
            .connections
            .clone()
            .into_iter()
            .filter(Connection::is_tcp)
        {
            for side in SIDES {
                let last = connection.frame(side).flags(flags);
                let outcome = router.compare(Hook::Xdp, links(side).0, &last.bytes());
                assert_eq!(outcome, Outcome::Passed(Reason::TcpFlags));
                for other in SIDES {
                    assert!(
                        !router.proven(&connection, other),
                        "{flags:#x} {side:?}: {other:?}"
                    );
                    let frame = connection.frame(other);
                    let leaves = connection.sent(other, &frame).bytes();
                    let said = router.witnessed(&connection, other, &frame, &leaves);
                    assert_eq!(said, Some(Reason::Held));
                    assert!(!router.proven(&connection, other));
                }
            }
        }
        // The datagrams of the same addresses and ports are another connection.
        for connection in router
            .connections
            .clone()
            .into_iter()
            .filter(|c| !c.is_tcp())
        {
            router.forwards(LAN, &connection.frame(ORIGINAL), "UDP knows no flags");
        }
    }
}

/// A reset at another port ends nothing, as long as the flow's port is known: its sender need not
/// be one of the ends. Conntrack decides, and reports. A reset for an unproven flow starts a hold.
#[test]
fn a_disturbance_counts_where_the_flow_comes_in() {
    let options = Options {
        hold: 60_000,
        ..brief()
    };
    let mut router = Router::with_four(options, true);
    for connection in router
        .connections
        .clone()
        .into_iter()
        .filter(Connection::is_tcp)
    {
        router.prove(&connection);
        let mut reset = connection.frame(ORIGINAL).flags(RST).ttl(1);
        reset.destination_mac = ROUTER_WAN;
        let outcome = router.compare(Hook::Tc, WAN, &reset.bytes());
        assert_eq!(outcome, Outcome::Passed(Reason::TcpFlags));
        for side in SIDES {
            assert!(router.proven(&connection, side));
        }
        // Of the original direction nothing is proven now: it may come in anywhere.
        router.path.invalidate(connection.id);
        router.prove_with(&connection, REPLY, &connection.frame(REPLY));
        let outcome = router.compare(Hook::Tc, WAN, &reset.bytes());
        assert_eq!(outcome, Outcome::Passed(Reason::TcpFlags));
        for side in SIDES {
            assert!(!router.proven(&connection, side));
        }
    }
}

/// The hold ends by itself: a keep-alive connection is not slow for ever after a stray reset.
#[test]
fn a_hold_ends() {
    let mut router = Router::standard();
    for connection in router
        .connections
        .clone()
        .into_iter()
        .filter(Connection::is_tcp)
    {
        router.prove(&connection);
        router.compare(
            Hook::Xdp,
            LAN,
            &connection.frame(ORIGINAL).flags(RST).bytes(),
        );
        assert!(!router.proven(&connection, ORIGINAL));
        router.prove(&connection);
        router.forwards(LAN, &connection.frame(ORIGINAL), "proven again");
    }
}

/// A hold that ended long ago stays ended: the clock wraps, and an end over 25 days ago (at 1000
/// Hz) must not seem to lie ahead.
#[test]
fn a_hold_of_long_ago_is_over() {
    let mut router = Router::standard();
    router.prove_all();
    let tcp: Vec<_> = router
        .connections
        .iter()
        .filter(|c| c.is_tcp())
        .cloned()
        .collect();
    for connection in &tcp {
        let reset = connection.frame(ORIGINAL).flags(RST).bytes();
        router.compare(Hook::Xdp, LAN, &reset);
        assert!(!router.proven(connection, ORIGINAL));
    }
    router.path.age_holds((1 << 31) + 1_000);
    for connection in &tcp {
        router.prove(connection);
        router.forwards(LAN, &connection.frame(ORIGINAL), "proven again");
    }
}

/// A daemon that hangs or died: all packets go to the kernel (trap 26), until the daemon beats
/// again and the flows have proven again.
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
        assert!(
            router.proven(&connection, ORIGINAL),
            "the proof is only not used"
        );
        router.path.heartbeat.beat().expect("beats");
        let outcome = router.run(Hook::Xdp, LAN, &connection.frame(ORIGINAL).bytes());
        assert_eq!(
            outcome,
            Outcome::Passed(Reason::Unproven),
            "much may have changed while nobody listened"
        );
        let forwarded = (0..1000).any(|_| {
            router.prove(&connection);
            let outcome = router.run(Hook::Xdp, LAN, &connection.frame(ORIGINAL).bytes());
            matches!(outcome, Outcome::Forwarded(_))
        });
        assert!(forwarded, "after a beat and a proof");
    }
}

/// If the kernel will treat a flow differently from a known time on, forwarding ends at that time,
/// whether the daemon is awake or not. A beat does not resume forwarding: only ending the proofs
/// does.
#[test]
fn proofs_end_at_a_time_that_is_known() {
    let mut router = Router::with_four(brief(), true);
    for connection in router.connections.clone() {
        router.path.heartbeat.hold_until(None);
        router.path.heartbeat.invalidate_all().expect("bumps");
        router.prove(&connection);
        router.forwards(LAN, &connection.frame(ORIGINAL), "without an end");
        let end = Instant::now() + Duration::from_millis(60);
        router.path.heartbeat.hold_until(Some(end));
        router.path.heartbeat.beat().expect("beats");
        std::thread::sleep(end.saturating_duration_since(Instant::now()));
        for hook in HOOKS {
            let outcome = router.run_unbeaten(hook, LAN, &connection.frame(ORIGINAL).bytes());
            assert_eq!(outcome, Outcome::Passed(Reason::Silent), "at {hook:?}");
        }
        router.path.heartbeat.beat().expect("beats");
        std::thread::sleep(Duration::from_millis(20));
        let outcome = router.run_unbeaten(Hook::Xdp, LAN, &connection.frame(ORIGINAL).bytes());
        assert_eq!(outcome, Outcome::Passed(Reason::Silent), "a beat alone");
        router.path.heartbeat.hold_until(None);
        router.path.heartbeat.invalidate_all().expect("bumps");
        let outcome = router.run_unbeaten(Hook::Xdp, LAN, &connection.frame(ORIGINAL).bytes());
        assert_eq!(outcome, Outcome::Passed(Reason::Unproven));
        router.prove(&connection);
        router.forwards(LAN, &connection.frame(ORIGINAL), "proven anew");
    }
}

/// Disarmed, the packet path leaves all packets to the kernel; armed again, it continues.
#[test]
fn disarmed_passes_everything() {
    let mut router = Router::standard();
    router.prove_all();
    router.path.heartbeat.disarm();
    for connection in router.connections.clone() {
        passes_disarmed(&mut router, &connection);
    }
    router.path.heartbeat.arm().expect("arms");
    for connection in router.connections.clone() {
        router.forwards(LAN, &connection.frame(ORIGINAL), "armed again");
    }
}

fn passes_disarmed(router: &mut Router, connection: &Connection) {
    for hook in HOOKS {
        let outcome = router.run(hook, LAN, &connection.frame(ORIGINAL).bytes());
        assert_eq!(outcome, Outcome::Passed(Reason::Silent));
    }
}
