//! A FIN or RST that neither end can have sent, by its sequence numbers: conntrack does not check
//! windows, as configured, and must not see the packet. The packet takes the path of its flow's
//! other packets past conntrack, or is dropped.

use frames::edit::*;
use frames::maps::set_count;
use frames::*;

/// Positions of both ends in their streams: the client's next byte, and the server's.
type Streams = [u32; 2];
/// The client's sequence numbers wrap soon.
const STREAMS: Streams = [0xffff_f000, 77_000];
/// Scales of both ends' windows: what the client sends is bounded by the server's.
const SCALES: [u8; 2] = [2, 7];
/// The windows that they offer, not scaled.
const OFFERED: [u16; 2] = [40_000, 500];
/// Tolerance beyond a window, for growth and loss; and below the acknowledged bytes.
const AHEAD: u32 = 1 << 18;
const BEHIND: u32 = 1 << 17;
const FAREWELLS: [u8; 3] = [FIN | ACK, RST, RST | ACK];

/// Distance that a side may be beyond the bytes that the other end had got.
fn room(side: Side) -> u32 {
    let other = 1 - side as usize;
    (u32::from(OFFERED[other]) << SCALES[other]) + AHEAD
}

/// The longest window that a side could offer.
fn longest(side: Side) -> u32 {
    1 << (16 + SCALES[side as usize])
}

fn numbers_of(streams: Streams, side: Side) -> (u32, u32) {
    let (own, other) = (side as usize, 1 - side as usize);
    (streams[own], streams[other])
}

/// Returns an incoming packet of one side, with these numbers.
fn incoming(frame: &Frame, (sequence, acknowledged): (u32, u32)) -> Vec<u8> {
    let mut octets = frame.bytes();
    numbers(&mut octets, sequence, acknowledged);
    octets
}

/// Has the kernel forward a packet of one side, and the witness see it.
fn show(router: &mut Router, connection: &Connection, side: Side, said: (u32, u32)) {
    let frame = connection.frame(side);
    let window = OFFERED[side as usize];
    let mut comes = incoming(&frame, said);
    let mut leaves = incoming(&connection.sent(side, &frame), said);
    offered(&mut comes, window);
    offered(&mut leaves, window);
    let (link, out) = links(side);
    for _ in 0..2000 {
        router.path.invalidate(connection.id);
        router.run(Hook::Tc, link, &comes);
        match router.leave(out, &leaves) {
            None => return,
            Some(Reason::NotSeen | Reason::Held | Reason::Quiet) => {}
            Some(other) => panic!("{}: {other:?}", connection.original),
        }
    }
    panic!("the machine is too busy: no packet was witnessed in time");
}

/// Lets both ends speak until the connection is proven both ways.
fn speak(router: &mut Router, connection: &Connection, streams: Streams) {
    for _ in 0..3 {
        for side in SIDES {
            show(router, connection, side, numbers_of(streams, side));
        }
    }
    router.prove(connection);
}

/// TCP over both families, guarded, with a sample of both ends.
fn guarded() -> (Router, Vec<Connection>) {
    let mut router = Router::standard();
    let all = router.connections.clone();
    let tcp: Vec<Connection> = all.into_iter().filter(Connection::is_tcp).collect();
    for connection in &tcp {
        router.path.guard(connection.id, SCALES);
        speak(&mut router, connection, STREAMS);
    }
    (router, tcp)
}

/// Returns the fate of a FIN or RST of one side. A forwarded one leaves like any other packet of
/// its flow.
fn farewell(
    router: &mut Router,
    connection: &Connection,
    side: Side,
    (hook, flags): (Hook, u8),
    said: (u32, u32),
) -> Outcome {
    let frame = connection.frame(side).flags(flags).payload(0);
    match router.run(hook, links(side).0, &incoming(&frame, said)) {
        Outcome::Forwarded(octets) => {
            let sent = incoming(&connection.sent(side, &frame), said);
            assert_eq!(octets, sent, "{} {side:?} {hook:?}", connection.original);
            DOUBTED
        }
        other => other,
    }
}

