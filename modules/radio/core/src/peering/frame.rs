//! Frames between nodes before they are peers: public action frames of a vendor (IEEE 802.11,
//! 9.6.7.18), which an access point accepts from unknown senders.

use kernel::Mac;

use super::{VENDOR, VERSION};

/// Frame control of an action frame, and no duration, which the radio fills in.
const ACTION: [u8; 4] = [0xd0, 0, 0, 0];
/// Category and action.
const PUBLIC_OF_VENDOR: [u8; 2] = [4, 9];
/// Which of our frames it is.
const KIND: u8 = 1;
/// The longest body: an answer or a hello has 112 bytes.
pub const LONGEST: usize = 128;

/// Purpose of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The first: who I am, and that I know the secret.
    Hello = 1,
    /// The second: so am I, and so do I.
    Answer = 2,
    /// Encrypted with the result of the two earlier messages, as a confirmation.
    Confirm = 3,
    /// Sealed, too: that the key is in use.
    Done = 4,
}

/// A received frame, or one to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Receiver of the frame.
    pub to: Mac,
    /// Claimed sender of the frame.
    pub from: Mac,
    /// Purpose of the frame.
    pub kind: Kind,
    /// Payload of the frame.
    pub body: &'a [u8],
}

impl<'a> Frame<'a> {
    /// Returns the whole frame. Its BSSID is the sender's: the kernel sends no other one.
    pub fn octets(&self) -> Vec<u8> {
        let Self {
            to,
            from,
            kind,
            body,
        } = self;
        let head = [KIND, VERSION, *kind as u8];
        let sequence = [0, 0];
        [
            &ACTION[..],
            to,
            from,
            from,
            &sequence,
            &PUBLIC_OF_VENDOR,
            &VENDOR,
            &head,
            body,
        ]
        .concat()
    }

    /// Parses a received frame; the radio's trailer (a checksum, if the driver leaves it) stays for
    /// a parser that knows the body's length. `None`: another kind of frame.
    pub fn read(octets: &'a [u8]) -> Option<Self> {
        let (control, rest) = octets.split_first_chunk::<4>()?;
        // The flag of a repetition may be set; the duration is any.
        if control[0] != ACTION[0] || control[1] & !8 != 0 {
            return None;
        }
        let (to, rest) = rest.split_first_chunk()?;
        let (from, rest) = rest.split_first_chunk()?;
        let rest = rest.get(8..)?.strip_prefix(&PUBLIC_OF_VENDOR)?;
        let rest = rest.strip_prefix(&VENDOR)?;
        let (&[KIND, VERSION, kind], body) = rest.split_first_chunk()? else {
            return None;
        };
        let kind = match kind {
            1 => Kind::Hello,
            2 => Kind::Answer,
            3 => Kind::Confirm,
            4 => Kind::Done,
            _ => return None,
        };
        Some(Self {
            to: *to,
            from: *from,
            kind,
            body: body.get(..LONGEST).unwrap_or(body),
        })
    }
}
