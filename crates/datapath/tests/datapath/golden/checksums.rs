//! Checksums (trap 6): equal to the results of the kernel's own functions byte for byte, over a
//! spread of values with all corners, including which of the two zeros results.

use std::net::IpAddr;

use kernel::Tuple;

use frames::checksum::{self, kernel_way};
use frames::edit::*;
use frames::*;

/// Offset of IPv4's checksum.
const IP_CHECK: usize = L3 + 10;

/// A word of memory.
fn memory16(octets: &[u8], at: usize) -> u16 {
    u16::from_ne_bytes([octets[at], octets[at + 1]])
}

fn memory32(octets: &[u8]) -> u32 {
    u32::from_ne_bytes(octets.try_into().expect("four bytes"))
}

fn memory128(address: IpAddr) -> [u32; 4] {
    let IpAddr::V6(address) = address else {
        panic!("IPv6 only");
    };
    let octets = address.octets();
    [0, 4, 8, 12].map(|at| memory32(&octets[at..at + 4]))
}

fn memory_port(port: u16) -> u32 {
    u32::from(port.to_be())
}

/// nf_nat_ipv4_manip_pkt and ip_forward, in the kernel's order: a source is translated behind
/// ip_forward, a destination before.
fn kernel_ip_check(mut check: u16, from: &Tuple, to: &Tuple) -> u16 {
    let word = |address| match address {
        IpAddr::V4(a) => memory32(&a.octets()),
        IpAddr::V6(_) => panic!("IPv4 only"),
    };
    if from.destination != to.destination {
        kernel_way::csum_replace4(&mut check, word(from.destination), word(to.destination));
    }
    kernel_way::ip_decrease_ttl(&mut check);
    if from.source != to.source {
        kernel_way::csum_replace4(&mut check, word(from.source), word(to.source));
    }
    check
}

/// tcp_manip_pkt and udp_manip_pkt (net/netfilter/nf_nat_proto.c), once for each end that is
/// translated.
fn kernel_l4_check(mut check: u16, from: &Tuple, to: &Tuple) -> u16 {
    let udp = from.protocol == Udp;
    if udp && check == 0 {
        return 0;
    }
    let ends = [
        (
            from.destination,
            to.destination,
            from.destination_port,
            to.destination_port,
        ),
        (from.source, to.source, from.source_port, to.source_port),
    ];
    for (old, new, old_port, new_port) in ends {
        if old == new && old_port == new_port {
            continue;
        }
        match (old, new) {
            (IpAddr::V4(old), IpAddr::V4(new)) => kernel_way::inet_proto_csum_replace4(
                &mut check,
                memory32(&old.octets()),
                memory32(&new.octets()),
            ),
            _ => kernel_way::inet_proto_csum_replace16(&mut check, memory128(old), memory128(new)),
        }
        kernel_way::inet_proto_csum_replace4(
            &mut check,
            memory_port(old_port),
            memory_port(new_port),
        );
        if udp && check == 0 {
            check = 0xffff; // CSUM_MANGLED_0
        }
    }
    check
}

/// Translations: of the source, of the destination, of both, of the port only, and one with a
/// difference of zero.
fn translations() -> Vec<(&'static str, Tuple, Tuple)> {
    let mut all = Vec::new();
    for protocol in [Tcp, Udp] {
        let t = |s, sp, d, dp| tuple(protocol, s, sp, d, dp);
        let from = t("192.168.1.2", 40001, "10.0.0.2", 443);
        all.extend([
            ("source", from, t("10.0.0.1", 50001, "10.0.0.2", 443)),
            (
                "destination",
                from,
                t("192.168.1.2", 40001, "172.16.3.4", 8443),
            ),
            ("both", from, t("10.0.0.1", 50001, "172.16.3.4", 8443)),
            ("address only", from, t("10.0.0.1", 40001, "10.0.0.2", 443)),
            ("port only", from, t("192.168.1.2", 50001, "10.0.0.2", 443)),
            (
                "a port that makes up for the address",
                from,
                t("192.168.1.3", 40000, "10.0.0.2", 443),
            ),
            (
                "addresses that make up for each other",
                from,
                t("192.168.1.3", 40001, "10.0.0.1", 443),
            ),
            (
                "all ones",
                from,
                t("255.255.255.254", 65535, "10.0.0.2", 443),
            ),
        ]);
        let from = t("fd00:1::2", 40001, "fd00:2::2", 443);
        all.extend([
            ("source", from, t("fd00:2::1", 50001, "fd00:2::2", 443)),
            (
                "destination",
                from,
                t("fd00:1::2", 40001, "fd00:3::ffff", 8443),
            ),
            ("prefix only", from, t("fd00:9::2", 40001, "fd00:2::2", 443)),
            ("port only", from, t("fd00:1::2", 50001, "fd00:2::2", 443)),
            (
                "neutral, as RFC 6296 has it",
                from,
                t("fd00:2::1", 40001, "fd00:2::2", 443),
            ),
            (
                "a port that makes up for the address",
                from,
                t("fd00:1::3", 40000, "fd00:2::2", 443),
            ),
        ]);
    }
    all
}

