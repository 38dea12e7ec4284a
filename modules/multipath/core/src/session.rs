//! Sessions: the keys of a handshake, and messages sealed with them.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ring::aead::{Aad, LessSafeKey};

use crate::aead::{self, Cipher, TAG};
use crate::derive::{self, NoRandom};
use crate::frame::{Frame, Header, Kind, MOST};
use crate::open::{Open, Status};
use crate::stream::{Opener, Sealer};
use crate::tlv::Malformed;
use crate::window::Window;

/// Bytes of an open's body in front of the sealed part: session and counter.
const FRONT: usize = 8 + 8;

/// Opens that may overtake one another: at 10,000 connections a second, the first segment of one
/// may be retransmitted a few times.
const OPENS: u64 = 65_536;

/// Id of a session: drawn by the partner, sent in the clear.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(pub u64);

impl SessionId {
    /// Generates a random id. The partner must make sure that it is unique.
    pub fn generate() -> Result<Self, NoRandom> {
        derive::random().map(|octets| Self(u64::from_be_bytes(octets)))
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:016x}", self.0)
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "SessionId({self})")
    }
}

/// Cause to refuse a body. The connection is to be closed; only [`unknown`] is ever answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// Body that is too short or too long.
    #[error("invalid length of a body: {0} bytes")]
    Length(usize),
    /// Body of another session.
    #[error("session {0} is not this session")]
    Other(SessionId),
    /// Changed on its way, or not sealed with the keys.
    #[error("not sealed with the keys of this session")]
    Forged,
    /// Replayed, or far too old.
    #[error("counter {0} was used before")]
    Replayed(u64),
    /// Sealed with the right key, but malformed: the other side has a fault.
    #[error("malformed content: {0}")]
    Malformed(#[from] Malformed),
}

/// End of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Router,
    Partner,
}

/// Keys for datagrams at one end. Up is from the router to the partner.
#[derive(Clone, PartialEq, Eq)]
pub struct DatagramKeys {
    /// Key for datagrams that this end sends.
    pub seal: [u8; 32],
    /// Key for datagrams that this end receives.
    pub open: [u8; 32],
}

impl fmt::Debug for DatagramKeys {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("DatagramKeys")
    }
}

/// Keys that all connections of a session share.
struct Keys {
    role: Role,
    opens: LessSafeKey,
    statuses: LessSafeKey,
    streams: [u8; 32],
    up: [u8; 32],
    down: [u8; 32],
}

impl Keys {
    /// Derives both directions of a connection's stream.
    fn stream(&self, counter: u64, cipher: Cipher) -> (Sealer, Opener) {
        let streams = derive::of_key(&self.streams);
        let secret = |direction: &[u8]| {
            derive::expand(
                &streams,
                &[direction, &counter.to_be_bytes(), &[cipher.code()]],
            )
        };
        let (up, down) = (secret(b"weir2 stream up"), secret(b"weir2 stream down"));
        match self.role {
            Role::Router => (Sealer::new(cipher, &up), Opener::new(cipher, &down)),
            Role::Partner => (Sealer::new(cipher, &down), Opener::new(cipher, &up)),
        }
    }
}

/// A session at one end. Many threads may use it at once.
pub struct Session {
    id: SessionId,
    keys: Arc<Keys>,
    /// Cipher that the router chooses for streams.
    cipher: Cipher,
    /// Counter of the router's next open.
    next: AtomicU64,
    /// Window of the opens that the partner accepted.
    opens: Mutex<Window>,
}

impl Session {
    /// Derives the keys from the output of Noise's split, and from the handshake hash.
    pub(crate) fn new(
        role: Role,
        id: SessionId,
        cipher: Cipher,
        split: &[u8; 64],
        hash: &[u8],
    ) -> Self {
        let from = derive::extract(hash, split);
        let key = |label: &str| derive::expand(&from, &[label.as_bytes()]);
        let keys = Keys {
            role,
            opens: Cipher::ChaCha20Poly1305.key(&key("weir2 opens")),
            statuses: Cipher::ChaCha20Poly1305.key(&key("weir2 statuses")),
            streams: key("weir2 streams"),
            up: key("weir2 datagrams up"),
            down: key("weir2 datagrams down"),
        };
        Self {
            id,
            keys: Arc::new(keys),
            cipher,
            next: AtomicU64::new(0),
            opens: Mutex::new(Window::new(OPENS)),
        }
    }

    /// Returns the id of the session.
    pub fn id(&self) -> SessionId {
        self.id
    }

    /// Returns the keys for datagrams.
    pub fn datagrams(&self) -> DatagramKeys {
        let (up, down) = (self.keys.up, self.keys.down);
        match self.keys.role {
            Role::Router => DatagramKeys {
                seal: up,
                open: down,
            },
            Role::Partner => DatagramKeys {
                seal: down,
                open: up,
            },
        }
    }

    /// Builds an open at the router: the frame to send first, 52 bytes for two IPv4 addresses, 76
    /// for IPv6, 3 more with encryption, 4 with a predecessor.
    ///
    /// # Panics
    /// At the partner's end, which must not open: it would reuse the router's nonces.
    pub fn open(&self, open: &Open) -> (OutgoingConnection, Vec<u8>) {
        assert_eq!(self.keys.role, Role::Router, "only a router opens");
        let counter = self.next.fetch_add(1, Ordering::Relaxed);
        let cipher = open.encrypted.then_some(self.cipher);
        let mut sealed = open.encode(cipher);
        let front = self.front(counter, FRONT + sealed.len() + TAG);
        self.keys
            .opens
            .seal_in_place_append_tag(aead::nonce(counter), Aad::from(&front), &mut sealed)
            .expect("opens are short");
        let opened = OutgoingConnection(Connection {
            keys: Arc::clone(&self.keys),
            counter,
            cipher,
        });
        (opened, [&front[..], &sealed].concat())
    }

