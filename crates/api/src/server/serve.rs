//! Accepts connections, and answers their requests.

use std::convert::Infallible;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{HeaderMap, Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::UnixStream;
use tokio::task::LocalSet;
use tracing::debug;

use super::connection_pool::{Connection, ConnectionPool, SlotBody};
use super::connection_table::Peer;
use super::{Listener, ProgressStream, ResponseBody, into_response, problem_response, read_body};
use crate::problem::Problem;
use crate::route::{AccessLevel, Routes};

/// Limits of clients.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Requests answered at once; more wait for their turn.
    pub answers: usize,
    /// Further open connections: silent ones, or ones that wait for a slot. A silent one gives way
    /// to a new one; if none is silent, more wait in the socket's backlog.
    pub waiting: usize,
    /// Bytes of a request's head. Not less than 8192.
    pub head: usize,
    /// Bytes of a request's body.
    pub body: usize,
    /// Time for a request's head and for its body to arrive; also the longest idle time of a
    /// connection between requests.
    pub request_time: Duration,
    /// Longest time in which a client takes nothing of the answer. Long, because the user may be
    /// reading it in a pager.
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

/// Source of connections, with the access of their clients.
pub trait ConnectionSource {
    /// Returns the next connection.
    fn accept(&self) -> impl Future<Output = io::Result<UnixStream>>;

    /// Returns the peer of a connection.
    fn peer(&self, stream: &UnixStream) -> Peer;

    /// Returns the access of a request, by its headers.
    fn access_level(&self, headers: &HeaderMap) -> AccessLevel;
}

/// The socket: a peer with access may send every request.
impl ConnectionSource for Listener {
    fn accept(&self) -> impl Future<Output = io::Result<UnixStream>> {
        Self::accept(self)
    }

    /// Identifies the peer by SO_PEERCRED (unix(7)).
    fn peer(&self, stream: &UnixStream) -> Peer {
        match stream.peer_cred() {
            Ok(peer) if may_speak(peer.uid(), nix::unistd::geteuid().as_raw()) => {
                Peer::Process(peer.pid().unwrap_or(0))
            }
            _ => Peer::Unauthorized,
        }
    }

    fn access_level(&self, _: &HeaderMap) -> AccessLevel {
        AccessLevel::Root
    }
}

/// Serves until dropped. Runs on any current-thread runtime; its connection tasks end with it.
pub async fn serve(arrivals: Rc<impl ConnectionSource + 'static>, routes: &Routes, limits: Limits) {
    let connections = LocalSet::new();
    let hall = ConnectionPool::new(limits.answers, limits.waiting);
    let accept = async {
        loop {
            hall.place().await;
            let stream = match arrivals.accept().await {
                Ok(stream) => stream,
                Err(error) => {
                    // Out of descriptors or memory: it passes, and trying at once would only spin.
                    debug!(%error, "cannot accept");
                    hall.clear_one();
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            // Entered here, as many may come before the first one has its turn.
            let peer = arrivals.peer(&stream);
            let (stream, progress) = ProgressStream::new(stream);
            let visitor = hall.enter(peer, &progress);
            let asked = RequestHandler {
                arrivals: Rc::clone(&arrivals),
                routes: routes.clone(),
                limits,
            };
            let allowed = peer != Peer::Unauthorized;
            tokio::task::spawn_local(async move {
                let stalls = progress.stalls(limits.stall_time);
                converse(stream, asked, visitor, allowed, stalls).await;
            });
        }
    };
    connections.run_until(accept).await;
}

/// Shared state of the request handlers.
struct RequestHandler<A> {
    arrivals: Rc<A>,
    routes: Routes,
    limits: Limits,
}

async fn converse<A: ConnectionSource + 'static>(
    stream: ProgressStream<UnixStream>,
    asked: RequestHandler<A>,
    visitor: Connection,
    allowed: bool,
    stalls: impl Future<Output = ()>,
) {
    let limits = asked.limits;
    let asked = Rc::new(asked);
    let visitor = Rc::new(visitor);
    let dismissed = Rc::clone(&visitor);
    let service = service_fn(move |request| {
        let asked = Rc::clone(&asked);
        let visitor = Rc::clone(&visitor);
        async move {
            Ok::<_, Infallible>(if allowed {
                asked.respond(request, &visitor).await
            } else {
                let detail = "only root and the daemon's user may connect";
                let problem = Problem::new(403, "not_allowed", detail, "run the command as root");
                unseated(problem_response(&problem.into()))
            })
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.request_time)
        .max_buf_size(limits.head)
        .keep_alive(allowed)
        // A client that closed its sending side still gets an answer.
        .half_close(true)
        .serve_connection(TokioIo::new(stream), service);
    tokio::select! {
        ended = connection => if let Err(error) = ended {
            debug!(%error, "a client went away, or was too slow");
        },
        () = stalls => debug!("a client read nothing for too long"),
        () = dismissed.dismissed() => debug!("closed a connection to make room for another client"),
    }
}

/// Returns true for root and for the daemon's own user.
fn may_speak(peer: u32, own: u32) -> bool {
    peer == 0 || peer == own
}

impl<A: ConnectionSource> RequestHandler<A> {
    async fn respond(
        &self,
        request: Request<Incoming>,
        visitor: &Rc<Connection>,
    ) -> Response<SlotBody> {
        let Self { routes, limits, .. } = self;
        let uri = request.uri();
        let query = uri.query().unwrap_or_default().to_owned();
        let who = self.arrivals.access_level(request.headers());
        let found = match routes.find(request.method().as_str(), uri.path(), who) {
            Ok(found) => found,
            Err(refusal) => return unseated(problem_response(&refusal)),
        };
        let body = match found.longest_body(limits.body) {
            Some(longest) => read_body(request.into_body(), longest, limits.request_time).await,
            None => Ok(Bytes::new()),
        };
        let body = match body {
            Ok(body) => body,
            Err(problem) => return unseated(problem_response(&problem.into())),
        };
        let seat = visitor.seat().await;
        let answer = into_response(found.respond(&query, &body).await);
        answer.map(|answer| SlotBody::new(answer, Some(seat)))
    }
}

/// Wraps a response that needs no slot.
fn unseated(answer: Response<ResponseBody>) -> Response<SlotBody> {
    answer.map(|answer| SlotBody::new(answer, None))
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
