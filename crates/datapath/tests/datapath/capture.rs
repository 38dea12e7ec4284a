//! Capture: the output has the forwarded packets of the requested flows, and no more of them than
//! the tokens allow. Needs root.

use frames::*;
use weir_datapath::{
    CAPTURE_OCTETS, Capture, CaptureCounts, CaptureEnd, CaptureFilter, Side as Way,
};

fn everything() -> CaptureFilter {
    CaptureFilter {
        snaplen: CAPTURE_OCTETS,
        ..Default::default()
    }
}

fn started(router: &mut Router, filter: &CaptureFilter, tokens: u32) -> Capture {
    let mut capture = router.path.captures.begin(filter, 1000).expect("captures");
    capture.give(tokens);
    capture
}

/// A captured packet, in a form that outlives the reading.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    packet: u64,
    link: u32,
    side: Way,
    xdp: bool,
    length: u32,
    tag: Option<(u16, u16)>,
    segments: Option<(u16, u16)>,
    octets: Vec<u8>,
}

impl Seen {
    /// As on the wire: with a tag that an skb had in its metadata.
    fn wire(&self) -> Vec<u8> {
        let mut wire = self.octets.clone();
        if let Some((kind, tci)) = self.tag {
            let tag = [kind.to_be_bytes(), tci.to_be_bytes()].concat();
            wire.splice(12..12, tag);
        }
        wire
    }
}

fn read(capture: &mut Capture) -> Vec<Seen> {
    let mut seen = Vec::new();
    capture.read(1000, |c| {
        assert!(c.when > 1_600_000_000_000_000_000, "a time of this century");
        seen.push(Seen {
            packet: c.packet,
            link: c.link,
            side: c.side,
            xdp: c.hook == weir_datapath::Hook::Xdp,
            length: c.length,
            tag: c.tag,
            segments: c.segments,
            octets: c.bytes.to_vec(),
        });
    });
    seen
}

fn forward(router: &mut Router, hook: Hook, link: u32, frame: &[u8]) -> Vec<u8> {
    match router.run(hook, link, frame) {
        Outcome::Forwarded(out) => out,
        other => panic!("{other:?}"),
    }
}

/// Both sides of a packet are captured byte for byte, at both hooks, and belong together.
#[test]
fn a_packet_is_captured_as_it_came_and_as_it_left() {
    let mut router = Router::standard();
    router.prove_all();
    for hook in HOOKS {
        for connection in router.connections.clone() {
            for side in SIDES {
                let mut capture = started(&mut router, &everything(), 10);
                let frame = connection.frame(side).payload(33).bytes();
                let (from, to) = links(side);
                let out = forward(&mut router, hook, from, &frame);
                let seen = read(&mut capture);
                let [first, second] = &seen[..] else {
                    panic!("{hook:?} {}: {seen:?}", connection.original);
                };
                assert_eq!(
                    (first.side, first.link, &first.octets),
                    (Way::In, from, &frame)
                );
                assert_eq!(
                    (second.side, second.link, &second.octets),
                    (Way::Out, to, &out)
                );
                assert_eq!(first.packet, second.packet);
                for seen in [first, second] {
                    assert_eq!(seen.xdp, hook == Hook::Xdp);
                    assert_eq!(seen.length as usize, frame.len());
                    assert_eq!((seen.segments, seen.tag), (None, None));
                }
                router.path.captures.end(&mut capture);
            }
        }
    }
}

/// Tags and PPPoE are what they were on the wire, on each side.
#[test]
fn headers_are_those_of_each_side() {
    use frames::link::{SERVICE, VLAN};
    let mut router = Router::standard();
    let headers = [
        Behind::default(),
        Behind::tags(&[(VLAN, 0xb007)]),
        Behind::tags(&[(SERVICE, 300), (VLAN, 7)]),
        Behind::tags(&[(VLAN, 7)]).session(0x1234),
    ];
    for lan in &headers {
        for wan in &headers {
            router.path.heartbeat.invalidate_all().expect("bumps");
            for connection in router.connections.clone() {
                let mut seen_at = |side: Side, [from, to]: [&Behind; 2]| {
                    let frame = connection.frame(side).payload(100);
                    let comes = from.put_on(&frame.bytes());
                    let leaves = to.put_on(&connection.sent(side, &frame).bytes());
                    prove(&mut router, &connection, side, &comes, &leaves);
                    (comes, leaves)
                };
                // Back, too: the kernel's packets into a session show the address of its other end.
                seen_at(Side::Reply, [wan, lan]);
                let (comes, leaves) = seen_at(Side::Original, [lan, wan]);
                for hook in HOOKS {
                    let mut capture = started(&mut router, &everything(), 10);
                    forward(&mut router, hook, LAN, &comes);
                    let seen: Vec<_> = read(&mut capture).iter().map(Seen::wire).collect();
                    let place = format!("{hook:?} {lan:?} to {wan:?}, {}", connection.original);
                    assert_eq!(seen, [comes.clone(), leaves.clone()], "{place}");
                    router.path.captures.end(&mut capture);
                }
            }
        }
    }
}

