//! Conditions that end without a message: proofs end in time, and not sooner.

use std::collections::BTreeSet;

use kernel::SetName;
use kernel::extensions::{Extension, RuleExtensions};
use kernel::members::Member;
use kernel::tables::Table;
use serde_json::{Value, json};
use weir_offload_core::expiry::{MOST_TIMED, MOST_WRITTEN};
use weir_offload_core::ruleset::{self, RulesetError, UnreportedConditions, flag, silent_in};
use weir_offload_core::{ExpirySchedule, Millis};

fn silent(json: &str) -> Result<UnreportedConditions, RulesetError> {
    silent_in(&ruleset::parse(json)?)
}

const RULES: &str = include_str!("../rulesets/silent.json");

fn name(name: &str) -> SetName {
    format!("inet t {name}").parse().expect("a name")
}

fn member(mark: u64, expires: Option<u64>) -> Member {
    Member { mark, expires }
}

/// An agenda for one set, which was read just now, at 1 s; proofs have ended for that.
fn watching(written: bool, members: &[Member]) -> ExpirySchedule {
    let mut agenda = ExpirySchedule::default();
    let silent = UnreportedConditions {
        sets: [(name("s"), written)].into(),
        ..UnreportedConditions::default()
    };
    agenda.rules(silent, 1_000);
    let most = if written { MOST_WRITTEN } else { MOST_TIMED };
    assert_eq!(agenda.due_reads(1_000).sets, [(name("s"), most)]);
    agenda.set_read(&name("s"), Some(members), 1_000, 1_000);
    assert!(agenda.ends(1_000), "what was proven before was not watched");
    agenda
}

/// Times when proofs end, checked each millisecond; nothing is read.
fn ends(agenda: &mut ExpirySchedule, time: std::ops::Range<Millis>) -> Vec<Millis> {
    time.filter(|now| agenda.ends(*now)).collect()
}

#[test]
fn proofs_end_with_an_element_and_once() {
    let mut agenda = watching(false, &[member(1, Some(3_000)), member(2, None)]);
    // The kernel drops the element between these two times; no proof may be used by then, or
    // outlive the element.
    assert_eq!(agenda.until(), Some(3_988));
    assert_eq!(agenda.poll_at(), Some(4_012));
    assert_eq!(ends(&mut agenda, 1_001..60_000), [4_012]);
    assert_eq!((agenda.until(), agenda.poll_at()), (None, None));
    assert_eq!(
        agenda.due_reads(60_000).sets,
        [],
        "nothing tells of it but commands"
    );
}

#[test]
fn elements_that_end_one_after_another_end_proofs_twice_a_second_at_most() {
    let many: Vec<Member> = (0..1_000)
        .map(|i| member(i, Some(1_000 + i * 10)))
        .collect();
    let mut agenda = watching(false, &many);
    let ends = ends(&mut agenda, 1_001..20_000);
    assert!(ends.len() <= 24, "{ends:?}");
    assert!(
        ends.windows(2)
            .all(|two| (250..=510).contains(&(two[1] - two[0]))),
        "{ends:?}"
    );
    let last = *ends.last().expect("some");
    assert!((12_002..12_600).contains(&last), "{last}");
}

#[test]
fn what_a_packet_writes_is_found_by_looking() {
    let mut agenda = watching(true, &[member(1, Some(3_000))]);
    assert_eq!(agenda.due_reads(1_399).sets, []);
    assert_eq!(agenda.due_reads(1_400).sets.len(), 1);
    agenda.set_read(&name("s"), Some(&[member(1, Some(2_600))]), 1_400, 1_401);
    assert!(!agenda.ends(1_401), "nothing new");
    assert_eq!(agenda.due_reads(1_900).sets.len(), 1);
    agenda.set_read(
        &name("s"),
        Some(&[member(1, Some(2_100)), member(7, Some(9_000))]),
        1_900,
        1_901,
    );
    assert!(agenda.ends(1_901));
    // Deleted by a packet, before its time.
    agenda.due_reads(2_400);
    agenda.set_read(&name("s"), Some(&[member(1, Some(1_600))]), 2_400, 2_401);
    assert!(agenda.ends(2_401));
    // Expired at its time: only that ends proofs; the missing element does not end them again.
    assert_eq!(ends(&mut agenda, 2_402..4_100), [4_013]);
    agenda.due_reads(4_100);
    agenda.set_read(&name("s"), Some(&[]), 4_100, 4_101);
    assert!(!agenda.ends(4_101));
}

