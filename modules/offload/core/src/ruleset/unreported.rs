//! Conditions of rules that change without a message: sets whose elements time out or are written
//! by packets, the time of day, extensions with a memory of their own. [`crate::ExpirySchedule`]
//! ends proofs when such a condition changes.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use kernel::SetName;
use serde_json::Value;

use super::classes::{Class, class};
use super::fields::RulesetError;
use super::finding::Kind;
use super::reach::{Key, Object, Rule, Ruleset};

/// Time zones differ by a multiple of this, seconds. So an edge is known to within a quarter of an
/// hour in any zone of `nft` or the kernel.
pub(crate) const QUARTER: u32 = 900;
/// Shortest interval at which the kernel has to see elements that packets keep alive, milliseconds.
const MOST_OFTEN: u64 = 250;
/// Extensions of iptables whose result changes by time, by other packets, or by a command without
/// notification; or that packets keep alive for other rules.
const MOODS: [&str; 8] = [
    "SET",
    "condition",
    "nfacct",
    "rateest",
    "recent",
    "set",
    "socket",
    "time",
];

/// Events that weir needs for every connection: end, closing, another status that rules may match,
/// and the mark. The begin and the first answer are not needed: until conntrack reports these, the
/// connection is the kernel's.
const EVENTS: [&str; 4] = ["destroy", "protoinfo", "assured", "mark"];
/// Events that weir needs only if rules contain one of these words.
const ASKED: [(&str, [&str; 3]); 2] = [
    ("label", ["label", "connlabel", "connlabels"]),
    ("secmark", ["secmark", "SECMARK", "CONNSECMARK"]),
];

/// Conditions for established connections whose change no message reports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnreportedConditions {
    /// Sets and maps in these conditions whose elements time out or are written by packets; `true`:
    /// by packets.
    pub sets: BTreeMap<SetName, bool>,
    /// The time of day, the day or the date decides: seconds of a quarter of an hour at which that
    /// may change.
    pub edges: BTreeSet<u32>,
    /// Packets keep elements alive: the kernel has to see one of each flow so often, milliseconds.
    pub keep_alive: Option<u64>,
    /// Conditions that weir cannot read, in words: proofs end each second.
    pub opaque: BTreeSet<String>,
    /// Unreadable conditions in rules that see each packet: the flows that these rules concern stay
    /// with the kernel, unless the settings ignore the rules.
    pub per_packet: BTreeSet<String>,
    /// True if conntrack hides events that weir needs, for some connections.
    pub hidden: bool,
}

impl UnreportedConditions {
    /// Applies the setting that ignores rules that see each packet: their conditions are opaque.
    #[must_use]
    pub fn ignoring(mut self) -> Self {
        self.opaque.append(&mut self.per_packet);
        self
    }

    /// Makes the result for an unknown ruleset.
    pub fn unknown(why: &str) -> Self {
        Self {
            opaque: BTreeSet::from([why.to_owned()]),
            ..Self::default()
        }
    }
}

