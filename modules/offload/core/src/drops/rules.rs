//! Reads `nft -j list ruleset` for two questions: does netfilter drop *every* packet from the
//! addresses of a set, and may it do anything to a packet that makes the routes of its destination
//! address not count?
//!
//! For the first question, only one form is recognised: a rule that matches only the set (and the
//! device) and drops, in a chain of hook prerouting, or in one each of input and forward. No
//! earlier rule may end a packet's path through the chain. For example, `ct state established
//! accept` before the rule accepts answers from such an address, and weir would not notice.

use std::collections::BTreeSet;
use std::fmt;

use kernel::SetName;
use serde_json::Value;

use crate::ruleset::RulesetError;

/// Reason why the ruleset does not drop all that a set lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unproven {
    /// No rule drops by the set in a chain that all packets pass.
    NoRule,
    /// A rule does, but one before it (chain, handle) may let packets go by it.
    Bypassed(String, u64),
    /// A rule does, and asks for more than the source and the device.
    Narrow(String, u64),
    /// The rule is for these devices only, and not all ports that are asked about are among them.
    Devices(Vec<String>),
}

impl fmt::Display for Unproven {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRule => f.write_str(
                "no rule `saddr @set drop` in a chain of hook prerouting, or of both input and \
                    forward",
            ),
            Self::Bypassed(chain, handle) => write!(
                f,
                "rule {handle} of chain {chain}, which precedes the rule that drops, may let \
                    packets bypass it"
            ),
            Self::Narrow(chain, handle) => write!(
                f,
                "rule {handle} of chain {chain} matches more than the source: it drops only some \
                    packets"
            ),
            Self::Devices(devices) => write!(
                f,
                "the rule that drops is for {} only: set `ports` under [drops] accordingly",
                devices.join(", ")
            ),
        }
    }
}

/// Hooks where incoming packets pass a chain.
const HOOKS: [&str; 3] = ["prerouting", "input", "forward"];

/// A ruleset, read for this.
#[derive(Debug)]
pub struct Rules {
    objects: Vec<Value>,
}

impl Rules {
    /// Reads the output of `nft -j list ruleset`.
    ///
    /// # Errors
    /// The text is not JSON, or not an object with an array `nftables`.
    pub fn read(json: &str) -> Result<Self, RulesetError> {
        let root: Value = serde_json::from_str(json).map_err(|error| RulesetError {
            place: format!("line {}, column {}", error.line(), error.column()),
            problem: error.to_string(),
        })?;
        Self::of(&root)
    }

    /// Like [`Self::read`], for JSON that is parsed already.
    ///
    /// # Errors
    /// The value is not an object with an array `nftables`.
    pub fn of(root: &Value) -> Result<Self, RulesetError> {
        match root.get("nftables") {
            Some(Value::Array(objects)) => Ok(Self {
                objects: objects.clone(),
            }),
            _ => Err(RulesetError {
                place: "nftables".into(),
                problem: "expected an array".to_owned(),
            }),
        }
    }

    fn all<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        self.objects.iter().filter_map(move |o| o.get(kind))
    }

    /// Checks that the ruleset drops all packets from the addresses of `set` that enter at `ports`
    /// (all devices, if the list is empty).
    ///
    /// # Errors
    /// The drop is not certain; see [`Unproven`].
    pub fn drops_all(&self, set: &SetName, ports: &[String]) -> Result<(), Unproven> {
        let own = |object: &Value| {
            text(object, "family") == Some(set.family.name())
                && text(object, "table") == Some(&set.table)
        };
        let dormant = self.all("table").any(|table| {
            text(table, "family") == Some(set.family.name())
                && text(table, "name") == Some(&set.table)
                && table.get("flags").is_some_and(|f| mentions(f, "dormant"))
        });
        if dormant || !matches!(set.family.name(), "ip" | "ip6" | "inet") {
            return Err(Unproven::NoRule);
        }
        let mut covered = BTreeSet::new();
        let mut why = Unproven::NoRule;
        for chain in self.all("chain").filter(|chain| own(chain)) {
            let (Some(name), Some(hook)) = (text(chain, "name"), text(chain, "hook")) else {
                continue;
            };
            // Chains of type nat see the first packet of a connection only.
            if !HOOKS.contains(&hook) || text(chain, "type") == Some("nat") {
                continue;
            }
            let rules = self
                .all("rule")
                .filter(|rule| own(rule) && text(rule, "chain") == Some(name));
            match chain_drops(rules, name, set, ports) {
                Ok(()) => {
                    covered.insert(hook);
                }
                Err(Unproven::NoRule) => {}
                Err(other) => why = other,
            }
        }
        let enough = covered.contains("prerouting")
            || ["input", "forward"].iter().all(|h| covered.contains(h));
        if enough { Ok(()) } else { Err(why) }
    }

    /// Returns the first statement that makes it uncertain whether a packet is routed by its
    /// original destination.
    pub fn redirects(&self) -> Option<String> {
        const STATEMENTS: [&str; 10] = [
            "dnat", "snat", "redirect", "tproxy", "queue", "xt", "fwd", "dup", "synproxy", "flow",
        ];
        self.all("rule").find_map(|rule| {
            let statements = rule.get("expr")?.as_array()?;
            let found = statements.iter().find_map(|statement| {
                let (name, inner) = statement.as_object()?.iter().next()?;
                let writes = name == "mangle"
                    && inner
                        .get("key")
                        .and_then(|key| key.get("payload"))
                        .is_some_and(|p| {
                            matches!(text(p, "field"), Some("saddr" | "daddr") | None)
                        });
                (writes || STATEMENTS.contains(&name.as_str())).then(|| name.clone())
            })?;
            let chain = text(rule, "chain").unwrap_or_default();
            let handle = rule.get("handle").and_then(Value::as_u64).unwrap_or(0);
            Some(format!("rule {handle} of chain {chain}: {found}"))
        })
    }
}

