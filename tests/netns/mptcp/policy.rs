//! Rules and routes, compared with the output of `ip`.

use kernel::io::Policy;
use kernel::policy::{Hop, MAIN, PROTOCOL, Route, Rule};
use kernel::routes::RouteKind;
use lab::{Error, Lab, Namespace};
use serde_json::{Value, json};

use crate::mptcp::{ip, opened, prefix, runtime, told, two_wires};

/// Returns the requested keys of the entries that `ip` lists.
fn listed(node: &Namespace, line: &str, keys: &[&str]) -> Result<Vec<Value>, Error> {
    let text = node.run(&format!("ip -j {line}"))?;
    let text = if text.trim().is_empty() { "[]" } else { &text };
    let all: Vec<Value> = serde_json::from_str(text).map_err(told)?;
    let pick = |value: Value| {
        let of = |key: &&str| value.get(*key).map(|it| ((*key).to_owned(), it.clone()));
        Value::Object(keys.iter().filter_map(of).collect())
    };
    Ok(all.into_iter().map(pick).collect())
}

#[test]
fn rules_are_set_and_cleared() -> Result<(), Error> {
    let mut lab = Lab::new();
    let host = lab.host("host")?;
    let runtime = runtime()?;
    let mut policy = opened(host, &runtime, Policy::open)?;
    let by = PROTOCOL.to_string();
    let keys = [
        "priority", "src", "srclen", "dst", "fwmark", "fwmask", "iif", "table", "protocol",
    ];
    let usual = listed(host, "rule", &keys)?;
    host.run("ip rule add pref 1001 from 192.0.2.9 lookup 77")?;

    let mut rule = Rule {
        priority: 1001,
        from: Some(prefix("192.0.2.1/32")),
        table: 1001,
        ..Rule::default()
    };
    assert!(policy.set_rule(&rule).map_err(told)?);
    assert!(!policy.set_rule(&rule).map_err(told)?, "it is so");
    assert!(!policy.add_rule(&rule).map_err(told)?);
    // Another lease.
    rule.from = Some(prefix("192.0.2.2/32"));
    assert!(policy.set_rule(&rule).map_err(told)?);
    let marked = Rule {
        priority: 1000,
        to: Some(prefix("198.51.100.0/24")),
        mark: Some((0x100, 0xff00)),
        iif: Some("lo".into()),
        table: MAIN,
        ..Rule::default()
    };
    policy.set_rule(&marked).map_err(told)?;
    let six = Rule {
        ipv6: true,
        priority: 1001,
        from: Some(prefix("2001:db8::/48")),
        table: 100_000,
        ..Rule::default()
    };
    policy.set_rule(&six).map_err(told)?;

    let found = listed(host, "rule", &keys)?;
    assert_eq!(
        found[1..=3],
        [
            json!({ "priority": 1000, "src": "all", "dst": "198.51.100.0", "fwmark": "0x100",
                    "fwmask": "0xff00", "iif": "lo", "table": "main", "protocol": by }),
            json!({ "priority": 1001, "src": "192.0.2.9", "table": "77" }),
            json!({ "priority": 1001, "src": "192.0.2.2", "table": "1001", "protocol": by }),
        ]
    );
    assert_eq!(found.len(), usual.len() + 3);
    let found = listed(host, "-6 rule", &keys)?;
    assert_eq!(
        found[1],
        json!({ "priority": 1001, "src": "2001:db8::", "srclen": 48, "table": "100000", "protocol": by })
    );
    let own: Vec<Rule> = policy.rules(false).map_err(told)?;
    assert_eq!(own[1], marked);
    assert_eq!(own[3], rule);
    assert_eq!(policy.rules(true).map_err(told)?[1], six);

    assert!(policy.remove_rule(&marked).map_err(told)?);
    assert!(!policy.remove_rule(&marked).map_err(told)?);
    assert_eq!(policy.clear(PROTOCOL).map_err(told)?, 2);
    assert_eq!(policy.clear(PROTOCOL).map_err(told)?, 0);
    host.run("ip rule del pref 1001")?;
    assert_eq!(listed(host, "rule", &keys)?, usual);
    Ok(())
}

