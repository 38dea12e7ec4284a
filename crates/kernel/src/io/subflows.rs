//! Queries TCP sockets.

use super::RequestError;
use super::request_socket::RequestSocket;
use super::socket::Netlink;
use crate::subflows::{self, Sockets, Subflow};

/// The TCP sockets of a network namespace, of all processes. MPTCP's data about them needs
/// CAP_NET_ADMIN.
#[derive(Debug)]
pub struct Subflows {
    kernel: RequestSocket,
}

impl Subflows {
    /// Opens the socket, in the network namespace of the calling thread.
    ///
    /// # Errors
    /// The kernel lacks the protocol, or there are too many open files.
    pub fn open() -> Result<Self, RequestError> {
        RequestSocket::open(Netlink::Diagnosis, "TCP sockets").map(|kernel| Self { kernel })
    }

    /// Appends those sockets of both families. A socket that comes or goes meanwhile may be
    /// missing. Does not wait; the kernel walks all TCP sockets of the machine, so the time grows
    /// with their number.
    ///
    /// # Errors
    /// The kernel refused (ENOENT: it was built without `tcp_diag`), or its answer was malformed:
    /// earlier sockets are appended.
    pub fn read(&mut self, sockets: Sockets, out: &mut Vec<Subflow>) -> Result<(), RequestError> {
        for ipv6 in [false, true] {
            self.kernel.append(
                "TCP sockets",
                |sequence| subflows::dump(sockets, ipv6, sequence),
                subflows::decode,
                out,
            )?;
        }
        Ok(())
    }

    /// Appends the tokens of all MPTCP connections to or at a port, of both families, including
    /// those without any subflow. Leaves out connections that fell back to TCP. Otherwise like
    /// [`read`](Self::read).
    ///
    /// # Errors
    /// The kernel refused (ENOENT: it was built without `mptcp_diag`), or its answer was not
    /// understood.
    pub fn connections(
        &mut self,
        sockets: Sockets,
        out: &mut Vec<u32>,
    ) -> Result<(), RequestError> {
        for ipv6 in [false, true] {
            self.kernel.append(
                "MPTCP connections",
                |sequence| subflows::dump_connections(sockets, ipv6, sequence),
                subflows::decode_connection,
                out,
            )?;
        }
        Ok(())
    }
}
