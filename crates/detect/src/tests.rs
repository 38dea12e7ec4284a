//! Whole detections, with answers according to the standards.

mod answers;
mod any;

use answers::{MAC, SERVER, Wire, advertise, advertisement, arp, offer, option4, pado};

use crate::{Detection, Internet, Kind, Options, Suggestion};

/// Returns the suggestion on a wire where these answers are sent to all probes of their kind.
fn found(answer: impl Fn(&mut Wire)) -> (Suggestion, Vec<crate::Evidence>) {
    let mut wire = Wire::new(Options {
        mac: MAC,
        others: vec![[2, 0, 0, 0, 0, 0x77]],
        lans: vec!["192.168.1.0/24".parse().expect("a network")],
        seed: 7,
        ..Options::default()
    });
    answer(&mut wire);
    wire.end()
}

const MASK: [u8; 4] = [255, 255, 255, 0];
const ROUTER: [u8; 4] = [192, 0, 2, 1];

#[test]
fn an_offer_with_a_router_is_dhcp() {
    let (said, evidence) = found(|wire| {
        wire.dhcp(
            None,
            &[offer(
                [192, 0, 2, 57],
                &[(1, &MASK), (3, &ROUTER), (6, &[9, 9, 9, 9])],
            )],
        );
    });
    assert_eq!(
        (said.internet, said.vlan, said.confident),
        (Internet::Dhcp, None, true)
    );
    let details = &said.details;
    assert_eq!(details.addresses, ["192.0.2.57/24"]);
    assert_eq!(details.gateway.as_deref(), Some("192.0.2.1"));
    assert_eq!(
        details.network.map(|it| it.to_string()).as_deref(),
        Some("192.0.2.0/24")
    );
    assert_eq!(details.dns, ["9.9.9.9"]);
    assert!(
        said.open_questions
            .iter()
            .any(|it| it.contains("captive portal")),
        "{:?}",
        said.open_questions
    );
    let first = evidence
        .iter()
        .find(|it| it.kind == Kind::Dhcp)
        .expect("an offer");
    let text = "DHCP answer from 192.0.2.1: offers 192.0.2.57/24, router 192.0.2.1, DNS 9.9.9.9";
    assert_eq!(first.text, text);
    assert_eq!(first.fields["address"], ["192.0.2.57/24"]);
    assert_eq!(
        evidence.iter().filter(|it| it.kind == Kind::Dhcp).count(),
        1,
        "said once"
    );
}

/// No server offers a fixed address: silence does not contradict that the route is in use.
#[test]
fn a_port_that_leads_out_already_is_left_as_it_is() {
    let silent = |leads_out: bool| {
        let mut wire = Wire::new(Options {
            mac: MAC,
            ..Options::default()
        });
        if leads_out {
            wire.detection.leads_out();
        }
        wire.end().0
    };
    let said = silent(true);
    assert_eq!((said.internet, said.confident), (Internet::Static, true));
    assert!(said.why[0].contains("already"), "{:?}", said.why);
    assert_eq!(said.open_questions, [""; 0]);
    assert_eq!(silent(false).internet, Internet::None);
}

#[test]
fn a_modem_that_offers_beside_pppoe_is_told_and_passed_by() {
    let (said, _) = found(|wire| {
        wire.dhcp(None, &[offer([192, 168, 100, 2], &[(1, &MASK)])]);
        wire.pppoe(None, &pado("BRAS1", &["", "gold", "silver"]));
    });
    assert_eq!(
        (said.internet, said.vlan, said.confident),
        (Internet::Pppoe, None, true)
    );
    assert_eq!(said.details.services, ["gold", "silver"]);
    assert_eq!(said.details.concentrators, ["BRAS1"]);
    assert!(
        said.why.iter().any(|it| it.contains("modem")),
        "{:?}",
        said.why
    );
    assert!(
        said.open_questions
            .iter()
            .any(|it| it.contains("gold and silver")),
        "{:?}",
        said.open_questions
    );
    let (said, _) = found(|wire| {
        wire.dhcp(None, &[offer([192, 0, 2, 57], &[(1, &MASK), (3, &ROUTER)])]);
        wire.pppoe(None, &pado("BRAS1", &[]));
    });
    assert_eq!(
        (said.internet, said.confident),
        (Internet::Pppoe, false),
        "the offer has a router"
    );
}