#[test]
fn routes_are_set_and_cleared() -> Result<(), Error> {
    let lab = two_wires()?;
    let client = lab.node("client")?;
    lab.address("client", "eth0", "2001:db8::1/64")?;
    let runtime = runtime()?;
    let mut policy = opened(client, &runtime, Policy::open)?;
    let [eth0, eth1, lo] = [
        lab.index("client", "eth0")?,
        lab.index("client", "eth1")?,
        lab.index("client", "lo")?,
    ];
    let hop = |link, gateway: Option<&str>| Hop {
        link,
        gateway: gateway.map(ip),
        onlink: false,
    };
    let anywhere = prefix("0.0.0.0/0");
    let away = |lines: &str| client.run(lines).map(drop);
    away("ip route add default via 10.0.1.2 metric 5")?;
    away("ip -6 route add default via 2001:db8::2 dev eth0 metric 5")?;
    let mut routes = [
        Route {
            metric: 7,
            source: Some(ip("10.0.1.1")),
            ..Route::new(anywhere, 1001, hop(eth0, Some("10.0.1.2")))
        },
        Route::new(prefix("10.0.1.0/24"), 1001, hop(eth0, None)),
        Route {
            kind: RouteKind::Local,
            ..Route::new(anywhere, 1003, hop(lo, None))
        },
        Route::without_hop(anywhere, 1004, RouteKind::Unreachable),
        Route::new(anywhere, 1005, hop(eth0, Some("2001:db8::2"))),
        Route {
            hops: vec![hop(eth0, Some("10.0.1.2")), hop(eth1, Some("10.0.2.2"))],
            ..Route::without_hop(anywhere, 1006, RouteKind::Unicast)
        },
        Route::new(
            anywhere,
            1007,
            Hop {
                onlink: true,
                ..hop(eth1, Some("203.0.113.1"))
            },
        ),
        Route {
            metric: 9,
            ..Route::new(prefix("::/0"), 100_000, hop(eth0, Some("2001:db8::2")))
        },
        Route {
            metric: 9,
            from: Some(prefix("2001:db8::/64")),
            ..Route::new(prefix("::/0"), 100_001, hop(eth0, Some("2001:db8::2")))
        },
        Route {
            metric: 10,
            ..Route::without_hop(prefix("2001:db8:1::/48"), 100_000, RouteKind::Blackhole)
        },
    ];
    for _ in 0..2 {
        for route in &routes {
            policy
                .set_route(route)
                .map_err(|error| told(format!("{error}: {route:?}")))?;
        }
    }
    let keys = [
        "type", "dst", "gateway", "via", "dev", "prefsrc", "metric", "protocol", "flags",
    ];
    let shown = |line: &str| listed(client, line, &keys);
    let by = PROTOCOL.to_string();
    assert_eq!(
        shown("route show table 1001")?,
        [
            json!({ "dst": "default", "gateway": "10.0.1.2", "dev": "eth0", "prefsrc": "10.0.1.1",
                    "metric": 7, "protocol": by, "flags": [] }),
            json!({ "dst": "10.0.1.0/24", "dev": "eth0", "protocol": by, "flags": [] }),
        ]
    );
    assert_eq!(
        shown("route show table 1003")?,
        [json!({ "type": "local", "dst": "default", "dev": "lo", "protocol": by, "flags": [] })]
    );
    assert_eq!(
        shown("route show table 1004")?,
        [json!({ "type": "unreachable", "dst": "default", "protocol": by, "flags": [] })]
    );
    assert_eq!(
        shown("route show table 1005")?,
        [
            json!({ "dst": "default", "via": { "family": "inet6", "host": "2001:db8::2" }, "dev": "eth0",
                 "protocol": by, "flags": [] })
        ]
    );
    assert_eq!(
        listed(client, "route show table 1006", &["nexthops"])?,
        [json!({ "nexthops": [
            { "gateway": "10.0.1.2", "dev": "eth0", "weight": 1, "flags": [] },
            { "gateway": "10.0.2.2", "dev": "eth1", "weight": 1, "flags": [] },
        ] })]
    );
    assert_eq!(
        shown("route show table 1007")?,
        [
            json!({ "dst": "default", "gateway": "203.0.113.1", "dev": "eth1", "protocol": by,
                 "flags": ["onlink"] })
        ]
    );
    assert_eq!(
        shown("-6 route show table 100000")?,
        [
            json!({ "type": "blackhole", "dst": "2001:db8:1::/48", "dev": "lo", "metric": 10,
                    "protocol": by, "flags": [] }),
            json!({ "dst": "default", "gateway": "2001:db8::2", "dev": "eth0", "metric": 9,
                    "protocol": by, "flags": [] }),
        ]
    );
    // Reads back as written; IPv6 reports a device for a blackhole.
    if let Some(hole) = routes.last_mut() {
        hole.hops.push(hop(lo, None));
    }
    let own = |policy: &mut Policy| -> Result<Vec<Route>, Error> {
        let mut own = Vec::new();
        for ipv6 in [false, true] {
            own.extend(
                policy
                    .routes(ipv6, |it| it.protocol == PROTOCOL)
                    .map_err(told)?,
            );
        }
        Ok(own)
    };
    let found = own(&mut policy)?;
    assert_eq!(found.len(), routes.len());
    for route in &routes {
        assert!(found.contains(route), "{route:?} is none of {found:#?}");
    }
    // A route through another gateway replaces the route.
    routes[0].hops = vec![hop(eth0, Some("10.0.1.77"))];
    policy.set_route(&routes[0]).map_err(told)?;
    assert_eq!(shown("route show table 1001")?[0]["gateway"], "10.0.1.77");
    assert!(policy.remove_route(&routes[0]).map_err(told)?);
    assert!(!policy.remove_route(&routes[0]).map_err(told)?);
    // This route vanished with its device.
    away("ip link set eth1 down")?;
    assert!(!policy.remove_route(&routes[6]).map_err(told)?);
    away("ip link set eth1 up")?;
    let others = |policy: &mut Policy| -> Result<Vec<Route>, Error> {
        let mut others = Vec::new();
        for ipv6 in [false, true] {
            let wanted = |it: &Route| it.protocol != PROTOCOL;
            others.extend(policy.routes(ipv6, wanted).map_err(told)?);
        }
        Ok(others)
    };
    let (left, kept) = (own(&mut policy)?.len(), others(&mut policy)?);
    assert!(left > 5 && kept.len() > 5);
    assert_eq!(policy.clear(PROTOCOL).map_err(told)?, left);
    assert_eq!(own(&mut policy)?, []);
    assert_eq!(others(&mut policy)?, kept);
    let answer = policy.set_route(&Route::new(anywhere, 1001, hop(eth0, Some("203.0.113.1"))));
    let error = answer.expect_err("not there").to_string();
    assert!(
        error.contains("a new route") && error.contains("ENETUNREACH"),
        "{error}"
    );
    Ok(())
}