/// Checksums to try: the corners, those that lead to a zero or next to one, and a spread of others.
fn values(from: &Tuple, to: &Tuple) -> Vec<u16> {
    let mut values = vec![0, 1, 2, 0xfeff, 0xff00, 0xfffe, 0xffff];
    // The update is a bijection except for the zeros: run backwards, it gives the inputs that lead
    // to 0.
    let zero = kernel_l4_check(0xffff, to, from).to_be();
    values.extend([-2i16, -1, 0, 1, 2].map(|near| zero.wrapping_add_signed(near)));
    values.extend((0..80u32).map(|i| (i * 40503 + 1) as u16));
    values
}

/// TCP and UDP: right, wrong, 0, 0xffff and everything between, as the kernel's functions give it.
#[test]
fn layer_4_as_the_kernel_gives_it() {
    let mut router = Router::new(brief());
    for (name, from, to) in translations() {
        let connection = router.connect(from, to.reversed()).expect("room");
        router.prove_with(
            &connection,
            Side::Original,
            &connection.frame(Side::Original),
        );
        let mut frame = connection.frame(Side::Original).bytes();
        let at = l4_check_at(&frame);
        let mut zeros = 0;
        for value in values(&from, &to) {
            put16(&mut frame, at, value);
            let expected = kernel_l4_check(memory16(&frame, at), &from, &to);
            zeros += u32::from(expected == 0);
            for hook in HOOKS {
                let Outcome::Forwarded(out) = router.compare(hook, LAN, &frame) else {
                    panic!("{name}: a checksum is no reason to pass");
                };
                let got = memory16(&out, at);
                assert_eq!(
                    got, expected,
                    "{name}: {from} to {to}: {value:04x} at {hook:?}"
                );
            }
        }
        // UDP: only the absent checksum stays 0; TCP has a computed 0.
        assert!(zeros > 0, "{name}: {from}: no zero was tried");
        router.disconnect(&connection);
        router.rested();
    }
}

/// The IPv4 header: as many checksums as there are identifications, the corners among them; and 0
/// in its other guise.
#[test]
fn ip_header_as_the_kernel_gives_it() {
    let udp4 = |t: &(_, Tuple, Tuple)| !t.1.is_ipv6() && t.1.protocol == Udp;
    let mut router = Router::new(brief());
    for (name, from, to) in translations().into_iter().filter(udp4) {
        let connection = router.connect(from, to.reversed()).expect("room");
        router.prove_with(
            &connection,
            Side::Original,
            &connection.frame(Side::Original),
        );
        let ordinary = connection.frame(Side::Original).bytes();
        // With identification 0 the checksum is that of the rest; an identification equal to it
        // makes the checksum 0.
        let corner = get16(&ordinary, IP_CHECK);
        let near = (-300..300i16).map(|i| corner.wrapping_add_signed(i));
        let mut corners = 0;
        for id in (0..=0xffffu16).step_by(257).chain(near) {
            let mut frame = ordinary.clone();
            put16(&mut frame, L3 + 4, id);
            mend(&mut frame);
            let mut checks = vec![get16(&frame, IP_CHECK)];
            if checks[0] == 0 {
                checks.push(0xffff); // sums up to the same: the kernel takes it for right
                corners += 1;
            }
            for check in checks {
                put16(&mut frame, IP_CHECK, check);
                let expected = kernel_ip_check(memory16(&frame, IP_CHECK), &from, &to);
                let hook = HOOKS[usize::from(id % 2)];
                let Outcome::Forwarded(out) = router.run(hook, LAN, &frame) else {
                    panic!("{name}: {check:04x} is right");
                };
                assert_eq!(
                    memory16(&out, IP_CHECK),
                    expected,
                    "{name}: {check:04x} at {hook:?}"
                );
                assert_eq!(
                    checksum::sum(&out[L3..L3 + 20]),
                    0xffff,
                    "{name}: right for a receiver"
                );
            }
        }
        assert!(corners > 0, "{name}: the corner was not met");
        router.disconnect(&connection);
        router.rested();
    }
}

/// Without translation the checksum of layer 4 stays untouched, whichever zero it is.
#[test]
fn untranslated_stays_as_it_is() {
    let mut router = Router::with_four(brief(), false);
    router.prove_all();
    for connection in router.connections.clone() {
        let mut frame = connection.frame(Side::Original).bytes();
        let at = l4_check_at(&frame);
        for value in [0, 1, 0x1234, 0xfffe, 0xffff] {
            put16(&mut frame, at, value);
            for hook in HOOKS {
                let Outcome::Forwarded(out) = router.compare(hook, LAN, &frame) else {
                    panic!("a checksum is no reason to pass");
                };
                assert_eq!(
                    get16(&out, at),
                    value,
                    "{} at {hook:?}",
                    connection.original
                );
            }
        }
    }
}

/// The reference's arithmetic, compared with sums in full: the reference itself is right.
#[test]
fn the_reference_agrees_with_sums_in_full() {
    for (name, from, to) in translations() {
        let connection = Connection {
            id: 0,
            original: from,
            reply: to.reversed(),
        };
        let frame = connection.frame(Side::Original);
        let (before, after) = (
            frame.bytes(),
            connection.sent(Side::Original, &frame).bytes(),
        );
        let at = l4_check_at(&before);
        let updated = kernel_l4_check(memory16(&before, at), &from, &to);
        assert_eq!(updated, memory16(&after, at), "{name}: {from}");
        if !from.is_ipv6() {
            let updated = kernel_ip_check(memory16(&before, IP_CHECK), &from, &to);
            assert_eq!(updated, memory16(&after, IP_CHECK), "{name}: {from}");
        }
    }
}
