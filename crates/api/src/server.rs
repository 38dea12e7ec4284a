//! Serves the API: HTTP/1.1 over a UNIX socket, inside the daemon's one thread.

mod answer;
mod body;
mod crowd;
mod feed;
mod incoming;
mod progress;
mod seat;
mod serve;
mod socket;

use std::time::Duration;

pub use answer::{json, json_body, or_refuse, refuse, streamed};
pub use body::Answer;
pub use crowd::Peer;
pub use feed::{Drain, Feed, feed};
pub use incoming::read_body;
pub use progress::{Progress, Watched};
pub use serve::{Arrivals, serve};
pub use socket::{Listener, SocketError};

/// What one client may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Requests answered at once; more wait for their turn.
    pub answers: usize,
    /// Connections beside these, open at once: that have not said what they want, or wait for their
    /// turn. One that is silent has to go for a new one; where none is silent, more wait in the
    /// socket's backlog.
    pub waiting: usize,
    /// Bytes of a request's head. Not less than 8192.
    pub head: usize,
    /// Bytes of a request's body.
    pub body: usize,
    /// For a request's head and for its body to arrive; also how long a connection may rest between
    /// requests.
    pub request_time: Duration,
    /// For a client to take some of the answer. Long, because somebody may be reading it in a
    /// pager.
    pub stall_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            answers: 32,
            waiting: 128,
            head: 16 * 1024,
            body: 16 * 1024,
            request_time: Duration::from_secs(5),
            stall_time: Duration::from_secs(300),
        }
    }
}
