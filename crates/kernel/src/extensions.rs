//! Parameters of iptables' rules that nft's JSON leaves out: the connection states of `-m
//! conntrack`, matches and writes of marks, and the events that conntrack sends
//! (`include/uapi/linux/netfilter/xt_conntrack.h`, `xt_mark.h`, `xt_connmark.h`, `xt_CT.h`,
//! `nf_conntrack_common.h`, `nf_tables_compat.h`). Sockets are in [`crate::io`].

use crate::element_statements::NFTA_EXPR_NAME;
use crate::encode::{Encoder, NLM_F_DUMP, NLM_F_REQUEST};
use crate::message::{DecodeError, Message};
use crate::sets::{Family, SUBSYSTEM};

const NFT_MSG_NEWRULE: u16 = 6;
const NFT_MSG_GETRULE: u16 = 7;
const NFTA_RULE_TABLE: u16 = 1;
const NFTA_RULE_CHAIN: u16 = 2;
const NFTA_RULE_HANDLE: u16 = 3;
const NFTA_RULE_EXPRESSIONS: u16 = 4;
const NFTA_EXPR_DATA: u16 = 2;
const NFTA_MATCH_NAME: u16 = 1;
const NFTA_MATCH_REV: u16 = 2;
const NFTA_MATCH_INFO: u16 = 3;

const XT_CONNTRACK_STATE: u16 = 1 << 0;
const XT_CONNTRACK_EXPIRES: u16 = 1 << 7;
/// Offset of the flags in the parameters, of every revision: behind eight addresses, two times, a
/// protocol and four ports.
const FLAGS: usize = 8 * 16 + 8 + 2 + 8;
/// `XT_CONNTRACK_STATE_BIT` of INVALID, ESTABLISHED, RELATED, NEW and UNTRACKED.
const STATES: [(u16, &str); 5] = [
    (1, "invalid"),
    (1 << 1, "established"),
    (1 << 2, "related"),
    (1 << 3, "new"),
    (1 << 8, "untracked"),
];

/// `enum ip_conntrack_events`, by nft's words.
const EVENTS: [(u32, &str); 11] = [
    (1, "new"),
    (1 << 1, "related"),
    (1 << 2, "destroy"),
    (1 << 3, "reply"),
    (1 << 4, "assured"),
    (1 << 5, "protoinfo"),
    (1 << 6, "helper"),
    (1 << 7, "mark"),
    (1 << 8, "seqadj"),
    (1 << 9, "secmark"),
    (1 << 10, "label"),
];

/// Conditions of one `-m conntrack`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConntrackMatch {
    /// States, and true if the match is inverted. `None`: no condition on states, or an unknown
    /// state.
    pub states: Option<(Vec<&'static str>, bool)>,
    /// The time that the connection has left.
    pub expires: bool,
    /// True without any other condition.
    pub alone: bool,
}

/// Mark of a packet or of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// The packet's mark.
    Packet,
    /// The connection's mark.
    Connection,
}

/// An extension with decoded parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Extension {
    /// `-m conntrack`, and `-m state`.
    Conntrack(ConntrackMatch),
    /// `-m mark` and `-m connmark`: the bits of the mask have this value, or just not.
    MarkIs {
        /// Mark that is matched.
        of: Mark,
        /// Value.
        value: u32,
        /// Bits.
        mask: u32,
        /// True to match any other value.
        inverted: bool,
    },
    /// `-j MARK` and `-j CONNMARK --set-xmark`: clears these bits, then inverts those of the value.
    MarkSet {
        /// Mark that is set.
        of: Mark,
        /// Value.
        value: u32,
        /// Bits.
        mask: u32,
    },
    /// `-j CONNMARK --save-mark` and `--restore-mark`: clears bits of one mark, then inverts them
    /// by those of the other.
    MarkCopied {
        /// Mark that is written.
        to: Mark,
        /// Bits that are cleared there.
        cleared: u32,
        /// Bits of the other that are taken.
        taken: u32,
    },
    /// `-j CT`: the only events that conntrack sends for a connection, if the target lists them.
    Events(Vec<&'static str>),
    /// Extension with unknown parameters.
    Unread,
}

/// Type and name in nft of each match or target of iptables whose parameters are decoded.
pub const READ: [(&str, &str); 6] = [
    ("match", "conntrack"),
    ("match", "mark"),
    ("match", "connmark"),
    ("target", "MARK"),
    ("target", "CONNMARK"),
    ("target", "CT"),
];

/// A rule of iptables, and its extensions of these names, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleExtensions {
    /// `ip`, `ip6`, `inet` or `bridge`.
    pub family: &'static str,
    /// Table of the rule.
    pub table: String,
    /// Chain of the rule.
    pub chain: String,
    /// Handle of the rule.
    pub handle: u64,
    /// Extensions among [`READ`], in the rule's order.
    pub extensions: Vec<Extension>,
}

