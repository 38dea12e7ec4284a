//! Conclusions from the packet's mark about the mark that its connection had when the packet
//! arrived: rules restore the mark, and match it later.
//!
//! The analysis proceeds from rule to rule of a base chain and of the chains that it jumps to. Only
//! facts that hold on all paths are kept.

use std::slice;

use serde_json::Value;

use super::statements::{never_before, single};

/// Facts about marks at one place. Empty at the head of a base chain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Marks {
    /// Bits that are the same in both marks.
    same: u32,
    /// Bit masks: if all these bits of the packet's mark are 0, they were 0 in the connection's.
    empty: Vec<u32>,
    /// Bits of the connection's mark that may have changed.
    changed: u32,
}

/// Condition on the connection mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MarkTest {
    pub(super) mask: u32,
    pub(super) values: Vec<u32>,
    pub(super) negated: bool,
}

impl MarkTest {
    pub(super) fn holds(&self, mark: u32) -> bool {
        self.values.contains(&(mark & self.mask)) != self.negated
    }
}

/// Write of a statement into a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Write {
    /// Into the packet's: these bits are cleared, then turned over by the value.
    Packet { cleared: u32, value: u32 },
    /// Into the packet's, with these bits of the connection's mark.
    Restore { cleared: u32, taken: u32 },
    /// The written value is unknown.
    Unknown,
    /// These bits of the connection's mark may have changed.
    Connection(u32),
}

impl Marks {
    /// Turns a condition on the packet's mark into one on the connection's.
    pub(super) fn told(&self, mask: u32, values: &[u32], negated: bool) -> Option<MarkTest> {
        let zero = values == [0] && !negated;
        let empty = self.empty.iter().filter(|bits| zero && *bits & !mask == 0);
        let bits = empty.fold(mask & self.same, |all, bits| all | bits);
        // If not all bits match, some of them are unknown.
        (bits != 0 && (!negated || bits == mask)).then(|| MarkTest {
            mask: bits,
            values: values.iter().map(|value| value & bits).collect(),
            negated,
        })
    }

    fn is_empty_with(&self, bits: u32) -> bool {
        bits & !self.same == 0 || self.empty.contains(&bits)
    }

    /// Merges the facts of two ways: keeps those that hold on both.
    pub(super) fn or(&self, other: &Self) -> Self {
        let either = self.empty.iter().chain(&other.empty);
        let mut empty: Vec<u32> = either
            .copied()
            .filter(|bits| self.is_empty_with(*bits) && other.is_empty_with(*bits))
            .collect();
        empty.sort_unstable();
        empty.dedup();
        Self {
            same: self.same & other.same,
            empty,
            changed: self.changed | other.changed,
        }
    }

    /// Returns the marks after a statement.
    fn written(&self, write: Write) -> Self {
        let mut now = self.clone();
        match write {
            Write::Packet { cleared, value } => {
                let touched = cleared | value;
                now.same &= !touched;
                // If one of the bits is 1 for sure, the bits cannot all be 0.
                let kept = |bits: &u32| bits & touched == 0 || bits & cleared & value != 0;
                now.empty = self.with_same().filter(kept).collect();
            }
            Write::Restore { cleared, taken } => {
                let restored = cleared & taken & !self.changed;
                let kept = !(cleared | taken);
                now.same = (self.same & kept) | restored;
                now.empty.retain(|bits| bits & !kept == 0);
            }
            Write::Unknown => {
                now.same = 0;
                now.empty.clear();
            }
            Write::Connection(bits) => now.changed |= bits,
        }
        now
    }

    /// Returns all masks of empty bits, also those that follow from equal bits.
    fn with_same(&self) -> impl Iterator<Item = u32> + '_ {
        let same = (self.same != 0).then_some(self.same);
        self.empty.iter().copied().chain(same)
    }

    /// Updates the marks after an expression of a rule that matched so far.
    pub(super) fn follow(&mut self, expression: &Value) {
        if let Some(write) = write(expression) {
            *self = self.written(write);
        }
    }

    /// Updates the marks after a rule, for packets that continue with the next rule. `called`:
    /// marks written by the chains that the rule may jump to.
    pub(super) fn after(&self, expressions: &[Value], called: &[Write]) -> Self {
        let mut now = self.clone();
        // Packets that an expression did not match, and which bits of theirs are not all 0 then.
        let mut left: Vec<(Self, Option<u32>)> = Vec::new();
        let mut comes_through = true;
        for expression in expressions {
            if asks(expression) {
                left.push((now.clone(), zero(expression)));
            }
            if never_before(slice::from_ref(expression)) {
                comes_through = false;
                break;
            }
            now.follow(expression);
        }
        for write in called {
            now = now.or(&now.written(*write));
        }
        let left = left.into_iter().map(|(mut here, unlike)| {
            if let Some(bits) = unlike {
                // So all facts about zero bits hold.
                let known = now.with_same().filter(|known| bits & !known == 0);
                here.empty.extend(known.chain([bits]));
            }
            here
        });
        let through = comes_through.then(|| now.clone());
        let all = left.chain(through).reduce(|all, here| all.or(&here));
        all.unwrap_or_default()
    }
}

