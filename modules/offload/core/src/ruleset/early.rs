//! Rules that packets reach before conntrack: the connection is not known there. Its state is
//! *invalid* (nft_ct.c, `nft_ct_get_eval`), its mark and status are missing, and a rule that
//! matches them decides nothing for packets of an established connection.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

/// Priority of conntrack at prerouting (`NF_IP_PRI_CONNTRACK`). A chain with the same priority runs
/// before or after conntrack, depending on which was registered first.
const CONNTRACK: i64 = -200;
/// Keys of a connection from which weir draws conclusions.
const KNOWN: [&str; 4] = ["state", "status", "mark", "direction"];
/// Key from which weir draws no conclusions.
const UNKNOWN: &str = "l3proto";

/// Family, table, chain.
type Key = [String; 3];

/// Replaces all conditions on the connection, in rules before conntrack, by meaningless ones.
/// `root`: the output of `nft -j list ruleset`.
pub(super) fn forget(root: &mut Value) {
    let Some(objects) = root.get_mut("nftables").and_then(Value::as_array_mut) else {
        return;
    };
    let early = early(objects);
    if early.is_empty() {
        return;
    }
    for rule in objects
        .iter_mut()
        .filter_map(|object| object.get_mut("rule"))
    {
        if key(rule, "chain").is_some_and(|key| early.contains(&key))
            && let Some(expressions) = rule.get_mut("expr")
        {
            ask_for_nothing(expressions);
        }
    }
}

fn key(object: &Value, name: &str) -> Option<Key> {
    let text = |name: &str| Some(object.get(name)?.as_str()?.to_owned());
    Some([text("family")?, text("table")?, text(name)?])
}

/// Returns the chains that a packet may pass before conntrack.
fn early(objects: &[Value]) -> HashSet<Key> {
    let is_early = |chain: &&Value| {
        let prerouting = chain.get("hook").and_then(Value::as_str) == Some("prerouting");
        let priority = chain.get("prio").and_then(Value::as_i64);
        prerouting && priority.is_some_and(|priority| priority <= CONNTRACK)
    };
    let chains = objects.iter().filter_map(|object| object.get("chain"));
    let mut todo: Vec<Key> = (chains.clone().filter(is_early))
        .filter_map(|chain| key(chain, "name"))
        .collect();
    if todo.is_empty() {
        return HashSet::new();
    }
    let mut rules: HashMap<Key, Vec<&Value>> = HashMap::new();
    for rule in objects.iter().filter_map(|object| object.get("rule")) {
        if let Some(key) = key(rule, "chain") {
            rules.entry(key).or_default().push(rule);
        }
    }
    let mut found = HashSet::new();
    while let Some(chain) = todo.pop() {
        if !found.insert(chain.clone()) {
            continue;
        }
        let [family, table, _] = chain.clone();
        let mut leads = Leads::default();
        for rule in rules.get(&chain).into_iter().flatten() {
            leads.follow(rule);
        }
        let regular = chains.clone().filter(|chain| chain.get("hook").is_none());
        for next in regular.filter_map(|chain| key(chain, "name")) {
            let here = next[0] == family && next[1] == table;
            if here && (leads.anywhere || leads.chains.contains(next[2].as_str())) {
                todo.push(next);
            }
        }
    }
    found
}

/// Chains that the rules of a chain lead to.
#[derive(Default)]
struct Leads<'a> {
    chains: HashSet<&'a str>,
    /// True if a named map leads on: the kernel may not list its elements.
    anywhere: bool,
}

impl<'a> Leads<'a> {
    fn follow(&mut self, value: &'a Value) {
        match value {
            Value::Object(all) => {
                for (name, inner) in all {
                    match name.as_str() {
                        "jump" | "goto" => {
                            let target = inner.get("target").and_then(Value::as_str);
                            self.chains.extend(target);
                        }
                        "vmap" => {
                            let data = inner.get("data");
                            self.anywhere |= data.is_some_and(Value::is_string);
                        }
                        _ => {}
                    }
                    self.follow(inner);
                }
            }
            Value::Array(all) => all.iter().for_each(|inner| self.follow(inner)),
            _ => {}
        }
    }
}

fn ask_for_nothing(value: &mut Value) {
    match value {
        Value::Object(all) => {
            if let Some(asked) = all.get_mut("ct").and_then(|ct| ct.get_mut("key"))
                && asked.as_str().is_some_and(|key| KNOWN.contains(&key))
            {
                *asked = UNKNOWN.into();
            }
            all.values_mut().for_each(ask_for_nothing);
        }
        Value::Array(all) => all.iter_mut().for_each(ask_for_nothing),
        _ => {}
    }
}
