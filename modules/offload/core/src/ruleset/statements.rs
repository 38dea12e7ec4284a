//! Conditions and effects of a rule's expressions.

use serde_json::Value;

use super::classes::{Class, class};
use super::finding::Kind;
use super::flags;

/// Part of a rule that must see each packet, or is worth knowing.
#[derive(Clone, Copy)]
pub(super) struct Sight<'a> {
    pub(super) kind: Kind,
    /// The object it was found in.
    pub(super) value: &'a Value,
    /// Number of the rule's expressions that select its packets: the finding applies to packets
    /// that match all of these.
    pub(super) asked: usize,
}

/// Looks up the statements of each element of a named set or map, by its name: a packet that finds
/// an element is subject to these statements, too.
pub(super) type Kept<'a, 'f> = &'f dyn Fn(&'a str) -> &'f [&'a Value];

/// Returns the statements of a rule that must see each packet, or deserve a notice; each kind once,
/// with its position.
pub(super) fn scan<'a>(expressions: &'a [Value], kept: Kept<'a, '_>) -> Vec<Sight<'a>> {
    let mut found: Vec<Sight<'a>> = Vec::new();
    for (place, statement) in expressions.iter().enumerate() {
        let mut add = |kind: Kind, value, tells: bool| {
            let asked = match tells {
                // A condition counts at the rule's effect: all other conditions up to there apply,
                // too.
                true => match effect(expressions, place) {
                    Some(asked) => asked,
                    None => return,
                },
                false => place,
            };
            if never_before(&expressions[..asked]) {
                return;
            }
            let sight = Sight { kind, value, asked };
            match found.iter_mut().find(|known| known.kind == kind) {
                // The one that more packets come to.
                Some(known) if known.asked > asked => *known = sight,
                Some(_) => {}
                None => found.push(sight),
            }
        };
        statement_sights(statement, kept, &mut add);
    }
    found
}

/// Returns the statements that a rule adds to elements of a named set, with the set's name.
pub(super) fn keeping(statement: &Value) -> Option<(&str, &Value)> {
    let (name, inner) = single(statement)?;
    if !matches!(name, "set" | "map") {
        return None;
    }
    let set = inner.get(name)?.as_str()?.strip_prefix('@')?;
    Some((set, inner.get("stmt")?))
}

/// Returns the statements of a value that is one statement or an array.
pub(super) fn each(statements: &Value) -> &[Value] {
    match statements {
        Value::Array(all) => all,
        one => std::slice::from_ref(one),
    }
}

/// Returns the position where a rule acts on a packet that its expressions up to `place` match.
/// `None`: the rule only counts.
fn effect(expressions: &[Value], place: usize) -> Option<usize> {
    let named = |value: &Value| -> Option<(String, bool)> {
        let (name, inner) = value.as_object()?.iter().next()?;
        Some((
            name.clone(),
            inner.get("type").and_then(Value::as_str) == Some("match"),
        ))
    };
    (place..expressions.len()).find(|at| {
        named(&expressions[*at]).is_none_or(|(name, asks)| match name.as_str() {
            "match" | "counter" | "last" | "comment" => false,
            "xt" => !asks,
            _ => true,
        })
    })
}

type Add<'a, 'f> = &'f mut dyn FnMut(Kind, &'a Value, bool);

/// Visits the effects of a statement, and the conditions of its expressions. The last argument of
/// `add`: true for a condition.
fn statement_sights<'a>(statement: &'a Value, kept: Kept<'a, '_>, add: Add<'a, '_>) {
    let Some((name, inner)) = single(statement) else {
        // A verdict alone, such as `"accept"`, or an unknown statement.
        let known = statement
            .as_str()
            .is_some_and(|name| class("statement", name) == Class::Constant);
        if !known {
            add(Kind::Unknown, statement, false);
        }
        return;
    };
    match name {
        "match" => {
            let (left, right) = (inner.get("left"), inner.get("right"));
            let operator = inner.get("op").and_then(Value::as_str).unwrap_or_default();
            if let (Some(left), Some(right)) = (left, right) {
                match flags::answer(left, operator, right) {
                    Some(flags::Answer::Varies) => add(Kind::Flags, left, true),
                    Some(_) => {}
                    None => expression_sights(left, kept, add),
                }
                expression_sights(right, kept, add);
            }
        }
        "mangle" => {
            if let Some(kind) = inner.get("key").and_then(written) {
                add(kind, statement, false);
            }
            inner
                .get("value")
                .into_iter()
                .for_each(|value| expression_sights(value, kept, add));
        }
        "xt" => match extension(inner) {
            Class::Each(kind) => {
                let asks = inner.get("type").and_then(Value::as_str) == Some("match");
                add(kind, statement, asks && !stateful(kind));
            }
            Class::Noted(kind) => add(kind, statement, false),
            _ => {}
        },
        "vmap" => ["key", "data"]
            .iter()
            .filter_map(|part| inner.get(part))
            .for_each(|part| expression_sights(part, kept, add)),
        // Elements that a packet adds, and statements that go with them.
        "set" | "map" | "meter" => {
            add(Kind::DynamicSet, statement, false);
            for value in inner.get("stmt").into_iter().flat_map(each) {
                statement_sights(value, kept, add);
            }
            let parts = ["elem", "key", "data"]
                .iter()
                .filter_map(|part| inner.get(part));
            parts.for_each(|part| expression_sights(part, kept, add));
        }
        _ => match class("statement", name) {
            Class::Each(kind) | Class::Noted(kind) => add(kind, statement, false),
            _ => {}
        },
    }
}