/// Refreshed meanwhile, the element stays: the old end no longer counts.
#[test]
fn what_a_packet_refreshes_goes_on() {
    let mut agenda = watching(true, &[member(1, Some(1_000))]);
    agenda.due_reads(1_500);
    agenda.set_read(&name("s"), Some(&[member(1, Some(1_000))]), 1_500, 1_500);
    assert_eq!(agenda.until(), Some(2_488));
    assert_eq!(ends(&mut agenda, 1_501..3_000), [2_512]);
    // The element was missing between two readings, and is back: refused packets now pass.
    agenda.due_reads(3_000);
    agenda.set_read(&name("s"), Some(&[member(1, Some(1_000))]), 3_000, 3_000);
    assert!(agenda.ends(3_000));
}

#[test]
fn what_cannot_be_looked_at_ends_proofs_each_second() {
    let mut agenda = watching(true, &[]);
    agenda.due_reads(2_000);
    agenda.set_read(&name("s"), None, 2_000, 2_000);
    assert_eq!(agenda.blind().collect::<Vec<_>>(), [&name("s")]);
    let found = ends(&mut agenda, 2_001..7_001);
    assert_eq!(found.len(), 6, "{found:?}");
    assert!(found.windows(2).all(|two| two[1] - two[0] <= 1_000));
    // Too slow to be read is the same; and it is tried again.
    assert_eq!(agenda.due_reads(12_000).sets.len(), 1);
    agenda.set_read(&name("s"), Some(&[]), 12_000, 12_100);
    assert_eq!(agenda.blind().count(), 1);
    assert_eq!(agenda.due_reads(22_100).sets.len(), 1);
    agenda.set_read(&name("s"), Some(&[]), 22_100, 22_101);
    assert_eq!(agenda.blind().count(), 0);
}

#[test]
fn a_command_has_sets_read_again_soon_and_not_all_the_time() {
    let mut agenda = watching(false, &[]);
    for now in 2_000..3_000 {
        agenda.commanded(now);
        if !agenda.due_reads(now).sets.is_empty() {
            agenda.set_read(&name("s"), Some(&[]), now, now + 4);
        }
    }
    agenda.commanded(3_000);
    assert!(agenda.due_reads(3_000).sets.is_empty());
    assert_eq!(agenda.due_reads(3_204).sets.len(), 1);
}

#[test]
fn proofs_end_with_a_route() {
    let mut agenda = ExpirySchedule::default();
    agenda.routed(100);
    assert!(agenda.due_reads(100).routes);
    agenda.routes_read(Some(&[]), 100, 101);
    assert!(
        !agenda.due_reads(50_000).routes,
        "none has an end: events tell of the rest"
    );
    agenda.routed(50_000);
    assert!(agenda.due_reads(50_000).routes);
    agenda.routes_read(Some(&[3_000]), 50_000, 50_001);
    assert_eq!(agenda.until(), Some(52_988));
    // An advertisement makes it last longer.
    assert!(!agenda.due_reads(51_000).routes);
    assert!(agenda.due_reads(51_100).routes);
    agenda.routes_read(Some(&[3_000]), 51_100, 51_101);
    assert!(ends(&mut agenda, 51_102..54_110).is_empty());
    // A read just when the route ends changes nothing: it counts as ended when it has for sure.
    agenda.due_reads(54_110);
    agenda.routes_read(Some(&[]), 54_110, 54_111);
    assert_eq!(ends(&mut agenda, 54_111..60_000), [54_123]);
}

#[test]
fn an_hour_ends_proofs_and_so_does_setting_the_clock() {
    let mut agenda = ExpirySchedule::default();
    agenda.wall(1_700_000_000_000, 0);
    let silent = UnreportedConditions {
        edges: BTreeSet::from([0, 61]),
        ..UnreportedConditions::default()
    };
    agenda.rules(silent, 0);
    assert!(agenda.ends(0));
    // 22:13:20; a quarter of an hour begins at 22:15:00, 100 s later.
    assert_eq!(agenda.until(), Some(99_998));
    let found = ends(&mut agenda, 1..1_200_000);
    assert_eq!(found, [100_020, 161_020, 1_000_020, 1_061_020]);
    // Slewed, and set.
    agenda.wall(1_700_001_200_020, 1_200_000);
    assert!(!agenda.ends(1_200_000));
    agenda.wall(1_700_005_300_000, 1_300_000);
    assert!(agenda.ends(1_300_000));
}

