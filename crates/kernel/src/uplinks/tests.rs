use super::*;

const ETHER: u16 = 1;
const PPP: u16 = 512;

fn link(index: u32, name: &str, hardware: u16) -> Link {
    Link {
        index,
        name: name.to_owned(),
        hardware,
        up: true,
        mtu: 1500,
        tx_queues: 1,
        ..Link::default()
    }
}

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

fn held(link: u32, text: &str) -> LinkAddress {
    let (address, length) = text.split_once('/').expect("a slash");
    LinkAddress {
        link,
        address: ip(address),
        length: length.parse().expect("a length"),
        scope: if text.starts_with("fe80") { 253 } else { 0 },
        flags: 0x80,
    }
}

fn default(link: u32, gateway: Option<&str>, metric: u32, table: u32) -> Route {
    let family = gateway.map_or(
        "0.0.0.0",
        |text| if text.contains(':') { "::" } else { "0.0.0.0" },
    );
    let hop = Hop {
        link,
        gateway: gateway.map(ip),
        onlink: false,
    };
    let to = Prefix::truncated(ip(family), 0);
    Route {
        metric,
        protocol: 4,
        ..Route::new(to, table, hop)
    }
}

fn rule(ipv6: bool, table: u32) -> Rule {
    Rule {
        ipv6,
        priority: 1000,
        table,
        protocol: 3,
        ..Rule::default()
    }
}

/// Two providers in the main table, a third in table 100, and a device inside.
fn picture() -> RoutingSnapshot {
    RoutingSnapshot {
        links: vec![
            link(1, "lo", LOOPBACK),
            link(2, "wan0", ETHER),
            link(3, "ppp0", PPP),
            link(4, "lte0", ETHER),
            link(5, "lan0", ETHER),
        ],
        addresses: vec![
            held(1, "127.0.0.1/8"),
            held(2, "192.0.2.5/24"),
            held(2, "fe80::5/64"),
            held(2, "2001:db8::5/64"),
            held(3, "198.51.100.7/32"),
            held(4, "10.64.0.2/30"),
            held(5, "192.168.1.1/24"),
        ],
        rules: vec![rule(false, 100), rule(false, MAIN), rule(true, MAIN)],
        defaults: vec![
            default(2, Some("192.0.2.1"), 20, MAIN),
            default(3, None, 10, MAIN),
            default(4, Some("10.64.0.1"), 0, 100),
            default(2, Some("fe80::1"), 1024, MAIN),
        ],
    }
}

fn shown(uplinks: &[Uplink]) -> Vec<String> {
    uplinks
        .iter()
        .map(|uplink| {
            let gateway = uplink.gateway.map_or("-".to_owned(), |it| it.to_string());
            let Uplink {
                name,
                address,
                prefix,
                metric,
                table,
                ..
            } = uplink;
            format!("{name} {address} {prefix} {gateway} {metric} {table}")
        })
        .collect()
}

#[test]
fn all_ways_out_the_best_first() {
    assert_eq!(
        shown(&picture().uplinks()),
        [
            "ppp0 198.51.100.7 198.51.100.7/32 - 10 254",
            "wan0 192.0.2.5 192.0.2.0/24 192.0.2.1 20 254",
            "wan0 2001:db8::5 2001:db8::/64 fe80::1 1024 254",
            "lte0 10.64.0.2 10.64.0.0/30 10.64.0.1 0 100",
        ]
    );
}

#[test]
fn a_table_counts_where_a_rule_of_its_family_leads_there() {
    let mut picture = picture();
    picture.rules[0].ipv6 = true;
    assert!(
        !shown(&picture.uplinks())
            .iter()
            .any(|text| text.starts_with("lte0"))
    );
    // The main table always counts: a kernel without policy routing has no rules.
    picture.rules.clear();
    assert_eq!(picture.uplinks().len(), 3);
}

#[test]
fn what_weir_wrote_does_not_count() {
    let mut picture = picture();
    picture.rules[0].protocol = PROTOCOL;
    assert_eq!(picture.uplinks().len(), 3);
    picture.rules[0].protocol = 3;
    picture.defaults[2].protocol = PROTOCOL;
    assert_eq!(picture.uplinks().len(), 3);
}

