//! A client for programs that wait: the command line.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use http_body_util::{BodyExt, Empty};
use hyper::body::{Buf, Bytes, Incoming};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use tokio::net::UnixStream;
use tokio::runtime::Runtime;

use crate::capture::{CaptureQuery, CaptureSummary, SUMMARY_TRAILER};
use crate::expression::FlowQuery;
use crate::filter::FlowFilter;
use crate::monitor::{HistoryQuery, TalksQuery};
use crate::percent;
use crate::types::{
    Bridged, Config, Devices, Drops, Explanation, Flow, FlowList, History, Hop, Paths, Port,
    Probes, Problem, Reloaded, Status, Talks,
};

/// How long the daemon may be silent before the client gives up.
const PATIENCE: Duration = Duration::from_secs(30);

/// Octets of a problem that are read; a longer one is not from weir.
const LONGEST_PROBLEM: u64 = 1024 * 1024;

/// Why the daemon's answer was not had.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// No socket, or nobody behind it.
    #[error("weir is not running in this network namespace (nobody answers at {})", .0.display())]
    NotRunning(PathBuf),
    /// The socket may not be opened.
    #[error("the socket {} may not be opened", .0.display())]
    NotAllowed(PathBuf),
    /// The daemon was silent for too long.
    #[error("weir did not answer within {} seconds", PATIENCE.as_secs())]
    Silent,
    /// The connection broke.
    #[error("the connection to weir broke: {0}")]
    Broken(String),
    /// The daemon said no.
    #[error("{}", .0.detail)]
    Problem(Box<Problem>),
    /// The answer is not what this version expects.
    #[error("weir's answer cannot be read: {0}")]
    Malformed(String),
    /// What the answer was to be written to failed.
    #[error(transparent)]
    Output(io::Error),
}

impl ClientError {
    /// What to do about it.
    pub fn mend(&self) -> String {
        match self {
            Self::NotRunning(_) => "start it with `weir run`; if it runs in another network namespace, use `ip netns exec` \
                 or `nsenter` to get there, or name its socket with --socket"
                .to_owned(),
            Self::NotAllowed(_) => "run the command as root".to_owned(),
            Self::Silent => "see whether the daemon hangs: what does it log? Packets go through the kernel meanwhile".to_owned(),
            Self::Broken(_) => "see whether the daemon was stopped or restarted just now, then try again".to_owned(),
            Self::Problem(problem) => problem.mend.clone(),
            Self::Malformed(_) => {
                "use the `weir` command of the version that runs: `weir --version` and `weir status` tell".to_owned()
            }
            Self::Output(_) => "see whether the disk is full".to_owned(),
        }
    }
}

/// Speaks to the daemon. Each call is a connection of its own.
#[derive(Debug)]
pub struct Client {
    runtime: Runtime,
    socket: PathBuf,
}

