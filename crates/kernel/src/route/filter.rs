//! Filters of a device (`include/uapi/linux/pkt_cls.h`), as far as needed to name them. The matches
//! of filters at TC ingress and egress do not matter: packets that go another way would miss any
//! filter. Filters of qdiscs and classes do see packets that weir forwards, but without the
//! connection and route of the kernel's own packets.
//!
//! Programs attached with TCX (Linux 6.6) are not filters, and rtnetlink does not list them:
//! `datapath::foreign_tcx` does.

use std::fmt;

use crate::encode::{Encoder, NLM_F_DUMP, NLM_F_REQUEST};
use crate::event::Event;
use crate::message::{Attribute, DecodeError, Message, u16_at, u32_at};
use crate::rtnetlink::{RTM_GETTFILTER, RTM_NEWTFILTER, TCA_KIND, TCA_OPTIONS};

const TCA_BPF_NAME: u16 = 7;
/// A hash table of u32, not a filter.
const TCA_U32_DIVISOR: u16 = 4;

const TCA_FLOW_KEYS: u16 = 1;
/// `FLOW_KEY_NFCT` to `FLOW_KEY_SKGID`: of conntrack, the route and the socket.
const KEYS_OF_THE_KERNEL: u32 = 0x7f << 8;
/// `TCA_FLOWER_KEY_CT_STATE` to `TCA_FLOWER_KEY_CT_LABELS_MASK`.
const FLOWER_CONNTRACK: std::ops::RangeInclusive<u16> = 91..=98;
const TCA_EMATCH_TREE_LIST: u16 = 2;
/// Extended matches that may inspect metadata that only the kernel's packets have: `meta`, and
/// those of iptables.
const EMATCH_META: u16 = 4;
const EMATCH_IPT: u16 = 9;
/// Actions that inspect a packet's connection, or may (`xt`).
const ASKING: [&str; 5] = ["connmark", "ctinfo", "ct", "ipt", "xt"];

const TCA_ACT_KIND: u16 = 1;
const TCA_ACT_OPTIONS: u16 = 2;
const TCA_MIRRED_PARMS: u16 = 2;

/// `TCM_IFINDEX_MAGIC_BLOCK`: of a block that devices share.
const BLOCK: u32 = 0xffff_ffff;
/// The handle of the qdiscs `ingress` and `clsact`, to which these filters belong; the low half of
/// a parent selects the side.
const INGRESS_HANDLE: u32 = 0xffff_0000;

/// Location of filters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// `TC_H_MIN_INGRESS` of clsact, or the qdisc `ingress`.
    Ingress,
    /// `TC_H_MIN_EGRESS` of clsact. The qdisc `ingress` answers with what it has at ingress.
    Egress,
    /// The qdisc `ingress`; empty for a clsact, which distinguishes the two.
    IngressQdisc,
    /// Filters of the qdisc or class of this handle; 0: the root qdisc.
    Of(u32),
}

impl Side {
    fn parent(self) -> u32 {
        match self {
            Self::Ingress => 0xffff_fff2,
            Self::Egress => 0xffff_fff3,
            Self::IngressQdisc => INGRESS_HANDLE,
            Self::Of(handle) => handle,
        }
    }
}

/// Action of a filter on packets that it matches.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FilterAction {
    /// Kind in the kernel's words: `gact`, `mirred`, `police`, …
    pub kind: String,
    /// Device that packets are redirected or copied to (`mirred`).
    pub to: Option<u32>,
}

/// Filter of a device.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Filter {
    /// Kind in the kernel's words: `u32`, `flower`, `matchall`, `bpf`, …
    pub kind: String,
    /// Name of the program, of `bpf`.
    pub name: String,
    /// Actions, for kinds that list them.
    pub actions: Vec<FilterAction>,
    /// True if the filter, or one of its actions, inspects a packet's conntrack connection, route
    /// or socket, or may.
    pub reads_connection: bool,
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "filter {}", self.kind)?;
        if !self.name.is_empty() {
            write!(f, " {}", self.name)?;
        }
        for (number, action) in self.actions.iter().enumerate() {
            let before = if number == 0 { " with action" } else { "," };
            write!(f, "{before} {}", action.kind)?;
        }
        Ok(())
    }
}

/// Decodes a change of a device's filters: at its ingress or egress, or of its other qdiscs.
pub(super) fn changed(message: &Message<'_>) -> Result<Option<Event>, DecodeError> {
    let (fixed, _) = message.split::<20>("tcmsg")?;
    let (link, parent) = (u32_at(fixed, 4), u32_at(fixed, 12));
    Ok(match link {
        BLOCK => Some(Event::Filters(0)),
        // Filters of other qdiscs choose among their classes.
        _ if parent & 0xffff_0000 != INGRESS_HANDLE => Some(Event::Qdiscs(link)),
        _ => Some(Event::Filters(link)),
    })
}