/// Returns true if some packets may not pass an expression.
fn asks(expression: &Value) -> bool {
    single(expression).is_none_or(|(name, inner)| match name {
        "mangle" | "counter" | "last" | "comment" | "jump" => false,
        "xt" => {
            let word = |name: &str| inner.get(name).and_then(Value::as_str);
            word("type") == Some("match") && word("name") != Some("comment")
        }
        _ => true,
    })
}

/// Returns the bits that a condition requires to be 0 in the packet's mark.
fn zero(expression: &Value) -> Option<u32> {
    let asked = expression.get("match")?;
    let (mask, connection) = mark_of(asked.get("left")?)?;
    let operator = asked.get("op")?.as_str()?;
    let zero = operator == "==" && asked.get("right")?.as_u64() == Some(0);
    (zero && !connection).then_some(mask)
}

/// Returns the bits of a mark in an expression, and true if the mark is the connection's.
pub(super) fn mark_of(value: &Value) -> Option<(u32, bool)> {
    if let Some([inner, mask]) = operands(value, "&") {
        let (known, connection) = mark_of(inner)?;
        return Some((known & number(mask)?, connection));
    }
    let is_mark = |of: &str| value.get(of)?.get("key")?.as_str().map(|key| key == "mark");
    match (is_mark("ct"), is_mark("meta")) {
        (Some(true), _) => Some((u32::MAX, true)),
        (_, Some(true)) => Some((u32::MAX, false)),
        _ => None,
    }
}

fn operands<'a>(value: &'a Value, operator: &str) -> Option<&'a [Value; 2]> {
    value.get(operator)?.as_array()?.as_slice().try_into().ok()
}

fn number(value: &Value) -> Option<u32> {
    u32::try_from(value.as_u64()?).ok()
}

/// Returns the write of a statement into marks.
pub(super) fn write(expression: &Value) -> Option<Write> {
    let (name, inner) = single(expression)?;
    match name {
        "mangle" => {
            let (_, connection) = mark_of(inner.get("key")?)?;
            let value = inner.get("value")?;
            Some(match connection {
                true => Write::Connection(connection_bits(value)),
                false => packet(value).unwrap_or(Write::Unknown),
            })
        }
        // `queue` and `tproxy` can set another mark.
        "queue" | "tproxy" => Some(Write::Unknown),
        "xt" => {
            let word = |name: &str| inner.get(name).and_then(Value::as_str);
            let harmless = matches!(word("name"), Some("LOG" | "NFLOG" | "comment"));
            (word("type") != Some("match") && !harmless).then_some(Write::Unknown)
        }
        _ => None,
    }
}

/// Returns the bits of the connection's mark that may change when this value is written into it.
fn connection_bits(value: &Value) -> u32 {
    let bits = || {
        let [kept, more] = operands(value, "^").or_else(|| operands(value, "|"))?;
        let (kept, true) = mark_of(kept)? else {
            return None;
        };
        let more = number(more).or_else(|| Some(mark_of(more)?.0))?;
        Some(!kept | more)
    };
    bits().unwrap_or(u32::MAX)
}

/// Returns the write into the packet's mark.
fn packet(value: &Value) -> Option<Write> {
    if let Some(value) = number(value) {
        let cleared = u32::MAX;
        return Some(Write::Packet { cleared, value });
    }
    if let Some((taken, true)) = mark_of(value) {
        let cleared = u32::MAX;
        return Some(Write::Restore { cleared, taken });
    }
    if let Some((kept, false)) = mark_of(value) {
        return Some(Write::Packet {
            cleared: !kept,
            value: 0,
        });
    }
    if let Some([kept, more]) = operands(value, "|") {
        let (kept, false) = mark_of(kept)? else {
            return None;
        };
        let value = number(more)?;
        let cleared = !kept | value;
        return Some(Write::Packet { cleared, value });
    }
    let [kept, more] = operands(value, "^")?;
    let (kept, false) = mark_of(kept)? else {
        return None;
    };
    let cleared = !kept;
    match (number(more), mark_of(more)) {
        (Some(value), _) => Some(Write::Packet { cleared, value }),
        (_, Some((taken, true))) => Some(Write::Restore { cleared, taken }),
        _ => None,
    }
}