#[test]
fn without_a_tag_comes_first_where_it_leads_out() {
    let tagged = |wire: &mut Wire| wire.pppoe(Some(7), &pado("BRAS1", &[]));
    let (said, evidence) = found(tagged);
    assert_eq!(
        (said.internet, said.vlan, said.confident),
        (Internet::Pppoe, Some(7), true)
    );
    assert!(
        evidence
            .iter()
            .any(|it| it.kind == Kind::Vlan && it.text.contains("Telekom"))
    );
    let (said, _) = found(|wire| {
        tagged(wire);
        wire.dhcp(None, &[offer([192, 0, 2, 57], &[(1, &MASK), (3, &ROUTER)])]);
    });
    assert_eq!(
        (said.internet, said.vlan, said.confident),
        (Internet::Dhcp, None, false)
    );
    assert!(
        said.why.iter().any(|it| it.contains("PPPoE in VLAN 7")),
        "{:?}",
        said.why
    );
    let (said, _) = found(|wire| {
        tagged(wire);
        wire.dhcp(None, &[offer([192, 168, 100, 2], &[(1, &MASK)])]);
    });
    assert_eq!(
        (said.internet, said.vlan),
        (Internet::Pppoe, Some(7)),
        "no router without a tag"
    );
}

#[test]
fn servers_that_differ_are_told() {
    let (said, evidence) = found(|wire| {
        let one = offer([192, 0, 2, 57], &[(1, &MASK), (3, &ROUTER)]);
        let other = offer(
            [10, 0, 0, 5],
            &[(1, &MASK), (54, &[10, 0, 0, 1]), (3, &[10, 0, 0, 1])],
        );
        wire.dhcp(None, &[one, other]);
    });
    assert_eq!((said.internet, said.confident), (Internet::Dhcp, false));
    assert!(
        said.open_questions
            .iter()
            .any(|it| it.contains("Several DHCP servers"))
    );
    let conflict = evidence
        .iter()
        .find(|it| it.kind == Kind::Conflict)
        .expect("told");
    assert_eq!(conflict.fields["servers"], ["192.0.2.1", "10.0.0.1"]);
}

#[test]
fn servers_that_stand_in_for_each_other_are_no_trouble() {
    let (said, evidence) = found(|wire| {
        let options: [(u8, &[u8]); 2] = [(1, &MASK), (3, &ROUTER)];
        let one = offer([192, 0, 2, 57], &options);
        let other = offer(
            [192, 0, 2, 58],
            &[&options[..], &[(54, &[192, 0, 2, 3])]].concat(),
        );
        wire.dhcp(None, &[one, other]);
    });
    assert_eq!((said.internet, said.confident), (Internet::Dhcp, true));
    assert_eq!(said.details.servers, ["192.0.2.1", "192.0.2.3"]);
    assert!(!evidence.iter().any(|it| it.kind == Kind::Conflict));
}

#[test]
fn of_several_servers_one_with_a_router_counts() {
    let (said, _) = found(|wire| {
        let page = offer([10, 0, 0, 5], &[(1, &MASK), (54, &[10, 0, 0, 1])]);
        let way = offer([192, 0, 2, 57], &[(1, &MASK), (3, &ROUTER)]);
        wire.dhcp(None, &[page, way]);
    });
    assert_eq!((said.internet, said.confident), (Internet::Dhcp, false));
    assert_eq!(said.details.gateway.as_deref(), Some("192.0.2.1"));
    assert_eq!(said.details.addresses, ["192.0.2.57/24"]);
}