/// Checks that a chain drops all packets from a set, going through its rules in order.
fn chain_drops<'a>(
    rules: impl Iterator<Item = &'a Value>,
    chain: &str,
    set: &SetName,
    ports: &[String],
) -> Result<(), Unproven> {
    let name = format!("@{}", set.name);
    let mut before: Option<u64> = None;
    let mut why = Unproven::NoRule;
    for rule in rules {
        let handle = rule.get("handle").and_then(Value::as_u64).unwrap_or(0);
        let expressions = rule.get("expr").and_then(Value::as_array);
        let expressions = expressions.map(Vec::as_slice).unwrap_or_default();
        let by_set = expressions.iter().any(|e| is_source(e, &name));
        if by_set && expressions.iter().any(|e| e.get("drop").is_some()) {
            match (drops(expressions, &name, ports), before) {
                (Ok(()), None) => return Ok(()),
                (Ok(()), Some(other)) => return Err(Unproven::Bypassed(chain.to_owned(), other)),
                (Err(Some(devices)), _) => why = Unproven::Devices(devices),
                (Err(None), _) => why = Unproven::Narrow(chain.to_owned(), handle),
            }
        }
        if before.is_none() && may_end(expressions) {
            before = Some(handle);
        }
    }
    Err(why)
}

/// Returns true for `saddr @set`.
fn is_source(expression: &Value, name: &str) -> bool {
    let Some(condition) = expression.get("match") else {
        return false;
    };
    let payload = condition.get("left").and_then(|left| left.get("payload"));
    payload.is_some_and(|p| {
        text(p, "field") == Some("saddr") && matches!(text(p, "protocol"), Some("ip" | "ip6"))
    }) && matches!(text(condition, "op"), Some("==" | "in"))
        && text(condition, "right") == Some(name)
}

/// Checks that a rule drops all packets from a set. `Err`: the rule drops only some packets;
/// contains the devices, if these are the only other condition.
fn drops(expressions: &[Value], name: &str, ports: &[String]) -> Result<(), Option<Vec<String>>> {
    let mut devices: Option<Vec<String>> = None;
    for expression in expressions {
        if is_source(expression, name)
            || ["counter", "log", "drop"]
                .iter()
                .any(|harmless| expression.get(harmless).is_some())
        {
            continue;
        }
        // `meta nfproto ipv4`, which the source implies.
        let meta = expression
            .get("match")
            .and_then(|m| m.get("left")?.get("meta"))
            .and_then(|meta| text(meta, "key"));
        match meta {
            Some("nfproto" | "protocol") => {}
            Some("iif" | "iifname") => devices = Some(named(expression).ok_or(None)?),
            _ => return Err(None),
        }
    }
    match devices {
        Some(devices) if ports.is_empty() || !ports.iter().all(|p| devices.contains(p)) => {
            Err(Some(devices))
        }
        _ => Ok(()),
    }
}

/// Returns the devices of `iifname "a"` or `iifname { "a", "b" }`.
fn named(expression: &Value) -> Option<Vec<String>> {
    let condition = expression.get("match")?;
    if !matches!(text(condition, "op"), Some("==" | "in")) {
        return None;
    }
    let right = condition.get("right")?;
    let one = |value: &Value| {
        // A name with a star matches many names, a name with an at sign is a set.
        let name = value.as_str()?;
        (!name.contains(['*', '@'])).then(|| name.to_owned())
    };
    match right.get("set").and_then(Value::as_array) {
        Some(many) => many.iter().map(one).collect(),
        None => one(right).map(|name| vec![name]),
    }
}

