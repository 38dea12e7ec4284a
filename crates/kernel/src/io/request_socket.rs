//! Requests to the kernel, each with an answer of any length that the kernel produces during the
//! request.

use nix::errno::Errno;

use super::RequestError;
use super::socket::{BUFFER, Netlink, Received, Socket};
use crate::message::{
    DecodeError, Message, Messages, NLM_F_DUMP_INTR, NLMSG_DONE, NLMSG_ERROR, errno,
};
use crate::netdev::{Family, decode_family, get_family};

/// End of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The answer is complete.
    Whole,
    /// The answer is complete, but things changed meanwhile: something may be missing.
    Torn,
    /// True if the answer was not read to its end, because `each` returned false.
    Enough,
}

/// A socket for questions, one after another.
#[derive(Debug)]
pub(super) struct RequestSocket {
    socket: Socket,
    buffer: Vec<u8>,
    sequence: u32,
}

/// Number of times that a dump is repeated because of changes during the dump.
const RETRIES: u32 = 4;

/// Reads a dump of nf_tables, in the network namespace of the calling thread. Does not wait.
pub(super) fn read_all<T>(
    request: &'static str,
    question: impl Fn(u32) -> Vec<u8>,
    decode: impl Fn(&Message<'_>) -> Result<Option<T>, DecodeError>,
) -> Result<Vec<T>, RequestError> {
    let mut kernel = RequestSocket::open(Netlink::Netfilter, request)?;
    let mut all = Vec::new();
    for _ in 0..=RETRIES {
        all.clear();
        if kernel.append(request, &question, &decode, &mut all)? != End::Torn {
            break;
        }
    }
    Ok(all)
}

/// Returns the answer; `None` if the kernel refused for one of these reasons.
pub(super) fn unless<T>(
    answer: Result<T, RequestError>,
    reasons: &[Errno],
) -> Result<Option<T>, RequestError> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(RequestError::Refused { errno, .. }) if reasons.contains(&errno) => Ok(None),
        Err(error) => Err(error),
    }
}

impl RequestSocket {
    /// Opens the socket, in the network namespace of the calling thread; `request` names its
    /// purpose, for errors.
    pub(super) fn open(protocol: Netlink, request: &'static str) -> Result<Self, RequestError> {
        let failed = |source| RequestError::Socket { request, source };
        Ok(Self {
            socket: Socket::open(protocol, 0, 0).map_err(failed)?,
            buffer: vec![0; BUFFER],
            sequence: 0,
        })
    }

    /// Like [`RequestSocket::open`]; dumps are filtered by the header of their request.
    pub(super) fn open_strict(
        protocol: Netlink,
        request: &'static str,
    ) -> Result<Self, RequestError> {
        let asker = Self::open(protocol, request)?;
        let failed = |source| RequestError::Socket { request, source };
        asker.socket.check_strictly().map_err(failed)?;
        Ok(asker)
    }

    /// Opens a socket for a generic netlink family of this name, and returns the family's numbers.
    /// `None`: the kernel lacks the family.
    pub(super) fn of_family(
        name: &str,
        request: &'static str,
    ) -> Result<Option<(Family, Self)>, RequestError> {
        let mut requests = Self::open(Netlink::Generic, request)?;
        let encode = |sequence| get_family(name, sequence);
        let answer = requests.ask_one(request, encode, decode_family);
        Ok(unless(answer, &[Errno::ENOENT])?.map(|family| (family, requests)))
    }

    /// Sends the request that `question` makes of a sequence number, and passes each message of the
    /// answer to `each`, while `each` returns true. Does not wait: the kernel produces the next
    /// part of a dump while the last one is read.
    pub(super) fn ask(
        &mut self,
        request: &'static str,
        question: impl Fn(u32) -> Vec<u8>,
        mut each: impl FnMut(&Message<'_>) -> Result<bool, DecodeError>,
    ) -> Result<End, RequestError> {
        let failed = |source| RequestError::Socket { request, source };
        let answer = |source| RequestError::Answer { request, source };
        // The rest of an answer that was not read to its end has the number of its question.
        self.sequence = self.sequence.wrapping_add(1);
        self.socket.send(&question(self.sequence)).map_err(failed)?;
        let mut end = End::Whole;
        loop {
            let length = match self.socket.receive(&mut self.buffer).map_err(failed)? {
                Received::Datagram(length) => length,
                Received::Empty | Received::TooLong | Received::Lost => {
                    return Err(RequestError::NoAnswer { request });
                }
            };
            for message in Messages::new(&self.buffer[..length]) {
                let message = message.map_err(answer)?;
                if message.sequence != self.sequence {
                    continue;
                }
                if message.flags & NLM_F_DUMP_INTR != 0 {
                    end = End::Torn;
                }
                if message.kind == NLMSG_ERROR || message.kind == NLMSG_DONE {
                    return match errno(&message).map_err(answer)? {
                        0 => Ok(end),
                        code => Err(RequestError::Refused {
                            request,
                            errno: Errno::from_raw(code),
                        }),
                    };
                }
                if !each(&message).map_err(answer)? {
                    return Ok(End::Enough);
                }
            }
        }
    }

    /// Sends a request without a result.
    pub(super) fn order(
        &mut self,
        request: &'static str,
        question: impl Fn(u32) -> Vec<u8>,
    ) -> Result<(), RequestError> {
        self.ask(request, question, |_| Ok(true)).map(drop)
    }

    /// Appends all that `decode` finds in the answer.
    pub(super) fn append<T>(
        &mut self,
        request: &'static str,
        question: impl Fn(u32) -> Vec<u8>,
        decode: impl Fn(&Message<'_>) -> Result<Option<T>, DecodeError>,
        out: &mut Vec<T>,
    ) -> Result<End, RequestError> {
        self.ask(request, question, |message| {
            out.extend(decode(message)?);
            Ok(true)
        })
    }

    /// Collects the results of `decode` in a dump. `None`: the table changed during each attempt.
    pub(super) fn collect<T>(
        &mut self,
        request: &'static str,
        question: impl Fn(u32) -> Vec<u8>,
        decode: impl Fn(&Message<'_>) -> Result<Option<T>, DecodeError>,
    ) -> Result<Option<Vec<T>>, RequestError> {
        for _ in 0..=RETRIES {
            let mut found = Vec::new();
            if self.append(request, &question, &decode, &mut found)? != End::Torn {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Queries one item: the first that `decode` finds in the answer.
    pub(super) fn ask_one<T>(
        &mut self,
        request: &'static str,
        question: impl Fn(u32) -> Vec<u8>,
        decode: impl Fn(&Message<'_>) -> Result<Option<T>, DecodeError>,
    ) -> Result<T, RequestError> {
        let mut found = None;
        self.ask(request, question, |message| {
            found = decode(message)?;
            Ok(found.is_none())
        })?;
        found.ok_or(RequestError::NoAnswer { request })
    }
}