const PASSED: Outcome = Outcome::Passed(Reason::TcpFlags);
/// Forwarded past conntrack.
const DOUBTED: Outcome = Outcome::Forwarded(Vec::new());
const DROPPED: Outcome = Outcome::Dropped(Reason::Window);

#[test]
fn a_farewell_in_the_window_passes_and_conntrack_sees_no_other() {
    let (mut router, connections) = guarded();
    for connection in connections {
        for (side, hook) in SIDES.into_iter().zip(HOOKS) {
            let (own, other) = numbers_of(STREAMS, side);
            let (room, back) = (room(side), longest(side));
            // A little is forwarded meanwhile, and counters are rounded.
            let far = 1 << 14;
            // Of the other end: behind the bytes that it sent.
            let said_last = other.wrapping_add(100);
            for flags in FAREWELLS {
                let acknowledges = flags & ACK != 0;
                let table = [
                    ("next", own, other, true),
                    ("a window ahead", own.wrapping_add(room), other, true),
                    ("a little behind", own.wrapping_sub(BEHIND), other, true),
                    ("further ahead", own.wrapping_add(room + far), other, false),
                    ("further behind", own.wrapping_sub(BEHIND + 1), other, false),
                    ("anywhere", own.wrapping_add(1 << 31), other, false),
                    ("answer ahead", own, other.wrapping_add(back), true),
                    ("answer behind", own, said_last.wrapping_sub(back), true),
                    (
                        "an answer to what was never sent",
                        own,
                        other.wrapping_add(back + far),
                        !acknowledges,
                    ),
                    (
                        "an answer of long ago",
                        own,
                        other.wrapping_sub(back + far),
                        !acknowledges,
                    ),
                ];
                for (name, sequence, acknowledged, genuine) in table {
                    speak(&mut router, &connection, STREAMS);
                    let said = (sequence, acknowledged);
                    let outcome = farewell(&mut router, &connection, side, (hook, flags), said);
                    let expected = if genuine { PASSED } else { DOUBTED };
                    let place = format!("{name}: {} {side:?} {flags:#x}", connection.original);
                    assert_eq!(outcome, expected, "{place}");
                    let proven = SIDES.map(|side| router.proven(&connection, side));
                    assert_eq!(proven, [!genuine; 2], "{place}");
                }
            }
        }
    }
}

/// A packet without a valid proof is not forwarded: unproven, by another port, longer than proven,
/// or with no TTL left.
#[test]
fn a_doubtful_farewell_proves_nothing() {
    let wild = (1_234_567_890, 3_987_654_321);
    for (side, hook) in SIDES.into_iter().flat_map(|s| HOOKS.map(|h| (s, h))) {
        let (mut router, connections) = guarded();
        for connection in connections {
            speak(&mut router, &connection, STREAMS);
            let plain = || connection.frame(side).flags(RST).payload(0);
            let mut try_it = |name: &str, link: u32, frame: &Frame| {
                let outcome = router.run(hook, link, &incoming(frame, wild));
                let place = format!("{name}: {} {side:?} {hook:?}", connection.original);
                assert_eq!(outcome, DROPPED, "{place}");
                let proven = SIDES.map(|side| router.proven(&connection, side));
                assert_eq!(proven, [true; 2], "{place}");
            };
            let (here, there) = links(side);
            let elsewhere = Frame {
                destination_mac: connection.frame(SIDES[1 - side as usize]).destination_mac,
                ..plain()
            };
            try_it("elsewhere", there, &elsewhere);
            try_it("long", here, &plain().payload(1400));
            try_it("at its end", here, &Frame { ttl: 1, ..plain() });
            try_it("from further away", here, &Frame { ttl: 3, ..plain() });
            let other_dscp = Frame {
                tos: 0x20,
                ..plain()
            };
            try_it("of another class", here, &other_dscp);
            router.path.heartbeat.invalidate_all().expect("bumps");
            let outcome = farewell(&mut router, &connection, side, (hook, RST), wild);
            assert_eq!(
                outcome, DROPPED,
                "{} {side:?} {hook:?}",
                connection.original
            );
        }
    }
}

