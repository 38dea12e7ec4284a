//! Elements of nf_tables sets and maps: additions and removals in one atomic batch, with the limits
//! that maps lead to; and their counters (`include/uapi/linux/netfilter/nf_tables.h`,
//! `nfnetlink.h`). The socket is in [`crate::io`].

use std::time::Duration;

use crate::element_statements::{NFTA_EXPR_NAME, NFTA_SET_ELEM_EXPR, NFTA_SET_ELEM_EXPRESSIONS};
use crate::encode::NLM_F_CREATE;
use crate::encode::{Encoder, NLM_F_ACK, NLM_F_REQUEST};
use crate::message::{Attribute, DecodeError, Message};
use crate::sets::{
    Family, NFT_MSG_DELSETELEM, NFT_MSG_NEWSETELEM, NFTA_DATA_VALUE, NFTA_LIST_ELEM,
    NFTA_SET_ELEM_KEY, NFTA_SET_ELEM_LIST_ELEMENTS, SUBSYSTEM, each_element,
};

const NFNL_MSG_BATCH_BEGIN: u16 = 0x10;
const NFNL_MSG_BATCH_END: u16 = 0x11;
const NFTA_SET_ELEM_LIST_TABLE: u16 = 1;
const NFTA_SET_ELEM_LIST_SET: u16 = 2;
const NFTA_SET_ELEM_TIMEOUT: u16 = 4;
const NFTA_SET_ELEM_OBJREF: u16 = 9;
const NFT_MSG_NEWOBJ: u16 = 18;
const NFT_MSG_DELOBJ: u16 = 20;
const NFTA_OBJ_TABLE: u16 = 1;
const NFTA_OBJ_NAME: u16 = 2;
const NFTA_OBJ_TYPE: u16 = 3;
const NFTA_OBJ_DATA: u16 = 4;
const NFT_OBJECT_LIMIT: u32 = 4;
const NFTA_LIMIT_RATE: u16 = 1;
const NFTA_LIMIT_UNIT: u16 = 2;
const NFTA_LIMIT_BURST: u16 = 3;
const NFTA_LIMIT_TYPE: u16 = 4;
const NFTA_LIMIT_FLAGS: u16 = 5;
const NFT_LIMIT_PKT_BYTES: u32 = 1;
const NFT_LIMIT_F_INV: u32 = 1;
const NFTA_EXPR_DATA: u16 = 2;
const NFTA_COUNTER_BYTES: u16 = 1;

/// Messages of one element, and more than one element needs.
const MOST: usize = 64;

/// Change of an element of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElementStep<'a> {
    /// The set's name.
    pub set: &'a str,
    /// The element's key, as the kernel has it.
    pub key: &'a [u8],
    /// Change of the element: adds it with a time-out or (`Some(None)`) for ever; `None` removes
    /// it.
    pub put: Option<Option<Duration>>,
    /// Limit to which a map's element leads; the former limit of a removed element.
    pub limit: Option<&'a str>,
}

/// A named limit: packets beyond it match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit<'a> {
    /// Name of the limit, always with one rate: the kernel does not change existing limits.
    pub name: &'a str,
    /// Bytes a second; as many may come at once.
    pub rate: u64,
}

/// Changes that apply as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch<'a> {
    /// Limits that are there from now on, also where they were.
    pub limits: Vec<Limit<'a>>,
    /// Changes of elements. For a map, removals come first: the kernel does not let an existing
    /// element lead elsewhere.
    pub steps: Vec<ElementStep<'a>>,
    /// Limits that are there, to which no element leads any more: they go.
    pub gone: Vec<&'a str>,
}

