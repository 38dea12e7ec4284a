//! Connections that a rule may concern which sees each packet.

mod declared;
mod early;

use crate::common::{Rig, tcp};
use kernel::{Protocol, Tuple};
use serde_json::{Value, json};
use weir_offload_core::ruleset::{Kind, PerPacketRule, Subject, parse, read};
use weir_offload_core::{DeclineReason, Settings};

/// A chain of hook forward, and more chains that it may jump to; each with its rules. Handles are
/// counted from 10 on.
fn concerns(chains: &[(&str, &[Value])]) -> Vec<PerPacketRule> {
    let mut all = Vec::new();
    for (name, _) in chains {
        let mut chain = json!({"family": "inet", "table": "t", "name": name, "handle": 1});
        if *name == "forward" {
            chain["hook"] = json!("forward");
            chain["type"] = json!("filter");
        }
        all.push(json!({ "chain": chain }));
    }
    let rules = chains
        .iter()
        .flat_map(|(name, rules)| rules.iter().map(move |r| (name, r)));
    for (number, (chain, rule)) in rules.enumerate() {
        all.push(json!({"rule": {"family": "inet", "table": "t", "chain": chain, "handle": 10 + number, "expr": rule}}));
    }
    read(&json!({ "nftables": all }))
        .expect("a ruleset")
        .per_packet_rules
}

fn asks(protocol: &str, field: &str, right: Value) -> Value {
    json!({"match": {"op": "==", "left": {"payload": {"protocol": protocol, "field": field}}, "right": right}})
}

fn limit() -> Value {
    json!({"limit": {"rate": 5, "per": "second"}})
}

fn jump(target: &str) -> Value {
    json!({"jump": {"target": target}})
}

fn established() -> Value {
    json!({"match": {"op": "in", "left": {"ct": {"key": "state"}}, "right": ["established", "related"]}})
}

/// From 192.168.1.2 by 203.0.113.1 to 198.51.100.7.
fn touched(concern: &PerPacketRule, protocol: Protocol, from: u16, to: u16) -> bool {
    touched_with(3, concern, protocol, from, to)
}

/// Like `touched`, with another connection mark than 3.
fn touched_with(
    mark: u32,
    concern: &PerPacketRule,
    protocol: Protocol,
    from: u16,
    to: u16,
) -> bool {
    let tuple = |source: &str, source_port, destination: &str, destination_port| Tuple {
        protocol,
        source: source.parse().expect("an address"),
        source_port,
        destination: destination.parse().expect("an address"),
        destination_port,
    };
    let original = tuple("192.168.1.2", from, "198.51.100.7", to);
    let reply = tuple("198.51.100.7", to, "203.0.113.1", from);
    concern.touches(&Subject {
        original: &original,
        reply: &reply,
        mark,
    })
}

/// Returns true if one rule concerns a connection to this port.
fn one(rule: Value, protocol: Protocol, port: u16) -> bool {
    let found = concerns(&[("forward", &[rule])]);
    assert!(found.len() < 2, "{found:?}");
    found
        .iter()
        .any(|concern| touched(concern, protocol, 40_000, port))
}

