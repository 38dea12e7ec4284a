//! Packets of a proven flow, each changed in one way, and the verdict of each hook. The model gives
//! the bytes of a forwarded packet; the table gives the verdict and its reason.

use frames::edit::*;
use frames::*;

/// Selects the connections that a line is for.
type Who = fn(&Connection) -> bool;

const ALL: Who = |_| true;
const TCP: Who = |c| c.is_tcp();
const UDP: Who = |c| !c.is_tcp();
const V4: Who = |c| !c.is_ipv6();
const V6: Who = |c| c.is_ipv6();
const UDP4: Who = |c| !c.is_tcp() && !c.is_ipv6();
const TCP4: Who = |c| c.is_tcp() && !c.is_ipv6();
const TCP6: Who = |c| c.is_tcp() && c.is_ipv6();

/// Verdict of the packet path.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Verdict {
    /// As the model says.
    Forward,
    /// To the kernel, unchanged; the flow stays proven.
    Pass(Reason),
    /// To the kernel, and with it the proof of both directions.
    Withdraw(Reason),
}

use Reason::{Ethertype, Fragment, Header, Label, Length, Moved, NotOurs, Options, Protocol, TcpFlags, Tos, Truncated, Ttl, TtlNew, Unknown};
use Verdict::*;

type Line = (&'static str, Who, fn(&mut Vec<u8>), Verdict);

/// Runs a table on both hooks, for each connection that a line is for, both ways: as it is, and
/// while its TCP is timed.
fn run(table: &[Line]) {
    let mut router = Router::standard();
    for &(name, who, edit, verdict) in table {
        let mut tried = 0;
        for connection in router.connections.clone().into_iter().filter(who) {
            let all = HOOKS.into_iter().flat_map(|h| SIDES.map(|s| (h, s))).flat_map(|(h, s)| [(h, s, false), (h, s, true)]);
            for (hook, side, timed) in all {
                router.prove(&connection);
                router.time(&connection, timed);
                let mut frame = connection.frame(side).bytes();
                edit(&mut frame);
                let outcome = router.compare(hook, links(side).0, &frame);
                let place = format!("{name}: {} {side:?} at {hook:?}, timed: {timed}", connection.original);
                match verdict {
                    Forward => assert!(matches!(outcome, Outcome::Forwarded(_)), "{place}: {outcome:?}"),
                    Pass(reason) | Withdraw(reason) => {
                        assert_eq!(outcome, Outcome::Passed(reason), "{place}");
                    }
                }
                for other in SIDES {
                    let proven = router.proven(&connection, other);
                    assert_eq!(proven, !matches!(verdict, Withdraw(_)), "{place}: proof of \
                        {other:?}");
                }
                tried += 1;
            }
        }
        assert!(tried > 0, "{name} is for no connection");
    }
}

/// Trap 1.
#[test]
fn low_and_new_ttls() {
    run(&[
        ("TTL 0: not even received", ALL, |f| ttl(f, 0), Pass(Ttl)),
        ("TTL 1: time exceeded, from the kernel", ALL, |f| ttl(f, 1), Pass(Ttl)),
        ("TTL 2: allowed, but never witnessed", ALL, |f| ttl(f, 2), Pass(TtlNew)),
        ("one below what was witnessed", ALL, |f| ttl(f, 63), Pass(TtlNew)),
        ("one above", ALL, |f| ttl(f, 65), Pass(TtlNew)),
        ("as witnessed", ALL, |f| ttl(f, 64), Forward),
    ]);
}

/// Trap 2: they have no ports, or lie elsewhere; conntrack puts them together.
#[test]
fn fragments() {
    run(&[
        ("a first fragment has ports, yet is one", V4, |f| fragment(f, 0x2000), Pass(Fragment)),
        ("in the middle", V4, |f| fragment(f, 0x2003), Pass(Fragment)),
        ("the last", V4, |f| fragment(f, 0x0003), Pass(Fragment)),
        ("the furthest", V4, |f| fragment(f, 0x1fff), Pass(Fragment)),
        ("a first one that must not be", V4, |f| fragment(f, 0x6000), Pass(Fragment)),
        ("the reserved bit", V4, |f| fragment(f, 0x8000), Pass(Fragment)),
        ("may be fragmented, is not", V4, |f| fragment(f, 0), Forward),
        ("must not be fragmented", V4, |f| fragment(f, 0x4000), Forward),
        ("an IPv6 fragment header", V6, |f| extension(f, 44), Pass(Options)),
    ]);
}

/// Trap 2: headers between the IP header and the ports.
#[test]
fn options_and_extension_headers() {
    run(&[
        ("one word of options", V4, |f| options(f, 1), Pass(Options)),
        ("as many as there can be", V4, |f| options(f, 10), Pass(Options)),
        ("options announced, none there", V4, |f| { f[L3] = 0x46; mend(f) }, Pass(Options)),
        ("a header too short to be one", V4, |f| { f[L3] = 0x44; mend(f) }, Pass(Header)),
        ("no header at all", V4, |f| f[L3] = 0x40, Pass(Header)),
        ("hop by hop", V6, |f| extension(f, 0), Pass(Options)),
        ("routing", V6, |f| extension(f, 43), Pass(Options)),
        ("authentication", V6, |f| extension(f, 51), Pass(Options)),
        ("destination options", V6, |f| extension(f, 60), Pass(Options)),
        ("nothing follows", V6, |f| extension(f, 59), Pass(Options)),
        ("an unknown one", V6, |f| extension(f, 253), Pass(Options)),
        ("version 6 in an IPv4 frame", V4, |f| f[L3] = 0x65, Pass(Header)),
        ("version 4 in an IPv6 frame", V6, |f| f[L3] = 0x45, Pass(Header)),
        ("version 0", ALL, |f| f[L3] &= 0x0f, Pass(Header)),
    ]);
}

/// Trap 3: the IP header's length differs from that of the frame.
#[test]
fn ip_lengths() {
    run(&[
        ("longer than the frame by one", V4, |f| { let n = f.len() as u16; length(f, n - 13) }, Pass(Truncated)),
        ("longer than any frame", V4, |f| length(f, 0xffff), Pass(Truncated)),
        ("shorter than its header", V4, |f| length(f, 19), Pass(Truncated)),
        ("nothing", V4, |f| length(f, 0), Pass(Truncated)),
        ("header only", V4, |f| length(f, 20), Pass(Header)),
        ("no room for all of TCP", TCP4, |f| length(f, 39), Pass(Header)),
        ("just room for TCP", TCP4, |f| length(f, 40), Forward),
        ("longer than the frame by one", V6, |f| { let n = f.len() as u16; length(f, n - 53) }, Pass(Truncated)),
        ("longer than 64 KiB with its header", V6, |f| length(f, 0xffff), Pass(Truncated)),
        ("a jumbogram, or BIG TCP", V6, |f| length(f, 0), Pass(Truncated)),
        ("no room for all of TCP", TCP6, |f| length(f, 19), Pass(Header)),
        ("just room for TCP", TCP6, |f| length(f, 20), Forward),
        ("cut short within the payload", ALL, |f| f.truncate(f.len() - 1), Pass(Truncated)),
    ]);
}

/// Trap 3: lengths in TCP and UDP. Conntrack calls both false lengths invalid.
#[test]
fn layer_4_lengths() {
    run(&[
        ("TCP header too short to be one", TCP, |f| data_offset(f, 4), Pass(Header)),
        ("no TCP header", TCP, |f| data_offset(f, 0), Pass(Header)),
        ("TCP header longer than the packet", TCP, |f| { f.truncate(l4(f) + 56); relength(f); data_offset(f, 15) }, Pass(Header)),
        ("TCP options as long as can be", TCP, |f| data_offset(f, 15), Forward),
        ("UDP longer than the packet", UDP, |f| udp_length(f, 109), Pass(Header)),
        ("UDP shorter than the packet", UDP, |f| udp_length(f, 107), Pass(Header)),
        ("UDP shorter than its header", UDP, |f| udp_length(f, 7), Pass(Header)),
        ("UDP length 0", UDP, |f| udp_length(f, 0), Pass(Header)),
        ("UDP without payload", UDP, |f| { f.truncate(l4(f) + 8); relength(f) }, Forward),
        ("no room for UDP", UDP, |f| { f.truncate(l4(f) + 7); relength_ip(f) }, Pass(Truncated)),
    ]);
}

/// Makes IP and UDP lengths those of the frame.
fn relength(frame: &mut [u8]) {
    relength_ip(frame);
    if !is_tcp(frame) {
        let at = l4(frame);
        udp_length(frame, (frame.len() - at) as u16);
    }
}

fn relength_ip(frame: &mut [u8]) {
    let header = if is_ipv6(frame) { L3 + 40 } else { L3 };
    let value = (frame.len() - header) as u16;
    length(frame, value);
}

/// Trap 3: Ethernet fills short packets up, and some senders leave rubbish there. It must not
/// travel on.
#[test]
fn padding_and_trailers() {
    let mut router = Router::standard();
    router.prove_all();
    // Payload, bytes in the trailer, and the length that leaves at XDP and at TC (IPv4; 20 longer
    // with IPv6 is past 60).
    for (payload, trailer) in [(0, 18), (0, 6), (10, 8), (0, 300), (17, 1), (18, 1), (18, 100), (100, 4)] {
        for connection in router.connections.clone() {
            for hook in HOOKS {
                let mut frame = connection.frame(Side::Original).payload(payload).bytes();
                let packet_end = frame.len();
                frame.resize(packet_end + trailer, 0xaa);
                let Outcome::Forwarded(out) = router.compare(hook, LAN, &frame) else {
                    panic!("a trailer is no reason to pass");
                };
                assert!(!out[packet_end..].contains(&0xaa), "rubbish went on: {out:02x?}");
                match hook {
                    Hook::Xdp => {
                        assert!(out.len() >= frame.len().min(60), "shorter than Ethernet allows");
                        assert_eq!(out.len(), packet_end.max(frame.len().min(60)));
                    }
                    // The driver pads what leaves as an skb.
                    Hook::Tc => assert_eq!(out.len(), packet_end),
                }
            }
        }
    }
    let mut router = Router::standard();
    router.prove_all();
    for connection in router.connections.clone() {
        for hook in HOOKS {
            let mut frame = connection.frame(Side::Original).bytes();
            let whole = frame.len();
            shorten(&mut frame, 30);
            let Outcome::Forwarded(out) = router.compare(hook, LAN, &frame) else {
                panic!("a packet that ends before its frame is still a packet");
            };
            assert_eq!(out.len(), whole - 30, "the trailer is cut at {hook:?}");
        }
    }
}

/// Trap 10: conntrack follows a connection by these; the packet path must not hide them.
#[test]
fn tcp_flags() {
    run(&[
        ("SYN: perhaps a tuple used again", TCP, |f| flags(f, SYN), Withdraw(TcpFlags)),
        ("SYN and ACK", TCP, |f| flags(f, SYN | ACK), Withdraw(TcpFlags)),
        ("FIN: half closed", TCP, |f| flags(f, FIN | ACK), Withdraw(TcpFlags)),
        ("FIN alone", TCP, |f| flags(f, FIN), Withdraw(TcpFlags)),
        ("RST", TCP, |f| flags(f, RST), Withdraw(TcpFlags)),
        ("RST and ACK", TCP, |f| flags(f, RST | ACK), Withdraw(TcpFlags)),
        ("all at once", TCP, |f| flags(f, 0xff), Withdraw(TcpFlags)),
        ("no flag at all: invalid", TCP, |f| flags(f, 0), Pass(TcpFlags)),
        ("PSH without ACK: invalid", TCP, |f| flags(f, PSH), Pass(TcpFlags)),
        ("URG without ACK: invalid", TCP, |f| flags(f, URG), Pass(TcpFlags)),
        ("urgent data of an ordinary connection", TCP, |f| flags(f, ACK | URG), Forward),
        ("push", TCP, |f| flags(f, ACK | PSH), Forward),
        ("congestion seen and told (RFC 3168)", TCP, |f| flags(f, ACK | 0xc0), Forward),
    ]);
}

/// Trap 16.
#[test]
fn addressed_to_others() {
    run(&[
        ("another station", ALL, |f| f[..6].copy_from_slice(&[2, 0, 0, 0, 0, 9]), Pass(NotOurs)),
        ("differs in the first bytes only", ALL, |f| f[0] = 6, Pass(NotOurs)),
        ("broadcast", ALL, |f| f[..6].fill(0xff), Pass(NotOurs)),
        ("IPv4 multicast", ALL, |f| f[..6].copy_from_slice(&[1, 0, 0x5e, 0, 0, 1]), Pass(NotOurs)),
        ("IPv6 multicast", ALL, |f| f[..6].copy_from_slice(&[0x33, 0x33, 0, 0, 0, 1]), Pass(NotOurs)),
        ("from another station, to us", ALL, |f| f[11] = 0x77, Forward),
    ]);
}

/// Traps 8 and 9, as far as tested here: the kernel handles packets behind a tag or a session.
#[test]
fn encapsulations() {
    run(&[
        ("a VLAN of others", ALL, |f| tag(f, 0x8100, 5), Pass(Moved)),
        ("a priority tag", ALL, |f| tag(f, 0x8100, 0xe000), Pass(Moved)),
        ("a provider's VLAN", ALL, |f| tag(f, 0x88a8, 5), Pass(Moved)),
        ("three tags", ALL, |f| (0..3).for_each(|_| tag(f, 0x8100, 5)), Pass(Ethertype)),
        ("a tag of another kind", ALL, |f| tag(f, 0x9100, 5), Pass(Ethertype)),
        ("PPPoE without its header", ALL, |f| put16(f, 12, 0x8864), Pass(Ethertype)),
        ("PPPoE discovery", ALL, |f| put16(f, 12, 0x8863), Pass(Ethertype)),
        ("ARP", ALL, |f| put16(f, 12, 0x0806), Pass(Ethertype)),
        ("802.3 with a length", ALL, |f| put16(f, 12, 100), Pass(Ethertype)),
        ("IPv6 said to be IPv4", V6, |f| put16(f, 12, 0x0800), Pass(Header)),
        ("IPv4 said to be IPv6", V4, |f| put16(f, 12, 0x86dd), Pass(Header)),
    ]);
}

/// Trap 14, and what conntrack does otherwise.
#[test]
fn other_protocols() {
    run(&[
        ("ICMP", V4, |f| protocol(f, 1), Pass(Protocol)),
        ("ICMPv6", V6, |f| protocol(f, 58), Pass(Protocol)),
        ("GRE", V4, |f| protocol(f, 47), Pass(Protocol)),
        ("ESP", V4, |f| protocol(f, 50), Pass(Protocol)),
        ("SCTP", V4, |f| protocol(f, 132), Pass(Protocol)),
        ("UDP-Lite", V4, |f| protocol(f, 136), Pass(Protocol)),
        ("ESP is an extension header to IPv6", V6, |f| protocol(f, 50), Pass(Options)),
    ]);
}

/// Anything but the very tuple is another flow.
#[test]
fn other_tuples() {
    run(&[
        ("another source port", ALL, |f| { let at = l4(f); f[at + 1] ^= 1 }, Pass(Unknown)),
        ("another destination port", ALL, |f| { let at = l4(f); f[at + 2] ^= 0x80 }, Pass(Unknown)),
        ("another source", ALL, |f| { let at = l4(f) - if is_ipv6(f) { 17 } else { 5 }; f[at] ^= 0x10; mend(f) }, Pass(Unknown)),
        ("another network of the source", V6, |f| f[L3 + 8] ^= 1, Pass(Unknown)),
        ("another destination", ALL, |f| { let at = l4(f); f[at - 1] ^= 0x10; mend(f) }, Pass(Unknown)),
        ("another network of the destination", V6, |f| f[L3 + 24] ^= 1, Pass(Unknown)),
        ("source and destination are one", ALL, |f| {
            let (at, n) = (l4(f), if is_ipv6(f) { 16 } else { 4 });
            f.copy_within(at - n..at, at - 2 * n);
            mend(f);
        }, Pass(Unknown)),
        ("ports the other way round", ALL, |f| { let at = l4(f); f[at..at + 4].rotate_left(2) }, Pass(Unknown)),
    ]);
}

/// Trap 20: rules and queues may depend on DSCP, so another DSCP proves again; ECN belongs to the
/// sender and the queues.
#[test]
fn dscp_and_ecn() {
    run(&[
        ("expedited forwarding", ALL, |f| tos(f, 0xb8), Pass(Tos)),
        ("the lowest bit of DSCP", ALL, |f| tos(f, 4), Pass(Tos)),
        ("ECN capable", ALL, |f| tos(f, 2), Forward),
        ("congestion experienced", ALL, |f| tos(f, 3), Forward),
        ("another IPv6 flow label", V6, |f| f[L3 + 3] = 0x55, Pass(Label)),
    ]);
}

/// Trap 4: only sizes that the kernel was seen to send in one piece are known to fit. A larger
/// packet does not end the proof.
#[test]
fn longer_than_proven() {
    run(&[
        ("one byte more", ALL, |f| { f.push(0); relength(f) }, Pass(Length)),
        ("much more", ALL, |f| { f.resize(1514, 0); relength(f) }, Pass(Length)),
        ("less", ALL, |f| { f.truncate(f.len() - 20); relength(f) }, Forward),
    ]);
}

/// Traps 3 and 6: the kernel drops and counts a header with a wrong checksum.
#[test]
fn wrong_ip_checksum() {
    run(&[
        ("off by one", V4, |f| { let c = get16(f, L3 + 10); put16(f, L3 + 10, c.wrapping_add(1)) }, Pass(Header)),
        ("zero", V4, |f| put16(f, L3 + 10, 0), Pass(Header)),
        ("all ones", V4, |f| put16(f, L3 + 10, 0xffff), Pass(Header)),
        ("TTL lowered, checksum not", V4, |f| f[L3 + 8] = 63, Pass(Header)),
    ]);
}

/// Trap 6: what was wrong stays wrong by the same difference, for the receiver to drop: a router
/// does not mend packets.
#[test]
fn wrong_layer_4_checksum() {
    run(&[
        ("off by one", ALL, |f| { let at = l4_check_at(f); f[at] ^= 1 }, Forward),
        ("payload changed", ALL, |f| { let at = f.len() - 1; f[at] ^= 0xff }, Forward),
        ("none over IPv4", UDP4, |f| { let at = l4_check_at(f); put16(f, at, 0) }, Forward),
        ("zero over IPv6: the kernel forwards it too", UDP, |f| { let at = l4_check_at(f); put16(f, at, 0) }, Forward),
    ]);
}

/// Trap 3: every length a frame can be cut to, down to nothing but Ethernet. Never forwarded, never
/// changed.
#[test]
fn cut_anywhere() {
    let mut router = Router::standard();
    router.prove_all();
    for connection in router.connections.clone() {
        let frame = connection.frame(Side::Original).bytes();
        for hook in HOOKS {
            for length in 14..frame.len() {
                // Newer kernels refuse to run TC programs on less than an IP header; so does every
                // real device.
                if hook == Hook::Tc && length < l4(&frame) {
                    continue;
                }
                let outcome = router.compare(hook, LAN, &frame[..length]);
                assert!(matches!(outcome, Outcome::Passed(_)), "{length} bytes");
            }
        }
    }
}