/// Forwarded bytes move the stream on; beyond 1 GiB the sample is useless.
#[test]
fn what_was_forwarded_since_counts() {
    // The tuple identifies the counter, among all on the machine.
    let mut router = Router::new(brief());
    let original = tuple(Tcp, "192.168.77.2", 40077, "10.77.0.2", 4477);
    let reply = tuple(Tcp, "10.77.0.2", 4477, "10.77.0.1", 50077);
    let connection = router.connect(original, reply).expect("room");
    router.path.guard(connection.id, SCALES);
    let (own, other) = numbers_of(STREAMS, ORIGINAL);
    let count = |octets: u64| 5 << 40 | octets;
    let ahead = own.wrapping_add(300 << 20);
    for (forwarded, sequence, expected) in [
        (0, ahead, DOUBTED),
        ((300 << 20) - (1 << 18), ahead, PASSED),
        (200 << 20, ahead, DOUBTED),
        ((1 << 30) - (1 << 20), own.wrapping_add(2 << 30), DOUBTED),
        (1 << 30, own.wrapping_add(2 << 30), PASSED),
        (1 << 39, own.wrapping_add(2 << 30), PASSED),
    ] {
        set_count(&connection.original, count(0));
        speak(&mut router, &connection, STREAMS);
        set_count(&connection.original, count(forwarded));
        let said = (sequence, other);
        let outcome = farewell(&mut router, &connection, ORIGINAL, (Hook::Xdp, RST), said);
        assert_eq!(outcome, expected, "{forwarded}");
        // The other end acknowledges it.
        speak(&mut router, &connection, STREAMS);
        set_count(&connection.original, count(0));
        speak(&mut router, &connection, STREAMS);
        set_count(&connection.original, count(forwarded));
        let said = (other, sequence);
        let outcome = farewell(&mut router, &connection, REPLY, (Hook::Tc, FIN | ACK), said);
        assert_eq!(outcome, expected, "{forwarded}, acknowledged");
    }
}

/// Bytes that the kernel forwards count as well, also if weir finds no flow for them.
#[test]
fn what_the_kernel_forwarded_since_counts() {
    let long = |connection: &Connection| connection.frame(ORIGINAL).payload(1400);
    let (own, other) = numbers_of(STREAMS, ORIGINAL);
    // Beyond the window by what 30 long packets carry.
    let said = (own.wrapping_add(room(ORIGINAL) + 30 * 1400), other);
    type Passing = fn(&mut Vec<u8>);
    let passings: [(&str, Passing, bool); 3] = [
        ("of the flow", |frame| tos(frame, 0x20), true),
        ("a fragment", |frame| fragment(frame, 0x2000), true),
        ("of nobody", |frame| protocol(frame, 47), false),
    ];
    for (name, edit, counts) in passings {
        let (mut router, connections) = guarded();
        let connection = connections[0];
        for round in 0..60 {
            let mut octets = long(&connection).bytes();
            edit(&mut octets);
            let outcome = router.run(Hook::Tc, LAN, &octets);
            assert!(matches!(outcome, Outcome::Passed(_)), "{name} {round}");
        }
        let outcome = farewell(&mut router, &connection, ORIGINAL, (Hook::Tc, RST), said);
        assert_eq!(outcome, if counts { PASSED } else { DOUBTED }, "{name}");
    }
}

