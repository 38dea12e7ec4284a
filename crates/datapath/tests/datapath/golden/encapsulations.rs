//! Traps 8 and 9: VLAN tags and PPPoE, in every combination, on both sides. At TC a tag in an skb's
//! metadata cannot be given to BPF_PROG_TEST_RUN: here all come in the frame;
//! tests/netns/topologies.rs has real ones.

use frames::edit::*;
use frames::link::{SERVICE, VLAN};
use frames::*;

/// Every kind of header, by name.
fn all() -> Vec<(&'static str, Behind)> {
    let tags = Behind::tags;
    vec![
        ("plain", Behind::default()),
        ("VLAN", tags(&[(VLAN, 10)])),
        ("priority tag", tags(&[(VLAN, 0x6000)])),
        ("VLAN with priority and DEI", tags(&[(VLAN, 0xb007)])),
        ("802.1ad", tags(&[(SERVICE, 300)])),
        ("QinQ", tags(&[(SERVICE, 300), (VLAN, 0x2064)])),
        ("VLAN in VLAN", tags(&[(VLAN, 4094), (VLAN, 1)])),
        ("PPPoE", Behind::default().session(1)),
        ("PPPoE over VLAN", tags(&[(VLAN, 0x6007)]).session(0xffff)),
        (
            "PPPoE over QinQ",
            tags(&[(SERVICE, 2), (VLAN, 7)]).session(0x1234),
        ),
    ]
}

/// A router whose LAN and WAN are behind these.
struct Dressed {
    router: Router,
    sides: [Behind; 2],
}

impl Dressed {
    fn new(router: Router) -> Self {
        Self {
            router,
            sides: Default::default(),
        }
    }

    /// Returns the frame as it comes in.
    fn comes(&self, side: Side, frame: &Frame) -> Vec<u8> {
        self.sides[side as usize].put_on(&frame.bytes())
    }

    /// Lets the kernel be seen to forward this frame.
    fn prove(&mut self, connection: &Connection, side: Side, frame: &Frame) {
        let (link, out) = links(side);
        let comes = self.comes(side, frame);
        let leaves = self.sides[1 - side as usize].put_on(&connection.sent(side, frame).bytes());
        for _ in 0..2000 {
            let outcome = self.router.run(Hook::Tc, link, &comes);
            assert!(matches!(outcome, Outcome::Passed(_)), "{outcome:?}");
            match self.router.leave(out, &leaves) {
                None if self.router.proven(connection, side) => return,
                None | Some(Reason::NotSeen | Reason::Quiet | Reason::Differs) => {
                    std::thread::sleep(std::time::Duration::from_micros(200));
                }
                Some(other) => panic!("{} {side:?}: {other:?}", connection.original),
            }
        }
        panic!("{} {side:?}: never proven", connection.original);
    }

    /// Switches to another pair of headers, which ends all proofs.
    fn between(&mut self, lan: &Behind, wan: &Behind) {
        self.sides = [lan.clone(), wan.clone()];
        self.router.path.heartbeat.invalidate_all().expect("bumps");
        for connection in self.router.connections.clone() {
            for side in SIDES {
                self.prove(&connection, side, &connection.frame(side).payload(400));
            }
        }
    }

    /// Checks that every hook treats the frame as the model does.
    fn compare(&mut self, link: u32, frame: &[u8]) -> [Outcome; 2] {
        HOOKS.map(|hook| self.router.compare(hook, link, frame))
    }
}

#[test]
fn every_header_becomes_every_other() {
    let mut dressed = Dressed::new(Router::standard());
    for (lan_name, lan) in all() {
        for (wan_name, wan) in all() {
            dressed.between(&lan, &wan);
            for connection in dressed.router.connections.clone() {
                for side in SIDES {
                    // From less than Ethernet's shortest frame to the longest that was proven.
                    for payload in [0, 1, 5, 18, 26, 100, 399, 400] {
                        let frame = connection.frame(side).payload(payload);
                        let octets = dressed.comes(side, &frame);
                        for outcome in dressed.compare(links(side).0, &octets) {
                            assert!(
                                matches!(outcome, Outcome::Forwarded(_)),
                                "{lan_name} to {wan_name}, {payload} bytes, {} {side:?}: \
                                    {outcome:?}",
                                connection.original
                            );
                        }
                        // As an Ethernet device pads it: the kernel's padding and PPPoE's must not
                        // be taken for the packet's.
                        let mut padded = octets.clone();
                        padded.resize(octets.len().max(64), 0xee);
                        dressed.compare(links(side).0, &padded);
                    }
                }
            }
        }
    }
}

