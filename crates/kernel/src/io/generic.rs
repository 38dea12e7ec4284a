//! Requests by generic netlink.

use nix::errno::Errno;

use super::RequestError;
use super::socket::{BUFFER, Netlink, Received, Socket};
use crate::message::{DecodeError, Message, Messages, NLMSG_ERROR, errno};

/// A socket for requests with one answer each.
#[derive(Debug)]
pub(super) struct Generic {
    socket: Socket,
    buffer: Vec<u8>,
    sequence: u32,
}

impl Generic {
    /// Opens the socket, in the network namespace of the calling thread; `request` is what it is for, in errors.
    pub(super) fn open(request: &'static str) -> Result<Self, RequestError> {
        let failed = |source| RequestError::Socket { request, source };
        Ok(Self {
            socket: Socket::open(Netlink::Generic, 0, 0).map_err(failed)?,
            buffer: vec![0; BUFFER],
            sequence: 0,
        })
    }

    /// Sends a request and reads its answer, which generic netlink queues before `send` returns.
    pub(super) fn ask<T>(
        &mut self,
        request: &'static str,
        encode: impl Fn(u32) -> Vec<u8>,
        decode: impl Fn(&Message<'_>) -> Result<Option<T>, DecodeError>,
    ) -> Result<T, RequestError> {
        self.sequence = self.sequence.wrapping_add(1);
        let socket = |source| RequestError::Socket { request, source };
        let answer = |source| RequestError::Answer { request, source };
        self.socket.send(&encode(self.sequence)).map_err(socket)?;
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
                if message.kind == NLMSG_ERROR {
                    let errno = Errno::from_raw(errno(&message).map_err(answer)?);
                    return Err(RequestError::Refused { request, errno });
                }
                if let Some(found) = decode(&message).map_err(answer)? {
                    return Ok(found);
                }
            }
        }
    }
}
