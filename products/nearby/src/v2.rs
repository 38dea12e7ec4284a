//! The format of Android: messages in numbered chunks, of which lost ones are asked for, with a sum and
//! an acknowledgement.
//!
//! [`frame`] is what is on the air, [`inbox`] puts messages together, [`outbox`] takes them apart,
//! [`link`] is one connection with both, and [`channel`] what may be beside it.

pub mod channel;
pub mod frame;
pub mod inbox;
pub mod link;
pub mod outbox;

/// Octets of a frame before a link says that it can do more.
pub const FRAME: usize = 20;
/// Octets of a frame at most: a value has 512, and qaul stays below that by its header.
pub const LONGEST_FRAME: usize = 509;
/// Parts of a larger message at most.
const PARTS: usize = 4;
/// A message, octets, at most.
pub const LONGEST: usize = PARTS * PART;
/// Octets of a part: as many as its size can say.
const PART: usize = u16::MAX as usize;
/// Queues are numbered from 1 to this, and then from 1 again.
pub const QUEUES: u8 = 29;

/// The next queue after one.
fn after(queue: u8) -> u8 {
    queue % QUEUES + 1
}
