//! nf_tables: the generation of the ruleset, which every committed transaction raises, be it a
//! rule, a set or a set's element (`include/uapi/linux/netfilter/nf_tables.h`). Elements that
//! packets add to a set (`add @set`) raise nothing.

use crate::encode::{Encoder, NLM_F_ACK, NLM_F_REQUEST};
use crate::event::Event;
use crate::message::{DecodeError, Message, Tally, decode_datagram};
use crate::sets::SUBSYSTEM;

const NFT_MSG_NEWGEN: u16 = SUBSYSTEM << 8 | 15;
const NFT_MSG_GETGEN: u16 = SUBSYSTEM << 8 | 16;
const NFTA_GEN_ID: u16 = 1;

/// Decodes a datagram of nf_tables, appending to `out`. Everything but the generation is ignored:
/// it closes each transaction.
pub fn decode(datagram: &[u8], out: &mut Vec<Event>) -> Tally {
    decode_datagram(datagram, 0, out, decode_message)
}

/// Decodes one message.
///
/// # Errors
/// Names the attribute that is cut short, missing or of a wrong length.
pub fn decode_message(message: &Message<'_>) -> Result<Option<Event>, DecodeError> {
    if message.kind != NFT_MSG_NEWGEN {
        return Ok(None);
    }
    let (_, attributes) = message.split::<4>("nfgenmsg")?;
    let number = attributes.first(NFTA_GEN_ID)?;
    let number = number.ok_or(DecodeError::missing("NFTA_GEN_ID"))?;
    Ok(Some(Event::Firewall(number.u32_network("NFTA_GEN_ID")?)))
}

/// Requests the present generation; an acknowledgement follows.
pub(crate) fn get(sequence: u32) -> Vec<u8> {
    Encoder::single(NFT_MSG_GETGEN, NLM_F_REQUEST | NLM_F_ACK, sequence, |e| {
        e.fixed(&[0; 4])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{datagram, datagrams};

    #[test]
    fn a_transaction_is_one_event() {
        let mut out = Vec::new();
        let mut tally = Tally::default();
        for datagram in datagrams("nft") {
            tally.add(decode(&datagram, &mut out));
        }
        assert_eq!(out, [Event::Firewall(2), Event::Firewall(3)]);
        assert_eq!(
            (tally.understood, tally.ignored, tally.malformed),
            (2, 2, 0)
        );
    }

    #[test]
    fn a_generation_without_number_is_an_error() {
        let mut bytes = datagrams("nft").remove(1);
        bytes[22] = 9;
        let tally = decode(&bytes, &mut Vec::new());
        assert_eq!(tally.last_error, Some(DecodeError::missing("NFTA_GEN_ID")));
        assert_eq!(tally.malformed, 1);
    }

    #[test]
    fn what_conntrack_says_is_ignored() {
        let tally = decode(&datagram("tcp"), &mut Vec::new());
        assert_eq!(
            (tally.understood, tally.ignored, tally.malformed),
            (0, 1, 0)
        );
    }
}
