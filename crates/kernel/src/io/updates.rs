//! Updates of connections, many in one system call.

use std::io;

use nix::errno::Errno;

use super::socket::{BUFFER, Netlink, Received, Socket};
use crate::conntrack::{ConnectionState, query, request};
use crate::encode::Encoder;
use crate::event::ConnectionId;
use crate::message::{Message, Messages, NLMSG_ERROR, errno};

/// Updates in one `send`. Each may be refused, the refusals wait in the receive buffer (some 200
/// KB), and each takes about 1 KB.
const BATCH: usize = 128;
/// Questions in one `send`: each answer takes some 4 KB of the receive buffer.
const QUESTIONS: usize = 32;

/// Result of updates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Connections that the kernel no longer has. Not an error: they ended meanwhile.
    pub gone: Vec<ConnectionId>,
    /// Updates that failed for another reason.
    pub failed: u64,
    /// The newest such reason: `EBUSY` (status bits may not be changed so), `EPERM` (fixed
    /// time-out, or no CAP_NET_ADMIN), …
    pub error: Option<Errno>,
}

impl Outcome {
    fn fail(&mut self, count: usize, error: Errno) {
        self.failed += count as u64;
        self.error = Some(error);
    }
}

/// The socket for updates. The kernel deals with a request inside `send` and answers only failures
/// (no NLM_F_ACK), so nothing is ever waited for.
#[derive(Debug)]
pub(super) struct Updates {
    socket: Socket,
    buffer: Vec<u8>,
    sequence: u32,
}

impl Updates {
    pub fn open() -> io::Result<Self> {
        Ok(Self {
            socket: Socket::open(Netlink::Netfilter, 0, 0)?,
            buffer: vec![0; BUFFER],
            sequence: 0,
        })
    }

    pub fn port(&self) -> u32 {
        self.socket.port()
    }

    /// Sends one update for each item, encoded by `encode`.
    pub fn send<T>(
        &mut self,
        items: &[T],
        id: impl Fn(&T) -> ConnectionId,
        encode: impl Fn(&mut Encoder, u32, &T),
    ) -> Outcome {
        self.exchange(items, BATCH, id, encode, |_| {})
    }

    /// Requests these connections, if they exist.
    pub fn look(&mut self, connections: &[ConnectionId]) -> (Vec<ConnectionState>, Outcome) {
        let mut found = Vec::new();
        let outcome = self.exchange(
            connections,
            QUESTIONS,
            |id| *id,
            request::look,
            |message| {
                if let Ok(Some(looked)) = query::decode(message) {
                    found.push(looked);
                }
            },
        );
        (found, outcome)
    }

    /// Sends requests, this many at a time, and reads the answers of each group.
    fn exchange<T>(
        &mut self,
        items: &[T],
        most: usize,
        id: impl Fn(&T) -> ConnectionId,
        encode: impl Fn(&mut Encoder, u32, &T),
        mut answer: impl FnMut(&Message<'_>),
    ) -> Outcome {
        let mut outcome = Outcome::default();
        for batch in items.chunks(most) {
            let first = self.sequence;
            let mut encoder = Encoder::default();
            for item in batch {
                encode(&mut encoder, self.sequence, item);
                self.sequence = self.sequence.wrapping_add(1);
            }
            match self.socket.send(&encoder.finish()) {
                Ok(()) => self.answers(first, batch, &id, &mut answer, &mut outcome),
                Err(error) => outcome.fail(
                    batch.len(),
                    Errno::from_raw(error.raw_os_error().unwrap_or(0)),
                ),
            }
        }
        outcome
    }

    /// Reads the refusals of the batch whose first number is `first`, with their requests.
    fn answers<T>(
        &mut self,
        first: u32,
        batch: &[T],
        id: &impl Fn(&T) -> ConnectionId,
        answer: &mut impl FnMut(&Message<'_>),
        outcome: &mut Outcome,
    ) {
        loop {
            let length = match self.socket.receive(&mut self.buffer) {
                Ok(Received::Datagram(length)) => length,
                Ok(Received::Empty) => return,
                // Lost refusals count once: their number is unknown.
                Ok(Received::Lost | Received::TooLong) => {
                    outcome.fail(1, Errno::ENOBUFS);
                    continue;
                }
                Err(error) => {
                    return outcome.fail(1, Errno::from_raw(error.raw_os_error().unwrap_or(0)));
                }
            };
            for message in Messages::new(&self.buffer[..length]).flatten() {
                let item = batch.get(message.sequence.wrapping_sub(first) as usize);
                let Some(item) = item else { continue };
                if message.kind != NLMSG_ERROR {
                    answer(&message);
                    continue;
                }
                match errno(&message).map(Errno::from_raw) {
                    Ok(Errno::ENOENT) => outcome.gone.push(id(item)),
                    Ok(error) => outcome.fail(1, error),
                    Err(_) => outcome.fail(1, Errno::EBADMSG),
                }
            }
        }
    }
}