impl Client {
    /// For the daemon at this socket ([`path::socket_path`](crate::path::socket_path)). Connects only when asked something.
    pub fn new(socket: &Path) -> Result<Self, ClientError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| ClientError::Broken(error.to_string()))?;
        Ok(Self {
            runtime,
            socket: socket.to_owned(),
        })
    }

    /// `GET /v1/status`
    pub fn status(&self) -> Result<Status, ClientError> {
        self.ask(Method::GET, "/v1/status")
    }

    /// `GET /v1/hops`
    pub fn hops(&self) -> Result<Vec<Hop>, ClientError> {
        self.ask(Method::GET, "/v1/hops")
    }

    /// `GET /v1/ports`
    pub fn ports(&self) -> Result<Vec<Port>, ClientError> {
        self.ask(Method::GET, "/v1/ports")
    }

    /// `GET /v1/drops`
    pub fn drops(&self) -> Result<Drops, ClientError> {
        self.ask(Method::GET, "/v1/drops")
    }

    /// `GET /v1/devices`
    pub fn devices(&self) -> Result<Devices, ClientError> {
        self.ask(Method::GET, "/v1/devices")
    }

    /// `GET /v1/talks`
    pub fn talks(&self, asked: &TalksQuery) -> Result<Talks, ClientError> {
        self.ask(Method::GET, &with_query("/v1/talks", &asked.to_query()))
    }

    /// `GET /v1/history`
    pub fn history(&self, asked: &HistoryQuery) -> Result<History, ClientError> {
        self.ask(Method::GET, &with_query("/v1/history", &asked.to_query()))
    }

    /// `GET /v1/paths`
    pub fn paths(&self) -> Result<Paths, ClientError> {
        self.ask(Method::GET, "/v1/paths")
    }

    /// `GET /v1/probes`
    pub fn probes(&self) -> Result<Probes, ClientError> {
        self.ask(Method::GET, "/v1/probes")
    }

    /// `GET /v1/explain`
    pub fn explain(&self, flow: &FlowQuery) -> Result<Explanation, ClientError> {
        let query = percent::encode_query([("flow", flow.to_string())]);
        self.ask(Method::GET, &format!("/v1/explain?{query}"))
    }

    /// `GET /v1/config`
    pub fn config(&self) -> Result<Config, ClientError> {
        self.ask(Method::GET, "/v1/config")
    }

    /// `POST /v1/reload`
    pub fn reload(&self) -> Result<Reloaded, ClientError> {
        self.ask(Method::POST, "/v1/reload")
    }

    /// `POST /v1/capture`: hands over pcapng as it arrives, in pieces of any size, until the capture ends, by itself or because `stop`
    /// came true; what was captured before that still arrives. When `stop` is asked for again and comes true a second time, or the
    /// daemon takes too long to end, the rest is left. `None`: the summary did not arrive.
    pub fn capture<F: Future<Output = ()>>(
        &self,
        asked: &CaptureQuery,
        mut stop: impl FnMut() -> F,
        each: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<Option<CaptureSummary>, ClientError> {
        let query = asked.to_query();
        let separator = if query.is_empty() { "" } else { "?" };
        let mut body = self
            .open(Method::POST, &format!("/v1/capture{separator}{query}"))?
            .body;
        self.runtime.block_on(async {
            let mut stopping = false;
            let mut stopped = Box::pin(stop());
            loop {
                let frame = tokio::select! {
                    frame = tokio::time::timeout(PATIENCE, body.frame()) => frame.map_err(|_| ClientError::Silent)?,
                    () = &mut stopped => {
                        if std::mem::replace(&mut stopping, true) {
                            return Ok(None);
                        }
                        stopped = Box::pin(stop());
                        // A capture that ended just now is not there to be ended.
                        self.send(Method::POST, "/v1/capture/stop").await?;
                        continue;
                    }
                };
                let Some(frame) = frame else { return Ok(None) };
                let frame = frame.map_err(|error| ClientError::Broken(error.to_string()))?;
                if let Some(octets) = frame.data_ref() {
                    each(octets).map_err(ClientError::Output)?;
                } else if let Some(trailers) = frame.trailers_ref() {
                    let summary = trailers.get(SUMMARY_TRAILER).map(|value| value.as_bytes());
                    return Ok(summary.and_then(|text| serde_json::from_slice(text).ok()));
                }
            }
        })
    }

    /// `GET /v1/flows`, handed over one by one as they arrive. Ends early when `each` fails. Returns how many fit the filter.
    pub fn flows(
        &self,
        filter: &FlowFilter,
        mut each: impl FnMut(Flow) -> io::Result<()>,
    ) -> Result<u64, ClientError> {
        let body = self.open(Method::GET, &flows_path(filter))?;
        let mut failed = None;
        let list = ListVisitor {
            each: &mut each,
            failed: &mut failed,
        };
        let mut reader = serde_json::Deserializer::from_reader(body);
        let matched = list
            .deserialize(&mut reader)
            .and_then(|matched| reader.end().map(|()| matched));
        match (failed, matched) {
            (Some(error), _) => Err(ClientError::Output(error)),
            (None, Err(error)) => Err(unreadable(error)),
            (None, Ok(matched)) => Ok(matched),
        }
    }

    /// Stations of bridges, of `GET /v1/flows`.
    pub fn bridged(&self, filter: &FlowFilter) -> Result<Vec<Bridged>, ClientError> {
        let filter = FlowFilter {
            limit: Some(0),
            ..filter.clone()
        };
        self.ask::<FlowList>(Method::GET, &flows_path(&filter))
            .map(|list| list.bridged)
    }

    /// `GET /v1/flows`, copied as JSON without being looked at.
    pub fn copy_flows(
        &self,
        filter: &FlowFilter,
        output: &mut dyn Write,
    ) -> Result<(), ClientError> {
        let mut body = self.open(Method::GET, &flows_path(filter))?;
        loop {
            let octets = io::BufRead::fill_buf(&mut body).map_err(broken)?;
            if octets.is_empty() {
                return Ok(());
            }
            output.write_all(octets).map_err(ClientError::Output)?;
            let taken = octets.len();
            io::BufRead::consume(&mut body, taken);
        }
    }

    fn ask<T: DeserializeOwned>(&self, method: Method, path: &str) -> Result<T, ClientError> {
        serde_json::from_reader(self.open(method, path)?).map_err(unreadable)
    }

    fn open(&self, method: Method, path: &str) -> Result<Incomings<'_>, ClientError> {
        let response = self.runtime.block_on(async {
            tokio::time::timeout(PATIENCE, self.send(method, path))
                .await
                .unwrap_or(Err(ClientError::Silent))
        })?;
        let good = response.status().is_success();
        let body = Incomings {
            runtime: &self.runtime,
            body: response.into_body(),
            piece: Bytes::new(),
        };
        if good {
            return Ok(body);
        }
        Err(match serde_json::from_reader(body.take(LONGEST_PROBLEM)) {
            Ok(problem) => ClientError::Problem(Box::new(problem)),
            Err(error) => unreadable(error),
        })
    }

    async fn send(&self, method: Method, path: &str) -> Result<Response<Incoming>, ClientError> {
        let stream =
            UnixStream::connect(&self.socket)
                .await
                .map_err(|error| match error.kind() {
                    io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
                        ClientError::NotRunning(self.socket.clone())
                    }
                    io::ErrorKind::PermissionDenied => ClientError::NotAllowed(self.socket.clone()),
                    _ => ClientError::Broken(error.to_string()),
                })?;
        let broken = |error: hyper::Error| ClientError::Broken(error.to_string());
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .map_err(broken)?;
        // Its errors are told by the request or the body, whichever they hit.
        tokio::spawn(connection);
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(hyper::header::HOST, "weir")
            .header(hyper::header::TE, "trailers")
            .body(Empty::<Bytes>::new())
            .map_err(|error| ClientError::Broken(error.to_string()))?;
        sender.send_request(request).await.map_err(broken)
    }
}