#[test]
fn what_a_rule_asks_for_narrows_it() {
    use Protocol::{Tcp, Udp};
    let rule = |condition: Value| json!([condition, limit(), {"drop": null}]);
    assert!(one(json!([limit(), {"drop": null}]), Tcp, 80));
    assert!(one(rule(asks("tcp", "dport", json!(80))), Tcp, 80));
    assert!(!one(rule(asks("tcp", "dport", json!(80))), Tcp, 81));
    assert!(!one(rule(asks("tcp", "dport", json!(80))), Udp, 80));
    assert!(
        one(rule(asks("tcp", "sport", json!(80))), Tcp, 80),
        "the way back"
    );
    assert!(one(
        rule(asks("th", "dport", json!({"range": [70, 90]}))),
        Udp,
        80
    ));
    assert!(!one(
        rule(asks("th", "dport", json!({"set": [70, 90]}))),
        Udp,
        80
    ));
    assert!(!one(
        rule(asks("icmp", "type", json!("echo-request"))),
        Udp,
        80
    ));
    assert!(!one(rule(asks("ip6", "saddr", json!("::1"))), Udp, 80));
    for address in ["192.168.1.2", "198.51.100.7", "203.0.113.1"] {
        for field in ["saddr", "daddr"] {
            assert!(
                one(rule(asks("ip", field, json!(address))), Tcp, 80),
                "{address} {field}"
            );
        }
    }
    let prefix =
        |addr: &str, len: u8| asks("ip", "saddr", json!({"prefix": {"addr": addr, "len": len}}));
    assert!(one(rule(prefix("192.168.0.0", 16)), Tcp, 80));
    assert!(!one(rule(prefix("10.0.0.0", 8)), Tcp, 80));
    assert!(
        one(rule(asks("ip", "saddr", json!("@named"))), Tcp, 80),
        "may hold any"
    );
    let mark = |value: u32| json!({"match": {"op": "==", "left": {"ct": {"key": "mark"}}, "right": value}});
    assert!(one(rule(mark(3)), Tcp, 80));
    assert!(!one(rule(mark(4)), Tcp, 80));
    let not = json!({"match": {"op": "!=", "left": {"payload": {"protocol": "tcp", "field": "dport"}}, "right": 80}});
    assert!(one(rule(not.clone()), Tcp, 81));
    // Between hooks a packet may have the one address translated and the other not.
    let both = |a: &str, b: &str| {
        json!([
            asks("ip", "saddr", json!(a)),
            asks("ip", "daddr", json!(b)),
            limit()
        ])
    };
    assert!(one(both("198.51.100.7", "192.168.1.2"), Tcp, 80));
    assert!(!one(both("192.168.1.2", "203.0.113.1"), Tcp, 80));
    // Copies, of nftables and of iptables.
    let dup = json!({"dup": {"addr": "10.0.1.2", "dev": "wan1"}});
    let tee = json!({"xt": {"type": "target", "name": "TEE"}});
    for copy in [dup, tee] {
        let copies = json!([asks("udp", "sport", json!(7)), copy]);
        assert!(one(copies.clone(), Udp, 7), "{copies}");
        assert!(!one(copies.clone(), Udp, 8), "{copies}");
    }
}

#[test]
fn what_comes_before_a_limit_counts_and_what_comes_after_does_not() {
    use Protocol::Tcp;
    let port = || asks("tcp", "dport", json!(80));
    assert!(
        one(json!([limit(), port(), {"drop": null}]), Tcp, 81),
        "it counts all"
    );
    let length = json!({"match": {"op": "<", "left": {"meta": {"key": "length"}}, "right": 100}});
    assert!(
        !one(json!([length, port(), {"drop": null}]), Tcp, 81),
        "both are asked"
    );
    let mark = json!({"mangle": {"key": {"meta": {"key": "mark"}}, "value": 7}});
    assert!(
        one(json!([length, mark, port(), {"drop": null}]), Tcp, 81),
        "marked before"
    );
    assert!(
        !one(json!([length, {"counter": null}]), Tcp, 81),
        "only counted"
    );
    let new = json!({"match": {"op": "==", "left": {"ct": {"key": "state"}}, "right": "new"}});
    assert!(!one(json!([new, limit(), {"drop": null}]), Tcp, 80));
    assert!(
        one(json!([limit(), new, {"drop": null}]), Tcp, 80),
        "the limit comes first"
    );
}

#[test]
fn jumps_narrow_and_ways_add_up() {
    use Protocol::{Tcp, Udp};
    let found = concerns(&[
        (
            "forward",
            &[
                json!([asks("tcp", "dport", json!(80)), jump("a")]),
                json!([asks("udp", "dport", json!(53)), jump("a")]),
                json!([{"vmap": {"key": {"payload": {"protocol": "tcp", "field": "dport"}}, "data": {"set": [[443, jump("a")], [25, {"drop": null}]]}}}]),
            ],
        ),
        ("a", &[json!([jump("b")])]),
        ("b", &[json!([limit(), {"drop": null}])]),
        ("unreached", &[json!([limit(), {"drop": null}])]),
    ]);
    assert_eq!(found.len(), 1, "{found:?}");
    let touched = |protocol, port| touched(&found[0], protocol, 40_000, port);
    assert!(touched(Tcp, 80) && touched(Udp, 53) && touched(Tcp, 443));
    assert!(!touched(Udp, 80) && !touched(Tcp, 53) && !touched(Tcp, 25));
    assert_eq!(found[0].rule.to_string(), "inet t b, handle 14");
}

