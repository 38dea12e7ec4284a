//! Events from the threads of `weir top` to its loop.

use std::sync::mpsc::Sender;
use std::thread;

use super::keys::Key;
use super::state::Response;

/// Event of the loop.
#[derive(Debug)]
pub(super) enum Event {
    Key(Key),
    Answer(Box<Response>),
    /// The terminal has another size.
    Resized,
    /// Stops the program without a key.
    Stop,
    /// A thread panicked, and has reported so.
    Panicked,
}

/// Sends events from a thread, and an event if the thread panics: without that event, the screen
/// would never change again.
pub(super) struct PanicReporter(pub(super) Sender<Event>);

impl Drop for PanicReporter {
    fn drop(&mut self) {
        if thread::panicking() {
            // If sending fails, the loop has ended.
            let _ = self.0.send(Event::Panicked);
        }
    }
}
