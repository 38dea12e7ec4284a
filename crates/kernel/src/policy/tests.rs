use super::request::*;
use super::*;
use crate::encode::Encoder;
use crate::fixture::{datagrams, first, message};
use crate::message::Messages;
use crate::rtnetlink::{
    AF_INET, AF_INET6, RTA_MULTIPATH, RTM_DELRULE, RTM_F_CLONED, RTM_NEWROUTE, RTM_NEWRULE,
};

fn all<T>(bytes: &[u8], decode: impl Fn(&Message<'_>) -> Result<Option<T>, DecodeError>) -> Vec<T> {
    let messages = Messages::new(bytes).map(|message| message.expect("whole"));
    let decoded = messages.map(|message| decode(&message).expect("valid"));
    decoded.flatten().collect()
}

fn dumped<T>(
    name: &str,
    decode: impl Fn(&Message<'_>) -> Result<Option<T>, DecodeError>,
) -> Vec<T> {
    let datagrams = datagrams(name);
    let found = datagrams.iter().flat_map(|bytes| all(bytes, &decode));
    found.collect()
}

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

fn prefix(text: &str) -> Prefix {
    let (address, length) = text.split_once('/').expect("a slash");
    Prefix {
        address: ip(address),
        length: length.parse().expect("a length"),
    }
}

fn full_rule() -> Rule {
    Rule {
        priority: 1000,
        from: Some(prefix("192.0.2.0/24")),
        to: Some(prefix("198.51.100.1/32")),
        mark: Some((0x100, 0xff00)),
        iif: Some("v0".into()),
        table: 1001,
        ..Rule::default()
    }
}

#[test]
fn rules_of_a_kernel() {
    let rules = dumped("rules", decode_rule);
    let own = |priority, table| Rule {
        priority,
        table,
        protocol: 2,
        ..Rule::default()
    };
    let expected = [
        own(0, LOCAL),
        full_rule(),
        own(32766, MAIN),
        own(32767, 253),
    ];
    assert_eq!(rules, expected);
}

fn hop(link: u32, gateway: &str, onlink: bool) -> Hop {
    Hop {
        link,
        gateway: Some(ip(gateway)),
        onlink,
    }
}

#[test]
fn routes_of_a_kernel() {
    let routes = dumped("routes-ipv4", decode_route);
    let several = Route {
        hops: vec![hop(3, "10.0.2.2", false), hop(3, "203.0.113.1", true)],
        metric: 7,
        source: Some(ip("10.0.2.1")),
        ..Route::without_hop(prefix("0.0.0.0/0"), 1001, RouteKind::Unicast)
    };
    assert!(routes.contains(&several), "{routes:#?}");
    let other = routes.iter().find(|route| route.table == 1002);
    let other = other.expect("a route by a gateway of IPv6");
    assert_eq!(other.hops, [hop(3, "2001:db8::2", false)]);
    assert_eq!((other.protocol, other.metric), (3, 0));
    let local = routes
        .iter()
        .find(|route| route.to == prefix("10.0.2.1/32"));
    let local = local.expect("an address of its own");
    assert_eq!((local.table, local.kind), (LOCAL, RouteKind::Local));

    let routes = dumped("routes-ipv6", decode_route);
    let narrow = Route {
        from: Some(prefix("2001:db8::/48")),
        metric: 9,
        ..Route::new(prefix("::/0"), 100_000, hop(3, "2001:db8::2", false))
    };
    assert!(routes.contains(&narrow), "{routes:#?}");
}

/// `ip route get`: the copy of a route that the kernel makes for the answer.
#[test]
fn the_way_to_an_address() {
    for address in ["192.0.2.7", "2001:db8::7"] {
        let octets = match ip(address) {
            IpAddr::V4(address) => address.octets().to_vec(),
            IpAddr::V6(address) => address.octets().to_vec(),
        };
        let bytes = Encoder::single(RTM_NEWROUTE, 0, 1, |e| {
            let mut header = [0; 12];
            header[0] = if octets.len() == 4 { AF_INET } else { AF_INET6 };
            header[1] = 8 * octets.len() as u8;
            header[8..].copy_from_slice(&RTM_F_CLONED.to_ne_bytes());
            e.fixed(&header);
            e.attribute(RTA_DST, &octets);
            e.attribute(RTA_OIF, &3u32.to_ne_bytes());
        });
        assert_eq!(all(&bytes, decode_way), [3]);
        let mut asked = way_to(ip(address), 1);
        assert!(all(&asked, decode_way).is_empty(), "a question");
        asked[4..6].copy_from_slice(&RTM_NEWROUTE.to_ne_bytes());
        assert_eq!(all(&asked, decode_route)[0].to.address, ip(address));
    }
}

/// A request decodes to the object that it was made from.
#[test]
fn requests_read_as_they_were_meant() {
    let six = Rule {
        ipv6: true,
        from: Some(prefix("2001:db8::/48")),
        table: 100_000,
        ..Rule::default()
    };
    for rule in [full_rule(), six, Rule::default()] {
        let rule = [rule];
        assert_eq!(all(&add_rule(&rule[0], 1), decode_rule), rule);
        let mut request = remove_rule(&rule[0], 1);
        request[4..6].copy_from_slice(&RTM_NEWRULE.to_ne_bytes());
        assert_eq!(all(&request, decode_rule), rule);
    }
    let anywhere = prefix("0.0.0.0/0");
    for route in [
        Route {
            metric: 5,
            source: Some(ip("10.0.2.1")),
            ..Route::new(anywhere, 1001, hop(3, "203.0.113.1", true))
        },
        Route::new(anywhere, 1001, hop(3, "2001:db8::2", false)),
        Route::new(anywhere, 1001, hop(0, "10.0.2.2", false)),
        Route {
            hops: vec![hop(3, "10.0.2.2", false), hop(4, "2001:db8::2", true)],
            ..Route::without_hop(anywhere, 1001, RouteKind::Unicast)
        },
        Route {
            from: Some(prefix("2001:db8::/48")),
            ..Route::new(prefix("2000::/3"), 100_000, hop(3, "fe80::1", false))
        },
        Route::without_hop(prefix("10.0.0.0/8"), MAIN, RouteKind::Unreachable),
        Route::without_hop(prefix("10.0.0.0/8"), MAIN, RouteKind::Blackhole),
    ] {
        let route = [route];
        assert_eq!(all(&set_route(&route[0], 1), decode_route), route);
        let mut request = remove_route(&route[0], 1);
        request[4..6].copy_from_slice(&RTM_NEWROUTE.to_ne_bytes());
        assert_eq!(all(&request, decode_route), route);
    }
}

#[test]
fn how_far_a_route_leads() {
    let anywhere = prefix("0.0.0.0/0");
    let direct = Hop {
        link: 3,
        ..Hop::default()
    };
    let of = |route: &Route| set_route(route, 1)[16 + 6];
    assert_eq!(of(&Route::new(anywhere, 1, direct)), RT_SCOPE_LINK);
    let by = Route::new(anywhere, 1, hop(3, "10.0.2.2", false));
    assert_eq!(of(&by), RT_SCOPE_UNIVERSE);
    let local = Route {
        kind: RouteKind::Local,
        ..Route::new(anywhere, 1, direct)
    };
    assert_eq!(of(&local), RT_SCOPE_HOST);
    assert_eq!(remove_route(&by, 1)[16 + 6], RT_SCOPE_NOWHERE);
}

#[test]
fn what_asks_for_more_is_known() {
    let rule = |flags: u32, attributes: &[(u16, &[u8])]| {
        let mut fixed = [2, 0, 0, 0, 254, 0, 0, 1, 0, 0, 0, 0];
        fixed[8..].copy_from_slice(&flags.to_ne_bytes());
        all(&message(RTM_NEWRULE, &fixed, attributes), decode_rule).remove(0)
    };
    assert!(!rule(1, &[]).more);
    assert!(rule(FIB_RULE_INVERT, &[]).more);
    assert!(!rule(0, &[(FRA_SUPPRESS_PREFIXLEN, &[0xff; 4])]).more);
    assert!(rule(0, &[(FRA_SUPPRESS_PREFIXLEN, &[0; 4])]).more);
    // An egress device (FRA_OIFNAME).
    assert!(rule(0, &[(17, b"v0\0")]).more);
    assert_eq!(rule(0, &[(FRA_FWMARK, &[0; 4])]).mark, Some((0, u32::MAX)));
    assert_eq!(rule(0, &[(FRA_FWMASK, &[0; 4])]).mark, Some((0, 0)));
}

#[test]
fn what_is_removed_is_what_was_told() {
    let told = &datagrams("rules")[0];
    let messages: Vec<_> = Messages::new(told).map(|m| m.expect("whole")).collect();
    assert_eq!(protocol_of(&messages[1]), Ok(Some(PROTOCOL)));
    assert_eq!(protocol_of(&messages[0]), Ok(Some(2)));
    let (kind, payload) = remove_told(&messages[1]);
    let mut request = whole(kind, &payload, 1);
    assert_eq!(request[4..6], RTM_DELRULE.to_ne_bytes());
    request[4..6].copy_from_slice(&RTM_NEWRULE.to_ne_bytes());
    assert_eq!(all(&request, decode_rule), [full_rule()]);
}

#[test]
fn what_is_wrong_is_named() {
    let wrong = |kind: u16, value: &[u8]| {
        let bytes = Encoder::single(RTM_NEWROUTE, 0, 1, |e| {
            e.fixed(&[2, 0, 0, 0, 254, 0, 0, 1, 0, 0, 0, 0]);
            e.attribute(kind, value);
        });
        let message = first(&bytes);
        decode_route(&message).expect_err("wrong").to_string()
    };
    assert_eq!(
        wrong(RTA_GATEWAY, &[1; 16]),
        "RTA_GATEWAY has a wrong length"
    );
    assert_eq!(wrong(RTA_VIA, &[10, 0, 1]), "RTA_VIA has a wrong length");
    for value in [&[16u8, 0, 0, 0][..], &[4, 0, 0, 0, 0, 0, 0, 0], &[99; 8]] {
        assert_eq!(wrong(RTA_MULTIPATH, value), "RTA_MULTIPATH is truncated");
    }
}
