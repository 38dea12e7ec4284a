//! Simulates a guest's packet in foreign rules, as far as their text allows: pure. The result is
//! never certain if a rule is not recognised, or depends on state outside the text.

use std::collections::HashMap;

use serde_json::Value;

/// A first packet that a guest sends.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// Ingress device.
    pub device: &'a str,
    /// `tcp` or `udp`.
    pub protocol: &'a str,
    /// Destination port.
    pub port: u16,
    /// True if the packet was redirected.
    pub redirected: bool,
}

/// Result of matching a packet against an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Match {
    No,
    /// The result is unknown.
    Maybe,
    /// The packet matches for some destinations, and the guest chooses the destination.
    Some,
    Yes,
}

/// Possible outcomes of a packet in a chain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Outcome {
    passes: bool,
    ends: bool,
    /// The packet reaches the end of the chain.
    goes_on: bool,
}

impl Outcome {
    const PASSES: Self = Self {
        passes: true,
        ends: false,
        goes_on: false,
    };
    const ENDS: Self = Self {
        passes: false,
        ends: true,
        goes_on: false,
    };

    fn add(&mut self, other: Self) {
        self.passes |= other.passes;
        self.ends |= other.ends;
    }
}

/// A chain at a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseChain {
    /// `inet fw4`.
    pub table: String,
    /// Name of the chain.
    pub name: String,
    /// `filter`, `nat`.
    pub kind: String,
    hook: String,
    /// Lower is earlier.
    pub priority: i64,
    drops: bool,
}

/// Jumps nest no deeper in the kernel.
const NESTED: usize = 16;

/// A ruleset.
#[derive(Debug, Default)]
pub struct Ruleset {
    bases: Vec<BaseChain>,
    rules: HashMap<(String, String), Vec<Vec<Value>>>,
}

impl Ruleset {
    /// Reads the output of `nft --json list ruleset`; skips chains of bridges and single devices,
    /// and the table with this name.
    pub fn read(text: &str, without: &str) -> Self {
        let root: Value = serde_json::from_str(text).unwrap_or_default();
        let mut ruleset = Self::default();
        let objects = root.get("nftables").and_then(Value::as_array);
        for object in objects.into_iter().flatten() {
            let of = |body: &Value, key: &str| -> String {
                let text = body.get(key).and_then(Value::as_str);
                text.unwrap_or_default().to_owned()
            };
            let home = |body: &Value| -> Option<String> {
                let (family, table) = (of(body, "family"), of(body, "table"));
                let seen = matches!(family.as_str(), "inet" | "ip") && table != without;
                seen.then(|| format!("{family} {table}"))
            };
            if let Some(chain) = object.get("chain")
                && let Some(table) = home(chain)
                && chain.get("hook").is_some()
            {
                ruleset.bases.push(BaseChain {
                    table,
                    name: of(chain, "name"),
                    kind: of(chain, "type"),
                    hook: of(chain, "hook"),
                    priority: chain.get("prio").and_then(Value::as_i64).unwrap_or(0),
                    drops: of(chain, "policy") == "drop",
                });
            }
            if let Some(rule) = object.get("rule")
                && let Some(table) = home(rule)
            {
                let expressions = rule.get("expr").and_then(Value::as_array);
                let all = ruleset.rules.entry((table, of(rule, "chain"))).or_default();
                all.push(expressions.cloned().unwrap_or_default());
            }
        }
        ruleset
    }

    /// Chains at a hook.
    pub fn at(&self, hook: &str) -> impl Iterator<Item = &BaseChain> {
        self.bases.iter().filter(move |base| base.hook == hook)
    }

    /// Returns true if the chain certainly refuses the packet.
    pub fn refuses(&self, base: &BaseChain, packet: &Packet<'_>) -> bool {
        let mut done = Vec::new();
        let outcome = self.walk((&base.table, &base.name), packet, NESTED, &mut done);
        !outcome.passes && (!outcome.goes_on || base.drops)
    }

