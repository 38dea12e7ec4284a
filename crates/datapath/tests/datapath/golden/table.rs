//! The tables: records that collide, are used again and counted; hops that run out (trap 24).

use std::time::{Duration, Instant};

use kernel::Tuple;
use weir_datapath::HOPS;

use frames::*;

/// The n-th connection of a family.
fn nth(ipv6: bool, n: u16) -> (Tuple, Tuple) {
    let protocol = if n.is_multiple_of(2) { Tcp } else { Udp };
    let (client, outside, server) = if ipv6 {
        ("fd00:1::2", "fd00:2::1", "fd00:2::2")
    } else {
        ("192.168.1.2", "10.0.0.1", "10.0.0.2")
    };
    (
        tuple(protocol, client, 1024 + n, server, 443),
        tuple(protocol, server, 443, outside, 20000 + n),
    )
}

/// Buckets fill until both of a flow's are full. Flows with a slot are forwarded correctly, the
/// others are refused and stay with the kernel.
#[test]
fn full_buckets_refuse_and_the_others_forward_right() {
    let mut router = Router::sized(brief(), 16);
    let mut refused = Vec::new();
    for n in 0..200 {
        for ipv6 in [false, true] {
            let (original, reply) = nth(ipv6, n);
            if router.connect(original, reply).is_err() {
                refused.push(original);
            }
        }
    }
    let installed = router.connections.clone();
    assert!(installed.len() > 30, "only {} found room", installed.len());
    assert!(refused.len() > 100, "the table cannot hold so many");
    router.prove_all();
    for connection in &installed {
        for (side, hook) in SIDES.into_iter().zip(HOOKS) {
            let frame = connection.frame(side);
            let expected = connection.sent(side, &frame).bytes();
            let outcome = router.run(hook, links(side).0, &frame.bytes());
            assert_eq!(
                outcome,
                Outcome::Forwarded(expected),
                "{}",
                connection.original
            );
            let reading = router.path.read(connection.id).expect("known")[side as usize];
            assert_eq!(
                reading.packets, 1,
                "counted to the right flow: {}",
                connection.original
            );
        }
    }
    for original in refused {
        let frame = Frame::new(CLIENT, ROUTER_LAN, original).bytes();
        assert_eq!(
            router.run(Hook::Xdp, LAN, &frame),
            Outcome::Passed(Reason::Unknown)
        );
    }
    // A refused connection leaves nothing behind: as many fit after all are gone.
    for connection in &installed {
        router.disconnect(connection);
    }
    router.rested();
    for connection in &installed {
        router
            .connect(connection.original, connection.reply)
            .expect("room again");
    }
}

/// The tuple of an ended connection, used by a new one: nothing of the old proof remains (trap 10).
#[test]
fn a_tuple_used_again_starts_unproven() {
    let mut router = Router::standard();
    router.prove_all();
    for old in router.connections.clone() {
        let frame = old.frame(ORIGINAL).bytes();
        assert!(matches!(
            router.run(Hook::Xdp, LAN, &frame),
            Outcome::Forwarded(_)
        ));
        router.disconnect(&old);
        for hook in HOOKS {
            assert_eq!(
                router.run(hook, LAN, &frame),
                Outcome::Passed(Reason::Unknown),
                "removed"
            );
        }
        // With another translation; the old record rests meanwhile, and is used again after that.
        for round in 0..2 {
            let mut reply = old.reply;
            reply.destination_port = 51000 + round;
            let new = router.connect(old.original, reply).expect("room");
            for hook in HOOKS {
                let outcome = router.run(hook, LAN, &frame);
                assert_eq!(
                    outcome,
                    Outcome::Passed(Reason::Unproven),
                    "the old proof lives on"
                );
            }
            // A packet with the old translation proves nothing.
            let leaves = old.sent(ORIGINAL, &old.frame(ORIGINAL)).bytes();
            router.leave(WAN, &leaves);
            assert!(!router.proven(&new, ORIGINAL));
            router.prove(&new);
            let expected = new.sent(ORIGINAL, &new.frame(ORIGINAL)).bytes();
            assert_eq!(
                router.run(Hook::Tc, LAN, &frame),
                Outcome::Forwarded(expected)
            );
            assert_eq!(
                router.path.read(new.id).expect("known")[0].packets,
                1,
                "counted from 0"
            );
            router.disconnect(&new);
            router.rested();
        }
    }
}

/// Installing a flow under a number in use replaces it.
#[test]
fn a_number_used_again_replaces() {
    let mut router = Router::standard();
    router.prove_all();
    let connection = router.connections[0];
    router
        .path
        .install(connection.id, &connection.original, &connection.reply)
        .expect("room");
    let frame = connection.frame(ORIGINAL).bytes();
    assert_eq!(
        router.run(Hook::Xdp, LAN, &frame),
        Outcome::Passed(Reason::Unproven)
    );
}

