//! Rules that packets of an established, forwarded connection reach.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::area::{Area, Areas};
use super::fields::{Fields, RulesetError};
use super::finding::{Home, Kind};
use super::marks::{Marks, Write, write};
use super::statements;

/// A chain's name in full: family, table, chain.
pub(super) type Key<'a> = (&'a str, &'a str, &'a str);

pub(super) struct Chain<'a> {
    pub(super) home: Home<'a>,
    pub(super) name: &'a str,
    hook: Option<&'a str>,
    kind: Option<&'a str>,
    pub(super) devices: Vec<String>,
}

impl Chain<'_> {
    /// Returns the kind of a chain of a device, ingress (also in family inet) or egress; or of
    /// bridges.
    pub(super) fn at_device(&self) -> Option<Kind> {
        match self.hook {
            Some("ingress") => Some(Kind::IngressChain),
            Some("egress") => Some(Kind::EgressChain),
            Some(_) if self.home.family == "bridge" => Some(Kind::BridgeChain),
            _ => None,
        }
    }

    /// Returns true if packets reach this chain only from other chains.
    pub(super) fn is_regular(&self) -> bool {
        self.hook.is_none()
    }

    /// Returns true if packets of established, forwarded connections enter here. Chains of type nat
    /// see only the first packet.
    fn entry(&self) -> bool {
        let forwarded = match self.home.family {
            "ip" | "ip6" | "inet" | "netdev" => matches!(
                self.hook,
                Some("prerouting" | "forward" | "postrouting" | "ingress" | "egress")
            ),
            // Routed packets come up to the bridge and go down from it; weir leaves bridged packets
            // alone.
            "bridge" => matches!(
                self.hook,
                Some("prerouting" | "input" | "output" | "postrouting")
            ),
            _ => false,
        };
        forwarded && self.kind != Some("nat")
    }
}

pub(super) struct Rule<'a> {
    pub(super) home: Home<'a>,
    pub(super) chain: &'a str,
    pub(super) expressions: &'a [Value],
    /// Position among all objects.
    pub(super) order: usize,
}

impl<'a> Rule<'a> {
    pub(super) fn key(&self) -> Key<'a> {
        (self.home.family, self.home.table, self.chain)
    }
}

pub(super) enum Object<'a> {
    Chain(Chain<'a>),
    Rule(Rule<'a>),
    Flowtable {
        home: Home<'a>,
        name: &'a str,
        devices: Vec<String>,
    },
}

/// The parts of a ruleset that matter here.
pub(super) struct Ruleset<'a> {
    pub(super) objects: Vec<Object<'a>>,
    /// Elements of named maps: verdicts may be in them. `None`: elements not listed.
    maps: HashMap<Key<'a>, Option<&'a Value>>,
    /// Elements of named sets that only commands change, if the ruleset lists them.
    pub(super) sets: HashMap<Key<'a>, &'a Value>,
    /// Statements that each element of a named set or map keeps: from the declaration, or from a
    /// rule that adds elements.
    kept: HashMap<Key<'a>, Vec<&'a Value>>,
    /// The rules of each chain, by their places among the objects.
    rules: HashMap<Key<'a>, Vec<usize>>,
    /// The place of the first rule of a chain that ends the way of established connections there.
    settles: HashMap<Key<'a>, usize>,
    /// Facts from the packet's mark about the connection's mark before each rule, by position.
    marks: HashMap<usize, Marks>,
}

/// Jumps nest no deeper in the kernel (`NFT_JUMP_STACK_SIZE`).
const NESTED: usize = 16;

