//! Events of the loop.

use super::keys::Key;
use super::model::Told;

/// Events that wait for the loop: whoever has more waits.
pub const AHEAD: usize = 64;

/// What happens to the loop.
#[derive(Debug)]
pub enum Event {
    Key(Key),
    /// What was put in from elsewhere.
    Pasted(String),
    Told(Told),
    /// A line of standard input, or why it is none; nothing at its end.
    Line(Option<Result<String, String>>),
    /// The terminal has another size.
    Resized,
    /// To end, without anybody having pressed a key.
    Stop,
    /// A thread panicked, which it has told already.
    Panicked,
}