/// Without samples of both ends that agree, or without windows, no packet can be judged; nor after
/// ports came and went.
#[test]
fn what_cannot_be_told_passes() {
    let wild = (1_234_567_890, 3_987_654_321);
    for name in ["never spoke", "one spoke", "no windows", "other ports"] {
        let mut router = Router::standard();
        let connection = router.connections[0];
        if name != "no windows" {
            router.path.guard(connection.id, SCALES);
        }
        match name {
            "never spoke" => {}
            "one spoke" => show(&mut router, &connection, REPLY, numbers_of(STREAMS, REPLY)),
            _ => speak(&mut router, &connection, STREAMS),
        }
        if name == "other ports" {
            router.path.detach(WAN_TOO).expect("no port");
        }
        let outcome = farewell(&mut router, &connection, ORIGINAL, (Hook::Xdp, RST), wild);
        assert_eq!(outcome, PASSED, "{name}");
    }
}

/// Conntrack accepts any packet, and so the kernel forwards it: the numbers of a spoofed packet
/// must not count as the end's.
#[test]
fn forged_data_moves_nothing() {
    let (mut router, connections) = guarded();
    for connection in connections {
        let wild = (1_234_567_890, 3_987_654_321);
        for side in SIDES {
            show(&mut router, &connection, side, wild);
            let tried = farewell(&mut router, &connection, side, (Hook::Xdp, FIN | ACK), wild);
            assert_eq!(tried, DOUBTED, "{} {side:?}", connection.original);
        }
        for side in SIDES {
            let said = numbers_of(STREAMS, side);
            let genuine = farewell(&mut router, &connection, side, (Hook::Tc, FIN | ACK), said);
            assert_eq!(genuine, PASSED, "{} {side:?}", connection.original);
        }
    }
}

/// The first sample was of a spoofed packet: samples of the ends themselves, which agree, replace
/// it.
#[test]
fn two_that_agree_are_believed() {
    let mut router = Router::standard();
    let connection = router.connections[0];
    router.path.guard(connection.id, SCALES);
    let wild = (1_234_567_890, 3_987_654_321);
    show(&mut router, &connection, REPLY, wild);
    speak(&mut router, &connection, STREAMS);
    let hook = (Hook::Xdp, FIN | ACK);
    let tried = farewell(&mut router, &connection, ORIGINAL, hook, wild);
    assert_eq!(tried, DOUBTED);
    let said = numbers_of(STREAMS, ORIGINAL);
    assert_eq!(
        farewell(&mut router, &connection, ORIGINAL, hook, said),
        PASSED
    );
}

/// A host that lost the connection, and begins a new one with its tuple, gets an RST from the other
/// end that answers the SYN.
#[test]
fn a_refused_syn_is_heard_of() {
    let (mut router, connections) = guarded();
    for connection in connections {
        let anew = 2_222_222_222;
        let refusal = (0, anew + 1);
        let hook = (Hook::Tc, RST | ACK);
        let tried = farewell(&mut router, &connection, REPLY, hook, refusal);
        assert_eq!(tried, DOUBTED, "nobody asked");
        let syn = farewell(
            &mut router,
            &connection,
            ORIGINAL,
            (Hook::Tc, SYN),
            (anew, 0),
        );
        assert_eq!(syn, PASSED);
        let heard = farewell(&mut router, &connection, REPLY, hook, refusal);
        assert_eq!(heard, PASSED, "{}", connection.original);
        // As conntrack does, which would have seen what went by since.
        speak(&mut router, &connection, STREAMS);
        let late = farewell(&mut router, &connection, REPLY, hook, refusal);
        assert_eq!(late, DOUBTED, "{}", connection.original);
    }
}

/// Bytes that went by since count as well.
#[test]
fn a_refusal_is_late_once_more_went_by() {
    // The tuple identifies the counter, among all on the machine.
    let mut router = Router::new(brief());
    let original = tuple(Tcp, "192.168.78.2", 40078, "10.78.0.2", 4478);
    let reply = tuple(Tcp, "10.78.0.2", 4478, "10.78.0.1", 50078);
    let connection = router.connect(original, reply).expect("room");
    router.path.guard(connection.id, SCALES);
    speak(&mut router, &connection, STREAMS);
    let anew = 2_222_222_222;
    let syn = (anew, 0);
    set_count(&original, 5 << 40);
    let said = farewell(&mut router, &connection, ORIGINAL, (Hook::Tc, SYN), syn);
    assert_eq!(said, PASSED);
    set_count(&original, 6 << 40);
    let refusal = (0, anew + 1);
    let late = farewell(
        &mut router,
        &connection,
        REPLY,
        (Hook::Tc, RST | ACK),
        refusal,
    );
    assert_eq!(late, DROPPED, "{original}");
}