/// Requests all rules of all tables.
pub(crate) fn dump_rules(sequence: u32) -> Vec<u8> {
    let flags = NLM_F_REQUEST | NLM_F_DUMP;
    Encoder::single(SUBSYSTEM << 8 | NFT_MSG_GETRULE, flags, sequence, |e| {
        e.fixed(&[0; 4]);
    })
}

/// Decodes a part of the answer. `None`: a rule without such an extension.
///
/// # Errors
/// Names the attribute that is cut short.
pub fn decode_rule(message: &Message<'_>) -> Result<Option<RuleExtensions>, DecodeError> {
    if message.kind != SUBSYSTEM << 8 | NFT_MSG_NEWRULE {
        return Ok(None);
    }
    let (fixed, attributes) = message.split::<4>("nfgenmsg")?;
    let mut rule = RuleExtensions {
        family: Family::numbered(fixed[0]).map_or("", Family::name),
        ..RuleExtensions::default()
    };
    for attribute in attributes {
        let attribute = attribute?;
        match attribute.kind {
            NFTA_RULE_TABLE => rule.table = attribute.text(),
            NFTA_RULE_CHAIN => rule.chain = attribute.text(),
            NFTA_RULE_HANDLE => {
                let octets = attribute.array::<8>("NFTA_RULE_HANDLE")?;
                rule.handle = u64::from_be_bytes(octets);
            }
            NFTA_RULE_EXPRESSIONS => {
                for item in attribute.nested("NFTA_RULE_EXPRESSIONS") {
                    let (mut name, mut asks) = (String::new(), None);
                    for part in item?.nested("NFTA_LIST_ELEM") {
                        let part = part?;
                        match part.kind {
                            NFTA_EXPR_NAME => name = part.text(),
                            NFTA_EXPR_DATA if matches!(name.as_str(), "match" | "target") => {
                                let (mut of, mut revision, mut info) = (String::new(), 0, &[][..]);
                                for field in part.nested("NFTA_EXPR_DATA") {
                                    let field = field?;
                                    match field.kind {
                                        NFTA_MATCH_NAME => of = field.text(),
                                        NFTA_MATCH_REV => {
                                            revision = field.u32_network("NFTA_MATCH_REV")?;
                                        }
                                        NFTA_MATCH_INFO => info = field.value,
                                        _ => {}
                                    }
                                }
                                asks = extension(&name, &of, revision, info);
                            }
                            _ => {}
                        }
                    }
                    rule.extensions.extend(asks);
                }
            }
            _ => {}
        }
    }
    Ok((!rule.extensions.is_empty()).then_some(rule))
}

/// Decodes the parameters of a match or target (their attributes have the same numbers). `None`:
/// not one of [`READ`].
fn extension(kind: &str, name: &str, revision: u32, info: &[u8]) -> Option<Extension> {
    let word = |at: usize| {
        let octets = info.get(at..at + 4)?.try_into().ok()?;
        Some(u32::from_ne_bytes(octets))
    };
    let read = || {
        Some(match (kind, name, revision) {
            (_, "conntrack", _) => Extension::Conntrack(conntrack(revision, info)),
            // Flags and zone come before the events in all revisions.
            (_, "CT", _) => {
                let told = word(4)?;
                let names = EVENTS.iter().filter(|(bit, _)| told & bit != 0);
                Extension::Events(names.map(|(_, name)| *name).collect())
            }
            ("match", _, 1) => Extension::MarkIs {
                of: match name {
                    "mark" => Mark::Packet,
                    _ => Mark::Connection,
                },
                value: word(0)?,
                mask: word(4)?,
                inverted: *info.get(8)? != 0,
            },
            (_, "MARK", 2) => Extension::MarkSet {
                of: Mark::Packet,
                value: word(0)?,
                mask: word(4)?,
            },
            (_, "CONNMARK", 1 | 2) => {
                let mode = match revision {
                    1 => *info.get(12)?,
                    // Bits that are shifted by some places, and the mode.
                    _ if *info.get(13)? != 0 => return None,
                    _ => *info.get(14)?,
                };
                let (value, connection, packet) = (word(0)?, word(4)?, word(8)?);
                match mode {
                    0 => Extension::MarkSet {
                        of: Mark::Connection,
                        value,
                        mask: connection,
                    },
                    1 => Extension::MarkCopied {
                        to: Mark::Connection,
                        cleared: connection,
                        taken: packet,
                    },
                    2 => Extension::MarkCopied {
                        to: Mark::Packet,
                        cleared: packet,
                        taken: connection,
                    },
                    _ => return None,
                }
            }
            _ => return None,
        })
    };
    READ.contains(&(kind, name))
        .then(|| read().unwrap_or(Extension::Unread))
}