/// Visits the conditions of an expression, at any depth.
fn expression_sights<'a>(value: &'a Value, kept: Kept<'a, '_>, add: Add<'a, '_>) {
    let all = match value {
        Value::Array(all) => return all.iter().for_each(|one| expression_sights(one, kept, add)),
        Value::Object(all) => all,
        Value::String(text) => {
            let named = text.strip_prefix('@').map(kept).unwrap_or_default();
            return named
                .iter()
                .for_each(|one| statement_sights(one, kept, add));
        }
        _ => return,
    };
    for (name, inner) in all {
        let key = || inner.get("key").and_then(Value::as_str).unwrap_or_default();
        let class = match name.as_str() {
            "payload" => field(inner),
            "meta" | "ct" | "rt" => class(name, key()),
            // Operators, values, sets and verdicts: their operands count.
            "|" | "&" | "^" | "<<" | ">>" | "set" | "map" | "key" | "data" | "elem" | "val"
            | "expr" | "concat" => {
                expression_sights(inner, kept, add);
                continue;
            }
            "counter" => Class::Noted(Kind::Counter),
            "limit" => Class::Each(Kind::Limit),
            "quota" => Class::Each(Kind::Quota),
            "ct count" => Class::Each(Kind::ConnectionLimit),
            "prefix" | "range" | "addr" | "len" | "timeout" | "expires" | "comment" | "accept"
            | "drop" | "return" | "continue" | "jump" | "goto" | "elements" => continue,
            _ => {
                if name == "jhash" {
                    expression_sights(inner, kept, add);
                }
                class("expression", name)
            }
        };
        match class {
            Class::Each(kind) => add(kind, value, !stateful(kind)),
            Class::Noted(kind) => add(kind, value, false),
            _ => {}
        }
    }
}

/// Returns true if the expression keeps state that each packet changes, so that the rule's later
/// conditions do not matter.
fn stateful(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Limit
            | Kind::Quota
            | Kind::Numgen
            | Kind::ConnectionLimit
            | Kind::Recent
            | Kind::Unknown
            | Kind::Opaque
    )
}

/// Returns the class of a packet's field.
fn field(payload: &Value) -> Class {
    let word = |name| payload.get(name).and_then(Value::as_str);
    if payload.get("tunnel").is_some() {
        // Of the packet inside.
        return Class::Each(Kind::Payload);
    }
    if let (Some(protocol), Some(field)) = (word("protocol"), word("field")) {
        return class(&format!("payload {protocol}"), field);
    }
    let number = |name| payload.get(name).and_then(Value::as_u64);
    match (word("base"), number("offset"), number("len")) {
        // Both ports, in any slice.
        (Some("th"), Some(offset), Some(length)) if offset.saturating_add(length) <= 32 => {
            Class::Constant
        }
        _ => Class::Each(Kind::Payload),
    }
}

/// Returns the only field of an object, such as `{"match": …}`.
pub(super) fn single(value: &Value) -> Option<(&str, &Value)> {
    let (name, inner) = value.as_object()?.iter().next()?;
    Some((name, inner))
}

fn key(value: &Value) -> Option<&str> {
    value.get("key").and_then(Value::as_str)
}

/// Returns the kind of the field that a `mangle` statement writes.
fn written(target: &Value) -> Option<Kind> {
    if let Some(ct) = target.get("ct") {
        return (key(ct) == Some("zone")).then_some(Kind::Zone);
    }
    if let Some(payload) = target.get("payload") {
        let field = payload.get("field").and_then(Value::as_str);
        return match class("write", field.unwrap_or_default()) {
            Class::Noted(kind) | Class::Each(kind) => Some(kind),
            _ => None,
        };
    }
    if let Some(option) = target.get("tcp option") {
        // Only SYNs carry the segment size (RFC 9293, 3.7.1), and these are the kernel's.
        let size = option.get("name").and_then(Value::as_str) == Some("maxseg");
        return (!size).then_some(Kind::Rewrite);
    }
    // Marks and priorities are the kernel's own; extension headers are on the wire.
    target.get("exthdr").is_some().then_some(Kind::Rewrite)
}