#[test]
fn packets_that_keep_an_element_alive_are_seen() {
    let mut agenda = ExpirySchedule::default();
    let silent = UnreportedConditions {
        keep_alive: Some(750),
        ..UnreportedConditions::default()
    };
    agenda.rules(silent, 0);
    let found = ends(&mut agenda, 0..8_000);
    assert!(
        found.len() > 10 && found.windows(2).all(|two| two[1] - two[0] == 750),
        "{found:?}"
    );
}

#[test]
fn packets_that_keep_a_policy_alive_are_seen() {
    let mut agenda = ExpirySchedule::default();
    assert!(!agenda.due_reads(1_000).policies);
    agenda.policed(1_000);
    assert_eq!(agenda.poll_at(), Some(1_000));
    assert!(agenda.due_reads(1_000).policies);
    agenda.policies_read(Ok(None), 1_000, 1_000);
    assert_eq!((agenda.until(), agenda.poll_at()), (None, None));

    // The agenda does not read again at once, however often changes are reported.
    agenda.policed(1_010);
    assert!(!agenda.due_reads(1_099).policies && agenda.due_reads(1_100).policies);
    agenda.policies_read(Ok(Some(9)), 1_100, 1_100);
    assert!(agenda.ends(1_100), "proven for longer");
    assert_eq!(agenda.until(), Some(3_100));
    assert_eq!(ends(&mut agenda, 1_101..8_000), [3_100, 5_100, 7_100]);

    // The shortest of all decides, twice a second at most in the long run.
    agenda.policed(8_000);
    assert!(agenda.due_reads(8_000).policies);
    agenda.policies_read(Ok(Some(1)), 8_000, 8_000);
    let often = ends(&mut agenda, 8_000..28_000).len();
    assert!((38..=46).contains(&often), "{often}");

    // Policies that cannot be read may live by anything.
    agenda.policed(30_000);
    assert!(agenda.due_reads(30_000).policies);
    agenda.policies_read(Err(()), 30_000, 30_000);
    assert!(ends(&mut agenda, 30_000..40_000).len() >= 9);
    assert!(agenda.due_reads(40_000).policies, "asked again");
}

#[test]
fn packets_that_keep_buckets_of_next_hops_where_they_are_are_seen() {
    let mut agenda = ExpirySchedule::default();
    agenda.routed(1_000);
    assert!(agenda.due_reads(1_000).groups);
    agenda.routes_read(Some(&[]), 1_000, 1_000);
    agenda.groups_read(Ok(None), 1_000, 1_000);
    assert_eq!((agenda.until(), agenda.poll_at()), (None, None));

    agenda.routed(1_010);
    assert!(!agenda.due_reads(1_099).groups && agenda.due_reads(1_100).groups);
    agenda.routes_read(Some(&[]), 1_100, 1_100);
    agenda.groups_read(Ok(Some(8_000)), 1_100, 1_100);
    assert!(agenda.ends(1_100), "proven for longer");
    assert_eq!(ends(&mut agenda, 1_101..8_000), [3_100, 5_100, 7_100]);

    // A gateway answers again: proofs end at once, and as rarely as for other reasons.
    agenda.on_gateway_reachable();
    assert!(!agenda.ends(7_200) && agenda.ends(7_350) && !agenda.ends(7_700));

    // At most twice a second, and each second if they are unreadable.
    for (now, idle) in [(10_000, Ok(Some(10))), (30_000, Err(()))] {
        agenda.routed(now);
        assert!(agenda.due_reads(now).groups);
        agenda.groups_read(idle, now, now);
        let often = ends(&mut agenda, now..now + 10_000).len();
        assert!((9..=22).contains(&often), "{idle:?}: {often}");
    }
    assert!(agenda.due_reads(40_000).groups, "asked again");
    agenda.groups_read(Ok(None), 40_000, 40_000);
    assert_eq!((agenda.until(), agenda.poll_at()), (None, None));
}