/// Reads a ruleset, with the elements of sets or without, that was parsed ([`super::parse`]), and
/// perhaps spelled out ([`super::spell()`]).
///
/// # Errors
/// As for [`super::read`].
pub fn silent_in(root: &Value) -> Result<UnreportedConditions, RulesetError> {
    let wrong = |place: String, problem: String| RulesetError { place, problem };
    let objects = root
        .get("nftables")
        .and_then(Value::as_array)
        .ok_or_else(|| wrong("nftables".into(), "expected an array".into()))?;
    let ruleset = Ruleset::read(objects)?;
    let mut search = Search {
        declared: declared(objects),
        written: HashSet::new(),
        found: UnreportedConditions::default(),
        mentioned: HashSet::new(),
    };
    let rules = || {
        ruleset.objects.iter().filter_map(|object| match object {
            Object::Rule(rule) => Some(rule),
            _ => None,
        })
    };
    // Find the rules that write sets: a packet of any connection may do so.
    for rule in rules() {
        for expression in rule.expressions {
            writes(expression, &mut |name, _| {
                let (family, table, _) = rule.key();
                search.written.insert((family, table, name));
            });
        }
    }
    let mut reached: HashSet<Key<'_>> = ruleset.reached().into_keys().collect();
    // If the elements of a verdict map are not listed, it may lead to any chain of its table.
    let led: HashSet<(&str, &str)> = rules()
        .filter(|rule| reached.contains(&rule.key()) && !ruleset.settled(rule))
        .filter(|rule| search.leads_anywhere(rule))
        .map(|rule| (rule.home.family, rule.home.table))
        .collect();
    reached.extend(ruleset.objects.iter().filter_map(|object| match object {
        Object::Chain(chain) if chain.is_regular() => {
            let at = (chain.home.family, chain.home.table);
            led.contains(&at).then_some((at.0, at.1, chain.name))
        }
        _ => None,
    }));
    // The statement applies when a connection begins, even in a rule that established packets do
    // not reach.
    let needed: Vec<&str> = EVENTS
        .into_iter()
        .chain(ASKED.into_iter().filter_map(|(event, words)| {
            let asked = objects.iter().any(|object| says(object, &words));
            asked.then_some(event)
        }))
        .collect();
    for rule in rules() {
        let hides = |expression| hidden(expression, &needed);
        for events in rule.expressions.iter().filter_map(hides) {
            let what = format!(
                "connections of which `ct event set` leaves out {events}: no program is notified"
            );
            search.opaque(&what, class("ct", "event"), rule);
            search.found.hidden = true;
        }
    }
    search.found.opaque.extend(owned(objects, &ruleset));
    for rule in rules().filter(|rule| reached.contains(&rule.key()) && !ruleset.settled(rule)) {
        for expression in rule.expressions {
            search.look(expression, rule);
        }
    }
    Ok(search.finish())
}

/// Tables that go with the process that owns them (`flags owner`, without `persist`), in words: the
/// kernel removes them without notification (`nft_rcv_nl_event` in net/netfilter/nf_tables_api.c).
fn owned(objects: &[Value], ruleset: &Ruleset<'_>) -> Vec<String> {
    let hooked = |family: &str, name: &str| {
        ruleset.objects.iter().any(|object| match object {
            Object::Chain(chain) => {
                !chain.is_regular() && chain.home.family == family && chain.home.table == name
            }
            _ => false,
        })
    };
    let mut found = Vec::new();
    for table in objects.iter().filter_map(|object| object.get("table")) {
        let flags = table.get("flags");
        let flag = |word: &str| flags.is_some_and(|flags| says(flags, &[word]));
        if !flag("owner") || flag("persist") {
            continue;
        }
        let word = |key: &str| table.get(key).and_then(Value::as_str).unwrap_or_default();
        let (family, name) = (word("family"), word("name"));
        if hooked(family, name) {
            found.push(format!(
                "a table that is removed with its owner ({family} {name})"
            ));
        }
    }
    found
}

/// Names the needed events that a `ct event` statement leaves out; `None` for other statements.
fn hidden(statement: &Value, needed: &[&str]) -> Option<String> {
    let write = statement.get("mangle")?;
    if write.pointer("/key/ct/key").and_then(Value::as_str) != Some("event") {
        return None;
    }
    let told = write.get("value");
    let left_out = |event: &&&str| !told.is_some_and(|told| says(told, &[**event]));
    let left_out: Vec<String> = needed
        .iter()
        .filter(left_out)
        .map(|event| format!("`{event}`"))
        .collect();
    (!left_out.is_empty()).then(|| left_out.join(", "))
}

/// Returns true if one of these words is somewhere in the value.
fn says(value: &Value, words: &[&str]) -> bool {
    match value {
        Value::String(text) => words.contains(&text.as_str()),
        Value::Array(values) => values.iter().any(|inner| says(inner, words)),
        Value::Object(map) => map.values().any(|inner| says(inner, words)),
        _ => false,
    }
}

/// Properties of a set or map from its declaration.
#[derive(Clone, Copy, Default)]
struct Declared {
    /// Elements may time out.
    times: bool,
    /// Default timeout in seconds.
    timeout: Option<u64>,
    /// True if its values are verdicts, and are not listed.
    leads: bool,
}

