//! Flags of nf_tables' tables, from the kernel (`include/uapi/linux/netfilter/nf_tables.h`): for a
//! table with flags, nft 1.0.6 prints the contents of freed memory (`table_flags_json`). Sockets
//! are in [`crate::io`].

use crate::encode::{Encoder, NLM_F_DUMP, NLM_F_REQUEST};
use crate::message::{DecodeError, Message};
use crate::sets::{Family, SUBSYSTEM};

const NFT_MSG_NEWTABLE: u16 = 0;
const NFT_MSG_GETTABLE: u16 = 1;
const NFTA_TABLE_NAME: u16 = 1;
const NFTA_TABLE_FLAGS: u16 = 2;

/// `enum nft_table_flags`, by nft's words.
const FLAGS: [(u32, &str); 3] = [(1, "dormant"), (1 << 1, "owner"), (1 << 2, "persist")];

/// A table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// `ip`, `ip6`, `inet`, `bridge` or `netdev`.
    pub family: &'static str,
    /// Name of the table.
    pub name: String,
    /// Flags, in nft's words; unnamed flags are left out.
    pub flags: Vec<&'static str>,
}

/// Requests all tables.
pub(crate) fn dump_tables(sequence: u32) -> Vec<u8> {
    let flags = NLM_F_REQUEST | NLM_F_DUMP;
    Encoder::single(SUBSYSTEM << 8 | NFT_MSG_GETTABLE, flags, sequence, |e| {
        e.fixed(&[0; 4]);
    })
}

/// Decodes a part of the answer. `None`: something else, or an unknown family.
///
/// # Errors
/// Names the attribute that is cut short.
pub fn decode_table(message: &Message<'_>) -> Result<Option<Table>, DecodeError> {
    if message.kind != SUBSYSTEM << 8 | NFT_MSG_NEWTABLE {
        return Ok(None);
    }
    let (fixed, attributes) = message.split::<4>("nfgenmsg")?;
    let Some(family) = Family::numbered(fixed[0]) else {
        return Ok(None);
    };
    let mut table = Table {
        family: family.name(),
        ..Table::default()
    };
    for attribute in attributes {
        let attribute = attribute?;
        match attribute.kind {
            NFTA_TABLE_NAME => table.name = attribute.text(),
            NFTA_TABLE_FLAGS => {
                let flags = attribute.u32_network("NFTA_TABLE_FLAGS")?;
                let set = FLAGS.iter().filter(|(bit, _)| flags & bit != 0);
                table.flags = set.map(|(_, word)| *word).collect();
            }
            _ => {}
        }
    }
    Ok(Some(table))
}
