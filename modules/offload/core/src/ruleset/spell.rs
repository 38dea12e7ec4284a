//! Adds to nft's JSON the parts of iptables' rules that it leaves out: matched connection states,
//! matched and written marks, and reported events, as nft would write them.

use std::collections::HashMap;

use kernel::element_statements::ElementStatements;
use kernel::extensions::{Extension, Mark, READ, RuleExtensions};
use kernel::tables::Table;
use serde_json::{Value, json};

/// Returns true if [`spell`] may find something.
pub fn has_extensions(text: &str) -> bool {
    let named = |(_, name): &(&str, &str)| text.contains(&format!("\"{name}\""));
    text.contains("\"xt\"") && READ.iter().any(named)
}

/// Returns true if rules may give entries time-outs of their own (`ct timeout`, `-j CT --timeout`).
pub fn has_policies(text: &str) -> bool {
    text.contains("\"ct timeout\"") || text.contains("\"CT\"")
}

/// Replaces parsed extensions by the equivalent statements. The rules must be of the same ruleset;
/// if the ruleset changed meanwhile, parts that do not fit stay unchanged.
pub fn spell(root: &mut Value, rules: &[RuleExtensions]) {
    let key = |family: &str, table: &str, chain: &str, handle: u64| {
        format!("{family} {table} {chain} {handle}")
    };
    let known: HashMap<String, &RuleExtensions> = rules
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
            let read = expressions.iter().filter(|e| is_read(e)).count();
            if read == found.extensions.len() {
                *expressions = spelled(std::mem::take(expressions), &found.extensions);
            }
        }
    }
    super::early::forget(root);
}

/// Writes the flags into tables. If a table is missing here because the ruleset changed meanwhile,
/// nft's output stays.
pub fn flag(root: &mut Value, tables: &[Table]) {
    let objects = root.get_mut("nftables").and_then(Value::as_array_mut);
    let flagged = objects.into_iter().flatten();
    for table in flagged.filter_map(|object| object.get_mut("table")?.as_object_mut()) {
        let word = |name: &str| table.get(name).and_then(Value::as_str).unwrap_or_default();
        let same = |known: &&Table| [known.family, &known.name] == [word("family"), word("name")];
        let Some(found) = tables.iter().find(same) else {
            continue;
        };
        match found.flags.is_empty() {
            true => drop(table.remove("flags")),
            false => drop(table.insert("flags".to_owned(), json!(found.flags))),
        }
    }
}

/// Writes the statements of single elements into the declarations of sets, as if all elements had
/// them. The statements are a moment old; those of sets that no longer exist are not written.
pub fn declare(root: &mut Value, kept: &[ElementStatements]) {
    let objects = root.get_mut("nftables").and_then(Value::as_array_mut);
    for object in objects.into_iter().flatten() {
        let Some(set) = object.as_object_mut().and_then(|object| {
            let kind = if object.contains_key("set") {
                "set"
            } else {
                "map"
            };
            object.get_mut(kind)?.as_object_mut()
        }) else {
            continue;
        };
        let word = |name: &str| set.get(name).and_then(Value::as_str).unwrap_or_default();
        let same = |kept: &&ElementStatements| {
            let name = &kept.set;
            let words = [name.family.name(), &name.table, &name.name];
            words == [word("family"), word("table"), word("name")]
        };
        let Some(found) = kept.iter().find(same) else {
            continue;
        };
        let statement = |name: &String| {
            // Converts the name to nft's.
            let name = match name.as_str() {
                "connlimit" => "ct count",
                "last" => "counter",
                other => other,
            };
            json!({ name: {} })
        };
        let statements: Vec<Value> = found.statements.iter().map(statement).collect();
        set.insert("stmt".to_owned(), statements.into());
    }
}

fn is_read(expression: &Value) -> bool {
    let word = |name: &str| expression.get("xt")?.get(name)?.as_str();
    word("type")
        .zip(word("name"))
        .is_some_and(|name| READ.contains(&name))
}

fn spelled(expressions: Vec<Value>, extensions: &[Extension]) -> Vec<Value> {
    let mut extensions = extensions.iter();
    let mut all = Vec::with_capacity(expressions.len());
    for expression in expressions {
        match is_read(&expression).then(|| extensions.next()).flatten() {
            None | Some(Extension::Unread) => all.push(expression),
            Some(Extension::Conntrack(asks)) => {
                if let Some((names, inverted)) = &asks.states {
                    let operator = if *inverted { "!=" } else { "in" };
                    all.push(condition(json!({"ct": {"key": "state"}}), operator, names));
                }
                if asks.expires {
                    all.push(condition(json!({"ct": {"key": "expiration"}}), "==", 0));
                }
                if !asks.alone {
                    all.push(expression);
                }
            }
            Some(Extension::Events(names)) => {
                if !names.is_empty() {
                    let key = json!({"ct": {"key": "event"}});
                    all.push(json!({"mangle": {"key": key, "value": names}}));
                }
                all.push(expression);
            }
            Some(Extension::MarkIs {
                of,
                value,
                mask,
                inverted,
            }) => {
                let operator = if *inverted { "!=" } else { "==" };
                all.push(condition(masked(*of, *mask), operator, value));
            }
            Some(Extension::MarkSet { of, value, mask }) => {
                all.push(written(*of, &[masked(*of, !mask), json!(value)]));
            }
            Some(Extension::MarkCopied { to, cleared, taken }) => {
                let from = match to {
                    Mark::Packet => Mark::Connection,
                    Mark::Connection => Mark::Packet,
                };
                all.push(written(*to, &[masked(*to, !cleared), masked(from, *taken)]));
            }
        }
    }
    all
}

fn condition(left: Value, operator: &str, right: impl serde::Serialize) -> Value {
    json!({"match": {"op": operator, "left": left, "right": right}})
}

fn mark(of: Mark) -> Value {
    match of {
        Mark::Packet => json!({"meta": {"key": "mark"}}),
        Mark::Connection => json!({"ct": {"key": "mark"}}),
    }
}

fn masked(of: Mark, mask: u32) -> Value {
    json!({"&": [mark(of), mask]})
}

fn written(of: Mark, turned_over: &[Value; 2]) -> Value {
    json!({"mangle": {"key": mark(of), "value": {"^": turned_over}}})
}