#[test]
fn what_is_settled_before_concerns_nobody() {
    let accepts = json!([established(), {"counter": null}, {"accept": null}]);
    let each = json!([limit(), {"drop": null}]);
    let none = |chains: &[(&str, &[Value])]| assert_eq!(concerns(chains), []);
    let some = |chains: &[(&str, &[Value])]| assert_eq!(concerns(chains).len(), 1);
    none(&[("forward", &[accepts.clone(), each.clone()])]);
    some(&[("forward", &[each.clone(), accepts.clone()])]);
    // In a chain that all packets pass, as ufw has it.
    let jumps = json!([{"counter": null}, jump("before")]);
    none(&[
        ("forward", &[jumps.clone(), each.clone()]),
        ("before", std::slice::from_ref(&accepts)),
    ]);
    let port = json!([asks("tcp", "dport", json!(80)), jump("before")]);
    some(&[
        ("forward", &[port, each.clone()]),
        ("before", std::slice::from_ref(&accepts)),
    ]);
    let leaves = json!([asks("tcp", "dport", json!(80)), {"return": null}]);
    some(&[
        ("forward", &[jumps, each.clone()]),
        ("before", &[leaves, accepts.clone()]),
    ]);
    let state = json!([{"vmap": {"key": {"ct": {"key": "state"}}, "data": {"set": [["established", {"accept": null}], ["invalid", {"drop": null}]]}}}]);
    none(&[
        ("forward", &[state, json!([jump("a")])]),
        ("a", std::slice::from_ref(&each)),
    ]);
    let other = json!([established(), asks("tcp", "dport", json!(80)), {"accept": null}]);
    some(&[("forward", &[other, each])]);
}

/// Written after what the projects generate by default (fw4's templates with zone logging, banIP's
/// tables, `firewall-cmd`, `ufw enable`, dockerd, mwan3's scripts), loaded by nft or iptables-nft,
/// and dumped by nft 1.0.6, with states and marks of iptables spelled, as `weir run` does it.
fn stock(name: &str) -> Vec<PerPacketRule> {
    let text = std::fs::read_to_string(format!(
        "{}/tests/rulesets/{name}.json",
        env!("CARGO_MANIFEST_DIR")
    ));
    let text = text.unwrap_or_else(|error| panic!("{name}: {error}"));
    read(&parse(&text).expect("JSON"))
        .expect("a ruleset")
        .per_packet_rules
}

#[test]
fn stock_rulesets_keep_all_their_offload() {
    for name in [
        "debian",
        "fw4",
        "fw4-banip-sqm",
        "firewalld",
        "ufw",
        "docker",
    ] {
        assert_eq!(stock(name), [], "{name}");
    }
}

/// mwan3 throws dice only for packets without a mark, after it has restored the connection's mark.
#[test]
fn mwan3_keeps_its_offload() {
    let found = stock("mwan3");
    let of = |family| {
        let mut of = found.iter().filter(|one| one.rule.family == family);
        (of.next().expect("the dice"), of.count())
    };
    let (dice, more) = of("ip");
    assert_eq!((dice.kind, more), (Kind::Numgen, 0));
    assert_eq!(
        dice.rule.to_string(),
        "ip mangle mwan3_policy_balanced, handle 38"
    );
    let touched = |mark, port| touched_with(mark, dice, Protocol::Tcp, 40_000, port);
    for port in [80, 443] {
        for mark in [0x100, 0x200, 0x3f00, 0x1_0100] {
            assert!(!touched(mark, port), "{mark:x} has its way");
        }
        for mark in [0, 0x1_0000, 1] {
            assert!(touched(mark, port), "{mark:x} has none");
        }
    }
    assert_eq!(of("ip6").1, 0);
}

const DICE: &str = r#"{"xt": {"type": "match", "name": "statistic"}}"#;

/// Returns true if the random rule counts as per-packet for connections with the mark 0x100, after
/// rules that match the packet's mark.
fn dice(before: &[Value], asked: Value) -> bool {
    let statistic: Value = serde_json::from_str(DICE).expect("JSON");
    let last = json!([asked.clone(), statistic, {"mangle": {"key": mark(), "value": 0x200}}]);
    let rules: Vec<Value> = before.iter().cloned().chain([last]).collect();
    let other = json!([{"mangle": {"key": mark(), "value": 0}}]);
    let balance = json!([{"mangle": {"key": mark(), "value": 0x300}}]);
    let found = concerns(&[
        ("forward", &rules),
        ("clears", &[other]),
        ("sets", &[balance]),
    ]);
    let dice = found.iter().find(|one| one.kind == Kind::Numgen);
    let dice = dice.expect("the dice");
    let empty = asked["match"]["right"] == 0;
    let without = touched_with(0, dice, Protocol::Tcp, 40_000, 80);
    assert!(without || !empty, "without a mark always");
    touched_with(0x100, dice, Protocol::Tcp, 40_000, 80)
}

