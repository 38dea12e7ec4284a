//! Format of a file in the queue.

use crate::machine::Message;
use crate::v2::LONGEST;
use crate::v2::outbox::Priority;

/// First bytes of each file.
const MAGIC: &[u8; 8] = b"weirmsg1";
/// Size of the header, in bytes.
pub const HEAD: usize = 36;
/// Largest size of a file, in bytes.
pub const MOST: usize = HEAD + LONGEST;

/// Error for an invalid file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidFile {
    /// The file has another magic.
    #[error("not a message of weir-nearby")]
    Foreign,
    /// The file's size does not match its header.
    #[error("invalid length: {0} octets instead of {1}")]
    Length(usize, usize),
    /// The checksum does not match.
    #[error("invalid checksum")]
    Sum,
}

/// Returns a message's file: magic, number or 0 (8), time of arrival (8), priority (1), zeros (3),
/// length (4), CRC-32 of all but itself (4), the message. Numbers are big endian.
pub fn write(message: &Message) -> Vec<u8> {
    let mut all = Vec::with_capacity(HEAD + message.octets.len());
    all.extend(MAGIC);
    all.extend(message.number.unwrap_or(0).to_be_bytes());
    all.extend(message.since.to_be_bytes());
    all.extend([u8::from(message.priority == Priority::Usual), 0, 0, 0]);
    all.extend((message.octets.len() as u32).to_be_bytes());
    let sum = sum(&all, &message.octets);
    all.extend(sum.to_be_bytes());
    all.extend(&message.octets);
    all
}

/// Returns number and time of the message in a file of this size, from the file's first bytes.
///
/// # Errors
/// The header is invalid.
pub fn head(begin: &[u8], size: usize) -> Result<(Option<u64>, u64), InvalidFile> {
    let head = begin.first_chunk::<HEAD>();
    let head = head.filter(|it| it.starts_with(MAGIC));
    let head = head.ok_or(InvalidFile::Foreign)?;
    let number = |at| u64::from_be_bytes(std::array::from_fn(|it| head[at + it]));
    let octets = number(24) as u32 as usize;
    if octets > LONGEST || size != HEAD + octets {
        return Err(InvalidFile::Length(size, HEAD + octets));
    }
    // Larger numbers are not those of own messages.
    let own = Some(number(8)).filter(|it| (1..1 << 62).contains(it));
    Ok((own, number(16)))
}

/// Reads a file.
///
/// # Errors
/// The file is invalid.
pub fn read(all: &[u8]) -> Result<Message, InvalidFile> {
    let (number, since) = head(all, all.len())?;
    let (head, octets) = all.split_at(HEAD);
    if sum(&head[..HEAD - 4], octets).to_be_bytes() != head[HEAD - 4..] {
        return Err(InvalidFile::Sum);
    }
    let priority = match head[24] {
        0 => Priority::Urgent,
        _ => Priority::Usual,
    };
    Ok(Message {
        number,
        since,
        priority,
        octets: octets.to_vec(),
    })
}

fn sum(head: &[u8], octets: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(head);
    sum.update(octets);
    sum.finalize()
}
