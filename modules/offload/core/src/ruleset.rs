//! Reads `nft -j list ruleset` and names what must see each packet, or what an early hook would
//! skip.
//!
//! Weir evaluates no rule. A flow that netfilter accepted is forwarded past it, which is right for
//! rules that say the same of every packet of a connection; this finds those that do not
//! ([`examine`]), and which flows each of them may concern ([`concerns`]). The format is that of
//! libnftables-json(5).

mod area;
mod classes;
mod concern;
mod early;
mod flags;
mod marks;
mod reach;
mod silent;
mod spell;
mod statements;

use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value};

pub use area::Subject;
pub use concern::{Concern, RuleName};
pub(crate) use silent::QUARTER;
pub use silent::{Silent, silent, silent_in};
pub use spell::{declare, flag, has_extensions, has_policies, spell};

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The length of the packet.
    Length,
    /// A field of a header that is not the same in all packets of a flow: ECN, DF, TCP's window, …
    Header,
    /// A TCP flag other than ACK, SYN, FIN and RST.
    Flags,
    /// Bytes of the packet by their place, or its content.
    Payload,
    /// The hardware address of the sender.
    Station,
    /// How long the connection has yet to live.
    Expiration,
    /// Which processor has the packet.
    Moment,
    /// A list of sources that packets keep.
    Recent,
    /// Something that is not known here.
    Unknown,
    /// A rate limit.
    Limit,
    /// A quota of bytes.
    Quota,
    /// A number generator.
    Numgen,
    /// A log for each packet.
    Log,
    /// Time of day, day or date.
    Time,
    /// Bytes, packets or packet size of the connection.
    CountedBytes,
    /// Number of connections.
    ConnectionLimit,
    /// A user space queue.
    Queue,
    /// A transparent proxy.
    Tproxy,
    /// A SYN proxy.
    Synproxy,
    /// A copy of each packet.
    Duplicate,
    /// Bytes of the packet are written that the packet path does not compare.
    Rewrite,
    /// TTL, DSCP, an address or a port is written: the packet path notices, and leaves such flows
    /// to the kernel.
    Remark,
    /// Elements of a set are added or kept alive by packets.
    DynamicSet,
    /// A counter.
    Counter,
    /// An extension of iptables that nft does not spell out.
    Opaque,
    /// A conntrack zone is assigned.
    Zone,
    /// Connection tracking is switched off.
    Notrack,
    /// A chain at a device's ingress.
    IngressChain,
    /// A chain at a device's egress.
    EgressChain,
    /// A chain in the way of bridged frames.
    BridgeChain,
    /// A flowtable.
    Flowtable,
}

impl Kind {
    /// Whether it is only worth knowing: nothing goes wrong.
    pub fn noted(self) -> bool {
        matches!(
            self,
            Self::Remark
                | Self::Time
                | Self::DynamicSet
                | Self::Counter
                | Self::Tproxy
                | Self::Synproxy
                | Self::Zone
                | Self::Notrack
                | Self::BridgeChain
                | Self::Flowtable
        )
    }

