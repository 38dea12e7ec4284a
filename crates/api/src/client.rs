//! A blocking client: used by the command line.

use std::io::{self, Read, Write};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::{Buf, Bytes, Incoming};
use hyper::header::{HOST, HeaderValue, TE};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use tokio::net::UnixStream;
use tokio::runtime::Runtime;

use crate::problem::Problem;

/// Longest silence of the daemon before the client gives up.
const PATIENCE: Duration = Duration::from_secs(30);

/// Most bytes read of a problem; a longer one is not from weir.
const LONGEST_PROBLEM: u64 = 1024 * 1024;

/// Reason why a request failed.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The socket does not exist, or no daemon listens on it.
    #[error("weir is not running in this network namespace (no answer at {})", .0.display())]
    NotRunning(PathBuf),
    /// The user may not open the socket.
    #[error("cannot open the socket {}: permission denied", .0.display())]
    NotAllowed(PathBuf),
    /// The daemon was silent for too long.
    #[error("weir did not answer within {} seconds", PATIENCE.as_secs())]
    Silent,
    /// The connection failed.
    #[error("lost the connection to weir: {0}")]
    Broken(String),
    /// The daemon refused the request.
    #[error("{}", .0.detail)]
    Problem(Box<Problem>),
    /// The answer is not what this version expects.
    #[error("cannot read weir's answer: {0}")]
    Malformed(String),
    /// Writing the answer to the output failed.
    #[error(transparent)]
    Output(io::Error),
}

impl ClientError {
    /// Returns advice.
    pub fn hint(&self) -> String {
        match self {
            Self::NotRunning(_) => "start it with `weir run`; if it runs in another network \
                namespace, use `ip netns exec` \
                 or `nsenter` to get there, or name its socket with --socket"
                .to_owned(),
            Self::NotAllowed(_) => "run the command as root".to_owned(),
            Self::Silent => "check the daemon's log: it may hang; the kernel forwards packets \
                meanwhile"
                .to_owned(),
            Self::Broken(_) => "check whether the daemon was just stopped or restarted, then try \
                again"
                .to_owned(),
            Self::Problem(problem) => problem.hint.clone(),
            Self::Malformed(_) => {
                "use the `weir` command of the running version: compare `weir --version` with \
                    `weir status`"
                    .to_owned()
            }
            Self::Output(_) => "check whether the disk is full".to_owned(),
        }
    }
}

/// Connection to the daemon. Each call makes a connection of its own.
#[derive(Debug)]
pub struct Client {
    runtime: Runtime,
    socket: PathBuf,
}

impl Client {
    /// Returns a client of the daemon at this socket
    /// ([`path::socket_path`](crate::path::socket_path)). Connects with each request.
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

