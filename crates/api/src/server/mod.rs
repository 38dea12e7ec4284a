//! Serves the API: HTTP/1.1 over a UNIX socket, inside the daemon's one thread.

mod answer;
mod body;
mod feed;
mod incoming;
mod progress;
mod socket;

use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::UnixStream;
use tokio::sync::Semaphore;
use tokio::task::LocalSet;
use tracing::debug;

use crate::call::Call;
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
    /// Connections served at once; more wait in the socket's backlog.
    pub connections: usize,
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
            connections: 32,
            head: 16 * 1024,
            body: 16 * 1024,
            request_time: Duration::from_secs(5),
            stall_time: Duration::from_secs(300),
        }
    }
}

/// Serves until dropped. Runs on any current-thread runtime; brings its own place for the connections, which end with it.
pub async fn serve(listener: &Listener, provider: Rc<dyn Provider>, limits: Limits) {
    let connections = LocalSet::new();
    let slots = Rc::new(Semaphore::new(limits.connections));
    let accept = async {
        loop {
            // Closed only by dropping, and this is what would drop it.
            let Ok(_) = slots
                .acquire()
                .await
                .map(tokio::sync::SemaphorePermit::forget)
            else {
                return;
            };
            let stream = match listener.accept().await {
                Ok(stream) => stream,
                Err(error) => {
                    // Out of descriptors or memory: it passes, and trying at once would only spin.
                    debug!(%error, "cannot accept");
                    slots.add_permits(1);
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            let returned = Slot(Rc::clone(&slots));
            let provider = Rc::clone(&provider);
            tokio::task::spawn_local(async move {
                converse(stream, provider, limits).await;
                drop(returned);
            });
        }
    };
    connections.run_until(accept).await;
}

/// Gives the slot back however the connection ends, a panic included.
struct Slot(Rc<Semaphore>);

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.add_permits(1);
    }
}

async fn converse(stream: UnixStream, provider: Rc<dyn Provider>, limits: Limits) {
    let allowed = stream
        .peer_cred()
        .is_ok_and(|peer| may_speak(peer.uid(), nix::unistd::geteuid().as_raw()));
    let (stream, progress) = Watched::new(stream);
    let service = service_fn(move |request| {
        let provider = Rc::clone(&provider);
        async move {
            Ok::<_, std::convert::Infallible>(respond(request, provider, allowed, limits).await)
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.request_time)
        .max_buf_size(limits.head)
        .keep_alive(allowed)
        // A client that has said all it will say is still to be answered.
        .half_close(true)
        .serve_connection(TokioIo::new(stream), service);
    tokio::select! {
        ended = connection => if let Err(error) = ended {
            debug!(%error, "a client went away, or was too slow");
        },
        () = progress.stalls(limits.stall_time) => debug!("a client took nothing for too long"),
    }
}

/// Root and whoever the daemon runs as.
fn may_speak(peer: u32, own: u32) -> bool {
    peer == 0 || peer == own
}

async fn respond(
    request: Request<Incoming>,
    provider: Rc<dyn Provider>,
    allowed: bool,
    limits: Limits,
) -> Response<Answer> {
    if !allowed {
        let detail = "only root and the user that weir runs as may speak to it";
        return refuse(
            &Problem::new(403, "not_allowed", detail, "run the command as root"),
            None,
        );
    }
    let uri = request.uri();
    let path = uri.path().to_owned();
    let call = match Call::parse(request.method().as_str(), &path, uri.query()) {
        Ok(call) => call,
        Err(problem) => return refuse(&problem, Call::method_of(&path)),
    };
    if call.has_body()
        && let Err(problem) = read_body(request.into_body(), limits.body, limits.request_time)
            .await
            .and_then(|body| nothing_in(&body))
    {
        return refuse(&problem, None);
    }
    answer(call, provider).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_and_oneself_may_speak() {
        assert!(may_speak(0, 1000));
        assert!(may_speak(1000, 1000));
        assert!(!may_speak(1001, 1000));
        assert!(!may_speak(1000, 0));
    }
}