    /// What it means, in plain words.
    pub fn explain(self) -> &'static str {
        match self {
            Self::Length => "the length of each packet decides",
            Self::Header => "a header field decides that differs from packet to packet",
            Self::Flags => "a TCP flag decides that differs from packet to packet",
            Self::Payload => "the bytes of each packet decide",
            Self::Station => {
                "the sender's hardware address decides, and several may use one address and port"
            }
            Self::Expiration => "the time that the connection has left decides",
            Self::Moment => "the processor that has the packet decides",
            Self::Recent => "a list that each packet brings up to date decides",
            Self::Unknown => "something that weir does not know, and that may see each packet",
            Self::Limit => {
                "a rate limit counts packets; it would count only those the kernel still sees"
            }
            Self::Quota => "a quota counts bytes; it would count only those the kernel still sees",
            Self::Numgen => "a number generator decides for each packet anew",
            Self::Log => "each packet is to be logged; only those the kernel still sees would be",
            Self::Time => {
                "the time decides; all proofs end when an hour, day or date of a rule comes"
            }
            Self::CountedBytes => {
                "what the connection has carried decides; conntrack would not count what it does \
                    not see"
            }
            Self::ConnectionLimit => "the number of connections decides for each packet",
            Self::Queue => "each packet is to go to a program in user space",
            Self::Tproxy => "packets are turned to a local proxy",
            Self::Synproxy => {
                "a SYN proxy adjusts each packet; such connections stay with the kernel"
            }
            Self::Duplicate => {
                "each packet is to be copied; only those the kernel still sees would be"
            }
            Self::Rewrite => {
                "bytes of each packet are written, and the fast path would not write them"
            }
            Self::Remark => {
                "the TTL, DSCP, an address or a port is written; such flows stay with the kernel"
            }
            Self::DynamicSet => {
                "packets add or refresh elements of a set; it sees one packet of a flow every \
                    re-proof"
            }
            Self::Counter => {
                "a counter counts only what the kernel still sees; weir's own counters see all"
            }
            Self::Opaque => "an iptables extension that cannot be read here",
            Self::Zone => {
                "conntrack zones are in use; connections with the same tuple in two zones stay \
                    with the kernel"
            }
            Self::Notrack => "untracked packets are never taken over",
            Self::IngressChain => {
                "a chain at ingress, which would be skipped; its devices are left alone"
            }
            Self::EgressChain => {
                "a chain at egress, which packets that weir forwards would skip: the device is \
                    left alone"
            }
            Self::BridgeChain => {
                "a chain in the way of bridged frames: these stay with the kernel, even with \
                    `bridge = true`"
            }
            Self::Flowtable => "a flowtable; the connections in it are left to it",
        }
    }

    /// What to do about it.
    pub fn hint(self) -> &'static str {
        match self {
            Self::Limit | Self::Log | Self::ConnectionLimit | Self::Numgen | Self::Recent => {
                "match `ct state new` in the rule, before this; or let `ct state \
                    established,related accept` come before it"
            }
            Self::Length
            | Self::Header
            | Self::Flags
            | Self::Payload
            | Self::Station
            | Self::Expiration
            | Self::Moment
            | Self::Unknown
            | Self::Opaque
            | Self::Quota
            | Self::CountedBytes
            | Self::Queue
            | Self::Duplicate
            | Self::Rewrite => {
                "let the rule ask for the addresses, ports and protocols it is for, or let `ct \
                    state established,related accept` come before it"
            }
            Self::IngressChain => "move the chain's rules to prerouting or forward",
            Self::EgressChain => "move the chain's rules to postrouting",
            Self::Flowtable => "remove the `flow add` rules, if weir is to do their work",
            Self::Tproxy
            | Self::Synproxy
            | Self::Remark
            | Self::Time
            | Self::DynamicSet
            | Self::Counter
            | Self::Zone
            | Self::Notrack
            | Self::BridgeChain => "nothing to do",
        }
    }
}

/// One thing found in the ruleset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// `ip`, `ip6`, `inet`, `netdev`, …
    pub family: String,
    /// Table.
    pub table: String,
    /// Chain; of a flowtable, its name.
    pub chain: String,
    /// Handle of the rule, chain or flowtable.
    pub handle: u64,
    /// What it is.
    pub kind: Kind,
    /// What it means, with the statement.
    pub text: String,
    /// What to do about it.
    pub hint: &'static str,
    /// Devices of an ingress or egress chain or flowtable. Empty where nft did not tell (1.0.6 does
    /// not): then it may be any.
    pub devices: Vec<String>,
}

/// Why a ruleset could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RulesetError {
    /// Where: line and column, or the path of the value, such as `nftables[3].rule.handle`.
    pub place: String,
    /// What is wrong there.
    pub problem: String,
}

impl fmt::Display for RulesetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "nft ruleset, {}: {}", self.place, self.problem)
    }
}

impl std::error::Error for RulesetError {}

/// Reads the output of `nft -j list ruleset`. Findings are in the order of the ruleset.
///
/// # Errors
/// Where it is not JSON, or not that of libnftables-json(5); objects of unknown kinds are passed
/// over.
pub fn examine(json: &str) -> Result<Vec<Finding>, RulesetError> {
    Ok(read(&parse(json)?)?.findings)
}

/// What a ruleset says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Examined {
    /// What must see each packet, or is worth knowing; in the order of the ruleset.
    pub findings: Vec<Finding>,
    /// Rules that must see each packet, each once, and the flows that they may concern; in the
    /// order of the ruleset.
    pub concerns: Vec<Concern>,
}