fn declared(objects: &[Value]) -> HashMap<Key<'_>, Declared> {
    let mut found = HashMap::new();
    for object in objects {
        let Some(set) = object.get("set").or_else(|| object.get("map")) else {
            continue;
        };
        let text = |name| set.get(name).and_then(Value::as_str);
        let (Some(family), Some(table), Some(name)) = (text("family"), text("table"), text("name"))
        else {
            continue;
        };
        let timeout = set.get("timeout").and_then(Value::as_u64);
        let times = match set.get("flags") {
            Some(Value::String(flag)) => flag == "timeout",
            Some(Value::Array(flags)) => flags.iter().any(|flag| flag == "timeout"),
            _ => false,
        };
        let leads = text("map") == Some("verdict") && set.get("elem").is_none();
        found.insert(
            (family, table, name),
            Declared {
                times: times || timeout.is_some(),
                timeout,
                leads,
            },
        );
    }
    found
}

/// Calls for each statement that writes a set or map, with the name and the time for which elements
/// are refreshed: `None`: not refreshed, `Some(None)`: as declared.
fn writes<'a>(value: &'a Value, call: &mut dyn FnMut(&'a str, Option<Option<u64>>)) {
    match value {
        Value::Object(map) => {
            for (name, inner) in map {
                if let Some((set, refreshes)) = write(name, inner) {
                    call(set, refreshes);
                }
                writes(inner, call);
            }
        }
        Value::Array(values) => values.iter().for_each(|inner| writes(inner, call)),
        // A statement that this nft has no JSON for (1.0.6: `update @map { … }`).
        Value::String(text) => {
            let mut words = text.split_ascii_whitespace();
            let refreshes = match words.next() {
                Some("update") => Some(text.contains(" timeout ").then_some(1)),
                Some("add" | "delete") => None,
                _ => return,
            };
            if let Some(set) = words.next().and_then(|word| word.strip_prefix('@')) {
                call(set, refreshes);
            }
        }
        _ => {}
    }
}

/// Returns the statement, not the braces of an anonymous set.
fn write<'a>(name: &str, inner: &'a Value) -> Option<(&'a str, Option<Option<u64>>)> {
    if !matches!(name, "set" | "map") {
        return None;
    }
    let operation = inner.get("op")?.as_str()?;
    let set = inner.get(name)?.as_str()?.strip_prefix('@')?;
    let own = || inner.get("elem")?.get("elem")?.get("timeout")?.as_u64();
    Some((set, (operation == "update").then(own)))
}

struct Search<'a> {
    declared: HashMap<Key<'a>, Declared>,
    written: HashSet<Key<'a>>,
    mentioned: HashSet<Key<'a>>,
    found: UnreportedConditions,
}

impl<'a> Search<'a> {
    fn leads_anywhere(&self, rule: &Rule<'a>) -> bool {
        let leads = |name: &str| {
            let known = self
                .declared
                .get(&(rule.home.family, rule.home.table, name));
            known.is_some_and(|declared| declared.leads)
        };
        rule.expressions
            .iter()
            .filter_map(|expression| expression.get("vmap")?.get("data")?.as_str())
            .any(|data| data.strip_prefix('@').is_some_and(leads))
    }

    /// Collects the conditions of an expression.
    fn look(&mut self, value: &'a Value, rule: &Rule<'a>) {
        match value {
            Value::Object(map) => {
                for (name, inner) in map {
                    self.look_at(name, inner, rule);
                }
            }
            Value::Array(values) => values.iter().for_each(|inner| self.look(inner, rule)),
            Value::String(text) => match text.strip_prefix('@') {
                Some(name) => {
                    let (family, table, _) = rule.key();
                    self.mentioned.insert((family, table, name));
                }
                None => writes(value, &mut |set, refreshes| self.kept(set, refreshes, rule)),
            },
            _ => {}
        }
    }