/// The kernel is seen to forward a packet like this.
fn prove(router: &mut Router, connection: &Connection, side: Side, comes: &[u8], leaves: &[u8]) {
    let (from, to) = links(side);
    for _ in 0..2000 {
        let outcome = router.run(Hook::Tc, from, comes);
        assert!(matches!(outcome, Outcome::Passed(_)), "{outcome:?}");
        router.leave(to, leaves);
        if router.proven(connection, side) {
            return;
        }
        std::thread::sleep(std::time::Duration::from_micros(200));
    }
    panic!("{}: never proven", connection.original);
}

/// A snap length cuts the captured bytes, not the reported length; one side can be selected.
#[test]
fn the_first_octets_of_one_side() {
    let mut router = Router::standard();
    router.prove_all();
    let connection = router.connections[0];
    router.prove_with(
        &connection,
        Side::Original,
        &connection.frame(Side::Original).payload(1400),
    );
    let frame = connection.frame(Side::Original).payload(1300).bytes();
    for (hook, way) in HOOKS.into_iter().zip([Way::In, Way::Out]) {
        for octets in [16, 17, 63, 64, 127, 128, 255, 1000] {
            let filter = CaptureFilter {
                side: Some(way),
                snaplen: octets,
                ..Default::default()
            };
            let mut capture = started(&mut router, &filter, 10);
            let out = forward(&mut router, hook, LAN, &frame);
            let seen = read(&mut capture);
            assert_eq!(seen.len(), 1, "{hook:?} {octets}: {seen:?}");
            let whole = if way == Way::In { &frame } else { &out };
            assert_eq!(seen[0].octets, whole[..octets as usize]);
            assert_eq!(seen[0].length as usize, whole.len());
            router.path.captures.end(&mut capture);
        }
    }
}

/// Padding that XDP cuts off behind the IP packet came in, and did not go out.
#[test]
fn padding_is_on_one_side_only() {
    let mut router = Router::standard();
    router.prove_all();
    let connection = router.connections[0];
    let mut frame = connection.frame(Side::Original).payload(50).bytes();
    let real = frame.len();
    frame.extend([0xee; 9]);
    for hook in HOOKS {
        let mut capture = started(&mut router, &everything(), 10);
        let out = forward(&mut router, hook, LAN, &frame);
        assert_eq!(out.len(), real);
        let lengths: Vec<_> = read(&mut capture).iter().map(|s| s.octets.len()).collect();
        assert_eq!(lengths, [real + 9, real], "{hook:?}");
        router.path.captures.end(&mut capture);
    }
}

/// A super-packet reports the number of its segments.
#[test]
fn a_super_packet_is_one_record() {
    let mut router = Router::standard();
    let connection = router.connections[0];
    router.prove_with(
        &connection,
        Side::Original,
        &connection.frame(Side::Original).payload(1000),
    );
    let mut capture = started(&mut router, &everything(), 10);
    let frame = connection.frame(Side::Original).payload(3000).bytes();
    let mut fields = SkbFields {
        gso_size: 1000,
        gso_segs: 3,
        ..Default::default()
    };
    assert!(matches!(
        router.run_skb(LAN, &frame, &mut fields),
        Outcome::Forwarded(_)
    ));
    let seen = read(&mut capture);
    assert_eq!(seen.len(), 2);
    for seen in seen {
        assert_eq!(
            (seen.segments, seen.length as usize),
            (Some((3, 1000)), frame.len())
        );
        assert_eq!(seen.octets.len(), CAPTURE_OCTETS as usize);
    }
}

