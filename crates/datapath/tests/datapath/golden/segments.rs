//! Super-packets (trap 5): at TC an skb may hold many segments; at XDP a frame may lie in several
//! buffers.

use frames::edit::*;
use frames::*;

/// A connection whose longest proven packet is `payload` bytes of TCP or UDP payload.
fn proven(router: &mut Router, connection: &Connection, payload: usize) {
    for side in SIDES {
        router.prove_with(connection, side, &connection.frame(side).payload(payload));
    }
}

/// The size of a segment counts, not that of the whole: a super-packet takes the fast path, counted
/// as its segments.
#[test]
fn a_segment_that_fits_is_forwarded() {
    let mut router = Router::standard();
    for connection in router.connections.clone() {
        proven(&mut router, &connection, 1000);
        let frame = connection.frame(Side::Original).payload(3000).bytes();
        let mut fields = SkbFields {
            gso_size: 1000,
            gso_segs: 3,
            ..Default::default()
        };
        let Outcome::Forwarded(out) = router.run_skb(LAN, &frame, &mut fields) else {
            panic!("{}: segments fit", connection.original);
        };
        let sent = connection.sent(
            Side::Original,
            &connection.frame(Side::Original).payload(3000),
        );
        assert_eq!(out, sent.bytes(), "translated as a whole");
        assert_eq!(
            (fields.gso_size, fields.gso_segs),
            (1000, 3),
            "and still to be segmented"
        );
        let reading = router.path.read(connection.id).expect("known")[0];
        // As on the wire: each segment has its own headers.
        let headers = frame.len() as u64 - 14 - 3000;
        assert_eq!((reading.packets, reading.bytes), (3, 3 * headers + 3000));
    }
}

/// A segment one byte longer is the kernel's: the kernel may have to answer "packet too big".
#[test]
fn a_segment_that_does_not_fit_is_passed() {
    let mut router = Router::standard();
    for connection in router.connections.clone() {
        proven(&mut router, &connection, 1000);
        let frame = connection.frame(Side::Original).payload(3000).bytes();
        let mut fields = SkbFields {
            gso_size: 1001,
            gso_segs: 3,
            ..Default::default()
        };
        let outcome = router.run_skb(LAN, &frame, &mut fields);
        assert_eq!(
            outcome,
            Outcome::Passed(Reason::Length),
            "{}",
            connection.original
        );
        assert!(
            router.proven(&connection, Side::Original),
            "oversize keeps the flow"
        );
        // As one packet, the bytes are longer still.
        let outcome = router.run(Hook::Tc, LAN, &frame);
        assert_eq!(outcome, Outcome::Passed(Reason::Length));
    }
}

/// TCP options belong to each segment's length.
#[test]
fn tcp_options_count_in_each_segment() {
    let mut router = Router::standard();
    for connection in router
        .connections
        .clone()
        .into_iter()
        .filter(Connection::is_tcp)
    {
        proven(&mut router, &connection, 1000);
        let mut frame = connection.frame(Side::Original).payload(3012).bytes();
        data_offset(&mut frame, 8);
        for (size, fits) in [(988, true), (989, false)] {
            let mut fields = SkbFields {
                gso_size: size,
                gso_segs: 4,
                ..Default::default()
            };
            let outcome = router.run_skb(LAN, &frame, &mut fields);
            assert_eq!(
                matches!(outcome, Outcome::Forwarded(_)),
                fits,
                "{size}: {outcome:?}"
            );
        }
    }
}

/// A super-packet that left proves the length of its segments, not its own.
#[test]
fn a_super_packet_proves_its_segments() {
    let mut router = Router::standard();
    for connection in router.connections.clone() {
        let side = Side::Original;
        let frame = connection.frame(side).payload(3000);
        let fields = SkbFields {
            gso_size: 1000,
            gso_segs: 3,
            ..Default::default()
        };
        let mut proven = false;
        for _ in 0..1000 {
            router.run_skb(LAN, &frame.bytes(), &mut fields.clone());
            router.leave_skb(
                WAN,
                &connection.sent(side, &frame).bytes(),
                &mut fields.clone(),
            );
            proven = router.proven(&connection, side);
            if proven {
                break;
            }
        }
        assert!(proven, "{}", connection.original);
        let header =
            if connection.is_ipv6() { 40 } else { 20 } + if connection.is_tcp() { 20 } else { 8 };
        let length = router.path.inspect(connection.id).expect("known")[0].length;
        assert_eq!(usize::from(length), header + 1000);
        let just = connection.frame(side).payload(1000).bytes();
        assert!(matches!(
            router.run(Hook::Tc, LAN, &just),
            Outcome::Forwarded(_)
        ));
        let more = connection.frame(side).payload(1001).bytes();
        assert_eq!(
            router.run(Hook::Tc, LAN, &more),
            Outcome::Passed(Reason::Length)
        );
    }
}

/// Mark and priority with which the kernel sent are there again when TC forwards (trap 20).
#[test]
fn mark_and_priority_are_restored() {
    let mut router = Router::standard();
    for connection in router.connections.clone() {
        let side = Side::Original;
        let frame = connection.frame(side);
        for _ in 0..1000 {
            router.run(Hook::Tc, LAN, &frame.bytes());
            let mut sent = SkbFields {
                mark: 0x1234,
                priority: 6,
                ..Default::default()
            };
            router.leave_skb(WAN, &connection.sent(side, &frame).bytes(), &mut sent);
            if router.proven(&connection, side) {
                break;
            }
        }
        let mut fields = SkbFields {
            mark: 7,
            ..Default::default()
        };
        let outcome = router.run_skb(LAN, &frame.bytes(), &mut fields);
        assert!(matches!(outcome, Outcome::Forwarded(_)), "{outcome:?}");
        assert_eq!((fields.mark, fields.priority), (0x1234, 6));
    }
}

/// A frame in several buffers is the kernel's at XDP: headers of it are not all in reach there. TC
/// takes it.
#[test]
fn a_frame_in_several_buffers_is_passed_by_xdp() {
    let mut router = Router::standard();
    for connection in router.connections.clone() {
        for side in SIDES {
            router.prove_with(&connection, side, &connection.frame(side).payload(1000));
        }
        let frame = connection.frame(Side::Original).payload(8000).bytes();
        let outcome = router.run(Hook::Xdp, LAN, &frame);
        assert_eq!(outcome, Outcome::Passed(Reason::Truncated));
    }
}

/// The packet may lie within the first buffer, and rubbish in all others: that must not travel on
/// either.
#[test]
fn a_trailer_in_several_buffers_does_not_travel_on() {
    let mut router = Router::standard();
    router.prove_all();
    for connection in router.connections.clone() {
        let mut frame = connection.frame(Side::Original).bytes();
        let end = frame.len();
        frame.resize(8000, 0xaa);
        match router.run(Hook::Xdp, LAN, &frame) {
            Outcome::Passed(_) | Outcome::Dropped(_) => {}
            Outcome::Forwarded(out) => {
                assert_eq!(
                    out.len(),
                    end,
                    "{}: cut at the end of the packet",
                    connection.original
                );
            }
        }
    }
}