    fn look_at(&mut self, name: &str, inner: &'a Value, rule: &Rule<'a>) {
        let key = inner.get("key").and_then(Value::as_str);
        match name {
            "match" => {
                let time = inner.get("left").and_then(|left| {
                    let key = left.get("meta")?.get("key")?.as_str()?;
                    matches!(key, "hour" | "day" | "time").then_some(key)
                });
                let edges = time.and_then(|key| edges(key, inner.get("right")?));
                match edges {
                    Some(edges) => self.found.edges.extend(edges),
                    None => inner
                        .as_object()
                        .into_iter()
                        .flat_map(|parts| parts.values())
                        .for_each(|part| self.look(part, rule)),
                }
            }
            "meta" if matches!(key, Some("hour" | "day" | "time")) => {
                self.opaque("the time of day", class("meta", "time"), rule);
            }
            "socket" => self.opaque("the open sockets", class("expression", "socket"), rule),
            "ct" if key == Some("expiration") => {
                self.opaque("ct expiration", class("ct", "expiration"), rule);
            }
            "xt" => match inner.get("name").and_then(Value::as_str) {
                None => {
                    let what = "an iptables extension without a name in nft";
                    self.opaque(what, Class::Each(Kind::Opaque), rule);
                }
                Some(name) if MOODS.contains(&name) => {
                    let what = format!("the iptables extension {name}");
                    self.opaque(&what, class("xt", name), rule);
                }
                Some(_) => {}
            },
            _ => match write(name, inner) {
                Some((set, refreshes)) => {
                    self.kept(set, refreshes, rule);
                    let parts = ["elem", "data", "stmt"];
                    let parts = parts.iter().filter_map(|part| inner.get(part));
                    parts.for_each(|part| self.look(part, rule));
                }
                None => self.look(inner, rule),
            },
        }
    }

    /// Records a condition of this class that weir cannot read.
    fn opaque(&mut self, what: &str, class: Class, rule: &Rule<'a>) {
        let (family, table, chain) = rule.key();
        let handle = rule.home.handle;
        let what = format!("{what} ({family} {table} {chain}, handle {handle})");
        match class {
            Class::Each(_) => self.found.per_packet.insert(what),
            _ => self.found.opaque.insert(what),
        };
    }

    /// Records that packets of forwarded connections keep elements of this set alive.
    fn kept(&mut self, set: &'a str, refreshes: Option<Option<u64>>, rule: &Rule<'a>) {
        let (family, table, _) = rule.key();
        let declared = self.declared.get(&(family, table, set));
        let Some(own) = refreshes else { return };
        if let Some(seconds) = own.or(declared.and_then(|declared| declared.timeout)) {
            let period = (seconds * 250).max(MOST_OFTEN);
            let known = self.found.keep_alive.unwrap_or(u64::MAX);
            self.found.keep_alive = Some(known.min(period));
        }
    }

    fn finish(mut self) -> UnreportedConditions {
        for key in &self.mentioned {
            let written = self.written.contains(key);
            let times = self.declared.get(key).is_some_and(|set| set.times);
            let (family, table, name) = key;
            if !written && !times {
                continue;
            }
            match format!("{family} {table} {name}").parse() {
                Ok(name) => drop(self.found.sets.insert(name, written)),
                Err(_) => drop(self.found.opaque.insert(format!("the set {name}"))),
            }
        }
        self.found
    }
}

/// Seconds at which a time match may change: a range holds to the end of its last second. `None`:
/// the times are unknown.
fn edges(key: &str, value: &Value) -> Option<BTreeSet<u32>> {
    if key == "day" {
        return Some(BTreeSet::from([0]));
    }
    match value {
        Value::String(text) => {
            let second = second(key, text)?;
            Some(BTreeSet::from([second % QUARTER, (second + 1) % QUARTER]))
        }
        Value::Array(values) => {
            let each: Option<Vec<_>> = values.iter().map(|inner| edges(key, inner)).collect();
            Some(each?.into_iter().flatten().collect())
        }
        Value::Object(map) if map.len() == 1 => {
            let inner = map.get("range").or_else(|| map.get("set"))?;
            edges(key, inner)
        }
        _ => None,
    }
}

/// Returns the second of the day of `HH:MM`, `HH:MM:SS`, and for `time` with a date before it.
fn second(key: &str, text: &str) -> Option<u32> {
    let clock = match key {
        "time" => text.split_once(' ')?.1,
        _ => text,
    };
    let mut parts = clock.split(':').map(|part| part.parse::<u32>().ok());
    let (hour, minute) = (parts.next()??, parts.next()??);
    let second = match parts.next() {
        Some(second) => second?,
        None => 0,
    };
    // A leap second, and no more.
    let sound = hour <= 24 && minute < 60 && second <= 60 && parts.next().is_none();
    sound.then_some((hour * 60 + minute) * 60 + second)
}
