//! A write or notification: a chunk of a message, or flow control. All numbers are big-endian.

use crate::{Id, IdError};

/// Size of the header of a first chunk, in bytes.
pub const FIRST: usize = 19;
/// Size of the header of any other chunk, in bytes.
pub const OTHER: usize = 2;
/// Largest number of chunks of a message: their numbers have ten bits.
pub const MOST: u16 = 1023;
/// Largest number of chunks requested by one frame: a frame of twenty bytes has no more.
pub const ASKED: usize = 9;

/// A frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// A part of a message.
    Chunk(Chunk<'a>),
    /// Flow control.
    Control(Control),
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk<'a> {
    /// Queue of the message: from 1 to 31.
    pub queue: u8,
    /// True for a retransmission.
    pub again: bool,
    /// Number of the chunk in the message.
    pub index: u16,
    /// Header in the chunk with number 0.
    pub first: Option<First>,
    /// Bytes of the chunk.
    pub octets: &'a [u8],
}

/// Header of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct First {
    /// Place in a larger message; `None`: the message is whole.
    pub part: Option<Part>,
    /// Size, in bytes.
    pub size: u16,
    /// Number of chunks.
    pub count: u16,
    /// CRC-32 of the bytes (IEEE 802.3).
    pub sum: u32,
    /// Claimed sender.
    pub from: Id,
}

/// Place of a message in a larger one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Number of the larger message: from 1 to 15.
    pub of: u8,
    /// Number of parts: from 1 to 4.
    pub count: u8,
    /// Index of this part, from 0.
    pub index: u8,
}

/// Flow control: about messages, or the link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Control {
    /// Asks for the peer's id.
    AskId,
    /// Introduces the sender.
    Id(Id),
    /// Requests these chunks again: queue and number.
    Missing(Vec<(u8, u16)>),
    /// Acknowledges the message of a queue.
    Done(u8),
    /// Rejects the message of a queue, with a code that has no meaning yet.
    Failed(u8, u8),
    /// Asks for the outcome of the message of a queue.
    AskDone(u8),
    /// Keeps the link alive.
    Ping,
    /// Lists the peer's neighbours; ignored here.
    Neighbours(Vec<u8>),
}

/// Error for a malformed frame.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The frame ends too soon.
    #[error("frame of {0} octets cut off")]
    Short(usize),
    /// The header is invalid.
    #[error("invalid frame: {0}")]
    Wrong(&'static str),
    /// The sender's id is not valid.
    #[error(transparent)]
    Id(#[from] IdError),
}

impl<'a> Frame<'a> {
    /// Parses a frame.
    ///
    /// # Errors
    /// The frame is malformed.
    pub fn read(octets: &'a [u8]) -> Result<Self, Error> {
        let short = Error::Short(octets.len());
        match octets {
            [] => Err(short),
            [kind @ 0..8, rest @ ..] => control(*kind, rest).map(Frame::Control),
            [_] => Err(short),
            [high, low, rest @ ..] => {
                let index = u16::from_be_bytes([high & 3, *low]);
                let (first, octets) = match index {
                    0 => {
                        let (first, rest) = rest.split_first_chunk().ok_or(short)?;
                        (Some(First::read(first)?), rest)
                    }
                    _ => (None, rest),
                };
                Ok(Self::Chunk(Chunk {
                    queue: high >> 3,
                    again: high & 4 != 0,
                    index,
                    first,
                    octets,
                }))
            }
        }
    }

    /// Returns the bytes.
    pub fn octets(&self) -> Vec<u8> {
        match self {
            Self::Chunk(chunk) => chunk.all(),
            Self::Control(control) => control.all(),
        }
    }
}

impl Chunk<'_> {
    fn all(&self) -> Vec<u8> {
        let [high, low] = (self.index & MOST).to_be_bytes();
        let mut all = vec![self.queue << 3 | u8::from(self.again) << 2 | high, low];
        all.extend(self.first.iter().flat_map(First::all));
        all.extend(self.octets);
        all
    }
}

