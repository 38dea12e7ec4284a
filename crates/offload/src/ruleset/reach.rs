//! Which rules packets of an established, forwarded connection come by.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::{Fields, Home, Kind, RulesetError, statements};

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
    /// A chain of a device, ingress (also in family inet) or egress; or one of bridges.
    pub(super) fn at_device(&self) -> Option<Kind> {
        match self.hook {
            Some("ingress") => Some(Kind::IngressChain),
            Some("egress") => Some(Kind::EgressChain),
            Some(_) if self.home.family == "bridge" => Some(Kind::BridgeChain),
            _ => None,
        }
    }

    /// Whether packets come here from other chains only.
    pub(super) fn is_regular(&self) -> bool {
        self.hook.is_none()
    }

    /// Whether packets of established, forwarded connections enter here. Chains of type nat see only the first packet.
    fn entry(&self) -> bool {
        let forwarded = match self.home.family {
            "ip" | "ip6" | "inet" | "netdev" => matches!(
                self.hook,
                Some("prerouting" | "forward" | "postrouting" | "ingress" | "egress")
            ),
            // What is routed comes up to the bridge and goes down from it; what is bridged weir leaves alone.
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
    /// Its place among all objects.
    order: usize,
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
    /// Elements of named maps: verdicts may be in them.
    maps: HashMap<Key<'a>, &'a Value>,
    /// The first rule of a chain that ends the way of established connections there: its order.
    settles: HashMap<Key<'a>, usize>,
}

impl<'a> Ruleset<'a> {
    /// From the array under `nftables`. Dormant tables are passed over.
    pub(super) fn read(values: &'a [Value]) -> Result<Self, RulesetError> {
        let mut ruleset = Self {
            objects: Vec::new(),
            maps: HashMap::new(),
            settles: HashMap::new(),
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
                "table" | "chain" | "rule" | "map" | "flowtable"
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
            ruleset.add(kind, &fields, home, order)?;
        }
        Ok(ruleset)
    }

    fn add(
        &mut self,
        kind: &str,
        fields: &Fields<'a>,
        home: Home<'a>,
        order: usize,
    ) -> Result<(), RulesetError> {
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
                if let Some(elements) = fields.map.get("elem") {
                    self.maps
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
                    order,
                };
                if statements::settles_established(expressions) {
                    self.settles.entry(rule.key()).or_insert(order);
                }
                self.objects.push(Object::Rule(rule));
            }
        }
        Ok(())
    }

    /// Whether established connections never come to this rule: another conntrack state or TCP flag is asked for, or a rule before
    /// it in its chain decides for them.
    pub(super) fn settled(&self, rule: &Rule<'a>) -> bool {
        self.settles
            .get(&rule.key())
            .is_some_and(|order| *order < rule.order)
            || statements::never_established(rule.expressions)
    }

    /// All chains that packets of established, forwarded connections may come to.
    pub(super) fn reached(&self) -> HashSet<Key<'a>> {
        let mut targets: HashMap<Key<'a>, Vec<Key<'a>>> = HashMap::new();
        let mut todo = Vec::new();
        for object in &self.objects {
            match object {
                Object::Chain(chain) if chain.entry() => {
                    todo.push((chain.home.family, chain.home.table, chain.name));
                }
                Object::Rule(rule) if !self.settled(rule) => {
                    let found = targets.entry(rule.key()).or_default();
                    let (family, table) = (rule.home.family, rule.home.table);
                    for value in rule.expressions {
                        self.targets(value, family, table, found);
                    }
                }
                _ => {}
            }
        }
        let mut reached = HashSet::new();
        while let Some(chain) = todo.pop() {
            if reached.insert(chain) {
                todo.extend(targets.get(&chain).into_iter().flatten().copied());
            }
        }
        reached
    }

    /// The chains that an expression may jump or go to, through named maps too.
    fn targets(&self, value: &'a Value, family: &'a str, table: &'a str, found: &mut Vec<Key<'a>>) {
        match value {
            Value::Object(map) => {
                for (name, inner) in map {
                    let target = inner.get("target").and_then(Value::as_str);
                    match (name.as_str(), target) {
                        ("jump" | "goto", Some(target)) => found.push((family, table, target)),
                        _ => self.targets(inner, family, table, found),
                    }
                }
            }
            Value::Array(values) => values
                .iter()
                .for_each(|inner| self.targets(inner, family, table, found)),
            Value::String(text) => {
                // Elements hold verdicts, not names of other maps: no further than one step.
                if let Some(name) = text.strip_prefix('@')
                    && let Some(Value::Array(elements)) = self.maps.get(&(family, table, name))
                {
                    elements
                        .iter()
                        .filter(|element| !element.is_string())
                        .for_each(|element| {
                            self.verdicts(element, family, table, found);
                        });
                }
            }
            _ => {}
        }
    }

    /// The jumps in elements of a map.
    fn verdicts(
        &self,
        value: &'a Value,
        family: &'a str,
        table: &'a str,
        found: &mut Vec<Key<'a>>,
    ) {
        match value {
            Value::Object(map) => map.iter().for_each(|(name, inner)| {
                match (name.as_str(), inner.get("target").and_then(Value::as_str)) {
                    ("jump" | "goto", Some(target)) => found.push((family, table, target)),
                    _ => self.verdicts(inner, family, table, found),
                }
            }),
            Value::Array(values) => values
                .iter()
                .for_each(|inner| self.verdicts(inner, family, table, found)),
            _ => {}
        }
    }
}
