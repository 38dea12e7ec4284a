//! What of the firewall weir's fast path would go past.

use offload::ruleset;

use super::{Finding, mend};

/// Findings in `nft`'s ruleset, and the old iptables where it is in use.
pub fn findings(ruleset: &[ruleset::Finding], legacy: &[String]) -> Vec<Finding> {
    let mut findings: Vec<Finding> = ruleset.iter().map(told).collect();
    if !legacy.is_empty() {
        findings.push(Finding {
            place: format!("iptables (legacy), tables {}", legacy.join(", ")),
            what: "the old iptables tells of no change of its rules; weir ends all proofs each second instead, and cannot name rules that must see each packet"
                .into(),
            statement: None,
            noted: false,
            mend: Some("move the rules to nftables (iptables-nft reads the same commands)".into()),
        });
    }
    findings
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
        mend: mend(finding.mend),
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
        assert!(found[0].mend.is_some());
        assert!(
            found[1].noted && found[1].mend.is_none(),
            "a counter is only noted"
        );
    }

    #[test]
    fn the_old_iptables_is_a_finding() {
        assert!(findings(&[], &[]).is_empty());
        let found = findings(&[], &["filter".into(), "ip6:nat".into()]);
        assert_eq!(found[0].place, "iptables (legacy), tables filter, ip6:nat");
        assert!(found[0].mend.is_some() && !found[0].noted);
    }
}