    /// Returns true if the chain does one of these to the packet, or to one to another address.
    pub fn does(&self, base: &BaseChain, packet: &Packet<'_>, wanted: &[&str]) -> bool {
        let mut done = Vec::new();
        self.walk((&base.table, &base.name), packet, NESTED, &mut done);
        done.iter().any(|done| wanted.contains(&done.as_str()))
    }

    /// Walks through a chain; `done`: statements that the packet certainly reaches.
    fn walk(
        &self,
        (table, chain): (&str, &str),
        packet: &Packet<'_>,
        deep: usize,
        done: &mut Vec<String>,
    ) -> Outcome {
        let rules = self.rules.get(&(table.to_owned(), chain.to_owned()));
        let mut outcome = Outcome::default();
        for rule in rules.into_iter().flatten() {
            let mut matches = Match::Yes;
            for (kind, body) in rule
                .iter()
                .filter_map(|statement| statement.as_object()?.iter().next())
            {
                if matches == Match::No {
                    break;
                }
                let mut verdict = (kind.as_str(), body);
                match kind.as_str() {
                    "match" => {
                        matches = matches.min(condition(body, packet));
                        continue;
                    }
                    "vmap" => match mapped(body, packet) {
                        Some(found) => verdict = found,
                        None if is_known(body) => continue,
                        // The target is unknown.
                        None => {
                            outcome.add(Outcome::PASSES);
                            matches = matches.min(Match::Maybe);
                            continue;
                        }
                    },
                    _ => {}
                }
                let sure = matches >= Match::Some;
                let target = || verdict.1.get("target").and_then(Value::as_str);
                let ended = match verdict.0 {
                    "accept" | "redirect" | "dnat" | "snat" | "masquerade" | "queue" => {
                        Outcome::PASSES
                    }
                    "drop" | "reject" => Outcome::ENDS,
                    "return" | "continue" => Outcome {
                        goes_on: true,
                        ..Outcome::default()
                    },
                    "jump" | "goto" => match target() {
                        Some(target) if deep > 0 => {
                            // Verdicts in the target chain are as certain as the jump to the chain.
                            let mut there = Vec::new();
                            let of = self.walk((table, target), packet, deep - 1, &mut there);
                            if sure {
                                done.append(&mut there);
                            }
                            of
                        }
                        _ => Outcome {
                            passes: true,
                            ends: true,
                            goes_on: true,
                        },
                    },
                    // These statements do not decide a packet's path.
                    "counter" | "log" | "mangle" | "ct helper" | "notrack" | "flow" => {
                        if sure {
                            done.push(verdict.0.to_owned());
                        }
                        continue;
                    }
                    "xt" if verdict.1.get("type").and_then(Value::as_str) == Some("target") => {
                        outcome.add(Outcome::PASSES);
                        break;
                    }
                    // Limits and the like: the text does not decide whether the packet continues.
                    _ => {
                        matches = matches.min(Match::Maybe);
                        continue;
                    }
                };
                if sure {
                    done.push(verdict.0.to_owned());
                }
                outcome.add(ended);
                let returns = matches!(verdict.0, "return" | "goto");
                outcome.goes_on |= returns && ended.goes_on;
                let falls = verdict.0 == "continue" || verdict.0 == "jump" && ended.goes_on;
                if matches == Match::Yes && !falls {
                    return outcome;
                }
                break;
            }
        }
        outcome.goes_on = true;
        outcome
    }
}

/// Matches a packet against an expression.
fn condition(body: &Value, packet: &Packet<'_>) -> Match {
    let (left, right) = (&body["left"], &body["right"]);
    let sure = |matches| if matches { Match::Yes } else { Match::No };
    let found = match asked(left) {
        Some(("payload", "ip" | "ip6", "daddr")) => return Match::Some,
        Some(asked) => match (value(asked, packet), among(asked, right, packet)) {
            (Some(_), Some(found)) => found,
            _ => return Match::Maybe,
        },
        None => return Match::Maybe,
    };
    match body["op"].as_str() {
        Some("==" | "in") => sure(found),
        Some("!=") => sure(!found),
        _ => Match::Maybe,
    }
}