/// Builds the request for a batch. A step works from any former state: the kernel has no
/// conditional removal (before Linux 6.3), and cannot change the time-out of an existing element
/// (before 6.12). So each element is added, which does nothing if it exists, removed, and added in
/// its final state. Only the final state is ever visible.
pub(crate) fn change(family: Family, table: &str, batch: &Batch<'_>) -> Vec<u8> {
    let mut encoder = Encoder::default();
    bracket(&mut encoder, NFNL_MSG_BATCH_BEGIN, 0);
    let mut sequence = 1;
    for limit in &batch.limits {
        let flags = NLM_F_REQUEST | NLM_F_CREATE;
        encoder.message(SUBSYSTEM << 8 | NFT_MSG_NEWOBJ, flags, sequence, |e| {
            object(e, (family, table), limit.name);
            e.nested(NFTA_OBJ_DATA, |e| {
                e.attribute(NFTA_LIMIT_RATE, &limit.rate.to_be_bytes());
                e.attribute(NFTA_LIMIT_UNIT, &1_u64.to_be_bytes());
                e.attribute(NFTA_LIMIT_BURST, &0_u32.to_be_bytes());
                e.attribute(NFTA_LIMIT_TYPE, &NFT_LIMIT_PKT_BYTES.to_be_bytes());
                e.attribute(NFTA_LIMIT_FLAGS, &NFT_LIMIT_F_INV.to_be_bytes());
            });
        });
        sequence += 1;
    }
    let together = |a: &ElementStep<'_>, b: &ElementStep<'_>| {
        a.set == b.set && (a.limit.is_none() || a.put.is_some() == b.put.is_some())
    };
    for some in batch
        .steps
        .chunk_by(together)
        .flat_map(|same| same.chunks(MOST))
    {
        let set = some[0].set;
        let mut message =
            |kind: u16, flags: u16, keep: &dyn Fn(&ElementStep<'_>) -> bool, timed| {
                let kept: Vec<_> = some.iter().filter(|step| keep(step)).collect();
                if kept.is_empty() {
                    return;
                }
                let flags = NLM_F_REQUEST | flags;
                encoder.message(SUBSYSTEM << 8 | kind, flags, sequence, |e| {
                    e.fixed(&[family as u8, 0, 0, 0]);
                    e.attribute(NFTA_SET_ELEM_LIST_TABLE, &text(table));
                    e.attribute(NFTA_SET_ELEM_LIST_SET, &text(set));
                    e.nested(NFTA_SET_ELEM_LIST_ELEMENTS, |e| {
                        for step in kept {
                            element(e, step, timed);
                        }
                    });
                });
                sequence += 1;
            };
        message(NFT_MSG_NEWSETELEM, NLM_F_CREATE, &|_| true, false);
        message(NFT_MSG_DELSETELEM, 0, &|_| true, false);
        message(
            NFT_MSG_NEWSETELEM,
            NLM_F_CREATE,
            &|step| step.put.is_some(),
            true,
        );
    }
    for name in &batch.gone {
        let kind = SUBSYSTEM << 8 | NFT_MSG_DELOBJ;
        encoder.message(kind, NLM_F_REQUEST, sequence, |e| {
            object(e, (family, table), name);
        });
        sequence += 1;
    }
    bracket(&mut encoder, NFNL_MSG_BATCH_END, sequence);
    encoder.finish()
}

/// Adds the table and name of a limit.
fn object(encoder: &mut Encoder, (family, table): (Family, &str), name: &str) {
    encoder.fixed(&[family as u8, 0, 0, 0]);
    encoder.attribute(NFTA_OBJ_TABLE, &text(table));
    encoder.attribute(NFTA_OBJ_NAME, &text(name));
    encoder.attribute(NFTA_OBJ_TYPE, &NFT_OBJECT_LIMIT.to_be_bytes());
}

/// Encodes the begin or end of an atomic batch.
fn bracket(encoder: &mut Encoder, kind: u16, sequence: u32) {
    // The end of the batch is acknowledged: by then, all changes or refusals are reported.
    let flags = NLM_F_REQUEST
        | if kind == NFNL_MSG_BATCH_END {
            NLM_F_ACK
        } else {
            0
        };
    encoder.message(kind, flags, sequence, |e| {
        let [high, low] = SUBSYSTEM.to_be_bytes();
        e.fixed(&[0, 0, high, low]);
    });
}

fn element(encoder: &mut Encoder, step: &ElementStep<'_>, timed: bool) {
    encoder.nested(NFTA_LIST_ELEM, |e| {
        e.nested(NFTA_SET_ELEM_KEY, |e| {
            e.attribute(NFTA_DATA_VALUE, step.key)
        });
        if let (true, Some(Some(time))) = (timed, step.put) {
            // 0 would be for ever.
            let milliseconds = (time.as_millis() as u64).max(1);
            e.attribute(NFTA_SET_ELEM_TIMEOUT, &milliseconds.to_be_bytes());
        }
        if let Some(limit) = step.limit {
            e.attribute(NFTA_SET_ELEM_OBJREF, &text(limit));
        }
    });
}

/// Counter of an element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElementCount {
    /// The element's key, as the kernel has it.
    pub key: Vec<u8>,
    /// Bytes of packets that matched the element.
    pub octets: u64,
}

/// Decodes a part of the answer to a dump of elements: adds those with a counter.
///
/// # Errors
/// Names the attribute that is cut short.
pub fn decode_counts(
    message: &Message<'_>,
    out: &mut Vec<ElementCount>,
) -> Result<(), DecodeError> {
    each_element(message, |item| {
        let (mut key, mut octets) = (Vec::new(), None);
        for part in item.nested("NFTA_LIST_ELEM") {
            let part = part?;
            match part.kind {
                NFTA_SET_ELEM_KEY => {
                    for value in part.nested("NFTA_SET_ELEM_KEY") {
                        key = value?.value.to_vec();
                    }
                }
                NFTA_SET_ELEM_EXPR => octets = octets.or(counter(&part)?),
                NFTA_SET_ELEM_EXPRESSIONS => {
                    for one in part.nested("NFTA_SET_ELEM_EXPRESSIONS") {
                        octets = octets.or(counter(&one?)?);
                    }
                }
                _ => {}
            }
        }
        out.extend(octets.map(|octets| ElementCount { key, octets }));
        Ok(())
    })
}

