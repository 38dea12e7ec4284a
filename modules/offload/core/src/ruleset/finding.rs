//! Findings in a ruleset, in words.

use serde::Serialize;
use serde_json::Value;

/// Kind of a finding.
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
    /// Remaining lifetime of the connection.
    Expiration,
    /// Processor that handles the packet.
    Moment,
    /// A list of sources that packets keep.
    Recent,
    /// An unknown expression.
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
    /// Returns true if the finding is only for information: no error results.
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

    /// Explains the finding in plain words.
    pub fn explain(self) -> &'static str {
        match self {
            Self::Length => "the length of each packet decides",
            Self::Header => "a header field that differs between packets decides",
            Self::Flags => "a TCP flag that differs between packets decides",
            Self::Payload => "the bytes of each packet decide",
            Self::Station => {
                "the sender's hardware address decides, and several senders may use one address \
                 and port"
            }
            Self::Expiration => "the time that the connection has left decides",
            Self::Moment => "the processor that has the packet decides",
            Self::Recent => "a list that each packet brings up to date decides",
            Self::Unknown => "an expression that weir does not know, and that may need each packet",
            Self::Limit => {
                "a rate limit counts packets; it would count only those the kernel still sees"
            }
            Self::Quota => "a quota counts bytes; it would count only those the kernel still sees",
            Self::Numgen => "a number generator decides for each packet separately",
            Self::Log => {
                "each packet should be logged; only those that the kernel still sees would be"
            }
            Self::Time => {
                "the time decides; all proofs end when an hour, day or date of a rule begins"
            }
            Self::CountedBytes => {
                "the traffic of the connection so far decides; conntrack would not count packets \
                    that it does not see"
            }
            Self::ConnectionLimit => "the number of connections decides for each packet",
            Self::Queue => "each packet goes to a program in user space",
            Self::Tproxy => "packets are redirected to a local proxy",
            Self::Synproxy => {
                "a SYN proxy adjusts each packet; such connections stay with the kernel"
            }
            Self::Duplicate => {
                "each packet should be copied; only those that the kernel still sees would be"
            }
            Self::Rewrite => {
                "bytes of each packet are written, and the fast path would not write them"
            }
            Self::Remark => {
                "the TTL, DSCP, an address or a port is written; such flows stay with the kernel"
            }
            Self::DynamicSet => {
                "packets add or refresh elements of a set; the set sees one packet of a flow at \
                    every re-proof"
            }
            Self::Counter => {
                "a counter counts only what the kernel still sees; weir's own counters see all"
            }
            Self::Opaque => "an iptables extension that weir cannot read",
            Self::Zone => {
                "conntrack zones are in use; connections with the same tuple in two zones stay \
                    with the kernel"
            }
            Self::Notrack => "untracked packets are never taken over",
            Self::IngressChain => {
                "a chain at ingress, which would be skipped; weir leaves its devices alone"
            }
            Self::EgressChain => {
                "a chain at egress, which packets that weir forwards would skip: weir leaves the \
                    device alone"
            }
            Self::BridgeChain => {
                "a chain that sees bridged frames: these stay with the kernel, even with \
                    `bridge = true`"
            }
            Self::Flowtable => "a flowtable; weir leaves its connections to it",
        }
    }

    /// Suggests a remedy.
    pub fn hint(self) -> &'static str {
        match self {
            Self::Limit | Self::Log | Self::ConnectionLimit | Self::Numgen | Self::Recent => {
                "match `ct state new` in the rule, before this; or put `ct state \
                    established,related accept` before it"
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
                "restrict the rule to the addresses, ports and protocols it is for, or let `ct \
                    state established,related accept` come before it"
            }
            Self::IngressChain => "move the chain's rules to prerouting or forward",
            Self::EgressChain => "move the chain's rules to postrouting",
            Self::Flowtable => "remove the `flow add` rules, to let weir forward instead",
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

/// Finding in the ruleset.
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
    /// Kind of the finding.
    pub kind: Kind,
    /// Explanation, with the statement.
    pub text: String,
    /// Suggested remedy.
    pub hint: &'static str,
    /// Devices of an ingress or egress chain or flowtable. Empty if nft did not report them (1.0.6
    /// does not): then any device is possible.
    pub devices: Vec<String>,
}

/// Family, table and handle of an object.
#[derive(Clone, Copy)]
pub(super) struct Home<'a> {
    pub(super) family: &'a str,
    pub(super) table: &'a str,
    pub(super) handle: u64,
}

impl Home<'_> {
    pub(super) fn finding(
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