#[test]
fn a_ruleset_tells_what_to_look_at() {
    let found = silent(RULES).expect("a ruleset");
    let sets: Vec<(String, bool)> = found
        .sets
        .iter()
        .map(|(name, written)| (name.name.clone(), *written))
        .collect();
    let expected = [
        ("ban", true),
        ("deep", false),
        ("iv", false),
        ("md", true),
        ("s", false),
        ("v", false),
    ];
    assert_eq!(
        sets,
        expected.map(|(name, written)| (name.to_owned(), written))
    );
    // 08:00 to 17:30; 12:00:01; midnight, for days. Each range holds to the end of its last second.
    let edges = [0, 1, 2];
    assert_eq!(found.edges, BTreeSet::from(edges));
    // A quarter of 9 s: the set's own minute is longer.
    assert_eq!(found.keep_alive, Some(2_250));
    let words = |all: &BTreeSet<String>| all.iter().cloned().collect::<Vec<String>>();
    assert_eq!(
        words(&found.opaque),
        ["the time of day (inet t f, handle 42)"]
    );
    // Connections that such rules concern are left to the kernel, unless they are ignored.
    assert_eq!(found.per_packet.len(), 3, "{:?}", found.per_packet);
    let ignoring = found.ignoring();
    assert_eq!(ignoring.per_packet, BTreeSet::new());
    assert_eq!(
        words(&ignoring.opaque),
        [
            "an iptables extension without a name in nft (inet t f, handle 41)",
            "ct expiration (inet t f, handle 32)",
            "the iptables extension recent (inet t f, handle 40)",
            "the time of day (inet t f, handle 42)",
        ]
    );
}

