//! Parts of the firewall that weir's fast path would bypass.

use answers::RuleCost;
use datapath::NetfilterProgram;
use kernel::{Prefix, SetName};
use offload_core::expiry::{MOST_TIMED, MOST_WRITTEN};
use offload_core::ruleset::{self, UnreportedConditions};

use super::report::{Finding, hint};

/// Findings in `nft`'s ruleset, and the old iptables where it is in use.
pub fn findings(ruleset: &[ruleset::Finding], legacy: &[String]) -> Vec<Finding> {
    let mut findings: Vec<Finding> = ruleset.iter().map(told).collect();
    if !legacy.is_empty() {
        findings.push(Finding {
            place: format!("iptables (legacy), tables {}", legacy.join(", ")),
            what: "the old iptables does not report changes of its rules; weir \
                ends all proofs each \
                second instead, and cannot name rules that must see each packet"
                .into(),
            statement: None,
            noted: false,
            connections: None,
            hint: Some("move the rules to nftables (iptables-nft reads the same commands)".into()),
        });
    }
    findings
}

/// BPF programs at netfilter's hooks.
pub fn programs(programs: &[NetfilterProgram]) -> Vec<Finding> {
    let finding = |program: &NetfilterProgram| {
        let family = if program.ipv6 { "IPv6" } else { "IPv4" };
        Finding {
            place: format!(
                "the BPF program {} at {}, {family}, priority {}",
                program.name, program.hook, program.priority
            ),
            what: "if it belongs to this network namespace, it does not see what weir forwards, \
                and weir does not notice when it is attached or detached"
                .into(),
            statement: None,
            noted: false,
            connections: None,
            hint: Some(
                "use nftables rules instead, or leave its connections to the kernel by their mark \
                (opt_out_mark)"
                    .into(),
            ),
        }
    };
    programs.iter().map(finding).collect()
}

/// Most routes that are named.
const ROUTES_NAMED: usize = 100;

/// Routes with a program that sees each packet.
pub fn routes(programs: &[Prefix]) -> Vec<Finding> {
    let finding = |to: &Prefix| Finding {
        place: format!("the route to {to}"),
        what:
            "it has a program that may inspect each packet (encap bpf, encap ioam6): connections \
            to this destination are left to the kernel"
                .into(),
        statement: None,
        noted: false,
        connections: None,
        hint: Some("remove `encap` from the route, if it is not needed".into()),
    };
    programs.iter().take(ROUTES_NAMED).map(finding).collect()
}

/// Adds the costs of rules that a running daemon reported.
pub fn cost(findings: &mut [Finding], rules: &[RuleCost]) {
    for finding in findings.iter_mut().filter(|finding| !finding.noted) {
        let rule = rules.iter().find(|rule| rule.rule == finding.place);
        finding.connections = rule.map(|rule| rule.connections);
    }
}

/// Lists rules that change without a message, if they cost something. `large` returns true if a set
/// has more elements than the given number.
pub fn silent(
    silent: &UnreportedConditions,
    large: impl Fn(&SetName, usize) -> bool,
) -> Vec<Finding> {
    let finding = |place: String, what: &str| Finding {
        place,
        what: what.to_owned(),
        statement: None,
        noted: true,
        connections: None,
        hint: None,
    };
    let most = |written: bool| if written { MOST_WRITTEN } else { MOST_TIMED };
    let large = silent
        .sets
        .iter()
        .filter(|(name, written)| large(name, most(**written)))
        .map(|(name, written)| Finding {
            hint: Some(format!("make it smaller than {} elements", most(*written))),
            ..finding(
                format!("set {name}"),
                "its elements change without a notification, and it is too large to be polled: \
                    weir ends all proofs each second",
            )
        });
    let opaque = silent.opaque.iter().map(|place| {
        finding(
            place.clone(),
            "the kernel does not report changes of this: weir ends all proofs each second",
        )
    });
    large.chain(opaque).collect()
}

fn told(finding: &ruleset::Finding) -> Finding {
    let what = finding.kind.explain();
    let statement = finding.text.strip_prefix(what).and_then(|rest| {
        let rest = rest.trim_start_matches(": ");
        (!rest.is_empty()).then(|| rest.to_owned())
    });
    let mut place = format!(
        "{} {} {}, handle {}",
        finding.family, finding.table, finding.chain, finding.handle
    );
    if !finding.devices.is_empty() {
        place = format!("{place}, at {}", finding.devices.join(", "));
    }
    Finding {
        place,
        what: what.to_owned(),
        statement,
        noted: finding.kind.noted(),
        connections: None,
        hint: hint(finding.hint),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_named_with_its_statement() {
        let rules = ruleset::examine(
            r#"{"nftables":[
                {"chain":{"family":"inet","table":"t","name":"f","handle":1,"type":"filter","hook":"forward","prio":0,"policy":"accept"}},
                {"rule":{"family":"inet","table":"t","chain":"f","handle":7,"expr":[{"limit":{"rate":5}},{"counter":null}]}}
            ]}"#,
        )
        .expect("a ruleset");
        let found = findings(&rules, &[]);
        assert_eq!(found[0].place, "inet t f, handle 7");
        assert_eq!(
            found[0].statement.as_deref(),
            Some(r#"{"limit":{"rate":5}}"#)
        );
        assert!(found[0].what.starts_with("a rate limit") && !found[0].noted);
        assert!(found[0].hint.is_some());
        let told = RuleCost {
            rule: "inet t f, handle 7".into(),
            connections: 3,
            ..RuleCost::default()
        };
        let mut costs = found.clone();
        cost(&mut costs, &[told]);
        let costs: Vec<_> = costs.iter().map(|finding| finding.connections).collect();
        assert_eq!(costs, [Some(3), None]);
        assert!(
            found[1].noted && found[1].hint.is_none(),
            "a counter is only noted"
        );
    }

    #[test]
    fn the_old_iptables_is_a_finding() {
        assert!(findings(&[], &[]).is_empty());
        let found = findings(&[], &["filter".into(), "ip6:nat".into()]);
        assert_eq!(found[0].place, "iptables (legacy), tables filter, ip6:nat");
        assert!(found[0].hint.is_some() && !found[0].noted);
    }

    #[test]
    fn a_program_at_netfilter_is_a_finding() {
        let program = NetfilterProgram {
            name: "guard".into(),
            ipv6: false,
            hook: "forward",
            priority: -5,
        };
        let found = programs(&[program]);
        let place = "the BPF program guard at forward, IPv4, priority -5";
        assert_eq!(found[0].place, place);
        assert!(found[0].hint.is_some() && !found[0].noted);
    }

    #[test]
    fn what_ends_proofs_each_second_is_noted() {
        let mut known =
            UnreportedConditions::unknown("the iptables extension time (ip t f, handle 7)");
        let name = |name: &str| name.parse::<SetName>().expect("a name");
        known.sets = [(name("ip t a"), true), (name("ip t b"), false)].into();
        let found = silent(&known, |_, most| most == MOST_WRITTEN);
        let places: Vec<&str> = found.iter().map(|f| f.place.as_str()).collect();
        let expected = [
            "set ip t a",
            "the iptables extension time (ip t f, handle 7)",
        ];
        assert_eq!(places, expected);
        assert!(found.iter().all(|f| f.noted));
    }
}
