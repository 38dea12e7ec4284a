//! What is attached at TC ingress and egress of a device, and qdiscs.

use nix::errno::Errno;

use super::RequestError;
use super::socket::{BUFFER, Netlink, Received, Socket};
use crate::message::{
    DecodeError, Message, Messages, NLM_F_DUMP_INTR, NLMSG_DONE, NLMSG_ERROR, errno,
};
use crate::route::filter::{self, Filter, Side};
use crate::route::qdisc::{self, Listed};
use crate::route::{self, Table};

/// How often a list that changed while it was read is read again.
const RETRIES: u32 = 4;
const REQUEST: &str = "filters of a device";
const QDISCS: &str = "all qdiscs";

/// Asks for filters and qdiscs.
#[derive(Debug)]
pub struct Filters {
    socket: Socket,
    buffer: Vec<u8>,
    sequence: u32,
}

/// The filters of a device, in the order in which packets meet them. Those of a block that it shares with others are among them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attached {
    /// At ingress: of a clsact or of the qdisc `ingress`.
    pub ingress: Vec<Filter>,
    /// At egress: of a clsact. Not those of the root qdisc.
    pub egress: Vec<Filter>,
}

impl Filters {
    /// Opens the socket, in the network namespace of the calling thread.
    ///
    /// # Errors
    /// There are too many open files.
    pub fn open() -> Result<Self, RequestError> {
        let failed = |source| RequestError::Socket {
            request: REQUEST,
            source,
        };
        Ok(Self {
            socket: Socket::open(Netlink::Route, 0, 0).map_err(failed)?,
            buffer: vec![0; BUFFER],
            sequence: 0,
        })
    }

    /// The filters of a device; none where there is no such device, or the kernel has no filters. Does not wait.
    ///
    /// # Errors
    /// The kernel refused, its answer was not understood, or the list changes all the time.
    pub fn attached(&mut self, link: u32) -> Result<Attached, RequestError> {
        let ingress = self.list(link, Side::Ingress)?;
        // Asked for its egress, the qdisc `ingress` shows its ingress.
        let egress = if !ingress.is_empty() && !self.list(link, Side::IngressQdisc)?.is_empty() {
            Vec::new()
        } else {
            self.list(link, Side::Egress)?
        };
        Ok(Attached { ingress, egress })
    }

    /// The qdiscs of all devices, those that only hold filters apart. Does not wait.
    ///
    /// # Errors
    /// The kernel refused, its answer was not understood, or the list changes all the time.
    pub fn qdiscs(&mut self) -> Result<Vec<Listed>, RequestError> {
        let encode = |sequence| route::dump(Table::Qdiscs, sequence);
        self.repeat(QDISCS, encode, qdisc::decode)
    }

    fn list(&mut self, link: u32, side: Side) -> Result<Vec<Filter>, RequestError> {
        let encode = |sequence| filter::dump(link, side, sequence);
        self.repeat(REQUEST, encode, filter::decode)
    }

    fn repeat<T>(
        &mut self,
        request: &'static str,
        encode: impl Fn(u32) -> Vec<u8>,
        decode: impl Fn(&Message<'_>) -> Result<Option<T>, DecodeError>,
    ) -> Result<Vec<T>, RequestError> {
        for _ in 0..=RETRIES {
            if let Some(found) = self.ask(request, &encode, &decode)? {
                return Ok(found);
            }
        }
        Err(RequestError::NoAnswer { request })
    }

    /// `None`: the list changed while it was read. The kernel makes each part of its answer as room is made by reading the last.
    fn ask<T>(
        &mut self,
        request: &'static str,
        encode: &impl Fn(u32) -> Vec<u8>,
        decode: &impl Fn(&Message<'_>) -> Result<Option<T>, DecodeError>,
    ) -> Result<Option<Vec<T>>, RequestError> {
        self.sequence = self.sequence.wrapping_add(1);
        let socket = |source| RequestError::Socket { request, source };
        let answer = |source| RequestError::Answer { request, source };
        self.socket.send(&encode(self.sequence)).map_err(socket)?;
        let (mut found, mut interrupted) = (Vec::new(), false);
        loop {
            let length = match self.socket.receive(&mut self.buffer).map_err(socket)? {
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
                interrupted |= message.flags & NLM_F_DUMP_INTR != 0;
                if !matches!(message.kind, NLMSG_ERROR | NLMSG_DONE) {
                    found.extend(decode(&message).map_err(answer)?);
                    continue;
                }
                let code = errno(&message).map_err(answer)?;
                if code == 0 {
                    return Ok((!interrupted).then_some(found));
                }
                return match Errno::from_raw(code) {
                    // Built without filters.
                    Errno::EOPNOTSUPP => Ok(Some(Vec::new())),
                    errno => Err(RequestError::Refused { request, errno }),
                };
            }
        }
    }
}
