//! Reads `nft -j list ruleset` and finds rules that must see each packet, or that an early hook
//! would skip.
//!
//! Weir evaluates no rule. A flow that netfilter accepted is forwarded past it, which is right for
//! rules with one verdict for every packet of a connection. This module finds all other rules
//! ([`examine`]), and the flows that each may concern ([`per_packet_rules`]). The format is that of
//! libnftables-json(5).

mod area;
mod classes;
mod early;
mod fields;
mod finding;
mod flags;
mod marks;
mod per_packet_rule;
mod reach;
mod spell;
mod statements;
mod unreported;

use serde_json::Value;

pub use area::Subject;
pub use fields::{RulesetError, parse};
pub use finding::{Finding, Kind};
pub use per_packet_rule::{PerPacketRule, RuleName};
pub use spell::{declare, flag, has_extensions, has_policies, spell};
pub(crate) use unreported::QUARTER;
pub use unreported::{UnreportedConditions, silent_in};

/// Reads the output of `nft -j list ruleset`. Findings are in the order of the ruleset.
///
/// # Errors
/// The text is not JSON, or not that of libnftables-json(5); objects of unknown kinds are skipped.
pub fn examine(json: &str) -> Result<Vec<Finding>, RulesetError> {
    Ok(read(&parse(json)?)?.findings)
}

/// Result of reading a ruleset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Examination {
    /// Findings that must see each packet, or are worth knowing; in the order of the ruleset.
    pub findings: Vec<Finding>,
    /// Rules that must see each packet, without duplicates, with the flows that they may concern;
    /// in the order of the ruleset.
    pub per_packet_rules: Vec<PerPacketRule>,
}

/// Like [`examine`], for parsed JSON, and with the flows that each rule concerns.
///
/// # Errors
/// The value does not follow libnftables-json(5).
pub fn read(root: &Value) -> Result<Examination, RulesetError> {
    let objects = root
        .get("nftables")
        .and_then(Value::as_array)
        .ok_or_else(|| RulesetError {
            place: "nftables".into(),
            problem: "expected an array".into(),
        })?;
    let ruleset = reach::Ruleset::read(objects)?;
    let reached = ruleset.reached();

    let mut found = Examination::default();
    for object in &ruleset.objects {
        match object {
            reach::Object::Chain(chain) => {
                if let Some(kind) = chain.at_device() {
                    let devices = chain.devices.clone();
                    let finding = chain.home.finding(chain.name, kind, None, devices);
                    found.findings.push(finding);
                }
            }
            reach::Object::Flowtable {
                home,
                name,
                devices,
            } => {
                let finding = home.finding(name, Kind::Flowtable, None, devices.clone());
                found.findings.push(finding);
            }
            reach::Object::Rule(rule) => {
                let Some(areas) = reached.get(&rule.key()).filter(|_| !ruleset.settled(rule))
                else {
                    continue;
                };
                let kept = |set| ruleset.kept(&rule.home, set);
                let sights = statements::scan(rule.expressions, &kept);
                found.findings.extend(sights.iter().map(|sight| {
                    rule.home
                        .finding(rule.chain, sight.kind, Some(sight.value), Vec::new())
                }));
                found
                    .per_packet_rules
                    .extend(per_packet_rule::of_rule(&ruleset, rule, areas, &sights));
            }
        }
    }
    Ok(found)
}