    /// Reads an open at the partner. Each open is accepted once.
    pub fn accept(&self, body: &[u8]) -> Result<(IncomingConnection, Open), SessionError> {
        let id = session_id(body)?;
        if id != self.id {
            return Err(SessionError::Other(id));
        }
        let wrong = SessionError::Length(body.len());
        if body.len() > MOST {
            return Err(wrong);
        }
        let (&counter, sealed) = body[8..].split_first_chunk().ok_or(wrong)?;
        let counter = u64::from_be_bytes(counter);
        let mut sealed = sealed.to_vec();
        let plain = self
            .keys
            .opens
            .open_in_place(
                aead::nonce(counter),
                Aad::from(self.front(counter, body.len())),
                &mut sealed,
            )
            .map_err(|_| SessionError::Forged)?;
        let mut opens = self.opens.lock().unwrap_or_else(PoisonError::into_inner);
        if !opens.take(counter) {
            return Err(SessionError::Replayed(counter));
        }
        drop(opens);
        let (open, cipher) = Open::decode(plain)?;
        let accepted = IncomingConnection(Connection {
            keys: Arc::clone(&self.keys),
            counter,
            cipher,
        });
        Ok((accepted, open))
    }

    /// Returns the part of an open's frame that is authenticated but not sealed.
    fn front(&self, counter: u64, length: usize) -> [u8; 4 + FRONT] {
        let kind = Kind::Open;
        let mut front = [0; 4 + FRONT];
        front[..4].copy_from_slice(&Header { kind, length }.octets());
        front[4..12].copy_from_slice(&self.id.0.to_be_bytes());
        front[12..].copy_from_slice(&counter.to_be_bytes());
        front
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Session({}, {:?})", self.id, self.keys.role)
    }
}

/// Reads the session's id from the body of an open, or of "unknown session".
pub fn session_id(body: &[u8]) -> Result<SessionId, SessionError> {
    body.first_chunk()
        .map(|id| SessionId(u64::from_be_bytes(*id)))
        .ok_or(SessionError::Length(body.len()))
}

/// Builds the answer to an open of a session that the partner does not know.
pub fn unknown(id: SessionId) -> Vec<u8> {
    let (kind, body) = (Kind::UnknownSession, &id.0.to_be_bytes());
    Frame { kind, body }.octets()
}

/// A connection of a session.
struct Connection {
    keys: Arc<Keys>,
    counter: u64,
    cipher: Option<Cipher>,
}

impl Connection {
    /// Returns the header of a status: 19 bytes of body. There is only one per connection.
    fn status_header(length: usize) -> [u8; 4] {
        let kind = Kind::Status;
        Header { kind, length }.octets()
    }

    fn stream(&mut self) -> Option<(Sealer, Opener)> {
        let cipher = self.cipher.take()?;
        Some(self.keys.stream(self.counter, cipher))
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?} {}", self.keys.role, self.counter)
    }
}

/// A connection that a router has asked for.
#[derive(Debug)]
pub struct OutgoingConnection(Connection);

impl OutgoingConnection {
    /// Returns the connection's number in the session, from 0.
    pub fn counter(&self) -> u64 {
        self.0.counter
    }

    /// Takes the two ends of the stream; `None` if the stream is not encrypted, or the ends were
    /// taken already. Payload may be sealed before the status arrives.
    pub fn stream(&mut self) -> Option<(Sealer, Opener)> {
        self.0.stream()
    }

    /// Reads the status of the connection.
    pub fn status(&self, body: &[u8]) -> Result<Status, SessionError> {
        if body.len() > MOST {
            return Err(SessionError::Length(body.len()));
        }
        let mut sealed = body.to_vec();
        let header = Connection::status_header(body.len());
        let statuses = &self.0.keys.statuses;
        let plain = statuses
            .open_in_place(aead::nonce(self.0.counter), Aad::from(header), &mut sealed)
            .map_err(|_| SessionError::Forged)?;
        Ok(Status::decode(plain)?)
    }
}

/// A connection that a partner has been asked for.
#[derive(Debug)]
pub struct IncomingConnection(Connection);

impl IncomingConnection {
    /// Returns the connection's number in the session, from 0.
    pub fn counter(&self) -> u64 {
        self.0.counter
    }

    /// Takes the two ends of the stream; `None` if it is not encrypted, or they were taken already.
    pub fn stream(&mut self) -> Option<(Sealer, Opener)> {
        self.0.stream()
    }

    /// Builds the frame with the status, 23 bytes. There is only one: its nonce is the open's.
    pub fn status(self, status: Status) -> Vec<u8> {
        let mut sealed = status.encode();
        let header = Connection::status_header(sealed.len() + TAG);
        let statuses = &self.0.keys.statuses;
        statuses
            .seal_in_place_append_tag(aead::nonce(self.0.counter), Aad::from(header), &mut sealed)
            .expect("statuses are short");
        [&header[..], &sealed].concat()
    }
}
