//! Elements of any set or map of nf_tables, with their expiry: enough to detect a change, whatever
//! the keys are (`include/uapi/linux/netfilter/nf_tables.h`). Read by [`crate::io::read_members`].

use std::hash::{BuildHasher, Hasher};

use crate::message::{DecodeError, Message};
use crate::sets::{NFTA_SET_ELEM_EXPIRATION, NFTA_SET_ELEM_FLAGS, NFTA_SET_ELEM_KEY, each_element};

const NFTA_SET_ELEM_DATA: u16 = 2;
const NFTA_SET_ELEM_KEY_END: u16 = 10;

/// Element of a set or map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Member {
    /// Hash of its key and its value: only for comparison, within the same hasher.
    pub mark: u64,
    /// Milliseconds until the element expires. The kernel leaves out expired elements, although
    /// they still take memory.
    pub expires: Option<u64>,
}

/// Decodes a part of the answer to a dump of elements, appending to `out`.
///
/// # Errors
/// Names the attribute that is cut short or of a wrong length.
pub fn decode_members(
    message: &Message<'_>,
    hasher: &impl BuildHasher,
    out: &mut Vec<Member>,
) -> Result<(), DecodeError> {
    each_element(message, |item| {
        let mut hash = hasher.build_hasher();
        let mut expires = None;
        for part in item.nested("NFTA_LIST_ELEM") {
            let part = part?;
            match part.kind {
                // Counters and the original time-out are left out: they change and decide nothing.
                NFTA_SET_ELEM_KEY
                | NFTA_SET_ELEM_KEY_END
                | NFTA_SET_ELEM_DATA
                | NFTA_SET_ELEM_FLAGS => {
                    hash.write_u16(part.kind);
                    hash.write_usize(part.value.len());
                    hash.write(part.value);
                }
                NFTA_SET_ELEM_EXPIRATION => {
                    let octets = part.array::<8>("NFTA_SET_ELEM_EXPIRATION")?;
                    expires = Some(u64::from_be_bytes(octets));
                }
                _ => {}
            }
        }
        out.push(Member {
            mark: hash.finish(),
            expires,
        });
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use std::hash::RandomState;

    use super::*;
    use crate::encode::Encoder;
    use crate::fixture::first;
    use crate::sets::{NFT_MSG_NEWSETELEM, NFTA_LIST_ELEM, NFTA_SET_ELEM_LIST_ELEMENTS, SUBSYSTEM};

    /// Parts of one element.
    type Parts<'a> = &'a [(u16, &'a [u8])];

    fn answer(elements: &[Parts<'_>]) -> Vec<u8> {
        Encoder::single(SUBSYSTEM << 8 | NFT_MSG_NEWSETELEM, 0, 1, |e| {
            e.fixed(&[1, 0, 0, 0]);
            e.nested(NFTA_SET_ELEM_LIST_ELEMENTS, |e| {
                for parts in elements {
                    e.nested(NFTA_LIST_ELEM, |e| {
                        parts
                            .iter()
                            .for_each(|(kind, value)| e.attribute(*kind, value));
                    });
                }
            });
        })
    }

    #[test]
    fn elements_are_told_apart_by_key_and_value_alone() {
        let time = 3000u64.to_be_bytes();
        let datagram = answer(&[
            &[(NFTA_SET_ELEM_KEY, &[1, 2, 3, 4])],
            &[
                (NFTA_SET_ELEM_KEY, &[1, 2, 3, 4]),
                (NFTA_SET_ELEM_EXPIRATION, &time),
                (4, &time),
            ],
            &[(NFTA_SET_ELEM_KEY, &[1, 2, 3, 5])],
            &[
                (NFTA_SET_ELEM_KEY, &[1, 2, 3, 4]),
                (NFTA_SET_ELEM_DATA, &[1, 0, 0, 0]),
            ],
            &[
                (NFTA_SET_ELEM_KEY, &[1, 2, 3, 4]),
                (NFTA_SET_ELEM_DATA, &[2, 0, 0, 0]),
            ],
        ]);
        let mut found = Vec::new();
        let hasher = RandomState::new();
        decode_members(&first(&datagram), &hasher, &mut found).expect("right");
        let marks: Vec<u64> = found.iter().map(|member| member.mark).collect();
        assert_eq!(marks[0], marks[1]);
        let different: std::collections::HashSet<&u64> = marks.iter().collect();
        assert_eq!(different.len(), 4);
        assert_eq!((found[0].expires, found[1].expires), (None, Some(3000)));
    }

    #[test]
    fn anything_cut_anywhere_is_an_error_or_less() {
        let time = 3000u64.to_be_bytes();
        let parts: Parts<'_> = &[
            (NFTA_SET_ELEM_KEY, &[1, 2, 3, 4]),
            (NFTA_SET_ELEM_EXPIRATION, &time),
        ];
        let datagram = answer(&[parts]);
        for length in 16..datagram.len() {
            let mut cut = datagram[..length].to_vec();
            cut[..4].copy_from_slice(&(length as u32).to_ne_bytes());
            let mut found = Vec::new();
            let _ = decode_members(&first(&cut), &RandomState::new(), &mut found);
            assert!(found.len() <= 1);
        }
    }
}