#[test]
fn a_device_in_several_tables_is_one_uplink() {
    let mut picture = picture();
    picture.defaults.push(default(2, Some("192.0.2.2"), 0, 100));
    picture
        .defaults
        .push(default(2, Some("192.0.2.3"), 30, MAIN));
    let uplinks = picture.uplinks();
    assert_eq!(uplinks.len(), 4);
    assert_eq!(uplinks[1].gateway, Some(ip("192.0.2.1")));
}

#[test]
fn several_hops_are_several_uplinks() {
    let mut picture = picture();
    picture.defaults.truncate(1);
    let other = default(4, Some("10.64.0.1"), 0, MAIN);
    picture.defaults[0].hops.extend(other.hops);
    let names: Vec<_> = picture.uplinks().into_iter().map(|it| it.name).collect();
    assert_eq!(names, ["wan0", "lte0"]);
}

#[test]
fn what_leads_nowhere_is_none() {
    let count = |change: &dyn Fn(&mut RoutingSnapshot)| {
        let mut picture = picture();
        change(&mut picture);
        picture.uplinks().len()
    };
    assert_eq!(count(&|p| p.links[2].up = false), 3);
    assert_eq!(count(&|p| p.links[2].hardware = LOOPBACK), 3);
    assert_eq!(count(&|p| p.links.retain(|link| link.index != 3)), 3);
    assert_eq!(count(&|p| p.addresses.retain(|held| held.link != 3)), 3);
    assert_eq!(count(&|p| p.defaults[1].kind = RouteKind::Unreachable), 3);
    assert_eq!(
        count(&|p| p.defaults[1].to = Prefix::truncated(ip("0.0.0.0"), 1)),
        3
    );
}

#[test]
fn the_address_that_suits_the_route() {
    let first = |change: &dyn Fn(&mut RoutingSnapshot)| {
        let mut picture = picture();
        picture.defaults.truncate(1);
        change(&mut picture);
        picture.uplinks().first().map(|it| it.address.to_string())
    };
    let is = |text: &str| Some(text.to_owned());
    // Before the one that was there: the network that the gateway is in.
    let before = |text: &str| {
        let text = text.to_owned();
        move |p: &mut RoutingSnapshot| p.addresses.insert(0, held(2, &text))
    };
    assert_eq!(first(&before("172.16.0.1/12")), is("192.0.2.5"));
    assert_eq!(first(&before("192.0.2.9/24")), is("192.0.2.9"));
    let flagged = |flags: u32| {
        move |p: &mut RoutingSnapshot| {
            p.addresses.insert(0, held(2, "192.0.2.9/24"));
            p.addresses[0].flags = flags;
        }
    };
    for (flags, expected) in [
        (IFA_DEPRECATED, "192.0.2.5"),
        (IFA_TENTATIVE, "192.0.2.5"),
        (IFA_TENTATIVE | IFA_OPTIMISTIC, "192.0.2.9"),
        (IFA_DADFAILED, "192.0.2.5"),
        (IFA_SECONDARY, "192.0.2.5"),
        (0, "192.0.2.9"),
    ] {
        assert_eq!(first(&flagged(flags)), is(expected), "{flags:#x}");
    }
    let of_link = |p: &mut RoutingSnapshot| p.addresses[1].scope = 253;
    assert_eq!(first(&of_link), None);
    // The route's source address wins, on any device.
    let source = |p: &mut RoutingSnapshot| p.defaults[0].source = Some(ip("192.168.1.1"));
    assert_eq!(first(&source), is("192.168.1.1"));
}

const IFA_SECONDARY: u32 = 0x01;
const IFA_OPTIMISTIC: u32 = 0x04;
const IFA_DADFAILED: u32 = 0x08;
const IFA_DEPRECATED: u32 = 0x20;
const IFA_TENTATIVE: u32 = 0x40;