#[test]
fn what_established_packets_do_not_come_to_is_not_looked_at() {
    let rules = RULES.replacen(
        r#""expr": [{"match""#,
        r#""expr": [{"match": {"op": "in", "left": {"ct": {"key": "state"}}, "right": "established"}}, {"accept": null}]}},
           {"rule": {"family": "inet", "table": "t", "chain": "f", "handle": 99, "expr": [{"match""#,
        1,
    );
    assert_ne!(rules, RULES);
    assert_eq!(silent(&rules), Ok(UnreportedConditions::default()));
}

/// Rules of one chain, by their expressions.
fn rules_of(hook: &str, rules: &[&str]) -> String {
    let rule = |expressions: &&str| {
        format!(
            r#", {{"rule": {{"family": "inet", "table": "t", "chain": "c", "handle": 7, "expr": [{expressions}]}}}}"#
        )
    };
    let rules: String = rules.iter().map(rule).collect();
    format!(
        r#"{{"nftables": [{{"chain": {{"family": "inet", "table": "t", "name": "c", "handle": 1, "type": "filter", "hook": "{hook}", "prio": 0, "policy": "accept"}}}}{rules}]}}"#
    )
}

/// The kernel removes a table with the process that owns it, without a message, unless the table is
/// persistent.
#[test]
fn a_table_may_go_with_its_owner() {
    let rules = rules_of("forward", &[]);
    for (flags, goes) in [
        (r#""owner""#, true),
        (r#"["dormant", "owner"]"#, false),
        (r#"["owner", "persist"]"#, false),
        (r#""dormant""#, false),
    ] {
        let table = format!(
            r#"{{"nftables": [{{"table": {{"family": "inet", "name": "t", "handle": 1, "flags": {flags}}}}}, "#
        );
        let whole = rules.replacen(r#"{"nftables": ["#, &table, 1);
        let found = silent(&whole).expect("a ruleset").opaque;
        let told = "a table that is removed with its owner (inet t)".to_owned();
        assert_eq!(found.contains(&told), goes, "{flags}: {found:?}");
        // A table without traffic, like a dormant one.
        let idle = whole.replace(r#""hook": "forward", "#, "");
        let found = silent(&idle).expect("a ruleset").opaque;
        assert_eq!(found.len(), 0, "{flags}: {found:?}");
    }
}

#[test]
fn sockets_and_hidden_ends_are_told_by_nothing() {
    let opaque = |hook, rules: &[&str]| {
        let found = silent(&rules_of(hook, rules)).expect("a ruleset");
        found.opaque.into_iter().collect::<Vec<String>>()
    };
    let sockets = ["the open sockets (inet t c, handle 7)"];
    let socket = r#"{"match": {"op": "==", "left": {"socket": {"key": "transparent"}}, "right": 1}}, {"accept": null}"#;
    assert_eq!(opaque("prerouting", &[socket]), sockets);
    let xt = r#"{"xt": {"type": "match", "name": "socket"}}, {"accept": null}"#;
    let told = ["the iptables extension socket (inet t c, handle 7)"];
    assert_eq!(opaque("prerouting", &[xt]), told);

    let kept = r#"{"xt": {"type": "target", "name": "SET"}}"#;
    let told = ["the iptables extension SET (inet t c, handle 7)"];
    assert_eq!(opaque("forward", &[kept]), told);

    let events = |value| {
        format!(r#"{{"mangle": {{"key": {{"ct": {{"key": "event"}}}}, "value": {value}}}}}"#)
    };
    let established = r#"{"match": {"op": "in", "left": {"ct": {"key": "state"}}, "right": "established"}}, {"accept": null}"#;
    for (value, left_out) in [
        (r#""new""#, "`destroy`, `protoinfo`, `assured`, `mark`"),
        (
            r#"["new", "reply", "mark"]"#,
            "`destroy`, `protoinfo`, `assured`",
        ),
        (r#"{"|": ["destroy", "protoinfo", "mark"]}"#, "`assured`"),
        (r#"["destroy", "assured", "mark"]"#, "`protoinfo`"),
        (r#"["destroy", "assured", "protoinfo"]"#, "`mark`"),
        ("7", "`destroy`, `protoinfo`, `assured`, `mark`"),
    ] {
        let found = opaque("prerouting", &[established, &events(value)]);
        assert_eq!(found.len(), 1, "{value}: {found:?}");
        let what = format!("leaves out {left_out}: ");
        assert!(found[0].contains(&what), "{value}: {found:?}");
        let rules = rules_of("prerouting", &[&events(value)]);
        assert!(silent(&rules).is_ok_and(|found| found.hidden), "{value}");
    }
    let all = events(r#"["destroy", "protoinfo", "assured", "mark"]"#);
    assert_eq!(opaque("prerouting", &[&all]), [""; 0]);
    // Labels, if a rule matches them.
    let label = r#"{"match": {"op": "in", "left": {"ct": {"key": "label"}}, "right": "x"}}, {"drop": null}"#;
    let found = opaque("prerouting", &[&all, label]);
    assert!(
        found.len() == 1 && found[0].contains("leaves out `label`: "),
        "{found:?}"
    );
}

#[test]
fn events_that_iptables_hides_are_spelled_out() {
    let target = r#"{"xt": {"type": "target", "name": "CT"}}"#;
    let rules = rules_of("prerouting", &[target]);
    assert!(ruleset::has_extensions(&rules));
    let opaque = |told: &[&'static str]| {
        let mut root = ruleset::parse(&rules).expect("a ruleset");
        let found = RuleExtensions {
            family: "inet",
            table: "t".into(),
            chain: "c".into(),
            handle: 7,
            extensions: vec![Extension::Events(told.to_vec())],
        };
        ruleset::spell(&mut root, &[found]);
        let found = ruleset::read(&root).expect("a ruleset");
        assert!(
            found.per_packet_rules.is_empty(),
            "{:?}",
            found.per_packet_rules
        );
        silent_in(&root).expect("a ruleset").opaque.len()
    };
    assert_eq!(opaque(&[]), 0, "a zone, or nothing");
    assert_eq!(opaque(&["new", "destroy"]), 1);
    assert_eq!(opaque(&["destroy", "protoinfo", "assured", "mark"]), 0);
}

#[test]
fn what_is_no_ruleset_is_an_error() {
    for text in ["", "{}", r#"{"nftables": [7]}"#] {
        assert!(silent(text).is_err(), "{text}");
    }
    assert_eq!(
        silent(r#"{"nftables": []}"#),
        Ok(UnreportedConditions::default())
    );
}

/// nft 1.0.6 prints freed memory if a table has one flag: weir reads the flags from the kernel.
#[test]
fn flags_of_tables_are_the_kernels() {
    let text = r#"{"nftables": [{"table": {"family": "inet", "name": "t", "handle": 1, "flags": "t"}},
        {"table": {"family": "ip", "name": "t", "handle": 2, "flags": "dormant"}},
        {"table": {"family": "ip", "name": "new", "handle": 3, "flags": "dormant"}}]}"#;
    let mut root: Value = serde_json::from_str(text).expect("JSON");
    let table = |family, flags: &[&'static str]| Table {
        family,
        name: "t".into(),
        flags: flags.to_vec(),
    };
    let gone = Table {
        name: "gone".into(),
        ..table("ip", &["owner"])
    };
    flag(
        &mut root,
        &[table("inet", &["dormant", "owner"]), table("ip", &[]), gone],
    );
    let flags = |at: usize| root["nftables"][at]["table"].get("flags").cloned();
    assert_eq!(flags(0), Some(json!(["dormant", "owner"])));
    assert_eq!(flags(1), None);
    assert_eq!(flags(2), Some(json!("dormant")), "not known yet");
    flag(&mut json!(3), &[]);
}
