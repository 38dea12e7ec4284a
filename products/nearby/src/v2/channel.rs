//! A channel beside GATT (L2CAP): whatever goes by it has its length before it.
//!
//! qaul puts whole messages into it that are longer than [`LONGEST_FRAME`], and nothing else; nobody
//! acknowledges those. So what is longer is read as a message, and what is not as a frame, as GATT
//! carries it, but longer: with those a message is acknowledged as it is there.

use super::LONGEST;
use super::inbox::SMALL;

/// What is longer is no frame, but a whole message, octets.
pub const LONGEST_FRAME: usize = SMALL;
/// Octets of a frame that is written: with its length 4,096. Longer ones would save little, and keep
/// acknowledgements and pings waiting where the air is slow.
pub const FRAME: usize = 4_096 - LENGTH;
/// Octets of a length.
const LENGTH: usize = 4;

/// What came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// A frame as GATT carries it.
    Frame(Vec<u8>),
    /// A whole message.
    Message(Vec<u8>),
}

/// What is no length: nothing after it can be understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("by a channel come 1 to {most} octets at once, not {0}", most = LONGEST)]
pub struct NoLength(u32);

/// Takes apart what comes by a channel. It keeps what came, and never as much as is only announced.
#[derive(Debug, Default)]
pub struct Reader {
    octets: Vec<u8>,
}

impl Reader {
    /// Some octets came: what is whole with them is told.
    ///
    /// # Errors
    /// A length cannot be: the channel is to be closed. What was whole before it is told.
    pub fn read(&mut self, octets: &[u8], told: &mut Vec<Told>) -> Result<(), NoLength> {
        self.octets.extend_from_slice(octets);
        let mut rest = &self.octets[..];
        while let Some((length, after)) = rest.split_first_chunk::<LENGTH>() {
            let announced = u32::from_be_bytes(*length);
            let length = usize::try_from(announced).unwrap_or(usize::MAX);
            if !(1..=LONGEST).contains(&length) {
                self.octets = Vec::new();
                return Err(NoLength(announced));
            }
            let Some((one, after)) = after.split_at_checked(length) else {
                break;
            };
            told.push(match length {
                ..=LONGEST_FRAME => Told::Frame(one.to_vec()),
                _ => Told::Message(one.to_vec()),
            });
            rest = after;
        }
        self.octets = rest.to_vec();
        Ok(())
    }

    /// Whether something began that is not whole.
    pub fn waits(&self) -> bool {
        !self.octets.is_empty()
    }
}

/// A frame as a channel carries it.
pub fn written(frame: &[u8]) -> Vec<u8> {
    [&(frame.len() as u32).to_be_bytes()[..], frame].concat()
}

#[cfg(test)]
mod tests;