#[test]
fn the_lan_moves_out_of_the_way() {
    let (said, evidence) = found(|wire| {
        let options = option4(&[(1, &MASK), (3, &[192, 168, 1, 254])]);
        wire.dhcp(None, &[(options, [192, 168, 1, 57])]);
        let other = offer([192, 168, 2, 9], &[(1, &MASK), (54, &[192, 168, 2, 1])]);
        wire.dhcp(Some(10), &[other]);
    });
    let lan = said.lan.expect("another network");
    assert_eq!(lan.former.to_string(), "192.168.1.0/24");
    assert_eq!(
        lan.network.map(|it| it.to_string()).as_deref(),
        Some("192.168.3.0/24")
    );
    assert!(lan.why.contains("192.168.1.0/24"), "{}", lan.why);
    assert!(evidence.iter().any(|it| it.kind == Kind::Overlap));
}

#[test]
fn portals_and_ipv6_only_are_read_of_both() {
    let (said, _) = found(|wire| {
        let portal: (u8, &[u8]) = (114, b"https://login.example/");
        wire.dhcp(
            None,
            &[offer([192, 0, 2, 57], &[(1, &MASK), (3, &ROUTER), portal])],
        );
    });
    assert_eq!(
        said.details.portal.as_deref(),
        Some("https://login.example/")
    );
    assert!(
        !said
            .open_questions
            .iter()
            .any(|it| it.contains("captive portal")),
        "{:?}",
        said.open_questions
    );
    let alone: (u8, &[u8]) = (108, &[0, 0, 7, 8]);
    let nat64 = [
        &[38, 2, 7, 8][..],
        &[0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0],
    ]
    .concat();
    let (said, _) = found(|wire| {
        wire.dhcp(
            None,
            &[offer([192, 0, 2, 57], &[(1, &MASK), (3, &ROUTER), alone])],
        );
        wire.router(None, &advertisement(1800, 0, &[&nat64]));
    });
    // No prefix for the LAN is offered.
    assert_eq!((said.internet, said.confident), (Internet::Ipv6Only, false));
    assert_eq!(said.details.nat64.as_deref(), Some("64:ff9b::/96"));
    let told = |said: &Suggestion, what: &str| said.why.iter().any(|it| it.contains(what));
    assert!(
        told(&said, "asks devices to do without IPv4"),
        "{:?}",
        said.why
    );
    let (said, _) = found(|wire| {
        wire.router(None, &advertisement(1800, 0, &[&nat64]));
        wire.dhcp6(None, &advertise(Some(56), &[]));
    });
    assert_eq!((said.internet, said.confident), (Internet::Ipv6Only, true));
    assert!(told(&said, "464XLAT"), "{:?}", said.why);
    let (said, evidence) = found(|wire| {
        wire.dhcp(
            None,
            &[offer([192, 0, 2, 57], &[(1, &MASK), (3, &ROUTER), alone])],
        );
    });
    assert!(evidence.iter().any(|it| it.kind == Kind::Ipv6Only));
    assert_eq!(
        said.internet,
        Internet::Dhcp,
        "nobody says how to do without"
    );
    assert!(
        said.open_questions.iter().any(|it| it.contains("NAT64")),
        "{:?}",
        said.open_questions
    );
}

#[test]
fn dhcp_beside_ipv6_says_whether_there_is_a_prefix_for_the_lan() {
    for (length, what) in [
        (None, "without a prefix for the LAN"),
        (Some(56), "with a prefix for the LAN"),
    ] {
        let (said, _) = found(|wire| {
            wire.dhcp(None, &[offer([192, 0, 2, 57], &[(1, &MASK), (3, &ROUTER)])]);
            wire.router(None, &advertisement(1800, 0, &[]));
            wire.dhcp6(None, &advertise(length, &[]));
        });
        assert_eq!((said.internet, said.confident), (Internet::Dhcp, true));
        assert!(said.details.ipv6);
        assert_eq!(said.details.delegated.len(), usize::from(length.is_some()));
        assert!(
            said.why.iter().any(|it| it.contains(what)),
            "{:?}",
            said.why
        );
    }
}

#[test]
fn a_router_with_a_life_time_of_0_is_no_way_and_that_is_told() {
    let (none, some) = (advertisement(0, 0, &[]), advertisement(1800, 0, &[]));
    let (said, _) = found(|wire| wire.router(None, &none));
    assert_eq!(said.internet, Internet::None);
    assert!(said.details.no_default_router);
    let (said, _) = found(|wire| {
        wire.router(None, &none);
        wire.router(Some(7), &some);
    });
    assert_eq!(said.internet, Internet::Ipv6Only);
    assert!(!said.details.no_default_router);
    let (said, _) = found(|_| {});
    assert!(!said.details.no_default_router);
}

