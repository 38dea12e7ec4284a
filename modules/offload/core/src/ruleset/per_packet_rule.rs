//! The flows that a rule which sees each packet may concern.

use std::fmt;

use super::area::{Area, Areas, Subject};
use super::finding::Kind;
use super::reach::{Rule, Ruleset};
use super::statements::Sight;

/// Identity of a rule, as `nft -a list ruleset` shows it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RuleName {
    /// `ip`, `ip6`, `inet` or `bridge`.
    pub family: String,
    /// Table of the rule.
    pub table: String,
    /// Chain of the rule.
    pub chain: String,
    /// Handle of the rule.
    pub handle: u64,
}

impl fmt::Display for RuleName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            family,
            table,
            chain,
            handle,
        } = self;
        write!(f, "{family} {table} {chain}, handle {handle}")
    }
}

/// A rule that must see each packet, and a superset of the flows of which it may see any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PerPacketRule {
    /// Rule that concerns the flows.
    pub rule: RuleName,
    /// Kind of the expression that needs each packet; the first, if there are several.
    pub kind: Kind,
    areas: Vec<Area>,
}

impl PerPacketRule {
    /// Returns true if a packet of this connection may reach the rule and match.
    pub fn touches(&self, subject: &Subject<'_>) -> bool {
        self.areas.iter().any(|area| area.touches(subject))
    }

    /// Returns true if the rule's conditions exclude no flow.
    pub fn is_everything(&self) -> bool {
        self.areas.iter().any(Area::is_everything)
    }
}

/// Computes the concern of a rule that established packets reach by these ways.
pub(super) fn of_rule(
    ruleset: &Ruleset<'_>,
    rule: &Rule<'_>,
    ways: &Areas,
    sights: &[Sight<'_>],
) -> Option<PerPacketRule> {
    let each: Vec<&Sight<'_>> = sights.iter().filter(|s| !s.kind.noted()).collect();
    let mut areas: Vec<Area> = Vec::new();
    for sight in &each {
        let area = ruleset.area(rule, sight.asked)?;
        for area in ways.and(&area) {
            if !areas.contains(&area) {
                areas.push(area);
            }
        }
    }
    let kind = each.first()?.kind;
    (!areas.is_empty()).then(|| PerPacketRule {
        rule: RuleName {
            family: rule.home.family.to_owned(),
            table: rule.home.table.to_owned(),
            chain: rule.chain.to_owned(),
            handle: rule.home.handle,
        },
        kind,
        areas,
    })
}