/// Both families coexist with the same low words in their keys.
#[test]
fn families_do_not_mix() {
    let mut router = Router::new(brief());
    let v4 = tuple(Udp, "10.0.0.1", 53, "10.0.0.2", 53);
    let v6 = tuple(Udp, "::ffff:10.0.0.1", 53, "::ffff:10.0.0.2", 53);
    for original in [v4, v6] {
        let connection = router.connect(original, original.reversed()).expect("room");
        router.prove(&connection);
    }
    for connection in router.connections.clone() {
        for hook in HOOKS {
            let frame = connection.frame(ORIGINAL);
            let expected = connection.sent(ORIGINAL, &frame).bytes();
            assert_eq!(
                router.run(hook, LAN, &frame.bytes()),
                Outcome::Forwarded(expected)
            );
        }
        assert_eq!(
            router.path.read(connection.id).expect("known")[0].packets,
            2
        );
    }
    let mixed = router.path.install(99, &v4, &v6.reversed());
    assert!(matches!(mixed, Err(weir_datapath::Error::MixedFamilies)));
}

/// Packets and bytes of IP, each side by itself, what passed not counted.
#[test]
fn counters_are_exact() {
    let mut router = Router::standard();
    router.prove_all();
    for connection in router.connections.clone() {
        let (mut packets, mut octets) = ([0; 2], [0; 2]);
        for payload in [0, 1, 17, 18, 50, 100] {
            for (side, hook) in SIDES.into_iter().flat_map(|s| HOOKS.map(|h| (s, h))) {
                let mut frame = connection.frame(side).payload(payload).bytes();
                let ip_packet = frame.len() - 14;
                frame.resize(frame.len().max(60), 0); // padding does not count
                router.run(hook, links(side).0, &frame);
                packets[side as usize] += 1;
                octets[side as usize] += ip_packet as u64;
                router.run(hook, links(side).0, &connection.frame(side).ttl(1).bytes());
                router.run(
                    hook,
                    links(side).0,
                    &connection.frame(side).payload(101).bytes(),
                );
            }
        }
        let readings = router.path.read(connection.id).expect("known");
        assert_eq!(
            readings.map(|r| r.packets),
            packets,
            "{}",
            connection.original
        );
        assert_eq!(readings.map(|r| r.bytes), octets, "{}", connection.original);
    }
}

/// The shared counter has 24 bits for packets and 40 for bytes; read often enough, neither wrap
/// shows, nor does the carry.
#[test]
fn counters_survive_their_wrap() {
    let mut router = Router::new(brief());
    // A tuple of this test's own, by which its record is found among those of other tests.
    let original = tuple(Udp, "192.168.77.7", 7777, "10.77.0.7", 7007);
    let connection = router.connect(original, original.reversed()).expect("room");
    router.prove_with(&connection, ORIGINAL, &connection.frame(ORIGINAL));
    let frame = connection.frame(ORIGINAL).bytes();
    let length = frame.len() as u64 - 14;
    let (mut packets, mut octets) = (0, 0);
    let octets_end = (1u64 << 40) - 10;
    let packets_end = (1u64 << 24) - 1;
    for nearly in [
        octets_end,
        packets_end << 40,
        packets_end << 40 | octets_end,
    ] {
        // The daemon reads here; then the maximum between two reads goes by, less one packet.
        let before = router.path.read(connection.id).expect("known")[0];
        maps::set_count(&connection.original, nearly);
        let jumped = router.path.read(connection.id).expect("known")[0];
        packets += jumped.packets - before.packets;
        octets += jumped.bytes - before.bytes;
        for hook in HOOKS {
            assert!(matches!(
                router.run(hook, LAN, &frame),
                Outcome::Forwarded(_)
            ));
            packets += 1;
            octets += length;
            let reading = router.path.read(connection.id).expect("known")[0];
            assert_eq!(
                (reading.packets, reading.bytes),
                (packets, octets),
                "past {nearly:#x}"
            );
        }
    }
}

