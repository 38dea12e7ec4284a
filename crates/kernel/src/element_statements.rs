//! Statements of single elements of sets: which sets may have such statements, and which statements
//! exist (`include/uapi/linux/netfilter/nf_tables.h`). [`crate::io::read_element_statements`] reads
//! them.
//!
//! `nft` accepts statements in elements if the set's declaration has the same statement, which it
//! lists, and in sets with the flag `dynamic`, which its JSON may omit.

use std::collections::BTreeSet;

use crate::encode::{Encoder, NLM_F_DUMP, NLM_F_REQUEST};
use crate::message::{Attribute, DecodeError, Message};
use crate::sets::{
    NFT_MSG_GETSET, NFT_MSG_NEWSET, NFTA_LIST_ELEM, NFTA_SET_FLAGS, SUBSYSTEM, SetEvent, SetName,
    each_element, set_flags, set_name,
};

const NFTA_SET_EXPR: u16 = 17;
const NFTA_SET_EXPRESSIONS: u16 = 18;
pub(crate) const NFTA_SET_ELEM_EXPR: u16 = 7;
pub(crate) const NFTA_SET_ELEM_EXPRESSIONS: u16 = 11;
pub(crate) const NFTA_EXPR_NAME: u16 = 1;
const NFT_SET_ANONYMOUS: u32 = 0x1;

/// A set or map, and the statements of its elements, by the kernel's names: `limit`, `quota`,
/// `connlimit`, `counter`, …
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElementStatements {
    /// The set.
    pub set: SetName,
    /// Statements that its elements keep beyond its declaration.
    pub statements: BTreeSet<String>,
}

/// Requests all sets of all tables.
pub(crate) fn dump_sets(sequence: u32) -> Vec<u8> {
    let flags = NLM_F_REQUEST | NLM_F_DUMP;
    Encoder::single(SUBSYSTEM << 8 | NFT_MSG_GETSET, flags, sequence, |e| {
        e.fixed(&[0; 4]);
    })
}

/// Decodes a part of the answer. `None`: a set whose elements have the declared statements, or
/// none.
///
/// # Errors
/// Names the attribute that is cut short, missing or of a wrong length.
pub fn decode_open_set(message: &Message<'_>) -> Result<Option<SetName>, DecodeError> {
    if message.kind != SUBSYSTEM << 8 | NFT_MSG_NEWSET {
        return Ok(None);
    }
    let (_, attributes) = message.split::<4>("nfgenmsg")?;
    let mut flags = 0;
    for attribute in attributes {
        let attribute = attribute?;
        match attribute.kind {
            NFTA_SET_FLAGS => flags = attribute.u32_network("NFTA_SET_FLAGS")?,
            NFTA_SET_EXPR | NFTA_SET_EXPRESSIONS => return Ok(None),
            _ => {}
        }
    }
    if flags & set_flags::DYNAMIC == 0 || flags & NFT_SET_ANONYMOUS != 0 {
        return Ok(None);
    }
    Ok(match set_name(message)? {
        SetEvent::Set(name) => Some(name),
        SetEvent::Rules | SetEvent::Lost => None,
    })
}

/// Decodes a part of the answer to a dump of elements: adds their statements, and returns the
/// number of elements.
///
/// # Errors
/// Names the attribute that is cut short.
pub fn decode_element_statements(
    message: &Message<'_>,
    out: &mut BTreeSet<String>,
) -> Result<usize, DecodeError> {
    let mut count = 0;
    each_element(message, |item| {
        count += 1;
        for part in item.nested("NFTA_LIST_ELEM") {
            let part = part?;
            match part.kind {
                NFTA_SET_ELEM_EXPR => statement(&part, out)?,
                NFTA_SET_ELEM_EXPRESSIONS => {
                    for one in part.nested("NFTA_SET_ELEM_EXPRESSIONS") {
                        let one = one?;
                        if one.kind == NFTA_LIST_ELEM {
                            statement(&one, out)?;
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(())
    })?;
    Ok(count)
}

fn statement(expression: &Attribute<'_>, out: &mut BTreeSet<String>) -> Result<(), DecodeError> {
    for part in expression.nested("NFTA_SET_ELEM_EXPR") {
        let part = part?;
        if part.kind == NFTA_EXPR_NAME {
            out.insert(part.text());
        }
    }
    Ok(())
}