/// A packet behind another header belongs to another network or priority: it is the kernel's, and
/// does not affect the proof.
#[test]
fn another_header_is_the_kernels() {
    let mut dressed = Dressed::new(Router::standard());
    for (name, behind) in all() {
        dressed.between(&behind, &Behind::default());
        for (other_name, other) in all() {
            for connection in dressed.router.connections.clone() {
                let frame = other.put_on(&connection.frame(ORIGINAL).bytes());
                for outcome in dressed.compare(LAN, &frame) {
                    let place =
                        format!("{name} proven, {other_name} came: {}", connection.original);
                    if other == behind {
                        assert!(
                            matches!(outcome, Outcome::Forwarded(_)),
                            "{place}: {outcome:?}"
                        );
                    } else {
                        assert_eq!(outcome, Outcome::Passed(Reason::Moved), "{place}");
                    }
                    assert!(dressed.router.proven(&connection, ORIGINAL), "{place}");
                }
            }
        }
    }
}

/// Inverts every byte of the header, and truncates the frame anywhere: forwarded as the model
/// requires, or passed unchanged.
#[test]
fn mangled_headers() {
    let mut dressed = Dressed::new(Router::standard());
    for (_, behind) in all() {
        dressed.between(&behind, &behind);
        for connection in dressed.router.connections.clone() {
            let frame = dressed.comes(ORIGINAL, &connection.frame(ORIGINAL));
            for at in 12..14 + behind.octets() {
                for bits in [0x01, 0x10, 0x80, 0xff] {
                    let mut mangled = frame.clone();
                    mangled[at] ^= bits;
                    dressed.compare(LAN, &mangled);
                }
            }
            // Newer kernels do not run a program on an skb without an IP header.
            for length in 14..frame.len() {
                dressed.router.compare(Hook::Xdp, LAN, &frame[..length]);
            }
        }
    }
}

/// PPPoE has a length of the packet, too. RFC 2516, section 4.
#[test]
fn pppoe_headers_that_lie() {
    let mut dressed = Dressed::new(Router::standard());
    let behind = Behind::tags(&[(VLAN, 7)]).session(9);
    dressed.between(&behind, &behind);
    type Edit = fn(&mut Vec<u8>);
    let table: &[(&str, Edit, Reason)] = &[
        (
            "longer",
            |f| {
                let said = get16(f, 22);
                put16(f, 22, said + 1)
            },
            Reason::Header,
        ),
        (
            "shorter",
            |f| {
                let said = get16(f, 22);
                put16(f, 22, said - 1)
            },
            Reason::Header,
        ),
        ("no length", |f| put16(f, 22, 0), Reason::Header),
        ("the longest", |f| put16(f, 22, 0xffff), Reason::Header),
        ("another session", |f| put16(f, 20, 10), Reason::Moved),
        ("another station", |f| f[11] ^= 1, Reason::Session),
        ("session 0", |f| put16(f, 20, 0), Reason::Moved),
        ("PADT", |f| put16(f, 18, 0x11a7), Reason::Ethertype),
        ("version 2", |f| put16(f, 18, 0x2100), Reason::Ethertype),
        ("type 2", |f| put16(f, 18, 0x1200), Reason::Ethertype),
        ("LCP", |f| put16(f, 24, 0xc021), Reason::Ethertype),
        ("IPCP", |f| put16(f, 24, 0x8021), Reason::Ethertype),
        ("CCP", |f| put16(f, 24, 0x00fd), Reason::Ethertype),
        ("multilink", |f| put16(f, 24, 0x003d), Reason::Ethertype),
        (
            "a compressed protocol field",
            |f| put16(f, 24, 0x2145),
            Reason::Ethertype,
        ),
        ("discovery", |f| put16(f, 16, 0x8863), Reason::Ethertype),
    ];
    for (name, edit, reason) in table {
        for connection in dressed.router.connections.clone() {
            let mut frame = dressed.comes(ORIGINAL, &connection.frame(ORIGINAL));
            edit(&mut frame);
            for outcome in dressed.compare(LAN, &frame) {
                assert_eq!(
                    outcome,
                    Outcome::Passed(*reason),
                    "{name}: {}",
                    connection.original
                );
            }
        }
    }
}

