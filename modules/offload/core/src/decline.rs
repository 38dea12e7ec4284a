//! Reasons why a connection stays with the kernel.

use std::fmt;

use serde::Serialize;

/// Reason why a connection is not installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeclineReason {
    /// TCP, or UDP, is switched off in the settings.
    ProtocolOff,
    /// Conntrack reports nothing: `nf_conntrack_events` is 0.
    NoEvents,
    /// No message has contained the status bits yet.
    StatusUnknown,
    /// The entry is not in the conntrack table yet, or a template.
    NotConfirmed,
    /// Being removed.
    Dying,
    /// IPS_NAT_CLASH.
    Clash,
    /// A helper follows it.
    Helper,
    /// Sequence numbers are adjusted, or a SYN proxy sits in between.
    SequenceAdjusted,
    /// An nftables flowtable has it.
    Flowtable,
    /// Conntrack does not see its packets any more.
    Untracked,
    /// The entry sends no events, and too many such connections are polled already.
    Unreported,
    /// The connection has the mark that opts out.
    OptedOut,
    /// A rule may see each packet of the connection.
    EachPacket,
    /// A program on a route to one of its ends may see each packet of the connection.
    RouteProgram,
    /// Weir's own rules limit its rate.
    RateLimited,
    /// The two tuples do not belong together: another protocol or family.
    Malformed,
    /// An address that is not forwarded.
    SpecialAddress,
    /// Source and destination are one.
    SameEndpoints,
    /// Ends at this router.
    LocalIn,
    /// Begins at this router.
    LocalOut,
    /// TCP before ESTABLISHED.
    NotEstablished,
    /// TCP behind it.
    Ended,
    /// UDP without an answer.
    NoReply,
    /// Another entry has one of its tuples.
    Ambiguous,
    /// Zones are in use, and not all connections are remembered.
    Crowded,
    /// The table has no room for another flow.
    TableFull,
    /// The packet path cannot take it.
    Unsupported,
}

impl DeclineReason {
    /// Returns true if the kernel continues a connection that weir forwarded, unchanged.
    pub(crate) fn goes_on(self) -> bool {
        matches!(
            self,
            Self::ProtocolOff
                | Self::NoEvents
                | Self::Unreported
                | Self::Helper
                | Self::SequenceAdjusted
                | Self::OptedOut
                | Self::EachPacket
                | Self::RouteProgram
                | Self::RateLimited
                | Self::LocalIn
                | Self::LocalOut
                | Self::Ambiguous
                | Self::Crowded
                | Self::TableFull
        )
    }

    /// Number of reasons.
    pub const COUNT: usize = Self::ALL.len();

    /// All reasons, in the order of [`DeclineReason::index`].
    pub const ALL: [Self; 27] = [
        Self::ProtocolOff,
        Self::NoEvents,
        Self::StatusUnknown,
        Self::NotConfirmed,
        Self::Dying,
        Self::Clash,
        Self::Helper,
        Self::SequenceAdjusted,
        Self::Flowtable,
        Self::Untracked,
        Self::Unreported,
        Self::OptedOut,
        Self::EachPacket,
        Self::RouteProgram,
        Self::RateLimited,
        Self::Malformed,
        Self::SpecialAddress,
        Self::SameEndpoints,
        Self::LocalIn,
        Self::LocalOut,
        Self::NotEstablished,
        Self::Ended,
        Self::NoReply,
        Self::Ambiguous,
        Self::Crowded,
        Self::TableFull,
        Self::Unsupported,
    ];

    /// Returns a number below [`DeclineReason::COUNT`].
    pub fn index(self) -> usize {
        self as usize
    }

