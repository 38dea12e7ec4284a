//! The single active probe at a port whose silence leaves a doubt, in a thread of its own.

use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::thread;

use ::detect::Suggestion;
use tracing::warn;

use runtime::uplink::{ProbeOptions, run};

/// For how long it listens for answers.
const SECONDS: u64 = 4;

/// A running probe.
#[derive(Debug)]
pub struct Probe(Receiver<Suggestion>);

impl Probe {
    /// Begins to probe at a port, with at most twelve frames, which lease nothing.
    pub fn begin(device: &str) -> Self {
        let (tell, told) = channel();
        let port = device.to_owned();
        thread::spawn(move || {
            let look = ProbeOptions {
                port: &port,
                lans: &[],
                seconds: SECONDS,
                untagged: true,
            };
            match run(look, &mut |_| {}) {
                // The receiver is gone if the link went.
                Ok(found) => drop(tell.send(found.suggestion)),
                Err(error) => warn!(%error, port, "cannot probe a port"),
            }
        });
        Self(told)
    }

    /// Returns the result: `None` while the probe runs; `Some(None)` if the probe failed.
    pub fn over(&self) -> Option<Option<Suggestion>> {
        match self.0.try_recv() {
            Ok(suggestion) => Some(Some(suggestion)),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(None),
        }
    }
}
