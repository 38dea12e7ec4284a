//! Notifications from the meter's kernel side through its ring: new and ended conversations, and
//! packets that may carry a name.

use std::mem::offset_of;

use kernel::{ConversationKey, Mac};

use super::{RecordId, types};
use crate::headers;

const NEW: u32 = headers::METER_NEW as u32;
const ENDED: u32 = headers::METER_ENDED as u32;
const SAMPLE: u32 = headers::METER_SAMPLE as u32;

/// A notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notification<'a> {
    /// A record was claimed.
    New(RecordId),
    /// A FIN or RST was seen.
    Ended(RecordId),
    /// A packet that may carry a name.
    Sample(Sample<'a>),
}

/// A packet's payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample<'a> {
    /// Conversation of the packet.
    pub key: ConversationKey,
    /// Hardware address of the station.
    pub mac: Mac,
    /// True if sent by the station; else to the station.
    pub sent: bool,
    /// TCP sequence number.
    pub sequence: u32,
    /// Layer 4 payload; perhaps not all of it.
    pub payload: &'a [u8],
}

fn word(raw: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(raw.get(at..at + 4)?.try_into().ok()?))
}

/// Reads a record of the ring; returns `None` for an unknown or malformed one.
pub fn decode<'a>(
    raw: &'a [u8],
    key: impl Fn(&[u64; 5], bool) -> ConversationKey,
) -> Option<Notification<'a>> {
    let id = RecordId {
        reference: word(raw, offset_of!(types::meter_news, r#ref))?,
        owner: word(raw, offset_of!(types::meter_news, life))?,
    };
    match word(raw, offset_of!(types::meter_news, kind))? {
        NEW => Some(Notification::New(id)),
        ENDED => Some(Notification::Ended(id)),
        SAMPLE => {
            let length = word(raw, offset_of!(types::meter_news, len))? as usize;
            let begin = size_of::<types::meter_sample>();
            let payload = raw.get(begin..begin + length)?;
            let mut words = [0; 5];
            let at = offset_of!(types::meter_sample, key);
            for (to, octets) in words.iter_mut().zip(raw.get(at..at + 40)?.chunks_exact(8)) {
                *to = u64::from_ne_bytes(octets.try_into().ok()?);
            }
            let mac = offset_of!(types::meter_sample, mac);
            Some(Notification::Sample(Sample {
                key: key(&words, raw[offset_of!(types::meter_sample, ipv6)] != 0),
                mac: raw.get(mac..mac + 6)?.try_into().ok()?,
                sent: raw[offset_of!(types::meter_sample, way)] == 0,
                sequence: word(raw, offset_of!(types::meter_sample, seq))?,
                payload,
            }))
        }
        _ => None,
    }
}