    /// Returns a short name for counters and JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Self::ProtocolOff => "protocol-off",
            Self::NoEvents => "no-events",
            Self::StatusUnknown => "status-unknown",
            Self::NotConfirmed => "not-confirmed",
            Self::Dying => "dying",
            Self::Clash => "clash",
            Self::Helper => "helper",
            Self::SequenceAdjusted => "sequence-adjusted",
            Self::Flowtable => "flowtable",
            Self::Untracked => "untracked",
            Self::Unreported => "unreported",
            Self::OptedOut => "opted-out",
            Self::EachPacket => "each-packet",
            Self::RouteProgram => "route-program",
            Self::RateLimited => "rate-limited",
            Self::Malformed => "malformed",
            Self::SpecialAddress => "special-address",
            Self::SameEndpoints => "same-endpoints",
            Self::LocalIn => "local-in",
            Self::LocalOut => "local-out",
            Self::NotEstablished => "not-established",
            Self::Ended => "ended",
            Self::NoReply => "no-reply",
            Self::Ambiguous => "ambiguous",
            Self::Crowded => "crowded",
            Self::TableFull => "table-full",
            Self::Unsupported => "unsupported",
        }
    }

    /// Explains the reason in plain words.
    pub fn explain(&self) -> &'static str {
        match self {
            Self::ProtocolOff => "this protocol is disabled in the settings",
            Self::NoEvents => "conntrack reports no connections (nf_conntrack_events is 0)",
            Self::StatusUnknown => "the kernel has not reported the state of this connection yet",
            Self::NotConfirmed => "the kernel has not accepted the first packet yet",
            Self::Dying => "the kernel is removing this connection",
            Self::Clash => {
                "two packets raced to open this connection, and the kernel keeps it for a second \
                    only (NAT clash)"
            }
            Self::Helper => "a conntrack helper reads the packets of this connection (FTP, SIP, …)",
            Self::SequenceAdjusted => {
                "the kernel changes the TCP sequence numbers of this connection (helper or SYN \
                    proxy)"
            }
            Self::Flowtable => "an nftables flowtable already forwards this connection",
            Self::Untracked => {
                "conntrack does not see its packets (a `notrack` rule, no rule that needs \
                    conntrack, or an earlier drop)"
            }
            Self::Unreported => {
                "it is older than weir, so conntrack reports no change of it, and weir polls as \
                    many such connections as it can"
            }
            Self::OptedOut => "its connection mark leaves it to the kernel",
            Self::EachPacket => "a rule of the firewall may look at each of its packets",
            Self::RouteProgram => {
                "a route to one of its ends has a program that may inspect each packet (encap \
                    bpf, encap ioam6)"
            }
            Self::RateLimited => "the kernel limits the rate of one of its ends, for weir",
            Self::Malformed => "the kernel reported two directions that do not belong together",
            Self::SpecialAddress => {
                "a loopback, multicast, broadcast, unspecified or link-local address"
            }
            Self::SameEndpoints => "source and destination are the same address",
            Self::LocalIn => "the connection ends at this router",
            Self::LocalOut => "the connection begins at this router",
            Self::NotEstablished => "the TCP connection is not established yet",
            Self::Ended => "the TCP connection has ended, or is closing",
            Self::NoReply => "no UDP packet has come back yet",
            Self::Ambiguous => {
                "another connection has the same addresses and ports, in another conntrack zone \
                    or by a race"
            }
            Self::Crowded => {
                "conntrack zones are in use and there are too many connections to tell them apart"
            }
            Self::TableFull => "there is no room for another flow",
            Self::Unsupported => "the packet path cannot take this connection",
        }
    }

    /// Suggests a change that would remove the reason.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::ProtocolOff => "enable the protocol in the settings",
            Self::NoEvents => "sysctl net.netfilter.nf_conntrack_events=1",
            Self::Unreported => {
                "nothing to do: it is taken over once fewer old connections carry packets"
            }
            Self::StatusUnknown | Self::NotConfirmed => {
                "nothing to do: the next event of the connection reports it"
            }
            Self::Dying => "nothing to do: it is over",
            Self::Clash => "nothing to do: it ends automatically, and the other entry takes over",
            Self::Helper => {
                "remove the rule that assigns the helper, if its protocol is not needed"
            }
            Self::SequenceAdjusted => "remove the helper or the SYN proxy for this traffic",
            Self::Flowtable => "remove the `flow add` rule, or leave this traffic to the flowtable",
            Self::Untracked => {
                "let conntrack see its packets: weir forwards it again within a minute"
            }
            Self::OptedOut => "change the rule that sets the connection mark",
            Self::RateLimited => {
                "nothing to do: it ends with the cause of the limit, such as a voucher"
            }
            Self::RouteProgram => "take `encap` off the route, or leave its traffic to the kernel",
            Self::EachPacket => {
                "restrict the rule to its purpose, or let `ct state established,related \
                    accept` come before it; or set each_packet = \"ignore\""
            }
            Self::Malformed => "report it, with the output of `conntrack -L`",
            Self::SpecialAddress | Self::SameEndpoints => {
                "nothing to do: such traffic is not forwarded"
            }
            Self::LocalIn | Self::LocalOut => "nothing to do: only forwarded traffic is taken over",
            Self::NotEstablished => "nothing to do: it is taken over once established",
            Self::Ended => "nothing to do: the kernel handles its last packets",
            Self::NoReply => "nothing to do: it is taken over once an answer arrives",
            Self::Ambiguous => {
                "give the networks different addresses, or wait until one connection remains"
            }
            Self::Crowded => {
                "raise the number of flows and of remembered connections in the settings"
            }
            Self::TableFull => "raise the number of flows in the settings",
            Self::Unsupported => "see the log for the refusal",
        }
    }
}

impl fmt::Display for DeclineReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.explain())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_reason_has_its_own_number_and_texts() {
        let mut words = HashSet::new();
        let mut texts = HashSet::new();
        for (index, reason) in DeclineReason::ALL.iter().enumerate() {
            assert_eq!(reason.index(), index);
            assert!(words.insert(reason.name()));
            assert!(texts.insert(reason.explain()));
            assert!(!reason.hint().is_empty());
            assert_eq!(serde_json::to_value(reason).unwrap(), reason.name());
        }
    }
}