    /// Gets a path, and parses the answer as this type.
    pub fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        serde_json::from_reader(self.open(path)?).map_err(unreadable)
    }

    /// Sends a request with a body, and parses the answer.
    pub fn send<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, ClientError> {
        let body = serde_json::to_vec(body).map_err(unreadable)?;
        serde_json::from_reader(self.request(method, path, body.into())?).map_err(unreadable)
    }

    /// Posts to a path without a body, and parses the answer.
    pub fn post<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        serde_json::from_reader(self.request(Method::POST, path, Bytes::new())?).map_err(unreadable)
    }

    /// Gets a path; the answer can be read as it arrives.
    pub fn open(&self, path: &str) -> Result<BodyReader<'_>, ClientError> {
        self.request(Method::GET, path, Bytes::new())
    }

    /// Gets a path, and copies the answer unparsed.
    pub fn copy(&self, path: &str, output: &mut dyn Write) -> Result<(), ClientError> {
        let mut body = self.open(path)?;
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

    /// Gets a JSON object with a long list in it, and passes each item to `each` as it arrives.
    /// Ends early when `each` fails. Returns the object's other fields.
    pub fn list<T: DeserializeOwned, R: DeserializeOwned>(
        &self,
        path: &str,
        field: &str,
        mut each: impl FnMut(T) -> io::Result<()>,
    ) -> Result<R, ClientError> {
        let body = self.open(path)?;
        let mut failed = None;
        let list = ObjectVisitor {
            field,
            items: ItemsVisitor {
                each: &mut each,
                failed: &mut failed,
                item: PhantomData,
            },
        };
        let mut reader = serde_json::Deserializer::from_reader(body);
        let rest = reader
            .deserialize_map(list)
            .and_then(|rest| reader.end().map(|()| rest))
            .and_then(|rest| serde_json::from_value(Value::Object(rest)));
        match (failed, rest) {
            (Some(error), _) => Err(ClientError::Output(error)),
            (None, rest) => rest.map_err(unreadable),
        }
    }

    /// Posts, and passes the answer on as it arrives, in pieces of any size, until the answer ends,
    /// by itself or because `stop` resolved: then posts to `stop_path` and reads the rest. If
    /// `stop` resolves a second time, or the daemon takes too long to end, drops the rest. Returns
    /// the trailer of that name, if it arrived.
    pub fn follow<F: Future<Output = ()>>(
        &self,
        [path, stop_path]: [&str; 2],
        trailer: &str,
        mut stop: impl FnMut() -> F,
        each: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<Option<Vec<u8>>, ClientError> {
        let mut body = self.request(Method::POST, path, Bytes::new())?.body;
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
                        // If the answer ended just now, the stop request has no effect.
                        self.converse(Method::POST, stop_path, Bytes::new()).await?;
                        continue;
                    }
                };
                let Some(frame) = frame else { return Ok(None) };
                let frame = frame.map_err(|error| ClientError::Broken(error.to_string()))?;
                if let Some(octets) = frame.data_ref() {
                    each(octets).map_err(ClientError::Output)?;
                } else if let Some(trailers) = frame.trailers_ref() {
                    let told = trailers.get(trailer);
                    return Ok(told.map(|value| value.as_bytes().to_owned()));
                }
            }
        })
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Result<BodyReader<'_>, ClientError> {
        let response = self.runtime.block_on(async {
            tokio::time::timeout(PATIENCE, self.converse(method, path, body))
                .await
                .unwrap_or(Err(ClientError::Silent))
        })?;
        let good = response.status().is_success();
        let body = BodyReader {
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

    async fn converse(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Result<Response<Incoming>, ClientError> {
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
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(TE, "trailers")
            .body(Full::new(body))
            .map_err(|error| ClientError::Broken(error.to_string()))?;
        exchange(stream, request)
            .await
            .map_err(|error| ClientError::Broken(error.to_string()))
    }
}

/// Sends a request on a new connection. Must be called inside a tokio runtime.
///
/// # Errors
/// The connection failed, or the other end does not speak HTTP.
pub async fn exchange(
    stream: UnixStream,
    mut request: Request<Full<Bytes>>,
) -> hyper::Result<Response<Incoming>> {
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    // The request or the body reports its errors, whichever they hit.
    tokio::spawn(connection);
    let headers = request.headers_mut();
    headers.insert(HOST, HeaderValue::from_static("weir"));
    sender.send_request(request).await
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

/// The body of an answer, as a reader.
pub struct BodyReader<'a> {
    runtime: &'a Runtime,
    body: Incoming,
    piece: Bytes,
}

impl io::BufRead for BodyReader<'_> {
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

impl Read for BodyReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let piece = io::BufRead::fill_buf(self)?;
        let octets = piece.len().min(buffer.len());
        buffer[..octets].copy_from_slice(&piece[..octets]);
        io::BufRead::consume(self, octets);
        Ok(octets)
    }
}

/// Reads an object with a long list in it without holding all of it.
struct ObjectVisitor<'a, T> {
    field: &'a str,
    items: ItemsVisitor<'a, T>,
}

impl<'de, T: DeserializeOwned> Visitor<'de> for ObjectVisitor<'_, T> {
    type Value = Map<String, Value>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "an object with the list `{}`", self.field)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut rest = Map::new();
        let mut items = Some(self.items);
        while let Some(key) = map.next_key::<String>()? {
            match items.take_if(|_| key == self.field) {
                Some(items) => map.next_value_seed(items)?,
                None => {
                    rest.insert(key, map.next_value()?);
                }
            }
        }
        Ok(rest)
    }
}

struct ItemsVisitor<'a, T> {
    each: &'a mut dyn FnMut(T) -> io::Result<()>,
    failed: &'a mut Option<io::Error>,
    item: PhantomData<T>,
}

impl<'de, T: DeserializeOwned> DeserializeSeed<'de> for ItemsVisitor<'_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, T: DeserializeOwned> Visitor<'de> for ItemsVisitor<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<(), A::Error> {
        while let Some(item) = sequence.next_element()? {
            if let Err(error) = (self.each)(item) {
                *self.failed = Some(error);
                return Err(serde::de::Error::custom("stopped"));
            }
        }
        Ok(())
    }
}