/// Bytes, if the expression is a counter.
fn counter(expression: &Attribute<'_>) -> Result<Option<u64>, DecodeError> {
    let (mut counts, mut octets) = (false, None);
    for part in expression.nested("NFTA_SET_ELEM_EXPR") {
        let part = part?;
        match part.kind {
            NFTA_EXPR_NAME => counts = part.text() == "counter",
            NFTA_EXPR_DATA => {
                for value in part.nested("NFTA_EXPR_DATA") {
                    let value = value?;
                    if value.kind == NFTA_COUNTER_BYTES {
                        let octets_read = value.array("NFTA_COUNTER_BYTES")?;
                        octets = Some(u64::from_be_bytes(octets_read));
                    }
                }
            }
            _ => {}
        }
    }
    Ok(octets.filter(|_| counts))
}

fn text(name: &str) -> Vec<u8> {
    let mut octets = name.as_bytes().to_vec();
    octets.push(0);
    octets
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Messages;

    fn kinds(request: &[u8]) -> Vec<u16> {
        let messages = Messages::new(request).map(|message| message.expect("whole"));
        messages.map(|message| message.kind & 0xff).collect()
    }

    #[test]
    fn all_is_done_between_a_beginning_and_an_end() {
        let step = |set, put| ElementStep {
            set,
            key: &[10, 0, 0, 2],
            put,
            limit: None,
        };
        let kinds_of = |batch: &Batch<'_>| kinds(&change(Family::Inet, "t", batch));
        let steps = |steps: Vec<ElementStep<'static>>| Batch {
            steps,
            ..Batch::default()
        };
        let hour = Some(Some(Duration::from_secs(3600)));
        assert_eq!(kinds_of(&Batch::default()), [0x10, 0x11]);
        let some = steps(vec![step("a", hour), step("a", None), step("b", None)]);
        assert_eq!(kinds_of(&some), [0x10, 12, 14, 12, 12, 14, 0x11]);
        let many = steps(vec![step("a", hour); 1000]);
        assert_eq!(kinds_of(&many).len(), 2 + 3 * 16);
    }

    /// An element that leads to another limit is removed first, while its former limit exists.
    #[test]
    fn limits_come_before_what_leads_to_them() {
        let step = |put, limit| ElementStep {
            set: "up",
            key: &[2, 0, 0, 0, 0, 7],
            put,
            limit: Some(limit),
        };
        let limit = |name| Limit { name, rate: 1000 };
        let batch = Batch {
            limits: vec![limit("former"), limit("new")],
            steps: vec![step(None, "former"), step(Some(None), "new")],
            gone: vec!["former"],
        };
        assert_eq!(
            kinds(&change(Family::Inet, "t", &batch)),
            [0x10, 18, 18, 12, 14, 12, 14, 12, 20, 0x11]
        );
    }

    /// An element as the kernel dumps it: key, expiry, a counter.
    #[test]
    fn what_a_counter_says_is_read() {
        let kind = SUBSYSTEM << 8 | NFT_MSG_NEWSETELEM;
        let bytes = Encoder::single(kind, 0, 1, |e| {
            e.fixed(&[1, 0, 0, 0]);
            e.nested(NFTA_SET_ELEM_LIST_ELEMENTS, |e| {
                for (last, name) in [(2, "counter"), (3, "limit")] {
                    e.nested(NFTA_LIST_ELEM, |e| {
                        e.nested(NFTA_SET_ELEM_KEY, |e| {
                            e.attribute(NFTA_DATA_VALUE, &[10, 0, 0, last]);
                        });
                        e.nested(NFTA_SET_ELEM_EXPR, |e| {
                            e.attribute(NFTA_EXPR_NAME, &text(name));
                            e.nested(NFTA_EXPR_DATA, |e| {
                                e.attribute(NFTA_COUNTER_BYTES, &7_000_000_000_u64.to_be_bytes());
                            });
                        });
                    });
                }
            });
        });
        let mut counts = Vec::new();
        for message in Messages::new(&bytes) {
            decode_counts(&message.expect("whole"), &mut counts).expect("understood");
        }
        let key = vec![10, 0, 0, 2];
        let octets = 7_000_000_000;
        assert_eq!(counts, [ElementCount { key, octets }]);
    }

    #[test]
    fn a_moment_is_not_for_ever() {
        let now = ElementStep {
            set: "a",
            key: &[1],
            put: Some(Some(Duration::ZERO)),
            limit: None,
        };
        let batch = Batch {
            steps: vec![now],
            ..Batch::default()
        };
        let request = change(Family::Inet, "t", &batch);
        assert!(
            request
                .windows(8)
                .any(|octets| octets == 1_u64.to_be_bytes())
        );
    }
}
