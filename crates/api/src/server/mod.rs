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

use std::pin::Pin;
use std::time::Duration;

use crate::capture::{CaptureQuery, CaptureSummary};
use crate::expression::FlowQuery;
use crate::filter::{FlowFilter, Selection};
use crate::monitor::{HistoryQuery, TalksQuery};
use crate::types::{
    Bridged, Config, Devices, Drops, Explanation, Flow, FlowId, History, Hop, Paths, Port, Probes,
    Problem, Reloaded, Status, Talks,
};

pub use answer::{answer, nothing_in, refuse};
pub use body::Answer;
pub use feed::{Drain, Feed, feed};
pub use incoming::read_body;
pub use progress::{Progress, Watched};
pub use serve::serve;
pub use socket::{Listener, SocketError};

/// What takes a while: it comes from another thread.
pub type Later<T> = Pin<Box<dyn Future<Output = Result<T, Problem>>>>;

/// What the daemon has to tell. Every method returns at once; none is called while another runs.
pub trait Provider {
    /// How the daemon is doing.
    fn status(&self) -> Status;
    /// Which flows are to be listed ([`FlowFilter::select`] does the work).
    fn select(&self, filter: &FlowFilter) -> Selection;
    /// One of them; `None` when it ended meanwhile. Called once for each, a few hundred between two turns of the event loop.
    fn flow(&self, id: FlowId) -> Option<Flow>;
    /// Stations of bridges, as [`FlowList`](crate::FlowList) has them. None, unless it is said here.
    fn bridged(&self, _filter: &FlowFilter) -> Vec<Bridged> {
        Vec::new()
    }
    /// What is dropped early. Nothing, unless it is said here.
    fn drops(&self) -> Drops {
        Drops::default()
    }
    /// Who uses the network. [`Problem::no_monitor`], unless it is said here.
    fn devices(&self) -> Result<Devices, Problem> {
        Err(Problem::no_monitor())
    }
    /// Conversations ([`TalksQuery::select`] does the work). [`Problem::no_monitor`], unless it is said here.
    fn talks(&self, _asked: &TalksQuery) -> Result<Talks, Problem> {
        Err(Problem::no_monitor())
    }
    /// What was. [`Problem::no_monitor`], unless it is said here.
    fn history(&self, _asked: &HistoryQuery) -> Later<History> {
        Box::pin(std::future::ready(Err(Problem::no_monitor())))
    }
    /// Uplinks that are used as one. None, unless it is said here.
    fn paths(&self) -> Paths {
        Paths::default()
    }
    /// Every probe, and what it recorded. None, unless it is said here.
    fn probes(&self) -> Result<Probes, Problem> {
        Ok(Probes::default())
    }
    /// All hops.
    fn hops(&self) -> Vec<Hop>;
    /// All ports.
    fn ports(&self) -> Vec<Port>;
    /// Why a flow is forwarded, or is not. A flow nobody knows has an explanation too.
    fn explain(&self, asked: &FlowQuery) -> Result<Explanation, Problem>;
    /// The effective configuration.
    fn config(&self) -> Config;
    /// Reads the configuration again and applies it, as a whole or not at all.
    fn reload(&self) -> Result<Reloaded, Problem>;
    /// Begins to capture: what is to be sent to the client, as it comes. Ends when the [`Drain`] is dropped.
    fn capture(&self, _asked: &CaptureQuery) -> Result<Drain, Problem> {
        Err(Problem::new(
            501,
            "no_capture",
            "this daemon cannot capture packets",
            "use one that forwards packets",
        ))
    }
    /// Ends the capture that runs: its client still gets what was captured before.
    fn stop_capture(&self) -> Result<CaptureSummary, Problem> {
        Err(Problem::new(
            409,
            "no_capture",
            "no capture runs",
            "nothing to do; `weir capture` starts one",
        ))
    }
}

/// What one client may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Requests answered at once; more wait for their turn.
    pub answers: usize,
    /// Connections beside these, open at once: that have not said what they want, or wait for their turn. One that is silent has to
    /// go for a new one; where none is silent, more wait in the socket's backlog.
    pub waiting: usize,
    /// Octets of a request's head. Not less than 8192.
    pub head: usize,
    /// Octets of a request's body.
    pub body: usize,
    /// For a request's head and for its body to arrive; also how long a connection may rest between requests.
    pub request_time: Duration,
    /// For a client to take some of the answer. Long, because somebody may be reading it in a pager.
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