#[test]
fn a_refusal_of_dhcp_is_no_offer() {
    let (said, _) = found(|wire| {
        let refusal = [53, 1, 6, 54, 4, 192, 0, 2, 1, 255].to_vec();
        wire.dhcp(None, &[(refusal, [192, 0, 2, 57])]);
    });
    assert_eq!(said.internet, Internet::None);
}

#[test]
fn a_router_of_ipv6_alone_with_a_tunnel_for_ipv4() {
    let prefix = answers::prefix([0x20, 1, 0xd, 0xb8], 64);
    let page = [&[37, 3][..], b"http://a.example/\0\0\0\0\0"].concat();
    let (said, evidence) = found(|wire| {
        wire.router(None, &advertisement(1800, 0xc0, &[&prefix, &page]));
        wire.dhcp6(
            None,
            &advertise(Some(56), &[(64, b"\x04aftr\x07example\0"), (94, b"")]),
        );
    });
    assert_eq!(
        (said.internet, said.vlan, said.confident),
        (Internet::Ipv6Only, None, true)
    );
    let details = &said.details;
    assert_eq!(details.aftr.as_deref(), Some("aftr.example"));
    assert_eq!(details.shared, ["MAP-E"]);
    assert_eq!(details.prefixes, ["2001:db8::/64"]);
    assert_eq!(details.delegated, ["2001:db8:100::/56"]);
    assert_eq!(details.portal.as_deref(), Some("http://a.example/"));
    for kind in [
        Kind::DsLite,
        Kind::Shared,
        Kind::Router,
        Kind::Dhcpv6,
        Kind::Captive,
    ] {
        assert!(evidence.iter().any(|it| it.kind == kind), "{kind:?}");
    }
    let (said, _) = found(|wire| {
        wire.router(None, &advertisement(1800, 0x80, &[&prefix]));
        wire.dhcp6(None, &advertise(None, &[]));
    });
    assert_eq!((said.internet, said.confident), (Internet::Ipv6Only, false));
    assert!(
        said.open_questions
            .iter()
            .any(|it| it.contains("prefix for the LAN")),
        "{:?}",
        said.open_questions
    );
    assert!(
        said.open_questions
            .iter()
            .any(|it| it.contains("IPv4 over")),
        "{:?}",
        said.open_questions
    );
}

#[test]
fn stations_that_ask_for_each_other_are_a_static_network() {
    let (said, _) = found(|wire| {
        for host in [5, 6, 7] {
            wire.hear(&arp([203, 0, 113, host], [203, 0, 113, 254]));
        }
        wire.pass(3000);
    });
    assert_eq!((said.internet, said.confident), (Internet::Static, false));
    assert_eq!(said.details.gateway.as_deref(), Some("203.0.113.254"));
    assert_eq!(
        said.details.network.map(|it| it.to_string()).as_deref(),
        Some("203.0.113.0/24")
    );
    assert!(
        said.open_questions
            .iter()
            .any(|it| it.contains("free address for this router"))
    );
    let (said, _) = found(|wire| {
        for (host, other) in [(7, 9), (9, 7)] {
            wire.hear(&arp([203, 0, 113, host], [203, 0, 113, other]));
        }
        wire.pass(3000);
    });
    assert_eq!((said.internet, said.confident), (Internet::Static, false));
    assert!(
        said.open_questions
            .iter()
            .any(|it| it.contains("The router of this network")),
        "{:?}",
        said.open_questions
    );
}

