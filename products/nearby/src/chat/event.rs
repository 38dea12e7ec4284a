//! Events of the loop.

use super::keys::Key;
use super::model::DaemonEvent;

/// Capacity of the event queue; a full queue blocks its senders.
pub const AHEAD: usize = 64;

/// Event of the chat's loop.
#[derive(Debug)]
pub enum Event {
    Key(Key),
    /// Pasted text.
    Pasted(String),
    Told(DaemonEvent),
    /// A line of standard input, or an error; `None` at the end of the input.
    Line(Option<Result<String, String>>),
    /// The terminal has another size.
    Resized,
    /// A request to end from outside, by a signal.
    Stop,
    /// A thread panicked and has already printed the message.
    Panicked,
}