impl<'a> Ruleset<'a> {
    /// Reads the array under `nftables`. Dormant tables are skipped.
    pub(super) fn read(values: &'a [Value]) -> Result<Self, RulesetError> {
        let mut ruleset = Self {
            objects: Vec::new(),
            maps: HashMap::new(),
            sets: HashMap::new(),
            kept: HashMap::new(),
            rules: HashMap::new(),
            settles: HashMap::new(),
            marks: HashMap::new(),
        };
        let mut dormant = HashSet::new();
        for (order, value) in values.iter().enumerate() {
            let Some((kind, body)) = value.as_object().and_then(|object| object.iter().next())
            else {
                return Err(RulesetError {
                    place: format!("nftables[{order}]"),
                    problem: "expected an object".into(),
                });
            };
            if !matches!(
                kind.as_str(),
                "table" | "chain" | "rule" | "map" | "set" | "flowtable"
            ) {
                continue;
            }
            let place = format!("nftables[{order}].{kind}");
            let Some(map) = body.as_object() else {
                return Err(RulesetError {
                    place,
                    problem: "expected an object".into(),
                });
            };
            let fields = Fields { place, map };
            let family = fields.text("family")?;
            let table = fields.text(if kind == "table" { "name" } else { "table" })?;
            if kind == "table" && fields.texts("flags")?.iter().any(|flag| flag == "dormant") {
                dormant.insert((family, table));
            }
            if kind == "table" || dormant.contains(&(family, table)) {
                continue;
            }
            let home = Home {
                family,
                table,
                handle: fields.number("handle")?,
            };
            ruleset.add(kind, &fields, home)?;
        }
        ruleset.settle();
        ruleset.marks = along(&ruleset);
        Ok(ruleset)
    }

    fn add(&mut self, kind: &str, fields: &Fields<'a>, home: Home<'a>) -> Result<(), RulesetError> {
        if let ("map" | "set", Some(kept)) = (kind, fields.map.get("stmt")) {
            self.keep(home, fields.text("name")?, kept);
        }
        match kind {
            "chain" => self.objects.push(Object::Chain(Chain {
                home,
                name: fields.text("name")?,
                hook: fields.map.get("hook").and_then(Value::as_str),
                kind: fields.map.get("type").and_then(Value::as_str),
                devices: fields.texts("dev")?,
            })),
            "flowtable" => {
                let (name, devices) = (fields.text("name")?, fields.texts("dev")?);
                self.objects.push(Object::Flowtable {
                    home,
                    name,
                    devices,
                });
            }
            "map" => {
                let elements = fields.map.get("elem");
                self.maps
                    .insert((home.family, home.table, fields.text("name")?), elements);
            }
            "set" => {
                let flags = fields.texts("flags")?;
                let moves = |flag: &String| flag == "timeout" || flag == "dynamic";
                if let Some(elements) = fields.map.get("elem")
                    && !flags.iter().any(moves)
                    && !fields.map.contains_key("timeout")
                {
                    self.sets
                        .insert((home.family, home.table, fields.text("name")?), elements);
                }
            }
            _ => {
                let expressions = fields
                    .map
                    .get("expr")
                    .and_then(Value::as_array)
                    .ok_or_else(|| fields.error("expr", "expected an array"))?;
                let rule = Rule {
                    home,
                    chain: fields.text("chain")?,
                    expressions,
                    order: self.objects.len(),
                };
                for (set, kept) in expressions.iter().filter_map(statements::keeping) {
                    self.keep(home, set, kept);
                }
                self.rules.entry(rule.key()).or_default().push(rule.order);
                self.objects.push(Object::Rule(rule));
            }
        }
        Ok(())
    }

    fn keep(&mut self, home: Home<'a>, set: &'a str, kept: &'a Value) {
        let all = self.kept.entry((home.family, home.table, set)).or_default();
        all.extend(statements::each(kept));
    }

    /// Returns the statements that elements of a set keep, for a rule of this table.
    pub(super) fn kept(&self, home: &Home<'a>, set: &'a str) -> &[&'a Value] {
        let all = self.kept.get(&(home.family, home.table, set));
        all.map(Vec::as_slice).unwrap_or_default()
    }