/// Classifies an iptables extension (`xt`), by its name if nft lists one.
fn extension(inner: &Value) -> Class {
    match inner.get("name").and_then(Value::as_str) {
        Some(name) => class("xt", name),
        None => Class::Each(Kind::Opaque),
    }
}

/// Returns true if any string in a value is one of these.
fn mentions(value: &Value, words: &[&str]) -> bool {
    match value {
        Value::String(text) => words.contains(&text.as_str()),
        Value::Array(values) => values.iter().any(|inner| mentions(inner, words)),
        Value::Object(map) => map.values().any(|inner| mentions(inner, words)),
        _ => false,
    }
}

/// Returns true if all strings in a value are among these.
fn only(value: &Value, words: &[&str]) -> bool {
    match value {
        Value::String(text) => words.contains(&text.as_str()),
        Value::Array(values) => values.iter().all(|inner| only(inner, words)),
        Value::Object(map) => map.values().all(|inner| only(inner, words)),
        _ => false,
    }
}

fn is_ct_state(value: &Value) -> bool {
    value.get("ct").is_some_and(|ct| key(ct) == Some("state"))
}

/// Returns true if one of these conditions holds for no packet that would bypass the kernel: other
/// conntrack states only, or a SYN, FIN or RST.
pub(super) fn never_before(expressions: &[Value]) -> bool {
    expressions
        .iter()
        .filter_map(|expression| expression.get("match"))
        .any(|condition| {
            let (Some(left), Some(right)) = (condition.get("left"), condition.get("right")) else {
                return false;
            };
            let operator = condition.get("op").and_then(Value::as_str);
            if is_ct_state(left) {
                const STATES: [&str; 5] = ["new", "related", "invalid", "untracked", "established"];
                // A state that is not spelled in words (a named set, a number) is unknown.
                return only(right, &STATES)
                    && match operator {
                        Some("in" | "==") => !mentions(right, &["established"]),
                        Some("!=") => mentions(right, &["established"]),
                        _ => false,
                    };
            }
            flags::answer(left, operator.unwrap_or_default(), right) == Some(flags::Answer::Never)
        })
}

/// Way of every packet of an established connection at a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way<'a> {
    /// The way through the chains of this hook ends: `ct state established accept`, without other
    /// conditions.
    Ends,
    /// The packet continues in this chain.
    Visits(&'a str),
    /// The packet continues, or packets take different paths.
    Open,
}

/// Returns the path of established packets at a rule.
pub(super) fn way(expressions: &[Value]) -> Way<'_> {
    for expression in expressions {
        let Some((name, inner)) = single(expression) else {
            return Way::Open;
        };
        match name {
            "match" => {
                let state = inner.get("left").is_some_and(is_ct_state)
                    && matches!(inner.get("op").and_then(Value::as_str), Some("in" | "=="))
                    && inner
                        .get("right")
                        .is_some_and(|right| mentions(right, &["established"]));
                if !state {
                    return Way::Open;
                }
            }
            "counter" | "log" | "last" | "comment" => {}
            "xt" if inner.get("name").and_then(Value::as_str) == Some("comment") => {}
            "vmap" if inner.get("key").is_some_and(is_ct_state) => return map_way(inner),
            _ => return verdict(expression),
        }
    }
    Way::Open
}

fn verdict(value: &Value) -> Way<'_> {
    match single(value) {
        Some(("accept" | "drop", _)) => Way::Ends,
        Some(("jump" | "goto", inner)) => match inner.get("target").and_then(Value::as_str) {
            Some(target) => Way::Visits(target),
            None => Way::Open,
        },
        _ => Way::Open,
    }
}

/// Returns the path of established packets by a verdict map on the conntrack state.
fn map_way(map: &Value) -> Way<'_> {
    let elements = map
        .get("data")
        .and_then(|data| data.get("set"))
        .and_then(Value::as_array);
    elements
        .into_iter()
        .flatten()
        .filter_map(Value::as_array)
        .find_map(|pair| match pair.as_slice() {
            [state, to] if mentions(state, &["established"]) => Some(verdict(to)),
            _ => None,
        })
        .unwrap_or(Way::Open)
}

/// Returns true if a packet may leave the chain at this rule without a final verdict: by `return`,
/// `goto`, or an unknown map.
pub(super) fn may_leave(value: &Value) -> bool {
    match value {
        Value::Object(map) => map.iter().any(|(name, inner)| match name.as_str() {
            "return" | "goto" => true,
            "vmap" if inner.get("data").is_some_and(Value::is_string) => true,
            _ => may_leave(inner),
        }),
        Value::Array(all) => all.iter().any(may_leave),
        _ => false,
    }
}