/// The growth of each direction is reported once, with its path; so is that of a packet under way
/// when its flow ended.
#[test]
fn growth_is_told_once_and_outlives_its_flow() {
    let mut router = Router::new(brief());
    let original = tuple(Udp, "192.168.77.8", 7778, "10.77.0.8", 7008);
    let connection = router.connect(original, original.reversed()).expect("room");
    router.prove(&connection);
    let (frame, back) = (
        connection.frame(ORIGINAL).bytes(),
        connection.frame(REPLY).bytes(),
    );
    let length = frame.len() as u64 - 14;
    for (link, frame, times) in [(LAN, &frame, 2), (WAN, &back, 1)] {
        for _ in 0..times {
            let outcome = router.run(Hook::Tc, link, frame);
            assert!(matches!(outcome, Outcome::Forwarded(_)), "{outcome:?}");
        }
    }
    let told = |router: &mut Router| {
        let mut told = Vec::new();
        router
            .path
            .take_traffic(connection.id, |growth| told.push(growth));
        told
    };
    let grown = told(&mut router);
    let hops = router.path.hops();
    let seen: Vec<_> = grown
        .iter()
        .map(|growth| {
            let hop = hops.iter().find(|hop| hop.index == growth.hop);
            let ports = (growth.ingress.port, hop.expect("a hop").link);
            (growth.packets, growth.bytes, ports)
        })
        .collect();
    let (lan, wan) = (router.path.slot(LAN), router.path.slot(WAN));
    assert_eq!(seen, [(2, 2 * length, (lan, WAN)), (1, length, (wan, LAN))]);
    assert_eq!(told(&mut router), []);

    router.run(Hook::Tc, LAN, &frame);
    // Before it ended, so that it rests then, however long what follows takes.
    let now = Instant::now();
    router.disconnect(&connection);
    // The packet was judged before, and is counted now.
    maps::set_count(&original, 4 << 40 | (4 * length));
    assert_eq!(told(&mut router), [], "there is no such flow");
    let mut last = Vec::new();
    for at in [now, now + Duration::from_secs(60)] {
        let tidied = router.path.tidy(at, |growth| last.push(growth));
        tidied.expect("tidies");
        assert_eq!(
            last.is_empty(),
            at == now,
            "while it rests it may still grow"
        );
    }
    let [growth] = last[..] else {
        panic!("{last:?}")
    };
    assert_eq!((growth.packets, growth.bytes), (2, 2 * length));
    assert_eq!(
        (growth.ingress, growth.hop),
        (grown[0].ingress, grown[0].hop)
    );
}

/// 4096 neighbours are the maximum. One more proves nothing, but proven flows still forward; then
/// all hops are forgotten and learned again.
#[test]
fn hops_run_out_and_are_learned_anew() {
    let mut router = Router::standard();
    let connection = router.connections[0];
    let frame = connection.frame(ORIGINAL);
    let leaves = |n: u32| {
        let mut sent = connection.sent(ORIGINAL, &frame);
        let [_, _, high, low] = n.to_be_bytes();
        sent.destination_mac = [2, 1, 0, 0, high, low];
        sent.bytes()
    };
    for n in 0..HOPS {
        assert_eq!(
            router.witnessed(&connection, ORIGINAL, &frame, &leaves(n)),
            None,
            "hop {n}"
        );
        assert_eq!(router.path.hops_used(), n + 1);
        router.path.invalidate(connection.id); // ends the proof: the next one is by another hop
    }
    let said = router.witnessed(&connection, ORIGINAL, &frame, &leaves(HOPS));
    assert_eq!(said, Some(Reason::HopsFull));
    assert!(!router.proven(&connection, ORIGINAL));
    // A known hop still proves and forwards.
    assert_eq!(
        router.witnessed(&connection, ORIGINAL, &frame, &leaves(HOPS - 1)),
        None
    );
    let outcome = router.run(Hook::Xdp, LAN, &frame.bytes());
    assert_eq!(outcome, Outcome::Forwarded(leaves(HOPS - 1)));

    // The daemon's upkeep: disarms first, forgets once no packet can use the hops, arms again.
    let now = Instant::now();
    router.path.tidy(now, |_| {}).expect("tidies");
    assert!(!router.path.heartbeat.armed());
    assert_eq!(
        router.run(Hook::Xdp, LAN, &frame.bytes()),
        Outcome::Passed(Reason::Silent)
    );
    router
        .path
        .tidy(now + Duration::from_millis(50), |_| {})
        .expect("tidies");
    assert!(!router.path.heartbeat.armed(), "too early");
    router
        .path
        .tidy(now + Duration::from_millis(150), |_| {})
        .expect("tidies");
    assert!(router.path.heartbeat.armed());
    assert_eq!(router.path.hops_used(), 0);
    assert_eq!(router.path.hops(), []);
    assert_eq!(
        router.run(Hook::Xdp, LAN, &frame.bytes()),
        Outcome::Passed(Reason::Unproven)
    );

    // A new neighbour takes the slot of an old one, and no old proof goes to it.
    router.prove_all();
    let outcome = router.run(Hook::Xdp, LAN, &frame.bytes());
    assert_eq!(
        outcome,
        Outcome::Forwarded(connection.sent(ORIGINAL, &frame).bytes())
    );
}

/// Every bit of a tuple distinguishes flows, also if most of them share one of few buckets.
#[test]
fn every_bit_of_a_key_counts() {
    for ipv6 in [false, true] {
        for (original, reply) in [nth(ipv6, 0), nth(ipv6, 1)] {
            let mut router = Router::sized(brief(), 1);
            let connection = router.connect(original, reply).expect("room");
            router.prove(&connection);
            let frame = connection.frame(ORIGINAL).bytes();
            let addresses = if ipv6 { 22..54 } else { 26..34 };
            let ports = addresses.end..addresses.end + 4;
            for at in addresses.chain(ports) {
                for bit in 0..8 {
                    let mut other = frame.clone();
                    other[at] ^= 1 << bit;
                    edit::mend(&mut other);
                    let outcome = router.run(HOOKS[bit % 2], LAN, &other);
                    assert_eq!(
                        outcome,
                        Outcome::Passed(Reason::Unknown),
                        "byte {at}, bit {bit}"
                    );
                }
            }
        }
    }
}