/// Returns the field that an expression reads: `payload tcp dport`, `meta - iifname`.
fn asked(left: &Value) -> Option<(&str, &str, &str)> {
    let (kind, body) = left.as_object()?.iter().next()?;
    let of = |key: &str| body.get(key).and_then(Value::as_str);
    match kind.as_str() {
        "payload" => Some(("payload", of("protocol")?, of("field")?)),
        "meta" | "ct" => Some((kind, "", of("key")?)),
        _ => None,
    }
}

/// Returns a field of a packet. `None`: unknown. Fields of another protocol are empty.
fn value(asked: (&str, &str, &str), packet: &Packet<'_>) -> Option<String> {
    match asked {
        ("meta", _, "iif" | "iifname") => Some(packet.device.to_owned()),
        ("meta", _, "l4proto") | ("payload", "ip", "protocol") => Some(packet.protocol.to_owned()),
        ("meta", _, "nfproto") => Some("ipv4".to_owned()),
        ("meta", _, "protocol") => Some("ip".to_owned()),
        ("ct", _, "state") => Some("new".to_owned()),
        ("ct", _, "status") => Some(if packet.redirected { "dnat" } else { "" }.to_owned()),
        ("payload", "th", "dport") => Some(packet.port.to_string()),
        ("payload", of @ ("tcp" | "udp"), "dport") if of == packet.protocol => {
            Some(packet.port.to_string())
        }
        // Without such a header, the rule does not match.
        ("payload", of @ ("tcp" | "udp" | "icmp" | "icmpv6" | "ip6"), _)
            if of != packet.protocol =>
        {
            Some(String::new())
        }
        _ => None,
    }
}

/// Returns true if the field has one of these values. `None`: unknown, as with a named set.
fn among(asked: (&str, &str, &str), right: &Value, packet: &Packet<'_>) -> Option<bool> {
    let own = value(asked, packet)?;
    let one = |wanted: &Value| -> Option<bool> {
        match wanted {
            Value::String(name) if name.starts_with('@') => None,
            Value::String(name) => Some(match name.strip_suffix('*') {
                Some(start) => own.starts_with(start),
                None => *name == own,
            }),
            Value::Number(number) => match (number.as_u64()?, own.as_str()) {
                (6, "tcp") | (17, "udp") => Some(true),
                (number, own) => Some(number.to_string() == own),
            },
            Value::Object(of) => {
                let range = of.get("range")?.as_array()?;
                let (from, to) = (range.first()?.as_u64()?, range.get(1)?.as_u64()?);
                let own = own.parse().unwrap_or(u64::MAX);
                Some((from..=to).contains(&own))
            }
            _ => None,
        }
    };
    match right.get("set").unwrap_or(right) {
        Value::Array(all) => {
            let each: Vec<_> = all.iter().map(one).collect();
            match each.contains(&Some(true)) {
                true => Some(true),
                false => each.iter().all(Option::is_some).then_some(false),
            }
        }
        one_alone => one(one_alone),
    }
}

/// Returns the elements of a map within the rule.
fn elements(body: &Value) -> Option<&Vec<Value>> {
    body.get("data")?.get("set")?.as_array()
}

/// Returns true if the verdict of a map can be determined.
fn is_known(body: &Value) -> bool {
    let key = body.get("key").and_then(asked);
    key.is_some_and(|key| matches!(key.2, "iifname" | "iif" | "state" | "l4proto"))
        && elements(body).is_some()
}

/// Returns the verdict of a map.
fn mapped<'a>(body: &'a Value, packet: &Packet<'_>) -> Option<(&'a str, &'a Value)> {
    let key = asked(body.get("key").filter(|_| is_known(body))?)?;
    elements(body)?.iter().find_map(|pair| {
        let found = among(key, pair.get(0)?, packet)?;
        let (verdict, body) = pair.get(1)?.as_object()?.iter().next()?;
        found.then_some((verdict.as_str(), body))
    })
}
