//! What a rule's expressions ask and do.

use serde_json::Value;

use super::Kind;

/// The statements of a rule that must see each packet, or are worth knowing; each kind once, with where it was found.
pub(super) fn scan(expressions: &[Value]) -> Vec<(Kind, &Value)> {
    let mut found: Vec<(Kind, &Value)> = Vec::new();
    for expression in expressions {
        visit(expression, &mut |name, inner, whole| {
            if let Some(kind) = kind(name, inner)
                && !found.iter().any(|(known, _)| *known == kind)
            {
                found.push((kind, whole));
            }
        });
    }
    found
}

/// Calls for each field of each object, however deep: name, value, and the object it is in.
fn visit<'a>(value: &'a Value, call: &mut dyn FnMut(&str, &'a Value, &'a Value)) {
    match value {
        Value::Object(map) => {
            for (name, inner) in map {
                call(name, inner, value);
                visit(inner, call);
            }
        }
        Value::Array(values) => values.iter().for_each(|inner| visit(inner, call)),
        _ => {}
    }
}

fn key(value: &Value) -> Option<&str> {
    value.get("key").and_then(Value::as_str)
}

fn kind(name: &str, inner: &Value) -> Option<Kind> {
    Some(match name {
        "limit" => Kind::Limit,
        "quota" => Kind::Quota,
        "numgen" => Kind::Numgen,
        "log" => Kind::Log,
        "meta" if matches!(key(inner), Some("time" | "day" | "hour")) => Kind::Time,
        "ct" if matches!(key(inner), Some("bytes" | "packets" | "avgpkt")) => Kind::CountedBytes,
        "ct count" => Kind::ConnectionLimit,
        "queue" => Kind::Queue,
        "tproxy" => Kind::Tproxy,
        "synproxy" => Kind::Synproxy,
        "dup" => Kind::Duplicate,
        "counter" | "last" => Kind::Counter,
        "notrack" => Kind::Notrack,
        // The statement, not the braces of an anonymous set.
        "set" | "map"
            if matches!(
                inner.get("op").and_then(Value::as_str),
                Some("add" | "update")
            ) =>
        {
            Kind::DynamicSet
        }
        "meter" => Kind::DynamicSet,
        "mangle" => return written(inner.get("key")?),
        "xt" => return extension(inner),
        _ => return None,
    })
}

/// What a `mangle` statement writes.
fn written(target: &Value) -> Option<Kind> {
    if let Some(ct) = target.get("ct") {
        return (key(ct) == Some("zone")).then_some(Kind::Zone);
    }
    if let Some(payload) = target.get("payload") {
        let field = payload.get("field").and_then(Value::as_str);
        let compared = matches!(
            field,
            Some("dscp" | "ttl" | "hoplimit" | "saddr" | "daddr" | "sport" | "dport")
        );
        return Some(if compared {
            Kind::Remark
        } else {
            Kind::Rewrite
        });
    }
    // Marks and priorities are the kernel's own; options and extension headers are on the wire.
    (target.get("tcp option").is_some() || target.get("exthdr").is_some()).then_some(Kind::Rewrite)
}

/// An iptables extension (`xt`), by its name where nft tells one.
fn extension(inner: &Value) -> Option<Kind> {
    let Some(name) = inner.get("name").and_then(Value::as_str) else {
        return Some(Kind::Opaque);
    };
    Some(match name {
        "limit" | "hashlimit" | "rateest" => Kind::Limit,
        "quota" | "quota2" => Kind::Quota,
        "statistic" => Kind::Numgen,
        // In lower case, those of ebtables.
        "LOG" | "NFLOG" | "ULOG" | "log" | "nflog" => Kind::Log,
        "time" => Kind::Time,
        "connbytes" => Kind::CountedBytes,
        "connlimit" => Kind::ConnectionLimit,
        "NFQUEUE" => Kind::Queue,
        "TPROXY" => Kind::Tproxy,
        "SYNPROXY" => Kind::Synproxy,
        "TEE" => Kind::Duplicate,
        "TTL" | "HL" | "DSCP" | "TOS" => Kind::Remark,
        "TCPOPTSTRIP" | "ECN" | "CHECKSUM" => Kind::Rewrite,
        "recent" | "SET" => Kind::DynamicSet,
        "string" | "u32" | "bpf" | "length" => Kind::Opaque,
        _ => return None,
    })
}

/// Whether any string in a value is one of these.
fn mentions(value: &Value, words: &[&str]) -> bool {
    match value {
        Value::String(text) => words.contains(&text.as_str()),
        Value::Array(values) => values.iter().any(|inner| mentions(inner, words)),
        Value::Object(map) => map.values().any(|inner| mentions(inner, words)),
        _ => false,
    }
}

/// Whether all strings in a value are among these.
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

fn is_tcp_flags(value: &Value) -> bool {
    let own = value.get("payload").is_some_and(|payload| {
        payload.get("protocol").and_then(Value::as_str) == Some("tcp")
            && payload.get("field").and_then(Value::as_str) == Some("flags")
    });
    own || value
        .get("&")
        .and_then(Value::as_array)
        .and_then(|both| both.first())
        .is_some_and(is_tcp_flags)
}

/// Whether a rule matches no packet that would be forwarded past the kernel: other conntrack states only, or a SYN, FIN or RST.
pub(super) fn never_established(expressions: &[Value]) -> bool {
    const KERNEL_FLAGS: [&str; 3] = ["syn", "fin", "rst"];
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
                // What is not spelled in words (a named set, a number) is not known.
                return only(right, &STATES)
                    && match operator {
                        Some("in" | "==") => !mentions(right, &["established"]),
                        Some("!=") => mentions(right, &["established"]),
                        _ => false,
                    };
            }
            is_tcp_flags(left)
                && match operator {
                    Some("in") => only(right, &KERNEL_FLAGS),
                    Some("==") => mentions(right, &KERNEL_FLAGS),
                    _ => false,
                }
        })
}

/// Whether a rule ends the way of every packet of an established connection through its chain: `ct state established accept`, or
/// the same as a verdict map, with nothing else asked.
pub(super) fn settles_established(expressions: &[Value]) -> bool {
    let mut asked = false;
    for expression in expressions {
        let Some((name, inner)) = expression
            .as_object()
            .and_then(|object| object.iter().next())
        else {
            return false;
        };
        match name.as_str() {
            "match" => {
                let state = inner.get("left").is_some_and(is_ct_state)
                    && matches!(inner.get("op").and_then(Value::as_str), Some("in" | "=="))
                    && inner
                        .get("right")
                        .is_some_and(|right| mentions(right, &["established"]));
                if !state {
                    return false;
                }
                asked = true;
            }
            "counter" | "log" => {}
            "accept" | "drop" => return asked,
            "vmap" => return inner.get("key").is_some_and(is_ct_state) && map_settles(inner),
            _ => return false,
        }
    }
    false
}

/// Whether a verdict map on the conntrack state accepts or drops what is established.
fn map_settles(map: &Value) -> bool {
    let Some(elements) = map
        .get("data")
        .and_then(|data| data.get("set"))
        .and_then(Value::as_array)
    else {
        return false;
    };
    elements
        .iter()
        .filter_map(Value::as_array)
        .any(|pair| match pair.as_slice() {
            [state, verdict] => {
                mentions(state, &["established"])
                    && (verdict.get("accept").is_some() || verdict.get("drop").is_some())
            }
            _ => false,
        })
}