/// Every criterion takes what fits and leaves the rest, before and after translation, in both
/// directions.
#[test]
fn filters_choose() {
    let mut router = Router::standard();
    router.prove_all();
    let end = |text: &str, length: u8, port| CaptureEnd {
        prefix: Some((text.parse().expect("an address"), length)),
        port,
    };
    let prefix = |text: &str| {
        let (address, length) = text.split_once('/').expect("a slash");
        end(address, length.parse().expect("a length"), None)
    };
    let with = |ends: [CaptureEnd; 2]| CaptureFilter {
        ends,
        ..everything()
    };
    let one = |text| with([prefix(text), CaptureEnd::default()]);
    let other = |text| with([CaptureEnd::default(), prefix(text)]);
    let two = |ends: [(&str, u16); 2]| with(ends.map(|(at, port)| end(at, 128, Some(port))));
    let all = everything();
    let link = |link| CaptureFilter {
        link,
        ..everything()
    };
    let port = |port| CaptureFilter {
        port,
        ..everything()
    };
    let of = |protocol| CaptureFilter {
        protocol,
        ..everything()
    };
    // Of TCP over IPv4, TCP over IPv6, UDP over IPv4, UDP over IPv6.
    let (every, never) = ([true; 4], [false; 4]);
    let (v4, v6) = ([true, false, true, false], [false, true, false, true]);
    let cases = [
        (all, every, "everything"),
        (of(Some(Tcp)), [true, true, false, false], "TCP"),
        (of(Some(Udp)), [false, false, true, true], "UDP"),
        (link(Some(LAN)), every, "a device"),
        (link(Some(99)), never, "another device"),
        (port(Some(40000)), every, "a port before"),
        (port(Some(50000)), every, "a port after"),
        (port(Some(443)), every, "the other port"),
        (port(Some(444)), never, "no such port"),
        (one("192.168.1.0/24"), v4, "a prefix before"),
        (other("192.168.1.0/24"), v4, "either end"),
        (one("10.0.0.1/32"), v4, "an address after"),
        (one("192.168.2.0/24"), never, "another prefix"),
        (one("0.0.0.0/0"), v4, "IPv4"),
        (one("::/0"), v6, "IPv6"),
        (one("fd00:1::/32"), v6, "a long prefix"),
        (one("fd00:1::3/128"), never, "the last bit"),
    ];
    // Both ends of a flow.
    let flows = [
        ([("192.168.1.2", 40000), ("10.0.0.2", 443)], v4, "before"),
        ([("10.0.0.2", 443), ("10.0.0.1", 50000)], v4, "after"),
        ([("10.0.0.2", 443), ("192.168.1.2", 50000)], never, "mixed"),
        ([("192.168.1.2", 443), ("10.0.0.2", 40000)], never, "ports"),
        ([("fd00:1::2", 40000), ("fd00:2::2", 443)], v6, "of IPv6"),
    ];
    let flows = flows.map(|(ends, expected, what)| (two(ends), expected, what));
    let cases = cases.into_iter().chain(flows);
    for (filter, expected, what) in cases {
        for hook in HOOKS {
            let mut capture = started(&mut router, &filter, 1000);
            for (connection, expected) in router.connections.clone().iter().zip(expected) {
                for side in SIDES {
                    let frame = connection.frame(side).bytes();
                    forward(&mut router, hook, links(side).0, &frame);
                    let seen = read(&mut capture).len();
                    let wanted = if expected { 2 } else { 0 };
                    assert_eq!(
                        seen, wanted,
                        "{what}, {hook:?}, {} {side:?}",
                        connection.original
                    );
                }
            }
            router.path.captures.end(&mut capture);
        }
    }
}

/// A token is good for one packet with both its sides; packets without a token are counted, and
/// still forwarded.
#[test]
fn tokens_bound_the_rate() {
    let mut router = Router::standard();
    router.prove_all();
    let frame = router.connections[0].frame(Side::Original).bytes();
    for hook in HOOKS {
        let mut capture = started(&mut router, &everything(), 3);
        for _ in 0..5 {
            forward(&mut router, hook, LAN, &frame);
        }
        let missed = router.path.captures.missed(&capture).expect("counts");
        assert_eq!(missed, CaptureCounts { lost: 0, over: 2 });
        assert_eq!(read(&mut capture).len(), 6);
        assert_eq!(capture.left(), 0);
        capture.give(3);
        forward(&mut router, hook, LAN, &frame);
        assert_eq!(read(&mut capture).len(), 2, "with new tokens it goes on");
        router.path.captures.end(&mut capture);
    }
}

/// A ring without a reader loses records and counts them; packets are forwarded all the same.
#[test]
fn a_full_ring_loses_and_counts() {
    let mut router = Router::standard();
    router.prove_all();
    let frame = router.connections[0].frame(Side::Original).bytes();
    // The smallest ring: 64 KiB.
    let captures = &mut router.path.captures;
    let mut capture = captures.begin(&everything(), 1).expect("captures");
    capture.give(1_000_000);
    for _ in 0..500 {
        forward(&mut router, Hook::Tc, LAN, &frame);
    }
    let lost = router.path.captures.missed(&capture).expect("counts").lost;
    let mut read = 0;
    loop {
        match capture.read(100, |_| ()) {
            0 => break,
            n => read += n as u64,
        }
    }
    assert!(read > 0 && lost > 0, "{read} read, {lost} lost");
    assert_eq!(read + lost, 1000);
    router.path.captures.end(&mut capture);
}

/// After the end nothing is captured, and no packet of one capture is in the next.
#[test]
fn a_capture_ends() {
    let mut router = Router::standard();
    router.prove_all();
    let frame = router.connections[0].frame(Side::Original).bytes();
    let mut first = started(&mut router, &everything(), 10);
    forward(&mut router, Hook::Xdp, LAN, &frame);
    router.path.captures.end(&mut first);
    forward(&mut router, Hook::Xdp, LAN, &frame);
    let mut second = started(&mut router, &everything(), 10);
    assert_eq!(
        read(&mut first).len(),
        2,
        "what came before the end can still be read"
    );
    assert_eq!(read(&mut second).len(), 0);
    forward(&mut router, Hook::Xdp, LAN, &frame);
    assert_eq!((read(&mut first).len(), read(&mut second).len()), (0, 2));
    router.path.captures.end(&mut second);
}