    /// Finds the first rule of each chain that ends the way of established connections.
    fn settle(&mut self) {
        let found: Vec<(Key<'a>, usize)> = self
            .rules
            .iter()
            .filter_map(|(chain, places)| {
                let ends = |place: &&usize| self.ends(**place, NESTED);
                Some((*chain, *places.iter().find(ends)?))
            })
            .collect();
        self.settles.extend(found);
    }

    fn rule(&self, place: usize) -> Option<&Rule<'a>> {
        match self.objects.get(place)? {
            Object::Rule(rule) => Some(rule),
            _ => None,
        }
    }

    /// Returns all rules.
    pub(super) fn all_rules(&self) -> impl Iterator<Item = &Rule<'a>> {
        self.objects.iter().filter_map(|object| match object {
            Object::Rule(rule) => Some(rule),
            _ => None,
        })
    }

    /// Returns the rules of a chain.
    pub(super) fn rules_of(&self, chain: Key<'a>) -> impl Iterator<Item = &Rule<'a>> {
        let places = self.rules.get(&chain).into_iter().flatten();
        places.filter_map(|place| self.rule(*place))
    }

    /// Returns the chains that packets of established, forwarded connections enter first.
    pub(super) fn entries(&self) -> Vec<Key<'a>> {
        let entries = self.objects.iter().filter_map(|object| match object {
            Object::Chain(chain) if chain.entry() => {
                Some((chain.home.family, chain.home.table, chain.name))
            }
            _ => None,
        });
        entries.collect()
    }

    /// Returns true if a rule ends the path of all established packets, directly or in a chain that
    /// they all visit.
    fn ends(&self, place: usize, depth: usize) -> bool {
        let Some(rule) = self.rule(place) else {
            return false;
        };
        match statements::way(rule.expressions) {
            statements::Way::Ends => true,
            statements::Way::Open => false,
            statements::Way::Visits(chain) => {
                let key = (rule.home.family, rule.home.table, chain);
                depth > 0 && self.ends_all(key, depth - 1)
            }
        }
    }

    /// Returns true if no established packet comes back from a chain.
    fn ends_all(&self, chain: Key<'a>, depth: usize) -> bool {
        for place in self.rules.get(&chain).into_iter().flatten() {
            if self.ends(*place, depth) {
                return true;
            }
            let leaves = self.rule(*place).is_some_and(|rule| {
                !statements::never_before(rule.expressions)
                    && rule.expressions.iter().any(statements::may_leave)
            });
            if leaves {
                return false;
            }
        }
        false
    }

    /// Returns true if established connections never reach this rule, as an earlier rule in its
    /// chain decides for them.
    pub(super) fn settled(&self, rule: &Rule<'a>) -> bool {
        self.settles
            .get(&rule.key())
            .is_some_and(|order| *order < rule.order)
    }

    /// Returns, for each chain that packets of established, forwarded connections may reach, these
    /// flows, or `None` if only a chain at a device leads there, whose traffic weir does not
    /// forward anyway.
    pub(super) fn reached(&self) -> HashMap<Key<'a>, Areas> {
        let mut reached: HashMap<Key<'a>, Areas> = HashMap::new();
        let mut steps: HashMap<Key<'a>, Vec<(Key<'a>, Option<Area>)>> = HashMap::new();
        let mut todo = Vec::new();
        for object in &self.objects {
            match object {
                Object::Chain(chain) if chain.entry() => {
                    let key = (chain.home.family, chain.home.table, chain.name);
                    let device = matches!(
                        chain.at_device(),
                        Some(Kind::IngressChain | Kind::EgressChain)
                    );
                    let area = (!device).then(|| Area::of_family(chain.home.family));
                    reached.entry(key).or_default().add(area);
                    todo.push(key);
                }
                Object::Rule(rule) if !self.settled(rule) => {
                    steps
                        .entry(rule.key())
                        .or_default()
                        .extend(self.steps(rule));
                }
                _ => {}
            }
        }
        // Each chain after all that lead to it: a rule that is reached in two ways is for the flows
        // of both.
        for chain in order(&todo, &steps) {
            let areas = reached.get(&chain).cloned().unwrap_or_default();
            for (target, by) in steps.get(&chain).into_iter().flatten() {
                let Some(by) = by else { continue };
                let next = reached.entry(*target).or_default();
                areas.each(|area| next.add(area.map(|area| area.and(by))));
            }
        }
        reached
    }

    /// Returns the target chains of a rule.
    pub(super) fn leads(&self, rule: &Rule<'a>) -> Vec<Key<'a>> {
        let (family, table) = (rule.home.family, rule.home.table);
        let mut found = Vec::new();
        for (place, value) in rule.expressions.iter().enumerate() {
            let known = found.len();
            self.targets(value, family, table, &mut found);
            if statements::never_before(&rule.expressions[..place]) {
                found.truncate(known);
                break;
            }
        }
        found.into_iter().map(|(target, _)| target).collect()
    }

    /// Returns the target chains of a rule, with the flows that reach each. `None`: no flow.
    fn steps(&self, rule: &Rule<'a>) -> Vec<(Key<'a>, Option<Area>)> {
        let (family, table) = (rule.home.family, rule.home.table);
        let mut found = Vec::new();
        for (place, value) in rule.expressions.iter().enumerate() {
            let mut targets = Vec::new();
            self.targets(value, family, table, &mut targets);
            if targets.is_empty() || statements::never_before(&rule.expressions[..place]) {
                continue;
            }
            let area = self.area(rule, place);
            found.extend(targets.into_iter().map(|(target, keys)| {
                let area = area.clone().map(|area| match (&keys, value.get("vmap")) {
                    (Some(keys), Some(map)) => match map.get("key") {
                        Some(left) => {
                            let named = self.named(family, table);
                            area.asking(left, "==", keys, &named, &Marks::default())
                        }
                        None => area,
                    },
                    _ => area,
                });
                (target, area)
            }));
        }
        found
    }

    /// Returns the flows that the first expressions of a rule match.
    pub(super) fn area(&self, rule: &Rule<'a>, asked: usize) -> Option<Area> {
        let named = self.named(rule.home.family, rule.home.table);
        let area = Area::of_family(rule.home.family);
        let marks = self.marks.get(&rule.order).cloned().unwrap_or_default();
        Some(area.asking_all(&rule.expressions[..asked], &named, marks))
    }

    /// Looks up the sets of a table by name.
    fn named(&self, family: &'a str, table: &'a str) -> impl Fn(&str) -> Option<&'a Value> + '_ {
        move |name| self.sets.get(&(family, table, name)).copied()
    }

    /// Returns the chains that an expression may jump or go to, through maps too: then with the
    /// keys that lead there.
    fn targets(
        &self,
        value: &'a Value,
        family: &'a str,
        table: &'a str,
        found: &mut Vec<(Key<'a>, Option<Value>)>,
    ) {
        let Some((name, inner)) = statements::single(value) else {
            return;
        };
        if matches!(name, "jump" | "goto") {
            if let Some(target) = inner.get("target").and_then(Value::as_str) {
                found.push(((family, table, target), None));
            }
            return;
        }
        if name != "vmap" {
            return;
        }
        let data = inner.get("data");
        let elements = match data
            .and_then(Value::as_str)
            .and_then(|d| d.strip_prefix('@'))
        {
            None => data.and_then(|data| data.get("set")),
            Some(map) => match self.maps.get(&(family, table, map)) {
                Some(Some(elements)) => Some(*elements),
                // The map's elements were left out: the rule may lead to any chain of the table.
                _ => {
                    let chains = self.objects.iter().filter_map(|object| match object {
                        Object::Chain(chain)
                            if chain.hook.is_none()
                                && (chain.home.family, chain.home.table) == (family, table) =>
                        {
                            Some(((family, table, chain.name), None))
                        }
                        _ => None,
                    });
                    return found.extend(chains);
                }
            },
        };
        for element in elements.and_then(Value::as_array).into_iter().flatten() {
            let Some([key, verdict]) = element.as_array().map(Vec::as_slice) else {
                continue;
            };
            let target = ["jump", "goto"]
                .iter()
                .find_map(|way| verdict.get(way)?.get("target")?.as_str());
            if let Some(target) = target {
                let chain = (family, table, target);
                match found.iter_mut().find(|(known, _)| *known == chain) {
                    Some((_, Some(Value::Object(keys)))) => {
                        if let Some(Value::Array(keys)) = keys.get_mut("set") {
                            keys.push(key.clone());
                        }
                    }
                    Some(_) => {}
                    None => found.push((chain, Some(serde_json::json!({ "set": [key] })))),
                }
            }
        }
    }
}

/// Facts about marks before each rule that established packets pass, by the rule's position. Empty
/// entries are left out.
fn along(ruleset: &Ruleset<'_>) -> HashMap<usize, Marks> {
    let mut steps: HashMap<Key<'_>, Vec<(Key<'_>, usize)>> = HashMap::new();
    for rule in ruleset.all_rules().filter(|rule| !ruleset.settled(rule)) {
        let targets = ruleset.leads(rule).into_iter();
        let targets = targets.map(|target| (target, rule.order));
        steps.entry(rule.key()).or_default().extend(targets);
    }
    let chains = order(&ruleset.entries(), &steps);
    let unsettled = |chain| {
        let all = ruleset.rules_of(chain);
        all.take_while(|rule| !ruleset.settled(rule))
    };
    let mut writes: HashMap<Key<'_>, Vec<Write>> = HashMap::new();
    for chain in chains.iter().rev() {
        let mut all: Vec<Write> = Vec::new();
        let own = unsettled(*chain).flat_map(|rule| rule.expressions.iter().filter_map(write));
        let next = steps.get(chain).into_iter().flatten();
        let next = next.filter_map(|(target, _)| writes.get(target)).flatten();
        for write in own.chain(next.copied()) {
            if !all.contains(&write) {
                all.push(write);
            }
        }
        writes.insert(*chain, all);
    }
    let mut heads: HashMap<Key<'_>, Marks> = HashMap::new();
    let mut found = HashMap::new();
    for chain in chains {
        let mut now = heads.remove(&chain).unwrap_or_default();
        let mut next = steps.get(&chain).into_iter().flatten().peekable();
        for rule in unsettled(chain) {
            let mut called = Vec::new();
            while let Some((target, _)) = next.next_if(|(_, by)| *by == rule.order) {
                let mut there = now.clone();
                rule.expressions.iter().for_each(|e| there.follow(e));
                let head = match heads.get(target) {
                    Some(known) => known.or(&there),
                    None => there,
                };
                heads.insert(*target, head);
                called.extend(writes.get(target).into_iter().flatten().copied());
            }
            let after = now.after(rule.expressions, &called);
            if now != Marks::default() {
                found.insert(rule.order, now);
            }
            now = after;
        }
    }
    found
}

/// Returns all reachable chains, each after those that lead to it.
fn order<'a, T>(entries: &[Key<'a>], steps: &HashMap<Key<'a>, Vec<(Key<'a>, T)>>) -> Vec<Key<'a>> {
    let mut seen = HashSet::new();
    let mut done = Vec::new();
    // A chain is pushed a second time to be noted once all it leads to are.
    let mut todo: Vec<(Key<'a>, bool)> = entries.iter().map(|key| (*key, false)).collect();
    while let Some((chain, left)) = todo.pop() {
        if left {
            done.push(chain);
        } else if seen.insert(chain) {
            todo.push((chain, true));
            let next = steps.get(&chain).into_iter().flatten();
            todo.extend(next.map(|(target, _)| (*target, false)));
        }
    }
    done.reverse();
    done
}
