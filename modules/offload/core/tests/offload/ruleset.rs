//! Per-packet rules are found in nft's output, and other rules are not.

use weir_offload_core::ruleset::{Finding, Kind, examine};

/// Printed by nft 1.0.6 for a ruleset with one rule per statement; flowtable, queue and the chains
/// of devices, of newer versions, by hand after libnftables-json(5).
const EVERYTHING: &str = include_str!("../rulesets/everything.json");

fn kinds_of(findings: &[Finding], table: &str, chain: &str) -> Vec<(u64, Kind)> {
    let here = findings
        .iter()
        .filter(|f| f.table == table && f.chain == chain);
    here.map(|f| (f.handle, f.kind)).collect()
}

#[test]
fn each_statement_is_found_where_established_packets_come() {
    let findings = examine(EVERYTHING).unwrap();
    let of = |chain| kinds_of(&findings, "filter", chain);
    assert_eq!(
        of("mapped"),
        [(15, Kind::Log)],
        "reached by a jump in a named map"
    );
    assert_eq!(of("jumped"), [(17, Kind::Time)]);
    assert_eq!(
        of("inmap"),
        [(18, Kind::Numgen)],
        "reached by a goto in an anonymous map"
    );
    assert_eq!(
        of("pre"),
        [
            (20, Kind::Zone),
            (21, Kind::Notrack),
            (22, Kind::Limit),
            (23, Kind::Quota)
        ]
    );
    assert_eq!(
        of("mangle"),
        [(24, Kind::Tproxy), (25, Kind::Remark), (26, Kind::Remark)]
    );
    assert_eq!(
        of("fw"),
        [
            (32, Kind::CountedBytes),
            (32, Kind::Counter),
            (33, Kind::CountedBytes),
            (34, Kind::CountedBytes),
            (36, Kind::ConnectionLimit),
            (37, Kind::Synproxy),
            (38, Kind::DynamicSet),
            (38, Kind::Limit),
            (61, Kind::Queue),
            (40, Kind::Counter),
        ],
        "not: limits on new or invalid packets, options of SYNs, what comes after `established \
            accept`"
    );
    assert_eq!(
        kinds_of(&findings, "copies", "fw"),
        [(2, Kind::Duplicate), (65, Kind::Numgen), (66, Kind::Opaque)],
        "not: the segment size, which SYNs alone tell"
    );
}

#[test]
fn what_established_packets_never_come_to_is_left_out() {
    let findings = examine(EVERYTHING).unwrap();
    for (table, chain) in [
        ("filter", "unreached"),
        ("filter", "in"),
        ("filter", "nat"),
        ("filter", "post"),
        ("asleep", "fw"),
    ] {
        assert_eq!(kinds_of(&findings, table, chain), [], "{table} {chain}");
    }
}

#[test]
fn chains_and_flowtables_come_with_their_devices() {
    let findings = examine(EVERYTHING).unwrap();
    let devices = |kind, name: &str| {
        let finding = findings
            .iter()
            .find(|f| f.kind == kind && f.chain == name)
            .unwrap();
        (finding.handle, finding.devices.clone())
    };
    assert_eq!(
        devices(Kind::IngressChain, "early"),
        (63, vec!["wan0".to_owned()])
    );
    assert_eq!(
        devices(Kind::IngressChain, "ing"),
        (1, vec![]),
        "nft 1.0.6 leaves the device out"
    );
    assert_eq!(
        devices(Kind::EgressChain, "late"),
        (64, vec!["lan0".to_owned()])
    );
    assert_eq!(
        devices(Kind::Flowtable, "ft"),
        (60, vec!["lan0".to_owned(), "wan0".to_owned()])
    );
}