/// Decodes one message of the answer to [`dump`]. `None`: a list that may be empty, or a hash table
/// of one.
///
/// # Errors
/// Names the attribute that is cut short or of a wrong length.
pub fn decode(message: &Message<'_>) -> Result<Option<Filter>, DecodeError> {
    if message.kind != RTM_NEWTFILTER {
        return Ok(None);
    }
    let (fixed, attributes) = message.split::<20>("tcmsg")?;
    let mut filter = Filter {
        kind: String::new(),
        name: String::new(),
        actions: Vec::new(),
        reads_connection: false,
    };
    let mut options = None;
    for attribute in attributes {
        let attribute = attribute?;
        match attribute.kind {
            TCA_KIND => filter.kind = attribute.text(),
            TCA_OPTIONS => options = Some(attribute),
            _ => {}
        }
    }
    let handle = u32_at(fixed, 8);
    if handle == 0 {
        return Ok(None);
    }
    filter.reads_connection = filter.kind == "route";
    for option in options.iter().flat_map(|o| o.nested("TCA_OPTIONS")) {
        let option = option?;
        filter.reads_connection |= asks(&filter.kind, &option)?;
        match (filter.kind.as_str(), option.kind) {
            ("u32", TCA_U32_DIVISOR) => return Ok(None),
            ("bpf", TCA_BPF_NAME) => filter.name = option.text(),
            (kind, number) if Some(number) == actions_of(kind) => {
                for action in option.nested("TCA_ACT_TAB") {
                    let action = action_of(&action?)?;
                    filter.reads_connection |= ASKING.contains(&action.kind.as_str());
                    filter.actions.push(action);
                }
            }
            _ => {}
        }
    }
    Ok(Some(filter))
}

/// Returns true if a filter with this option inspects data of the kernel's own packets alone.
fn asks(kind: &str, option: &Attribute<'_>) -> Result<bool, DecodeError> {
    match (kind, option.kind) {
        ("flow", TCA_FLOW_KEYS) => {
            Ok(option.u32_native("TCA_FLOW_KEYS")? & KEYS_OF_THE_KERNEL != 0)
        }
        ("flower", key) => Ok(FLOWER_CONNTRACK.contains(&key)),
        ("basic", 2) | ("cgroup", 3) | ("flow", 11) => asks_by_match(option),
        _ => Ok(false),
    }
}

fn asks_by_match(tree: &Attribute<'_>) -> Result<bool, DecodeError> {
    for part in tree.nested("TCA_EMATCHES") {
        let part = part?;
        if part.kind != TCA_EMATCH_TREE_LIST {
            continue;
        }
        for found in part.nested("TCA_EMATCH_TREE_LIST") {
            // struct tcf_ematch_hdr: a number, and then the kind.
            let found = found?;
            let head =
                (found.value.first_chunk::<4>()).ok_or(DecodeError::missing("tcf_ematch_hdr"))?;
            if matches!(u16_at(head, 2), EMATCH_META | EMATCH_IPT) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// The option in which a kind of filter lists its actions.
fn actions_of(kind: &str) -> Option<u16> {
    Some(match kind {
        "bpf" => 1,
        "matchall" => 2,
        "flower" | "basic" | "cgroup" => 3,
        "fw" => 4,
        "route" => 6,
        "u32" => 7,
        "flow" => 9,
        _ => return None,
    })
}

fn action_of(entry: &Attribute<'_>) -> Result<FilterAction, DecodeError> {
    let mut action = FilterAction {
        kind: String::new(),
        to: None,
    };
    let mut options = None;
    for attribute in entry.nested("TCA_ACT_TAB") {
        let attribute = attribute?;
        match attribute.kind {
            TCA_ACT_KIND => action.kind = attribute.text(),
            TCA_ACT_OPTIONS => options = Some(attribute),
            _ => {}
        }
    }
    if action.kind == "mirred" {
        for option in options.iter().flat_map(|o| o.nested("TCA_ACT_OPTIONS")) {
            let option = option?;
            if option.kind == TCA_MIRRED_PARMS {
                // struct tc_mirred: six words of 32 bits, then the device.
                let parameters = option.array::<28>("TCA_MIRRED_PARMS")?;
                action.to = Some(u32_at(&parameters, 24)).filter(|index| *index != 0);
            }
        }
    }
    Ok(action)
}

/// Requests the filters on one side of a device.
pub(crate) fn dump(link: u32, side: Side, sequence: u32) -> Vec<u8> {
    let flags = NLM_F_REQUEST | NLM_F_DUMP;
    Encoder::single(RTM_GETTFILTER, flags, sequence, |e| {
        let mut fixed = [0; 20];
        fixed[4..8].copy_from_slice(&link.to_ne_bytes());
        fixed[12..16].copy_from_slice(&side.parent().to_ne_bytes());
        e.fixed(&fixed);
    })
}

#[cfg(test)]
mod tests;