/// A VLAN device may have its own address: the address is this router's in that VLAN, and in no
/// other.
#[test]
fn a_vlan_devices_own_address() {
    const OWN: [u8; 6] = [2, 0, 0, 0, 0, 0x77];
    let mut dressed = Dressed::new(Router::standard());
    let mut lan = weir_datapath::Port::new(LAN, ROUTER_LAN, true);
    lan.vlan_macs = vec![(20, [2, 0, 0, 0, 0, 0x78]), (10, OWN)];
    dressed.router.path.declare(&lan).expect("a port");
    let behind = |vlan| Behind::tags(&[(VLAN, vlan)]);
    dressed.between(&behind(10), &Behind::default());
    for connection in dressed.router.connections.clone() {
        let mut frame = connection.frame(ORIGINAL);
        let forwarded = |dressed: &mut Dressed, frame: &[u8]| {
            HOOKS.map(|hook| dressed.router.run(hook, LAN, frame))
        };
        for (to, vlan, ours) in [
            (ROUTER_LAN, 10, true),
            (OWN, 10, true),
            (OWN, 20, false),
            ([2, 0, 0, 0, 0, 0x78], 10, false),
        ] {
            frame.destination_mac = to;
            let octets = behind(vlan).put_on(&frame.bytes());
            for outcome in forwarded(&mut dressed, &octets) {
                match ours {
                    true => assert!(matches!(outcome, Outcome::Forwarded(_)), "{outcome:?}"),
                    false => assert_eq!(outcome, Outcome::Passed(Reason::NotOurs)),
                }
            }
        }
        frame.destination_mac = OWN;
        for outcome in forwarded(&mut dressed, &frame.bytes()) {
            assert_eq!(outcome, Outcome::Passed(Reason::NotOurs), "untagged");
        }
    }
}

/// A flow is not proven if no qdisc may be bypassed for it, or if another device forbids it.
#[test]
fn pppoe_only_where_it_may_be() {
    let behind = Behind::default().session(3);
    for (out, qdisc) in [(false, true), (true, false)] {
        let mut dressed = Dressed::new(Router::standard());
        let mut wan = weir_datapath::Port::new(WAN, ROUTER_WAN, false);
        (wan.ppp_egress, wan.direct) = (out, qdisc);
        dressed.router.path.declare(&wan).expect("a port");
        for connection in dressed.router.connections.clone() {
            let frame = connection.frame(ORIGINAL);
            let leaves = behind.put_on(&connection.sent(ORIGINAL, &frame).bytes());
            let said = dressed
                .router
                .witnessed(&connection, ORIGINAL, &frame, &leaves);
            let reason = if out { Reason::Qdisc } else { Reason::Port };
            assert_eq!(said, Some(reason), "{}", connection.original);
            assert!(!dressed.router.proven(&connection, ORIGINAL));
        }
    }
    let mut dressed = Dressed::new(Router::standard());
    dressed.between(&behind, &Behind::default());
    let mut lan = weir_datapath::Port::new(LAN, ROUTER_LAN, true);
    lan.ppp_ingress = false;
    dressed.router.path.declare(&lan).expect("a port");
    for connection in dressed.router.connections.clone() {
        let frame = dressed.comes(ORIGINAL, &connection.frame(ORIGINAL));
        for hook in HOOKS {
            let outcome = dressed.router.run(hook, LAN, &frame);
            assert_eq!(outcome, Outcome::Passed(Reason::Port));
        }
    }
}
