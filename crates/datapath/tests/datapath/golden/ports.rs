//! Ports where packets come in and leave: other ports, hops that need an skb, devices that are not
//! ports, in and out by one.

use weir_datapath::Port;

use frames::*;

/// Rules may depend on the ingress device of a packet (trap 18: a station that roams): at another
/// device, the packet passes, and proves there.
#[test]
fn another_port_passes_and_proves_anew() {
    let mut router = Router::standard();
    for connection in router.connections.clone() {
        router.prove_with(&connection, ORIGINAL, &connection.frame(ORIGINAL));
        let mut moved = connection.frame(ORIGINAL);
        moved.destination_mac = ROUTER_WAN;
        router.passes(WAN, &moved, Reason::Moved, "came in at another port");
        router.forwards(
            LAN,
            &connection.frame(ORIGINAL),
            "one stray packet does not end the proof",
        );

        // The kernel forwards packets that come in there: proven there, and no longer here.
        let leaves = connection.sent(ORIGINAL, &moved).bytes();
        let mut there = false;
        for _ in 0..1000 {
            if matches!(
                router.run(Hook::Tc, WAN, &moved.bytes()),
                Outcome::Forwarded(_)
            ) {
                there = true;
                break;
            }
            router.leave(WAN, &leaves);
        }
        assert!(there, "proven at the other port");
        router.passes(
            LAN,
            &connection.frame(ORIGINAL),
            Reason::Moved,
            "and not here any more",
        );
    }
}

/// An egress by which XDP cannot or must not send (no ndo_xdp_xmit, a qdisc): XDP leaves the packet
/// to TC (traps 20 and 23).
#[test]
fn a_hop_that_needs_an_skb_is_forwarded_at_tc() {
    let mut router = Router::standard();
    router.prove_all();
    router
        .path
        .declare(&Port::new(WAN, ROUTER_WAN, false))
        .expect("a port");
    for connection in router.connections.clone() {
        let frame = connection.frame(ORIGINAL).bytes();
        assert_eq!(
            router.compare(Hook::Xdp, LAN, &frame),
            Outcome::Passed(Reason::Hook)
        );
        assert!(matches!(
            router.compare(Hook::Tc, LAN, &frame),
            Outcome::Forwarded(_)
        ));
        router.forwards(
            WAN,
            &connection.frame(Side::Reply),
            "the other way out takes frames",
        );
    }
    router
        .path
        .declare(&Port::new(WAN, ROUTER_WAN, true))
        .expect("a port");
    for connection in router.connections.clone() {
        router.forwards(LAN, &connection.frame(ORIGINAL), "and again");
    }
}

/// A device that is not a port, or another port: trap 26, a reused device index.
#[test]
fn other_devices_pass() {
    let mut router = Router::standard();
    router.prove_all();
    let frame = router.connections[0].frame(ORIGINAL).bytes();
    for hook in HOOKS {
        assert_eq!(
            router.compare(hook, 1, &frame),
            Outcome::Passed(Reason::Port),
            "lo"
        );
    }
    router.path.detach(LAN).expect("detaches");
    for hook in HOOKS {
        assert_eq!(
            router.compare(hook, LAN, &frame),
            Outcome::Passed(Reason::Port),
            "detached"
        );
    }
}

/// Hairpin (trap 15): in and out by one device is an ordinary path.
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
            assert_eq!(
                outcome,
                Outcome::Forwarded(sent.bytes()),
                "{original} at {hook:?}"
            );
        }
    }
}