/// Decodes parameters of `xt_conntrack`, by revision. Unreadable parameters yield an unknown
/// condition.
fn conntrack(revision: u32, info: &[u8]) -> ConntrackMatch {
    let word = |at: usize| {
        let octets = info.get(at..at + 2)?;
        Some(u16::from_ne_bytes([octets[0], octets[1]]))
    };
    let mask = match revision {
        1 => info.get(FLAGS + 4).copied().map(u16::from),
        _ => word(FLAGS + 4),
    };
    let (Some(flags), Some(inverted), Some(mask)) = (word(FLAGS), word(FLAGS + 2), mask) else {
        return ConntrackMatch::default();
    };
    // `-m state` is translated to it, and notes that by this bit.
    const ALIAS: u16 = 1 << 13;
    let known = STATES.iter().fold(0, |sum, (bit, _)| sum | bit);
    let asked = flags & XT_CONNTRACK_STATE != 0 && mask & !known == 0;
    let names = STATES.iter().filter(|(bit, _)| mask & bit != 0);
    ConntrackMatch {
        states: asked.then(|| {
            let names = names.map(|(_, name)| *name).collect();
            (names, inverted & XT_CONNTRACK_STATE != 0)
        }),
        expires: flags & XT_CONNTRACK_EXPIRES != 0,
        alone: asked && flags & !ALIAS == XT_CONNTRACK_STATE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(flags: u16, inverted: u16, mask: u16) -> Vec<u8> {
        let mut info = vec![0; 164];
        for (at, word) in [(0, flags), (2, inverted), (4, mask)] {
            info[FLAGS + at..FLAGS + at + 2].copy_from_slice(&word.to_ne_bytes());
        }
        info
    }

    #[test]
    fn states_are_read() {
        let states = |found: ConntrackMatch| found.states;
        assert_eq!(
            conntrack(3, &info(1, 0, 6)),
            ConntrackMatch {
                states: Some((vec!["established", "related"], false)),
                expires: false,
                alone: true
            }
        );
        assert_eq!(
            states(conntrack(2, &info(1, 1, 8))),
            Some((vec!["new"], true))
        );
        assert!(!conntrack(3, &info(1 | 4, 0, 2)).alone, "an address, too");
        assert_eq!(states(conntrack(3, &info(1, 0, 2 | 1 << 7))), None, "DNAT");
        assert!(conntrack(3, &info(1 << 7, 0, 0)).expires);
        assert_eq!(conntrack(3, &[0; 20]), ConntrackMatch::default());
    }

    #[test]
    fn marks_are_read() {
        let info = |words: &[u32], octets: &[u8]| {
            let words = words.iter().flat_map(|word| word.to_ne_bytes());
            words.chain(octets.iter().copied()).collect::<Vec<u8>>()
        };
        let restored = Extension::MarkCopied {
            to: Mark::Packet,
            cleared: 0x3f00,
            taken: 0xff00,
        };
        let words = [0, 0xff00, 0x3f00];
        let connmark = |revision, octets: &[u8]| {
            extension("target", "CONNMARK", revision, &info(&words, octets))
        };
        assert_eq!(connmark(1, &[2, 0, 0, 0]), Some(restored.clone()));
        assert_eq!(connmark(2, &[0, 0, 2, 0]), Some(restored));
        assert_eq!(
            connmark(2, &[0, 8, 2, 0]),
            Some(Extension::Unread),
            "shifted"
        );
        assert_eq!(connmark(2, &[]), Some(Extension::Unread), "cut short");
        assert_eq!(
            extension("target", "MARK", 2, &info(&[0x100, 0x3f00], &[])),
            Some(Extension::MarkSet {
                of: Mark::Packet,
                value: 0x100,
                mask: 0x3f00
            })
        );
        assert_eq!(
            extension("match", "connmark", 1, &info(&[1, 3], &[1, 0, 0, 0])),
            Some(Extension::MarkIs {
                of: Mark::Connection,
                value: 1,
                mask: 3,
                inverted: true
            })
        );
        assert_eq!(extension("match", "MARK", 2, &[]), None);
    }

    #[test]
    fn events_are_read() {
        let events = |told: u32| {
            let mut info = vec![0; 64];
            info[4..8].copy_from_slice(&told.to_ne_bytes());
            extension("target", "CT", 2, &info)
        };
        let told = |names: &[&'static str]| Some(Extension::Events(names.to_vec()));
        assert_eq!(events(0b1001), told(&["new", "reply"]));
        assert_eq!(events(0), told(&[]), "all, as it does not say");
        assert_eq!(
            extension("target", "CT", 2, &[0; 4]),
            Some(Extension::Unread)
        );
    }
}