fn mark() -> Value {
    json!({"meta": {"key": "mark"}})
}

fn mark_is(mask: u32, operator: &str, value: u32) -> Value {
    json!({"match": {"op": operator, "left": {"&": [mark(), mask]}, "right": value}})
}

fn marked(value: Value) -> Value {
    json!({"mangle": {"key": mark(), "value": value}})
}

#[test]
fn a_restored_mark_is_that_of_the_connection() {
    let connection = json!({"ct": {"key": "mark"}});
    let restore = || json!([marked(connection.clone())]);
    let masked = |mask: u32| json!([marked(json!({"&": [connection, mask]}))]);
    let zero = || mark_is(0xff00, "==", 0);
    assert!(dice(&[], zero()), "not restored");
    assert!(!dice(&[restore()], zero()));
    assert!(!dice(&[masked(0xff00)], zero()));
    assert!(dice(&[masked(0xff)], zero()), "other bits");
    assert!(dice(&[restore()], mark_is(0xff, "==", 0)), "other bits");
    assert!(!dice(&[restore()], mark_is(0xff00, "!=", 0x100)));
    assert!(
        dice(&[masked(0xf00)], mark_is(0xff00, "!=", 0x100)),
        "unlike in bits that are not known"
    );
    assert!(!dice(&[masked(0xf00)], mark_is(0xff00, "==", 0x1200)));
    // Some packets only.
    let port = || asks("tcp", "dport", json!(80));
    assert!(dice(&[json!([port(), marked(connection.clone())])], zero()));
    let where_empty = |mask| json!([mark_is(mask, "==", 0), marked(connection.clone())]);
    assert!(!dice(&[where_empty(0xff00)], zero()));
    assert!(
        dice(&[where_empty(0xffff)], zero()),
        "0x1 was kept, and nothing restored"
    );
    assert!(!dice(&[where_empty(0xf00)], zero()), "less was asked");
    let new = json!({"match": {"op": "==", "left": {"ct": {"key": "state"}}, "right": "new"}});
    assert!(dice(&[json!([new, marked(connection.clone())])], zero()));
    // Written afterwards.
    let then = |rule: Value| dice(&[masked(0xff00), rule], zero());
    assert!(then(json!([marked(json!(0))])));
    assert!(then(json!([port(), marked(json!(0))])), "perhaps");
    assert!(then(json!([jump("clears")])));
    assert!(then(json!([{"queue": {"num": 0}}])), "by a program");
    assert!(then(json!([{"xt": {"type": "target", "name": "MARK"}}])));
    assert!(!then(json!([jump("sets")])));
    assert!(!then(json!([new, marked(json!(0))])), "not of these");
    assert!(!then(json!([marked(json!({"|": [mark(), 0x400]}))])));
    assert!(!then(json!([marked(
        json!({"^": [{"&": [mark(), 0xffff_00ff_u32]}, 0x400]})
    )])));
    assert!(then(json!([marked(
        json!({"&": [mark(), 0xffff_00ff_u32]})
    )])));
    // And the connection's before.
    let saved = json!([{"mangle": {"key": connection, "value": mark()}}]);
    assert!(dice(&[saved.clone(), restore()], zero()));
    assert!(!dice(&[restore(), saved], zero()));
}

#[test]
fn what_rules_cost_is_counted() {
    let rule = |port: u16| json!([asks("tcp", "dport", json!(port)), limit(), {"drop": null}]);
    let rules = concerns(&[(
        "forward",
        &[
            rule(80),
            rule(81),
            json!([asks("tcp", "dport", json!({"set": [80, 443]})), limit()]),
        ],
    )]);
    assert_eq!(rules.len(), 3);
    let mut rig = Rig::new(Settings::default());
    for (id, port) in [(1, 80), (2, 80), (3, 443), (4, 22)] {
        rig.connection(&tcp(
            id,
            &format!("10.0.0.2:{}", 4_000 + id),
            &format!("192.0.2.1:{port}"),
        ));
    }
    assert!(rig.core.costs().is_empty());
    rig.core.rules(rules, 2_000, &mut Vec::new());
    assert_eq!(rig.core.costs(), [2, 0, 3]);
    let left = rig.core.statistics().declined[DeclineReason::EachPacket.index()];
    assert_eq!(left, 3, "each once");
    rig.core.rules(Vec::new(), 3_000, &mut Vec::new());
    assert!(rig.core.costs().is_empty());
}