#[test]
fn ipv6_by_source_and_past_local_and_temporary_addresses() {
    let mut picture = picture();
    picture.defaults.drain(..3);
    let mut temporary = held(2, "2001:db8::77/64");
    temporary.flags = IFA_SECONDARY;
    picture.addresses.insert(0, held(2, "fd00::1/64"));
    picture.addresses.insert(0, temporary);
    assert_eq!(picture.uplinks()[0].address, ip("2001:db8::5"));
    // The form in which netifd writes a prefix that a provider delegates.
    picture.addresses.push(held(2, "2001:db8:77::1/56"));
    picture.defaults[0].from = Some(Prefix::truncated(ip("2001:db8:77::"), 56));
    let uplink = &picture.uplinks()[0];
    assert_eq!(uplink.address, ip("2001:db8:77::1"));
    assert_eq!(uplink.prefix.to_string(), "2001:db8:77::/56");
    picture
        .addresses
        .retain(|held| held.address == ip("fd00::1"));
    picture.defaults[0].from = None;
    assert_eq!(picture.uplinks()[0].address, ip("fd00::1"));
}

#[test]
fn changes_are_told_once() {
    let mut uplinks = Uplinks::default();
    let mut picture = picture();
    let names = |changes: &[Change]| -> Vec<String> {
        let of = |change: &Change| match change {
            Change::Added(it) => format!("+{}", it.name),
            Change::Removed(it) => format!("-{}", it.name),
            Change::Changed { before, now } => format!("{} {}", before.address, now.address),
        };
        changes.iter().map(of).collect()
    };
    let found = uplinks.update(&picture);
    assert_eq!(names(&found), ["+ppp0", "+wan0", "+wan0", "+lte0"]);
    assert_eq!(uplinks.update(&picture), []);
    // A new lease; ppp0 ends, and lan0 turns out to lead out.
    picture.addresses[1] = held(2, "192.0.2.6/24");
    picture.defaults[1] = default(5, Some("192.168.1.254"), 10, MAIN);
    let found = uplinks.update(&picture);
    assert_eq!(names(&found), ["-ppp0", "192.0.2.5 192.0.2.6", "+lan0"]);
    assert_eq!(uplinks.now(), picture.uplinks());
}

#[test]
fn a_device_that_goes_down_is_gone_at_once() {
    let mut uplinks = Uplinks::default();
    let picture = picture();
    uplinks.update(&picture);
    let mut out = Vec::new();
    // An event without a change of a known device.
    let known = picture.links[1].clone();
    assert!(!uplinks.event(&Event::Link(known.clone()), &mut out));
    let down = Link {
        up: false,
        ..known.clone()
    };
    assert!(!uplinks.event(&Event::Link(down), &mut out));
    assert_eq!(out.len(), 2, "both families");
    assert!(uplinks.event(&Event::Link(known), &mut out), "it is back");
    uplinks.event(&Event::LinkGone(4), &mut out);
    assert_eq!((out.len(), uplinks.now().len()), (3, 1));
    // An unchanged picture reports them again.
    assert_eq!(uplinks.update(&picture).len(), 3);
    for (event, look) in [
        (Event::Routing, true),
        (Event::Overrun(Source::Route), true),
        (Event::DumpEnd(Source::Conntrack), false),
        (Event::Firewall(3), false),
    ] {
        assert_eq!(uplinks.event(&event, &mut out), look, "{event:?}");
    }
    assert_eq!(out.len(), 3);
}

#[test]
fn of_two_with_one_address_the_better_is_used_and_the_other_when_that_fails() {
    let mut uplinks = Uplinks::default();
    let mut picture = picture();
    picture.addresses[5] = held(4, "192.0.2.5/24");
    let names = |all: &[Uplink]| -> Vec<String> { all.iter().map(|it| it.name.clone()).collect() };
    uplinks.update(&picture);
    assert_eq!(names(uplinks.now()), ["ppp0", "wan0", "wan0"]);
    assert_eq!(names(uplinks.twins()), ["lte0"]);
    assert_eq!(
        uplinks.update(&picture),
        [],
        "looked at again, nothing changes"
    );
    let mut out = Vec::new();
    assert!(
        uplinks.event(&Event::LinkGone(2), &mut out),
        "to be looked at"
    );
    assert_eq!((out.len(), uplinks.twins().len()), (2, 1));
    picture.links.retain(|link| link.index != 2);
    uplinks.update(&picture);
    assert_eq!(names(uplinks.now()), ["ppp0", "lte0"]);
    assert!(uplinks.twins().is_empty());
}
