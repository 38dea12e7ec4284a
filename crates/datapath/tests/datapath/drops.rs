//! Early drops by lists: which packets match a list, which never do, and how many go to the kernel
//! all the same. Single packets through BPF_PROG_TEST_RUN. Needs root. tests/netns/drops.rs tests
//! learned drops, which need a kernel that drops.

use frames::*;
use kernel::Prefix;
use weir_datapath::{DropEntry, DropKinds, DropList};

const XDP_DROP: u32 = 1;
const TC_SHOT: u32 = 2;

/// Almost no samples: the first packet, one in 2^20, and one an hour.
const HARD: DropEntry = DropEntry {
    except: false,
    every: 1 << 20,
    pause: 3_600_000,
};
const HOLE: DropEntry = DropEntry {
    except: true,
    ..HARD
};

fn prefix(text: &str) -> Prefix {
    let (address, length) = text.split_once('/').expect("a slash");
    Prefix {
        address: address.parse().expect("an address"),
        length: length.parse().expect("a length"),
    }
}

fn router() -> Router {
    let mut router = Router::standard();
    router.prove_all();
    for link in [LAN, WAN] {
        router.path.drops.set_port(link, true);
    }
    router.path.drops.set_kinds(DropKinds {
        learned: false,
        sources: true,
        routes: true,
    });
    router
}

fn put(router: &mut Router, list: DropList, text: &str, entry: DropEntry) {
    let drops = &mut router.path.drops;
    drops.put(list, &prefix(text), entry).expect("room");
}

/// Returns true if a frame is dropped at a hook.
fn dropped(router: &mut Router, hook: Hook, link: u32, frame: &[u8]) -> bool {
    router.path.heartbeat.beat().expect("beats");
    let (path, fields) = (&router.path, &mut SkbFields::default());
    let (run, drop) = match hook {
        Hook::Xdp => (path.test_xdp(frame, link), XDP_DROP),
        Hook::Tc => (path.test_skb(false, frame, link, fields), TC_SHOT),
    };
    run.expect("runs").0 == drop
}

/// Returns a datagram from an unknown host to the server, through the LAN's port.
fn udp(source: &str, destination: &str) -> Frame {
    let tuple = tuple(Udp, source, 1000, destination, 2000);
    Frame::new(CLIENT, ROUTER_LAN, tuple)
}

/// Puts the right checksum into the IPv4 header of a frame.
fn finish(frame: &mut [u8]) {
    frame[24..26].fill(0);
    let sum = !checksum::sum(&frame[14..34]);
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
}

#[test]
fn sources_are_dropped_but_for_the_first() {
    for hook in HOOKS {
        let mut router = router();
        for (list, inside, outside, text) in [
            (
                DropList::Sources,
                ("198.51.100.7", "10.0.0.2"),
                ("198.51.101.7", "10.0.0.2"),
                "198.51.100.0/24",
            ),
            (
                DropList::Sources,
                ("2001:db8:bad::7", "fd00:2::2"),
                ("2001:db8:bae::7", "fd00:2::2"),
                "2001:db8:bad::/48",
            ),
            (
                DropList::Routes,
                ("192.168.1.9", "203.0.113.9"),
                ("192.168.1.9", "203.0.112.9"),
                "203.0.113.0/24",
            ),
            (
                DropList::Routes,
                ("fd00:1::9", "2001:db8:1::9"),
                ("fd00:1::9", "2001:db9:1::9"),
                "2001:db8::/32",
            ),
        ] {
            put(&mut router, list, text, HARD);
            let (inside, outside) = (
                udp(inside.0, inside.1).bytes(),
                udp(outside.0, outside.1).bytes(),
            );
            // The first is let through: what it is let through for (`now` - 0) lies behind the
            // pause, or the count is 0.
            assert!(!dropped(&mut router, hook, LAN, &inside), "{hook:?} {text}");
            // TC, which comes next, also lets through a packet that XDP let through: once.
            if hook == Hook::Xdp {
                assert!(!dropped(&mut router, Hook::Tc, LAN, &inside));
                assert!(dropped(&mut router, Hook::Tc, LAN, &inside));
            }
            for _ in 0..50 {
                assert!(dropped(&mut router, hook, LAN, &inside), "{hook:?} {text}");
                assert!(
                    !dropped(&mut router, hook, LAN, &outside),
                    "{hook:?} {text}"
                );
            }
            let count = router.path.drops.count(list, &prefix(text));
            let count = count.expect("read").expect("there");
            let more = u64::from(hook == Hook::Xdp);
            assert_eq!(
                (count.dropped, count.sampled),
                (50 + more, 1),
                "{hook:?} {text}"
            );
            assert_eq!(
                router.path.drops.take(list, &prefix(text)).expect("taken"),
                count
            );
            assert!(!dropped(&mut router, hook, LAN, &inside), "{hook:?} {text}");
        }
        let totals = router.path.drops.listed_totals().expect("read");
        let more = 2 * u64::from(hook == Hook::Xdp);
        assert_eq!((totals.sources, totals.routes), (100 + more, 100 + more));
    }
}