/// Elements of a set may have a quota or a limit each, declared with the set or by the rule that
/// adds them: a rule that only looks up an element depends on the quota or limit, too.
#[test]
fn what_the_elements_of_a_set_keep_sees_each_packet() {
    let quota = || json!({"quota": {"val": 20_000, "val_unit": "bytes", "inv": true}});
    let object = |kind: &str, name: &str, more: Value| {
        let mut object =
            json!({"family": "inet", "table": "t", "name": name, "type": "ipv4_addr", "handle": 2});
        for (key, value) in more.as_object().into_iter().flatten() {
            object[key] = value.clone();
        }
        json!({ kind: object })
    };
    let address = || json!({"payload": {"protocol": "ip", "field": "saddr"}});
    let looks = |name: &str| asks("ip", "saddr", json!(name));
    let ports = || asks("tcp", "dport", json!(80));
    let sets = [
        object("set", "metered", json!({"stmt": [quota()]})),
        object("set", "limited", json!({"stmt": [limit()]})),
        object("set", "counted", json!({"stmt": [{"counter": null}]})),
        object("set", "plain", json!({})),
        object("set", "written", json!({"flags": ["dynamic"]})),
        object(
            "map",
            "verdicts",
            json!({"map": "verdict", "stmt": [limit()]}),
        ),
    ];
    let adds =
        json!([{"set": {"op": "add", "elem": address(), "set": "@written", "stmt": [limit()]}}]);
    for (rule, kind) in [
        (
            json!([ports(), looks("@metered"), {"drop": null}]),
            Some(Kind::Quota),
        ),
        (
            json!([ports(), looks("@limited"), {"accept": null}]),
            Some(Kind::Limit),
        ),
        (
            json!([ports(), {"vmap": {"key": address(), "data": "@verdicts"}}]),
            Some(Kind::Limit),
        ),
        (
            json!([ports(), looks("@written"), {"drop": null}]),
            Some(Kind::Limit),
        ),
        (json!([ports(), looks("@counted"), {"drop": null}]), None),
        (json!([ports(), looks("@plain"), {"drop": null}]), None),
        (
            json!([ports(), looks("@of_another_table"), {"drop": null}]),
            None,
        ),
    ] {
        let chain = json!({"chain": {"family": "inet", "table": "t", "name": "forward", "handle": 1, "hook": "forward", "type": "filter"}});
        // No packet of a forwarded connection reaches the place where elements are added.
        let aside =
            json!({"chain": {"family": "inet", "table": "t", "name": "aside", "handle": 3}});
        let added = json!({"rule": {"family": "inet", "table": "t", "chain": "aside", "handle": 9, "expr": adds}});
        let looked = json!({"rule": {"family": "inet", "table": "t", "chain": "forward", "handle": 10, "expr": rule}});
        let mut all: Vec<Value> = sets.to_vec();
        all.extend([chain, aside, added, looked]);
        let found = read(&json!({ "nftables": all }))
            .expect("a ruleset")
            .per_packet_rules;
        assert_eq!(found.first().map(|concern| concern.kind), kind, "{rule}");
        for concern in &found {
            assert!(touched(concern, Protocol::Tcp, 40_000, 80), "{rule}");
            assert!(!touched(concern, Protocol::Tcp, 40_000, 81), "{rule}");
        }
    }
}

/// `vxlan ip saddr …`: each packet may have another inside.
#[test]
fn what_is_inside_a_tunnel_is_of_each_packet() {
    let inside = |protocol: &str, field: &str, right: Value| json!({"match": {"op": "==", "left": {"payload": {"tunnel": "vxlan", "protocol": protocol, "field": field}}, "right": right}});
    let by_address = json!([inside("ip", "saddr", json!("10.9.0.5")), {"drop": null}]);
    let by_port = json!([inside("tcp", "dport", json!(22)), {"drop": null}]);
    let by_flag = json!([inside("tcp", "flags", json!("syn")), {"drop": null}]);
    for rule in [by_address, by_port, by_flag] {
        assert!(one(rule.clone(), Protocol::Udp, 4789), "{rule}");
        assert!(!one(rule.clone(), Protocol::Tcp, 4789), "{rule}");
    }
}