/// Some old stacks set ACK in a RST that acknowledges nothing; conntrack then checks the sequence
/// number (nf_conntrack_proto_tcp.c, `tcp_in_window`).
#[test]
fn an_abort_that_acknowledges_nothing_goes_by_its_sequence_number() {
    let mut router = Router::standard();
    let connection = router.connections[0];
    router.path.guard(connection.id, SCALES);
    let streams = [3_000_000_000, 2_000_000_000];
    for side in SIDES {
        let own = numbers_of(streams, side).0;
        for (flags, sequence, expected) in [
            (RST | ACK, own, PASSED),
            (RST | ACK, own.wrapping_add(1 << 31), DOUBTED),
            (FIN | ACK, own, DOUBTED),
        ] {
            speak(&mut router, &connection, streams);
            let hook = (Hook::Xdp, flags);
            let outcome = farewell(&mut router, &connection, side, hook, (sequence, 0));
            assert_eq!(outcome, expected, "{side:?} {flags:#x} {sequence}");
        }
    }
}

/// An acknowledgement of bytes that were never sent is not from an end, though it is within the
/// longest window.
#[test]
fn what_acknowledges_too_much_is_no_sample() {
    let (mut router, connections) = guarded();
    for connection in connections {
        for side in SIDES {
            let (own, other) = numbers_of(STREAMS, side);
            let ahead = other.wrapping_add(longest(side).min(400_000));
            show(&mut router, &connection, side, (own, ahead));
        }
        for side in SIDES {
            let said = numbers_of(STREAMS, side);
            let genuine = farewell(&mut router, &connection, side, (Hook::Tc, FIN | ACK), said);
            assert_eq!(genuine, PASSED, "{} {side:?}", connection.original);
        }
    }
}

/// An attacker in the LAN who knows the connection sends as both ends, before any sample exists:
/// packets of the ends themselves still pass.
#[test]
fn who_speaks_for_both_ends_at_one_port_is_not_believed() {
    let wild = [1_234_567_890, 3_987_654_321];
    for first in [true, false] {
        let mut router = Router::standard();
        let connection = router.connections[0];
        router.path.guard(connection.id, SCALES);
        if !first {
            speak(&mut router, &connection, STREAMS);
            // Knowledge of sequence numbers ends; that of the ends' ports does not.
            router.path.detach(WAN_TOO).expect("no port");
        }
        // To the router, from the LAN.
        let addresses = connection.frame(ORIGINAL).bytes()[..12].to_vec();
        let mut seen = [0; 2];
        for _ in 0..200 {
            for side in SIDES {
                let frame = connection.frame(side);
                let said = numbers_of(wild, side);
                let leaves = incoming(&connection.sent(side, &frame), said);
                router.path.invalidate(connection.id);
                let mut forged = incoming(&frame, said);
                forged[..12].copy_from_slice(&addresses);
                router.run(Hook::Tc, LAN, &forged);
                let witnessed = router.leave(links(side).1, &leaves).is_none();
                seen[side as usize] += u32::from(witnessed);
            }
        }
        assert!(
            seen.iter().all(|seen| *seen > 10),
            "{first}: {seen:?} were witnessed"
        );
        for side in SIDES {
            let said = numbers_of(STREAMS, side);
            let genuine = farewell(&mut router, &connection, side, (Hook::Tc, FIN | ACK), said);
            assert_eq!(genuine, PASSED, "{first} {side:?}");
        }
    }
}
