//! Matches on TCP flags, evaluated for the packets that may bypass the kernel: those with ACK, and
//! without SYN, FIN and RST.

use serde_json::Value;

/// FIN, SYN, RST and ACK, which are the same in all such packets.
const FIXED: u8 = 0x17;
/// Flags that are set in these packets.
const SET: u8 = 0x10;

/// The answer to a match, of packets that may be forwarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// No packet matches.
    Never,
    /// All packets match.
    Always,
    /// The answer depends on the packet.
    Varies,
}

impl Answer {
    fn negated(self) -> Self {
        match self {
            Self::Never => Self::Always,
            Self::Always => Self::Never,
            Self::Varies => Self::Varies,
        }
    }
}

/// Returns the answer of a `match` on TCP flags; `None` for other matches.
pub(super) fn answer(left: &Value, operator: &str, right: &Value) -> Option<Answer> {
    let mask = mask(left)?;
    let Some(mask) = mask else {
        return Some(Answer::Varies);
    };
    if let Some(set) = right.get("set").and_then(Value::as_array) {
        let all: Vec<Answer> = set.iter().map(|one| equal(mask, one)).collect();
        let found = if all.contains(&Answer::Always) {
            Answer::Always
        } else if all.iter().all(|one| *one == Answer::Never) {
            Answer::Never
        } else {
            Answer::Varies
        };
        return match operator {
            "==" | "in" => Some(found),
            "!=" => Some(found.negated()),
            _ => Some(Answer::Varies),
        };
    }
    Some(match operator {
        "==" => equal(mask, right),
        "!=" => equal(mask, right).negated(),
        "in" => any(mask, right),
        "!" => any(mask, right).negated(),
        _ => Answer::Varies,
    })
}

/// Returns the matched flags; `None` if the expression does not match TCP's flags, `Some(None)` if
/// the mask cannot be read.
fn mask(left: &Value) -> Option<Option<u8>> {
    if let Some(payload) = left.get("payload") {
        let word = |name| payload.get(name).and_then(Value::as_str);
        let outer = payload.get("tunnel").is_none();
        return (outer && word("protocol") == Some("tcp") && word("field") == Some("flags"))
            .then_some(Some(0xff));
    }
    let [inner, by] = left.get("&")?.as_array()?.as_slice() else {
        return None;
    };
    mask(inner).map(|known| Some(known? & bits(by)?))
}

/// Evaluates `flags & mask == right`.
fn equal(mask: u8, right: &Value) -> Answer {
    match bits(right) {
        None => Answer::Varies,
        Some(bits) if bits & !mask != 0 || (bits ^ SET) & FIXED & mask != 0 => Answer::Never,
        Some(_) if mask & !FIXED == 0 => Answer::Always,
        Some(_) => Answer::Varies,
    }
}

/// Evaluates `flags & mask & right != 0`.
fn any(mask: u8, right: &Value) -> Answer {
    match bits(right).map(|bits| bits & mask) {
        Some(bits) if bits & SET != 0 => Answer::Always,
        Some(bits) if bits & !FIXED == 0 => Answer::Never,
        _ => Answer::Varies,
    }
}

/// Flags as a number, a name, or several of these.
fn bits(value: &Value) -> Option<u8> {
    match value {
        Value::Number(number) => u8::try_from(number.as_u64()?).ok(),
        Value::String(name) => Some(match name.as_str() {
            "fin" => 0x01,
            "syn" => 0x02,
            "rst" => 0x04,
            "psh" => 0x08,
            "ack" => 0x10,
            "urg" => 0x20,
            "ecn" => 0x40,
            "cwr" => 0x80,
            _ => return None,
        }),
        Value::Array(all) => all.iter().try_fold(0, |sum, one| Some(sum | bits(one)?)),
        Value::Object(_) => value.get("|").and_then(bits),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn flags() -> Value {
        json!({"payload": {"protocol": "tcp", "field": "flags"}})
    }

    #[test]
    fn what_packets_with_ack_alone_say() {
        use Answer::{Always, Never, Varies};
        let all = json!(["fin", "syn", "rst", "psh", "ack", "urg"]);
        let masked = |mask: Value| json!({"&": [flags(), mask]});
        for (left, operator, right, answer_is) in [
            (flags(), "in", json!("syn"), Never),
            (flags(), "in", json!(["syn", "rst"]), Never),
            (flags(), "in", json!(["syn", "ack"]), Always),
            (flags(), "in", json!("psh"), Varies),
            (flags(), "!", json!("syn"), Always),
            (flags(), "!", json!("psh"), Varies),
            (flags(), "==", json!("syn"), Never),
            (flags(), "==", json!(["psh", "ack"]), Varies),
            (flags(), "==", json!(0), Never),
            (masked(json!(["syn", "rst"])), "==", json!("syn"), Never),
            (
                masked(json!(["fin", "syn", "rst", "ack"])),
                "!=",
                json!("syn"),
                Always,
            ),
            (masked(json!(["fin", "syn"])), "==", json!(0), Always),
            (
                masked(json!({"|": ["fin", "ack"]})),
                "==",
                json!("fin"),
                Never,
            ),
            (
                masked(all.clone()),
                "==",
                json!(["fin", "psh", "urg"]),
                Never,
            ),
            (masked(all), "==", json!(["ack", "urg"]), Varies),
            (masked(json!("@mask")), "==", json!("syn"), Varies),
            (
                flags(),
                "==",
                json!({"set": ["syn", ["syn", "ack"]]}),
                Never,
            ),
            (flags(), "!=", json!({"set": ["syn", "rst"]}), Always),
            (flags(), "==", json!({"set": ["syn", "ack"]}), Varies),
            (flags(), "==", json!("@named"), Varies),
            (flags(), "<", json!(3), Varies),
        ] {
            assert_eq!(
                answer(&left, operator, &right),
                Some(answer_is),
                "{left} {operator} {right}"
            );
        }
        let port = json!({"payload": {"protocol": "tcp", "field": "dport"}});
        assert_eq!(answer(&port, "==", &json!(22)), None);
    }
}
