//! A channel in addition to GATT (L2CAP): each item is preceded by its length.
//!
//! qaul sends only whole messages longer than [`LONGEST_FRAME`] there, without acknowledgement. So
//! a longer item is a message, and other items are GATT's frames, but longer: messages in frames
//! are acknowledged as usual.

use super::LONGEST;
use super::inbox::SMALL;

/// Longest frame, in bytes; a longer item is a whole message.
pub const LONGEST_FRAME: usize = SMALL;
/// Size of a written frame, in bytes: with its length 4,096. Longer frames would save little, and
/// delay acknowledgements and pings in slow air.
pub const FRAME: usize = 4_096 - LENGTH;
/// Size of a length, in bytes.
const LENGTH: usize = 4;

/// Item received by a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChannelItem {
    /// A frame as GATT carries it.
    Frame(Vec<u8>),
    /// A whole message.
    Message(Vec<u8>),
}

/// Error for an invalid length, after which nothing can be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a record of a channel has 1 to {most} octets, not {0}", most = LONGEST)]
pub struct InvalidLength(u32);

/// Parser of a channel. Its buffer holds received bytes only, never announced ones.
#[derive(Debug, Default)]
pub struct Reader {
    octets: Vec<u8>,
}

impl Reader {
    /// Adds bytes, and reports the complete items.
    ///
    /// # Errors
    /// A length is invalid: the channel must be closed. Items before it are reported.
    pub fn read(
        &mut self,
        octets: &[u8],
        told: &mut Vec<ChannelItem>,
    ) -> Result<(), InvalidLength> {
        self.octets.extend_from_slice(octets);
        let mut rest = &self.octets[..];
        while let Some((length, after)) = rest.split_first_chunk::<LENGTH>() {
            let announced = u32::from_be_bytes(*length);
            let length = usize::try_from(announced).unwrap_or(usize::MAX);
            if !(1..=LONGEST).contains(&length) {
                self.octets = Vec::new();
                return Err(InvalidLength(announced));
            }
            let Some((one, after)) = after.split_at_checked(length) else {
                break;
            };
            told.push(match length {
                ..=LONGEST_FRAME => ChannelItem::Frame(one.to_vec()),
                _ => ChannelItem::Message(one.to_vec()),
            });
            rest = after;
        }
        self.octets = rest.to_vec();
        Ok(())
    }

    /// Returns true if an item is incomplete.
    pub fn waits(&self) -> bool {
        !self.octets.is_empty()
    }
}

/// Encodes a frame for a channel.
pub fn written(frame: &[u8]) -> Vec<u8> {
    [&(frame.len() as u32).to_be_bytes()[..], frame].concat()
}

#[cfg(test)]
mod tests;
