//! Signals that end it, waited for instead of obeyed at once: the terminal has to be given back
//! first.

use std::sync::mpsc::Sender;
use std::thread;

use nix::sys::signal::{SigSet, Signal};

use super::run::Event;

/// Tells of SIGINT, SIGTERM and SIGHUP. To be called before other threads are started: they inherit
/// that these are waited for.
pub(super) fn start(events: Sender<Event>) -> nix::Result<()> {
    let set: SigSet = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP]
        .into_iter()
        .collect();
    set.thread_block()?;
    thread::spawn(move || {
        // Fails for a wrong set only, and this one was taken above.
        let _ = set.wait();
        let _ = events.send(Event::Stop);
    });
    Ok(())
}
