//! Writes into nft's JSON what it leaves out of iptables' rules: the connection states they ask for, as nft would have them.

use std::collections::HashMap;

use kernel::extensions::{ConntrackMatch, RuleStates};
use serde_json::{Value, json};

/// Whether there may be something to [`spell`].
pub fn has_extensions(text: &str) -> bool {
    text.contains("\"conntrack\"")
}

/// Replaces matches of `xt conntrack` that ask for states by the `ct state` they are. The rules have to be of the same ruleset; where they are
/// not, as it changed in between, what does not fit is left as it is.
pub fn spell(root: &mut Value, rules: &[RuleStates]) {
    let key = |family: &str, table: &str, chain: &str, handle: u64| {
        format!("{family} {table} {chain} {handle}")
    };
    let known: HashMap<String, &RuleStates> = rules
        .iter()
        .map(|rule| {
            (
                key(rule.family, &rule.table, &rule.chain, rule.handle),
                rule,
            )
        })
        .collect();
    let objects = root.get_mut("nftables").and_then(Value::as_array_mut);
    for rule in objects
        .into_iter()
        .flatten()
        .filter_map(|object| object.get_mut("rule"))
    {
        let word = |name: &str| rule.get(name).and_then(Value::as_str).unwrap_or_default();
        let handle = rule
            .get("handle")
            .and_then(Value::as_u64)
            .unwrap_or_default();
        let name = key(word("family"), word("table"), word("chain"), handle);
        let Some(found) = known.get(&name) else {
            continue;
        };
        if let Some(expressions) = rule.get_mut("expr").and_then(Value::as_array_mut) {
            let matches = expressions.iter().filter(|e| is_conntrack(e)).count();
            if matches == found.matches.len() {
                *expressions = spelled(std::mem::take(expressions), &found.matches);
            }
        }
    }
}

fn is_conntrack(expression: &Value) -> bool {
    let word = |name: &str| expression.get("xt")?.get(name)?.as_str();
    (word("type"), word("name")) == (Some("match"), Some("conntrack"))
}

fn spelled(expressions: Vec<Value>, matches: &[ConntrackMatch]) -> Vec<Value> {
    let mut matches = matches.iter();
    let mut all = Vec::with_capacity(expressions.len());
    for expression in expressions {
        let Some(asks) = is_conntrack(&expression).then(|| matches.next()).flatten() else {
            all.push(expression);
            continue;
        };
        if let Some((names, inverted)) = &asks.states {
            let operator = if *inverted { "!=" } else { "in" };
            all.push(json!({"match": {"op": operator, "left": {"ct": {"key": "state"}}, "right": names}}));
        }
        if asks.expires {
            all.push(
                json!({"match": {"op": "==", "left": {"ct": {"key": "expiration"}}, "right": 0}}),
            );
        }
        if !asks.alone {
            all.push(expression);
        }
    }
    all
}