/// The JSON of `nft -j list ruleset`, with nothing of connections in rules that come before
/// conntrack.
///
/// # Errors
/// It is not JSON.
pub fn parse(json: &str) -> Result<Value, RulesetError> {
    let mut root = serde_json::from_str(json).map_err(|error| RulesetError {
        place: format!("line {}, column {}", error.line(), error.column()),
        problem: error.to_string(),
    })?;
    early::forget(&mut root);
    Ok(root)
}

/// The same as [`examine`], of what was parsed, with the flows that are concerned.
///
/// # Errors
/// It is not that of libnftables-json(5).
pub fn read(root: &Value) -> Result<Examined, RulesetError> {
    let objects = root
        .get("nftables")
        .and_then(Value::as_array)
        .ok_or_else(|| RulesetError {
            place: "nftables".into(),
            problem: "expected an array".into(),
        })?;
    let ruleset = reach::Ruleset::read(objects)?;
    let reached = ruleset.reached();

    let mut found = Examined::default();
    for object in &ruleset.objects {
        match object {
            reach::Object::Chain(chain) => {
                if let Some(kind) = chain.at_device() {
                    let devices = chain.devices.clone();
                    let finding = chain.home.finding(chain.name, kind, None, devices);
                    found.findings.push(finding);
                }
            }
            reach::Object::Flowtable {
                home,
                name,
                devices,
            } => {
                let finding = home.finding(name, Kind::Flowtable, None, devices.clone());
                found.findings.push(finding);
            }
            reach::Object::Rule(rule) => {
                let Some(areas) = reached.get(&rule.key()).filter(|_| !ruleset.settled(rule))
                else {
                    continue;
                };
                let kept = |set| ruleset.kept(&rule.home, set);
                let sights = statements::scan(rule.expressions, &kept);
                found.findings.extend(sights.iter().map(|sight| {
                    rule.home
                        .finding(rule.chain, sight.kind, Some(sight.value), Vec::new())
                }));
                found
                    .concerns
                    .extend(concern::of_rule(&ruleset, rule, areas, &sights));
            }
        }
    }
    Ok(found)
}

/// Where an object lives, and its handle.
#[derive(Clone, Copy)]
struct Home<'a> {
    family: &'a str,
    table: &'a str,
    handle: u64,
}

impl Home<'_> {
    fn finding(
        &self,
        chain: &str,
        kind: Kind,
        statement: Option<&Value>,
        devices: Vec<String>,
    ) -> Finding {
        let mut text = kind.explain().to_owned();
        if let Some(statement) = statement {
            // Enough to find the rule by; a statement may hold a set of thousands.
            let shown: String = statement.to_string().chars().take(120).collect();
            text = format!("{text}: {shown}");
        }
        Finding {
            family: self.family.to_owned(),
            table: self.table.to_owned(),
            chain: chain.to_owned(),
            handle: self.handle,
            kind,
            text,
            hint: kind.hint(),
            devices,
        }
    }
}

/// An object's fields, with its path for messages.
struct Fields<'a> {
    place: String,
    map: &'a Map<String, Value>,
}

impl<'a> Fields<'a> {
    fn text(&self, name: &str) -> Result<&'a str, RulesetError> {
        self.map
            .get(name)
            .and_then(Value::as_str)
            .ok_or_else(|| self.error(name, "expected a string"))
    }

    fn number(&self, name: &str) -> Result<u64, RulesetError> {
        self.map
            .get(name)
            .and_then(Value::as_u64)
            .ok_or_else(|| self.error(name, "expected a number"))
    }

    /// A string or an array of strings; none when left out.
    fn texts(&self, name: &str) -> Result<Vec<String>, RulesetError> {
        match self.map.get(name) {
            None => Ok(Vec::new()),
            Some(Value::String(one)) => Ok(vec![one.clone()]),
            Some(Value::Array(many)) => many
                .iter()
                .map(|one| {
                    one.as_str()
                        .map(str::to_owned)
                        .ok_or_else(|| self.error(name, "expected strings"))
                })
                .collect(),
            Some(_) => Err(self.error(name, "expected a string or an array")),
        }
    }

    fn error(&self, name: &str, problem: &str) -> RulesetError {
        RulesetError {
            place: format!("{}.{name}", self.place),
            problem: problem.to_owned(),
        }
    }
}