#[test]
fn what_a_flow_has_is_never_dropped() {
    for hook in HOOKS {
        let mut router = router();
        put(&mut router, DropList::Sources, "0.0.0.0/0", HARD);
        put(&mut router, DropList::Routes, "::/0", HARD);
        let connections = router.connections.clone();
        for connection in connections {
            for side in SIDES {
                let frame = connection.frame(side);
                let (link, _) = links(side);
                for flags in [ACK, FIN | ACK, RST, SYN] {
                    let frame = frame.clone().flags(flags).bytes();
                    for _ in 0..3 {
                        assert!(
                            !dropped(&mut router, hook, link, &frame),
                            "{hook:?} {connection:?}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn what_the_kernel_may_use_or_answer_is_left_to_it() {
    let mut router = router();
    for text in ["0.0.0.0/0", "::/0"] {
        put(&mut router, DropList::Sources, text, HARD);
    }
    let four = udp("198.51.100.7", "10.0.0.2");
    let six = udp("2001:db8::7", "fd00:2::2");
    let dhcp = |frame: &Frame, port| {
        let mut frame = frame.clone();
        frame.tuple.destination_port = port;
        frame.bytes()
    };
    let mut neighbour = six.bytes();
    neighbour[14 + 6] = 58;
    let mut wrong = four.bytes();
    wrong[14 + 10] ^= 1;
    let mut ospf = four.bytes();
    ospf[14 + 9] = 89;
    finish(&mut ospf);
    let mut fragment = four.bytes();
    fragment[14 + 6] = 0x20;
    finish(&mut fragment);
    for hook in HOOKS {
        // The sample.
        let _ = dropped(&mut router, hook, LAN, &four.bytes());
        let _ = dropped(&mut router, hook, LAN, &six.bytes());
        for (frame, drops, what) in [
            (four.bytes(), true, "an ordinary one"),
            (six.bytes(), true, "and of IPv6"),
            (ospf.clone(), true, "another protocol"),
            (fragment.clone(), true, "a fragment"),
            (
                four.clone().ttl(1).bytes(),
                false,
                "TTL 1, which is answered",
            ),
            (dhcp(&four, 68), false, "to a DHCP client"),
            (dhcp(&six, 546), false, "to a DHCPv6 client"),
            (dhcp(&four, 546), true, "that is no DHCP"),
            (neighbour.clone(), false, "ICMPv6"),
            (wrong.clone(), false, "a broken header"),
            (four.bytes()[..36].to_vec(), false, "cut"),
        ] {
            for _ in 0..2 {
                assert_eq!(
                    dropped(&mut router, hook, LAN, &frame),
                    drops,
                    "{hook:?}: {what}"
                );
            }
        }
        // Addressed to another station: a bridge's business.
        let mut other = four.bytes();
        other[..6].copy_from_slice(&SERVER);
        assert!(!dropped(&mut router, hook, LAN, &other), "{hook:?}");
    }
}

#[test]
fn holes_ports_and_switches_count() {
    for hook in HOOKS {
        let mut router = router();
        put(&mut router, DropList::Sources, "198.51.0.0/16", HARD);
        put(&mut router, DropList::Sources, "198.51.100.0/24", HOLE);
        let (in_hole, beside) = (
            udp("198.51.100.7", "10.0.0.2").bytes(),
            udp("198.51.7.7", "10.0.0.2").bytes(),
        );
        let _ = dropped(&mut router, hook, LAN, &beside);
        assert!(dropped(&mut router, hook, LAN, &beside));
        assert!(!dropped(&mut router, hook, LAN, &in_hole));
        // Not at this port.
        router.path.drops.set_port(LAN, false);
        assert!(!dropped(&mut router, hook, LAN, &beside));
        router.path.drops.set_port(LAN, true);
        assert!(dropped(&mut router, hook, LAN, &beside));
        // Early drops stop while suspended, and while no daemon is in charge.
        router.path.drops.set_kinds(DropKinds::default());
        assert!(!dropped(&mut router, hook, LAN, &beside));
        router.path.drops.set_kinds(DropKinds {
            sources: true,
            ..DropKinds::default()
        });
        router.path.heartbeat.disarm();
        assert!(!dropped(&mut router, hook, LAN, &beside));
        router.path.heartbeat.arm().expect("arms");
        assert!(dropped(&mut router, hook, LAN, &beside));
    }
}

#[test]
fn one_of_so_many_is_let_through() {
    let mut router = router();
    let often = DropEntry { every: 8, ..HARD };
    put(&mut router, DropList::Sources, "198.51.100.0/24", often);
    let frame = udp("198.51.100.7", "10.0.0.2").bytes();
    let through = (0..80)
        .filter(|_| !dropped(&mut router, Hook::Tc, LAN, &frame))
        .count();
    assert_eq!(through, 10);
    // By the clock: never longer than the pause without one.
    let steady = DropEntry { pause: 1, ..HARD };
    put(&mut router, DropList::Sources, "198.51.101.0/24", steady);
    let frame = udp("198.51.101.7", "10.0.0.2").bytes();
    for _ in 0..5 {
        std::thread::sleep(std::time::Duration::from_millis(30));
        assert!(!dropped(&mut router, Hook::Tc, LAN, &frame));
    }
}

#[test]
fn shadow_mode_drops_nothing() {
    let mut router = Router::new(Options {
        shadow: true,
        ..brief()
    });
    router.path.drops.set_port(LAN, true);
    router.path.drops.set_kinds(DropKinds {
        learned: true,
        sources: true,
        routes: true,
    });
    put(&mut router, DropList::Sources, "0.0.0.0/0", HARD);
    let frame = udp("198.51.100.7", "10.0.0.2").bytes();
    for hook in HOOKS {
        for _ in 0..3 {
            assert!(!dropped(&mut router, hook, LAN, &frame));
        }
    }
}