#[test]
fn silence_a_loop_and_no_link_are_told_apart() {
    let (said, _) = found(|_| {});
    assert_eq!((said.internet, said.confident), (Internet::None, false));
    for what in [
        "static addresses",
        "Another VLAN than those tried",
        "802.1X",
    ] {
        assert!(
            said.open_questions.iter().any(|it| it.contains(what)),
            "{:?}",
            said.open_questions
        );
    }
    let (said, evidence) = found(Wire::reflect);
    assert_eq!((said.internet, said.confident), (Internet::None, true));
    assert!(said.why[0].contains("loop"), "{:?}", said.why);
    assert_eq!(said.open_questions, ["The network behind the loop."]);
    assert_eq!(
        evidence.iter().filter(|it| it.kind == Kind::Loop).count(),
        1
    );
    let (said, evidence) = found(|wire| wire.detection.link(false, 1));
    assert_eq!((said.internet, said.confident), (Internet::None, true));
    assert!(said.why[0].contains("no link"), "{:?}", said.why);
    assert!(evidence.iter().any(|it| it.kind == Kind::NoLink));
    let (said, _) = found(|wire| {
        let mut frame = arp([192, 168, 1, 1], [192, 168, 1, 9]);
        frame[6..12].copy_from_slice(&[2, 0, 0, 0, 0, 0x77]);
        wire.hear(&frame);
    });
    assert!(
        said.why[0].contains("another port of this router"),
        "{:?}",
        said.why
    );
}

#[test]
fn answers_to_others_are_nobodys_concern() {
    let (said, _) = found(|wire| {
        let offered = offer([192, 0, 2, 57], &[(3, &ROUTER)]);
        wire.hear(&wire.offer_frame(None, &offered, wire.number() ^ 1));
        let mut frame = wire.offer_frame(None, &offered, wire.number());
        // The hardware address of another station.
        frame[14 + 28 + 33] ^= 1;
        wire.hear(&frame);
        let mut frame = wire.pado_frame(None, &pado("BRAS1", &[]));
        frame[5] ^= 1;
        wire.hear(&frame);
        // The answer to another probe.
        let mut frame = wire.pado_frame(None, &pado("BRAS1", &[]));
        let number = 14 + 6 + pado("BRAS1", &[]).len() + 4;
        frame[number] ^= 1;
        wire.hear(&frame);
    });
    assert_eq!(said.internet, Internet::None);
}

#[test]
fn nothing_is_sent_but_questions() {
    let mut wire = Wire::new(Options {
        mac: MAC,
        ..Options::default()
    });
    for host in [5, 6] {
        wire.hear(&arp([203, 0, 113, host], [203, 0, 113, 254]));
    }
    for vlan in 1..40 {
        wire.hear(&crate::frame::ethernet(
            [0xff; 6],
            SERVER,
            Some(vlan),
            0x9000,
            &[],
        ));
    }
    wire.pass(20_000);
    let sent = &wire.sent;
    assert!(
        sent.len() > 100 && sent.len() <= crate::MOST_SENT as usize + 2,
        "{}",
        sent.len()
    );
    let mut probed = 0;
    for frame in sent {
        let read = crate::frame::Frame::read(frame).expect("a frame");
        assert_eq!((read.from, read.to[0] & 1), (MAC, 1), "for everybody");
        match read.kind {
            crate::frame::IPV4 => assert_eq!(read.payload[28 + 242], 1, "DISCOVER"),
            crate::frame::PPPOE => assert_eq!(read.payload[1], 9, "PADI"),
            crate::frame::ARP => {
                probed += 1;
                assert_eq!(read.payload[14..18], [0; 4], "nobody asks");
            }
            _ => match read.payload[6] {
                58 => assert_eq!(read.payload[40], 133, "router solicitation"),
                _ => assert_eq!(read.payload[48], 1, "SOLICIT"),
            },
        }
    }
    assert_eq!(probed, 2);
}

#[test]
fn it_is_settled_when_a_way_is_found_and_no_news_comes() {
    let mut detection = Detection::new(Options {
        mac: MAC,
        ..Options::default()
    });
    detection.link(true, 0);
    assert!(!detection.is_settled(60_000), "silence is not conclusive");
    let mut wire = Wire::new(Options {
        mac: MAC,
        ..Options::default()
    });
    wire.dhcp(None, &[offer([192, 0, 2, 57], &[(1, &MASK), (3, &ROUTER)])]);
    wire.pass(2000);
    assert!(!wire.detection.is_settled(2000), "others may be late");
    assert!(wire.detection.is_settled(5000));
}
