//! Rules that packets reach before conntrack.

use std::slice;

use kernel::Protocol;
use serde_json::{Value, json};
use weir_offload_core::ruleset::{parse, read};

use crate::concerns::{established, jump, limit, touched};

/// Builds a base chain of this priority at prerouting with these rules, and a chain that it may
/// jump to. Returns the number of concerns for a connection to port 80.
fn before_conntrack(priority: i32, rules: &[Value], there: &[Value]) -> usize {
    let mut all = vec![
        json!({"chain": {"family": "inet", "table": "t", "name": "pre", "handle": 1, "hook": "prerouting", "type": "filter", "prio": priority}}),
        json!({"chain": {"family": "inet", "table": "t", "name": "there", "handle": 2}}),
    ];
    let rules = rules.iter().map(|rule| ("pre", rule));
    let rules = rules.chain(there.iter().map(|rule| ("there", rule)));
    for (number, (chain, rule)) in rules.enumerate() {
        all.push(json!({"rule": {"family": "inet", "table": "t", "chain": chain, "handle": 10 + number, "expr": rule}}));
    }
    let root = parse(&json!({ "nftables": all }).to_string()).expect("JSON");
    let found = read(&root).expect("a ruleset").per_packet_rules;
    found
        .iter()
        .filter(|concern| touched(concern, Protocol::Tcp, 40_000, 80))
        .count()
}

/// Before conntrack has seen a packet, nothing is established, and anything may be invalid.
#[test]
fn before_conntrack_no_rule_settles_anything() {
    let accept = json!([established(), {"accept": null}]);
    let limited = json!([limit(), {"drop": null}]);
    let invalid = json!([
        {"match": {"op": "in", "left": {"ct": {"key": "state"}}, "right": "invalid"}},
        limit(), {"drop": null}
    ]);
    let marked = json!([
        {"match": {"op": "==", "left": {"ct": {"key": "mark"}}, "right": 7}},
        limit(), {"drop": null}
    ]);
    let visits = json!([jump("there")]);
    for (priority, expected) in [(-300, 1), (-200, 1), (-150, 0), (0, 0)] {
        let settled = before_conntrack(priority, &[accept.clone(), limited.clone()], &[]);
        assert_eq!(settled, expected, "{priority}");
        let below = before_conntrack(
            priority,
            slice::from_ref(&visits),
            &[accept.clone(), limited.clone()],
        );
        assert_eq!(below, expected, "{priority}, in another chain");
        assert_eq!(
            before_conntrack(priority, slice::from_ref(&invalid), &[]),
            expected
        );
        assert_eq!(
            before_conntrack(priority, slice::from_ref(&marked), &[]),
            expected
        );
    }
}
