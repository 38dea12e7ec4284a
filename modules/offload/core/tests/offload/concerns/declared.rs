//! Statements that single elements of sets keep.

use std::collections::BTreeSet;

use kernel::element_statements::ElementStatements;
use serde_json::json;
use weir_offload_core::ruleset::{Kind, declare, read};

/// In a set with the flag `dynamic` an element may have a statement of its own, which `nft -t` does
/// not list: weir queries the kernel.
#[test]
fn what_one_element_keeps_counts_as_declared() {
    let kinds = |set: &str, statements: &[&str]| {
        let asks = json!({"match": {"op": "==", "left": {"payload": {"protocol": "ip", "field": "saddr"}}, "right": "@s"}});
        let mut root = json!({"nftables": [
            {"metainfo": {"json_schema_version": 1}},
            {"set": {"family": "inet", "table": "t", "name": "s", "type": "ipv4_addr", "handle": 2, "size": 100}},
            {"chain": {"family": "inet", "table": "t", "name": "c", "handle": 1, "hook": "forward", "type": "filter"}},
            {"rule": {"family": "inet", "table": "t", "chain": "c", "handle": 9, "expr": [asks, {"drop": null}]}},
        ]});
        let kept = ElementStatements {
            set: set.parse().expect("a name"),
            statements: BTreeSet::from_iter(statements.iter().map(|name| (*name).to_owned())),
        };
        declare(&mut root, &[kept]);
        let concerns = read(&root).expect("a ruleset").per_packet_rules;
        concerns
            .iter()
            .map(|concern| concern.kind)
            .collect::<Vec<Kind>>()
    };
    assert_eq!(kinds("inet t s", &["limit"]), [Kind::Limit]);
    assert_eq!(kinds("inet t s", &["counter", "quota"]), [Kind::Quota]);
    assert_eq!(kinds("inet t s", &["connlimit"]), [Kind::ConnectionLimit]);
    assert_eq!(kinds("inet t s", &["unheard of"]), [Kind::Unknown]);
    assert_eq!(kinds("inet t s", &["counter"]), []);
    assert_eq!(kinds("inet t s", &["last"]), []);
    assert_eq!(kinds("inet t other", &["limit"]), []);
    assert_eq!(kinds("ip t s", &["limit"]), []);
}