impl First {
    /// Returns true for the header of the same message, which may be cut differently.
    pub fn is_same(&self, other: &Self) -> bool {
        let cut = Self {
            count: other.count,
            ..*self
        };
        cut == *other
    }

    fn read(octets: &[u8; FIRST - OTHER]) -> Result<Self, Error> {
        let [large, rest @ ..] = octets;
        let (size, rest) = number::<2>(rest)?;
        let (count, rest) = number::<2>(rest)?;
        let (sum, rest) = number::<4>(rest)?;
        let first = Self {
            part: Part::read(*large)?,
            size: u16::from_be_bytes(size),
            count: u16::from_be_bytes(count),
            sum: u32::from_be_bytes(sum),
            from: Id::try_from(rest)?,
        };
        match first.count {
            1..=MOST => Ok(first),
            _ => Err(Error::Wrong("a message has 1 to 1023 chunks")),
        }
    }

    fn all(&self) -> Vec<u8> {
        let mut all = vec![self.part.as_ref().map_or(0, Part::octet)];
        all.extend(self.size.to_be_bytes());
        all.extend(self.count.to_be_bytes());
        all.extend(self.sum.to_be_bytes());
        all.extend(self.from.0);
        all
    }
}

fn number<const COUNT: usize>(octets: &[u8]) -> Result<([u8; COUNT], &[u8]), Error> {
    let split = octets.split_first_chunk();
    let (first, rest) = split.ok_or(Error::Short(octets.len()))?;
    Ok((*first, rest))
}

impl Part {
    /// Parses the part. Four parts are encoded as zero, with one more bit of the number.
    fn read(octet: u8) -> Result<Option<Self>, Error> {
        let [of, count, index] = [octet >> 4, octet >> 2 & 3, octet & 3];
        let count = if count == 0 { 4 } else { count };
        match (octet, of) {
            (0, _) => Ok(None),
            (_, 0) => Err(Error::Wrong("a part without a larger message")),
            _ if index >= count => Err(Error::Wrong("a part after the last one")),
            _ => Ok(Some(Self { of, count, index })),
        }
    }

    /// Encodes the part. With four parts the lowest bit of `of` is set as well, so only an odd
    /// number survives.
    fn octet(&self) -> u8 {
        let four = u8::from(self.count == 4) << 4;
        self.of << 4 | four | (self.count & 3) << 2 | self.index
    }
}

impl Control {
    fn all(&self) -> Vec<u8> {
        match self {
            Self::AskId => vec![0],
            Self::Id(id) => [&[1][..], &id.0].concat(),
            Self::Missing(all) => {
                let entry = |(queue, index): &(u8, u16)| u16::from(*queue) << 11 | (index & MOST);
                let entries = all.iter().flat_map(|it| entry(it).to_be_bytes());
                std::iter::once(2).chain(entries).collect()
            }
            Self::Done(queue) => vec![3, *queue],
            Self::Failed(queue, code) => vec![4, *queue, *code],
            Self::AskDone(queue) => vec![5, *queue],
            Self::Ping => vec![6],
            Self::Neighbours(octets) => [&[7][..], octets].concat(),
        }
    }
}

fn control(kind: u8, rest: &[u8]) -> Result<Control, Error> {
    let short = Error::Short(1 + rest.len());
    Ok(match (kind, rest) {
        (0, []) => Control::AskId,
        (1, id) => Control::Id(Id::try_from(id)?),
        (2, all) => {
            let (entries, odd) = all.as_chunks::<2>();
            if !odd.is_empty() || entries.is_empty() {
                return Err(short);
            }
            let entry = |it: &[u8; 2]| (it[0] >> 3, u16::from_be_bytes(*it) & MOST);
            Control::Missing(entries.iter().map(entry).collect())
        }
        (3, [queue]) => Control::Done(*queue),
        (4, [queue, code]) => Control::Failed(*queue, *code),
        (5, [queue]) => Control::AskDone(*queue),
        (6, []) => Control::Ping,
        (7, all) => Control::Neighbours(all.to_vec()),
        _ => return Err(Error::Wrong("the length of another message")),
    })
}

#[cfg(test)]
mod tests;
