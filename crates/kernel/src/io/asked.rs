//! One question, with an answer of any length, on a socket of its own: whatever goes wrong ends with it.

use nix::errno::Errno;

use super::RequestError;
use super::socket::{BUFFER, Netlink, Received, Socket};
use crate::message::{
    DecodeError, Message, Messages, NLM_F_DUMP_INTR, NLMSG_DONE, NLMSG_ERROR, errno,
};

/// The number of the only request.
pub(super) const SEQUENCE: u32 = 1;

/// How an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// With its end.
    Whole,
    /// With its end, but things changed meanwhile: something may be missing.
    Torn,
    /// Not read to its end: `each` wanted no more.
    Enough,
}

/// Asks, and gives each message of the answer to `each`, for as long as that says so. Does not wait: the kernel makes up the next part
/// of a dump while the last one is read.
pub(super) fn ask(
    protocol: Netlink,
    request: &'static str,
    question: &[u8],
    mut each: impl FnMut(&Message<'_>) -> Result<bool, DecodeError>,
) -> Result<End, RequestError> {
    let failed = |source| RequestError::Socket { request, source };
    let answer = |source| RequestError::Answer { request, source };
    let socket = Socket::open(protocol, 0, 0).map_err(failed)?;
    socket.send(question).map_err(failed)?;
    let mut buffer = vec![0; BUFFER];
    let mut end = End::Whole;
    loop {
        let length = match socket.receive(&mut buffer).map_err(failed)? {
            Received::Datagram(length) => length,
            Received::Empty | Received::TooLong | Received::Lost => {
                return Err(RequestError::NoAnswer { request });
            }
        };
        for message in Messages::new(&buffer[..length]) {
            let message = message.map_err(answer)?;
            if message.sequence != SEQUENCE {
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