/// Returns true if a rule may change a packet, or end the packet's path through the chain other
/// than by a drop. Unknown expressions count. Packets from `lo` do not enter at a port.
fn may_end(expressions: &[Value]) -> bool {
    let from_lo = expressions
        .iter()
        .any(|e| named(e).is_some_and(|devices| devices == ["lo"]) && is_device(e));
    if from_lo {
        return false;
    }
    expressions.iter().any(|expression| {
        let name = expression.as_object().and_then(|o| o.keys().next());
        let harmless = [
            "match", "counter", "log", "drop", "limit", "quota", "notrack", "reject", "last",
            "ct count", "set",
        ];
        let mark = expression
            .get("mangle")
            .and_then(|m| m.get("key"))
            .is_some_and(|key| key.get("meta").is_some() || key.get("ct").is_some());
        !mark && name.is_none_or(|name| !harmless.contains(&name.as_str()))
    })
}

fn is_device(expression: &Value) -> bool {
    let key = expression
        .get("match")
        .and_then(|m| m.get("left")?.get("meta"))
        .and_then(|meta| text(meta, "key"));
    matches!(key, Some("iif" | "iifname"))
}

fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name)?.as_str()
}

fn mentions(value: &Value, word: &str) -> bool {
    match value {
        Value::String(text) => text == word,
        Value::Array(values) => values.iter().any(|inner| mentions(inner, word)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn chain(hook: &str, rules: &[Value]) -> Vec<Value> {
        let mut all = vec![
            json!({"chain": {"family": "inet", "table": "t", "name": hook, "handle": 1,
            "type": "filter", "hook": hook, "prio": -300, "policy": "accept"}}),
        ];
        for (number, rule) in rules.iter().enumerate() {
            all.push(
                json!({"rule": {"family": "inet", "table": "t", "chain": hook,
                "handle": 10 + number, "expr": rule}}),
            );
        }
        all
    }

    fn by(right: Value) -> Value {
        json!({"match": {"op": "==", "left": {"payload": {"protocol": "ip", "field": "saddr"}}, "right": right}})
    }

    fn meta(key: &str, right: Value) -> Value {
        json!({"match": {"op": "==", "left": {"meta": {"key": key}}, "right": right}})
    }

    fn ask(objects: Vec<Value>, ports: &[&str]) -> Result<(), Unproven> {
        let mut all = vec![json!({"table": {"family": "inet", "name": "t", "handle": 1}})];
        all.extend(objects);
        let rules = Rules::read(&json!({ "nftables": all }).to_string()).expect("a ruleset");
        let ports: Vec<String> = ports.iter().map(|p| (*p).to_owned()).collect();
        rules.drops_all(&"inet t banned".parse().expect("a name"), &ports)
    }

    fn drop() -> Value {
        json!({ "drop": null })
    }

    fn counter() -> Value {
        json!({"counter": {"packets": 0, "bytes": 0}})
    }

    #[test]
    fn a_plain_rule_drops_all() {
        let plain = json!([by(json!("@banned")), counter(), drop()]);
        let mark = json!([{"mangle": {"key": {"meta": {"key": "mark"}}, "value": 1}}]);
        let lo = json!([meta("iifname", json!("lo")), {"accept": null}]);
        let log =
            json!([by(json!("@banned")), {"limit": {"rate": 1, "per": "second"}}, {"log": null}]);
        let other = json!([by(json!("@other")), drop()]);
        let rules = [mark, lo, log, other, plain.clone()];
        assert_eq!(ask(chain("prerouting", &rules), &[]), Ok(()));
        let both = [
            chain("input", std::slice::from_ref(&plain)),
            chain("forward", std::slice::from_ref(&plain)),
        ];
        assert_eq!(ask(both.concat(), &[]), Ok(()));
        let one = chain("input", &[plain]);
        assert_eq!(ask(one, &[]), Err(Unproven::NoRule));
    }

    #[test]
    fn what_may_be_accepted_before_is_not_dropped() {
        let plain = json!([by(json!("@banned")), drop()]);
        for before in [
            json!([{"match": {"op": "in", "left": {"ct": {"key": "state"}}, "right": ["established"]}}, {"accept": null}]),
            json!([{"jump": {"target": "x"}}]),
            json!([{"vmap": {"key": {"meta": {"key": "iifname"}}, "data": "@v"}}]),
            json!([{"return": null}]),
            json!([{"queue": {"num": 1}}]),
            json!([{"mangle": {"key": {"payload": {"protocol": "ip", "field": "saddr"}}, "value": "10.0.0.1"}}]),
            json!([{"something new": null}]),
        ] {
            let rules = [before.clone(), plain.clone()];
            assert_eq!(
                ask(chain("prerouting", &rules), &[]),
                Err(Unproven::Bypassed("prerouting".into(), 10)),
                "{before}"
            );
        }
    }

    #[test]
    fn a_rule_that_asks_for_more_drops_only_some() {
        let port = json!({"match": {"op": "==", "left": {"payload": {"protocol": "tcp", "field": "dport"}}, "right": 22}});
        for more in [
            port,
            json!({"limit": {"rate": 1, "per": "second"}}),
            json!({"ct count": {"val": 3}}),
        ] {
            let rule = json!([by(json!("@banned")), more, drop()]);
            assert_eq!(
                ask(chain("prerouting", &[rule]), &[]),
                Err(Unproven::Narrow("prerouting".into(), 10))
            );
        }
        for other in [by(json!("10.0.0.1")), by(json!({"set": ["@banned"]}))] {
            let rule = json!([other, drop()]);
            assert_eq!(
                ask(chain("prerouting", &[rule]), &[]),
                Err(Unproven::NoRule)
            );
        }
        let rejected = json!([by(json!("@banned")), {"reject": null}]);
        assert_eq!(
            ask(chain("prerouting", &[rejected]), &[]),
            Err(Unproven::NoRule)
        );
    }

    #[test]
    fn devices_must_be_those_asked_about() {
        let rule = |names: Value| {
            [json!([
                meta("iifname", names),
                by(json!("@banned")),
                drop()
            ])]
        };
        let two = json!({"set": ["wan0", "wan1"]});
        let ask =
            |names: &Value, ports: &[&str]| ask(chain("prerouting", &rule(names.clone())), ports);
        assert_eq!(ask(&two, &["wan0"]), Ok(()));
        assert_eq!(ask(&json!("wan0"), &["wan0"]), Ok(()));
        assert!(matches!(ask(&two, &[]), Err(Unproven::Devices(_))));
        assert!(matches!(
            ask(&two, &["wan0", "lan0"]),
            Err(Unproven::Devices(_))
        ));
        assert!(matches!(
            ask(&json!("wan*"), &["wan0"]),
            Err(Unproven::Narrow(..))
        ));
    }

    #[test]
    fn sleeping_tables_and_nat_chains_drop_nothing() {
        let plain = json!([by(json!("@banned")), drop()]);
        let mut objects = chain("prerouting", std::slice::from_ref(&plain));
        objects[0]["chain"]["type"] = json!("nat");
        assert_eq!(ask(objects, &[]), Err(Unproven::NoRule));
        let mut objects = chain("prerouting", &[plain]);
        objects.push(
            json!({"table": {"family": "inet", "name": "t", "handle": 1, "flags": "dormant"}}),
        );
        assert_eq!(ask(objects, &[]), Err(Unproven::NoRule));
    }

    #[test]
    fn what_redirects_is_named() {
        let read = |rule: Value| {
            let all = chain("prerouting", &[rule]);
            let rules = Rules::read(&json!({ "nftables": all }).to_string()).expect("a ruleset");
            rules.redirects()
        };
        assert_eq!(read(json!([{"masquerade": null}])), None);
        assert_eq!(read(json!([drop()])), None);
        assert_eq!(
            read(json!([{"dnat": {"addr": "10.0.0.1"}}])),
            Some("rule 10 of chain prerouting: dnat".into())
        );
        assert!(read(json!([{"mangle": {"key": {"payload": {"protocol": "ip", "field": "daddr"}}, "value": "10.0.0.1"}}])).is_some());
        assert!(read(json!([{"mangle": {"key": {"payload": {"protocol": "ip", "field": "ttl"}}, "value": 9}}])).is_none());
        assert!(read(json!([{"xt": {"type": "target", "name": "DNAT"}}])).is_some());
    }

    #[test]
    fn what_is_no_ruleset_is_an_error() {
        for text in ["", "[]", "{}", "{\"nftables\": 1}"] {
            assert!(Rules::read(text).is_err(), "{text}");
        }
        // Malformed objects are skipped: no rule depends on them.
        let odd = Rules::read("{\"nftables\": [1, {\"rule\": 2}, {\"chain\": {\"name\": 3}}]}")
            .expect("read");
        assert_eq!(odd.redirects(), None);
    }
}
