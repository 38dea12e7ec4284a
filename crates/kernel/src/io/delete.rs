//! Deletes conntrack entries.

use std::io;

use super::socket::{BUFFER, Netlink, Received, Socket};
use crate::conntrack;
use crate::encode::Encoder;
use crate::event::ConnectionId;
use crate::message::{Messages, NLMSG_ERROR, errno};

/// Deletes all entries, of both families, whose connection mark equals this one under the mask.
/// Later packets of such an entry begin a new conversation. The kernel walks its whole table.
///
/// # Errors
/// The kernel's answer: no CAP_NET_ADMIN, or no CONFIG_NF_CONNTRACK_MARK.
pub fn delete_marked(mark: u32, mask: u32) -> io::Result<()> {
    let socket = Socket::open(Netlink::Netfilter, 0, 0)?;
    // The kernel answers within `send`.
    socket.send(&conntrack::request::forget(1, mark, mask))?;
    let mut buffer = vec![0; BUFFER];
    let Received::Datagram(length) = socket.receive(&mut buffer)? else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    for message in Messages::new(&buffer[..length]).flatten() {
        if message.kind == NLMSG_ERROR {
            return match errno(&message) {
                Ok(0) => Ok(()),
                Ok(error) => Err(io::Error::from_raw_os_error(error)),
                Err(_) => Err(io::ErrorKind::InvalidData.into()),
            };
        }
    }
    Err(io::ErrorKind::InvalidData.into())
}

/// Connections per request: the kernel does not answer successful ones.
const BATCH: usize = 256;

/// Removes these entries, and ignores those that are gone already. Events report the others. Takes
/// some microseconds for each.
///
/// # Errors
/// The socket cannot be used: no CAP_NET_ADMIN.
pub fn delete_connections(connections: &[ConnectionId]) -> io::Result<()> {
    if connections.is_empty() {
        return Ok(());
    }
    let socket = Socket::open(Netlink::Netfilter, 0, 0)?;
    let mut buffer = vec![0; BUFFER];
    for batch in connections.chunks(BATCH) {
        let mut encoder = Encoder::default();
        for id in batch {
            conntrack::request::end(&mut encoder, 1, id);
        }
        socket.send(&encoder.finish())?;
        // Answers for entries that went meanwhile.
        while matches!(
            socket.receive(&mut buffer)?,
            Received::Datagram(_) | Received::Lost
        ) {}
    }
    Ok(())
}
