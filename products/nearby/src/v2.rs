//! The format of Android: messages in numbered chunks, with retransmission, a checksum and an
//! acknowledgement.
//!
//! [`frame`] is the wire format, [`inbox`] assembles messages, [`outbox`] splits them, [`link`]
//! combines both for a connection, and [`channel`] is an optional faster path.

pub mod channel;
pub mod frame;
pub mod inbox;
pub mod link;
pub mod outbox;

/// Size of a frame before a link announces more, in bytes.
pub const FRAME: usize = 20;
/// Bytes of a frame at most: a value has 512, and qaul stays below that by its header.
pub const LONGEST_FRAME: usize = 509;
/// Parts of a larger message at most.
const PARTS: usize = 4;
/// A message, bytes, at most.
pub const LONGEST: usize = PARTS * PART;
/// Largest part, in bytes: the range of its size field.
const PART: usize = u16::MAX as usize;
/// Queues are numbered from 1 to this, and then from 1 again.
pub const QUEUES: u8 = 29;

/// Returns the queue after this one.
fn after(queue: u8) -> u8 {
    queue % QUEUES + 1
}