#[test]
fn texts_name_the_statement_and_what_to_do() {
    let findings = examine(EVERYTHING).unwrap();
    let limit = findings
        .iter()
        .find(|f| f.handle == 22 && f.kind == Kind::Limit)
        .unwrap();
    assert!(limit.text.contains(r#"{"limit":"slow"}"#), "{}", limit.text);
    assert!(limit.hint.contains("ct state new"));
    assert!(!Kind::Limit.noted());
    assert!(Kind::Counter.noted());
}

#[test]
fn an_empty_ruleset_has_no_findings() {
    assert_eq!(
        examine(r#"{"nftables": [{"metainfo": {"version": "1.1.0"}}]}"#).unwrap(),
        []
    );
}

/// Findings in a forward chain with these rules.
fn forward(rules: &[&str]) -> Vec<Kind> {
    let mut json = String::from(
        r#"{"nftables":[{"table":{"family":"inet","name":"t","handle":1}},
        {"chain":{"family":"inet","table":"t","name":"f","handle":2,"type":"filter","hook":"forward","prio":0,"policy":"accept"}}"#,
    );
    for rule in rules {
        json += &format!(
            r#",{{"rule":{{"family":"inet","table":"t","chain":"f","handle":3,"expr":{rule}}}}}"#
        );
    }
    examine(&(json + "]}"))
        .unwrap()
        .into_iter()
        .map(|finding| finding.kind)
        .collect()
}

#[test]
fn an_accept_with_another_condition_settles_nothing() {
    let log = r#"[{"log":null}]"#;
    let established =
        r#"{"match":{"op":"in","left":{"ct":{"key":"state"}},"right":["established","related"]}}"#;
    let port =
        r#"{"match":{"op":"==","left":{"payload":{"protocol":"tcp","field":"dport"}},"right":22}}"#;
    assert_eq!(
        forward(&[&format!("[{established},{{\"accept\":null}}]"), log]),
        []
    );
    assert_eq!(
        forward(&[&format!("[{established},{port},{{\"accept\":null}}]"), log]),
        [Kind::Log]
    );
    assert_eq!(
        forward(&[
            &format!("[{established},{{\"jump\":{{\"target\":\"x\"}}}}]"),
            log
        ]),
        [Kind::Log]
    );
    assert_eq!(
        forward(&[r#"[{"accept":null}]"#, log]),
        [],
        "nothing comes past the first"
    );
    assert_eq!(
        forward(&[log, &format!("[{established},{{\"accept\":null}}]")]),
        [Kind::Log]
    );
}

#[test]
fn conditions_on_state_and_flags_are_read_with_their_operator() {
    let with = |left: &str, op: &str, right: &str| {
        forward(&[&format!(
            r#"[{{"match":{{"op":"{op}","left":{left},"right":{right}}}}},{{"log":null}}]"#
        )])
    };
    let state = r#"{"ct":{"key":"state"}}"#;
    assert_eq!(with(state, "in", r#"["new","established"]"#), [Kind::Log]);
    assert_eq!(with(state, "!=", r#""established""#), []);
    assert_eq!(with(state, "!=", r#""new""#), [Kind::Log]);
    assert_eq!(
        with(state, "==", r#""@states""#),
        [Kind::Log],
        "a named set may hold anything"
    );
    assert_eq!(with(state, "==", r#"{"set":["new","invalid"]}"#), []);
    let flags = r#"{"payload":{"protocol":"tcp","field":"flags"}}"#;
    assert_eq!(with(flags, "in", r#"["syn","ack"]"#), [Kind::Log]);
    assert_eq!(with(flags, "in", r#"["syn","rst"]"#), []);
    let masked =
        r#"{"&":[{"payload":{"protocol":"tcp","field":"flags"}},["fin","syn","rst","ack"]]}"#;
    assert_eq!(with(masked, "==", r#""syn""#), []);
    assert_eq!(with(masked, "==", r#""ack""#), [Kind::Log]);
}

#[test]
fn chains_of_bridges_are_read_as_far_as_routed_packets_come_by() {
    let chain = |hook: &str, family: &str| {
        let json = format!(
            r#"{{"nftables":[{{"table":{{"family":"{family}","name":"t","handle":1}}}},
            {{"chain":{{"family":"{family}","table":"t","name":"c","handle":2,"type":"filter","hook":"{hook}","prio":-200,"policy":"accept"}}}},
            {{"rule":{{"family":"{family}","table":"t","chain":"c","handle":3,"expr":[{{"limit":{{"rate":5,"per":"second"}}}},{{"drop":null}}]}}}},
            {{"rule":{{"family":"{family}","table":"t","chain":"c","handle":4,"expr":[{{"xt":{{"type":"watcher","name":"log"}}}}]}}}}]}}"#
        );
        let found = examine(&json).unwrap();
        assert!(found.iter().all(|finding| finding.family == family));
        found
            .into_iter()
            .map(|finding| finding.kind)
            .collect::<Vec<_>>()
    };
    for hook in ["prerouting", "input", "output", "postrouting"] {
        let found = [Kind::BridgeChain, Kind::Limit, Kind::Log];
        assert_eq!(chain(hook, "bridge"), found, "{hook}");
    }
    assert_eq!(
        chain("forward", "bridge"),
        [Kind::BridgeChain],
        "no routed packet comes by: with the option `bridge` the chain itself counts"
    );
    assert_eq!(chain("input", "inet"), []);
    assert_eq!(chain("prerouting", "arp"), []);
}

#[test]
fn bad_input_is_an_error_that_names_the_place() {
    let place = |json: &str| examine(json).unwrap_err().place;
    assert_eq!(place("{\n  nonsense"), "line 2, column 3");
    assert_eq!(place("{}"), "nftables");
    assert_eq!(place(r#"{"nftables": [7]}"#), "nftables[0]");
    assert_eq!(place(r#"{"nftables": [{"rule": []}]}"#), "nftables[0].rule");
    assert_eq!(
        place(
            r#"{"nftables": [{"metainfo": {}}, {"rule": {"family": "ip", "table": "t", "chain": "c"}}]}"#
        ),
        "nftables[1].rule.handle"
    );
    assert_eq!(
        place(
            r#"{"nftables": [{"rule": {"family": "ip", "table": "t", "chain": "c", "handle": 1}}]}"#
        ),
        "nftables[0].rule.expr"
    );
    assert_eq!(
        place(
            r#"{"nftables": [{"chain": {"family": "ip", "table": "t", "name": "c", "handle": 1, "dev": 3}}]}"#
        ),
        "nftables[0].chain.dev"
    );
}
