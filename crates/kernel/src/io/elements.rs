//! Putting elements into sets, and taking them out.

use std::io;

use super::socket::{BUFFER, Netlink, Received, Socket};
use crate::elements::{self, Batch};
use crate::message::{Messages, NLMSG_ERROR, errno};
use crate::sets::Family;

/// Changes elements of sets and maps of one table, and limits, atomically. Takes some milliseconds
/// for a thousand.
///
/// # Errors
/// The kernel refused: no such table or set (`ENOENT`), no CAP_NET_ADMIN, or no room.
pub fn change_elements(family: Family, table: &str, batch: &Batch<'_>) -> io::Result<()> {
    let socket = Socket::open(Netlink::Netfilter, 0, BUFFER)?;
    // The kernel answers within `send`.
    socket.send(&elements::change(family, table, batch))?;
    let mut buffer = vec![0; BUFFER];
    loop {
        let length = match socket.receive(&mut buffer)? {
            Received::Datagram(length) => length,
            Received::Empty => return Ok(()),
            Received::Lost | Received::TooLong => return Err(io::ErrorKind::InvalidData.into()),
        };
        for message in Messages::new(&buffer[..length]).flatten() {
            if message.kind == NLMSG_ERROR {
                match errno(&message) {
                    Ok(0) => {}
                    Ok(error) => return Err(io::Error::from_raw_os_error(error)),
                    Err(_) => return Err(io::ErrorKind::InvalidData.into()),
                }
            }
        }
    }
}