fn flows_path(filter: &FlowFilter) -> String {
    with_query("/v1/flows", &filter.to_query())
}

fn with_query(path: &str, query: &str) -> String {
    if query.is_empty() {
        path.to_owned()
    } else {
        format!("{path}?{query}")
    }
}

fn broken(error: io::Error) -> ClientError {
    if error.kind() == io::ErrorKind::TimedOut {
        ClientError::Silent
    } else {
        ClientError::Broken(error.to_string())
    }
}

fn unreadable(error: serde_json::Error) -> ClientError {
    if error.is_io() {
        broken(error.into())
    } else {
        ClientError::Malformed(error.to_string())
    }
}

/// The body of an answer, as something to read.
struct Incomings<'a> {
    runtime: &'a Runtime,
    body: Incoming,
    piece: Bytes,
}

impl io::BufRead for Incomings<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.piece.is_empty() {
            let frame = self
                .runtime
                .block_on(async { tokio::time::timeout(PATIENCE, self.body.frame()).await })
                .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?;
            let Some(frame) = frame else { break };
            if let Ok(piece) = frame.map_err(io::Error::other)?.into_data() {
                self.piece = piece;
            }
        }
        Ok(&self.piece)
    }

    fn consume(&mut self, octets: usize) {
        self.piece.advance(octets);
    }
}

impl Read for Incomings<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let piece = io::BufRead::fill_buf(self)?;
        let octets = piece.len().min(buffer.len());
        buffer[..octets].copy_from_slice(&piece[..octets]);
        io::BufRead::consume(self, octets);
        Ok(octets)
    }
}

/// Reads a `FlowList` without ever having all of it.
struct ListVisitor<'a> {
    each: &'a mut dyn FnMut(Flow) -> io::Result<()>,
    failed: &'a mut Option<io::Error>,
}

impl<'de> DeserializeSeed<'de> for ListVisitor<'_> {
    type Value = u64;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<u64, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for ListVisitor<'_> {
    type Value = u64;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a list of flows")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<u64, A::Error> {
        let mut matched = None;
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "matched" => matched = Some(map.next_value()?),
                "flows" => map.next_value_seed(EachVisitor {
                    each: &mut *self.each,
                    failed: &mut *self.failed,
                })?,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        matched.ok_or_else(|| serde::de::Error::missing_field("matched"))
    }
}

struct EachVisitor<'a> {
    each: &'a mut dyn FnMut(Flow) -> io::Result<()>,
    failed: &'a mut Option<io::Error>,
}

impl<'de> DeserializeSeed<'de> for EachVisitor<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for EachVisitor<'_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("flows")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<(), A::Error> {
        while let Some(flow) = sequence.next_element()? {
            if let Err(error) = (self.each)(flow) {
                *self.failed = Some(error);
                return Err(serde::de::Error::custom("stopped"));
            }
        }
        Ok(())
    }
}
