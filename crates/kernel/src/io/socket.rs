//! A netlink socket.

use std::io::{self, IoSliceMut};
use std::os::fd::{AsRawFd, OwnedFd};

use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, bind, getsockname, recvmsg, send, setsockopt, sockopt,
};
use socket2::{Domain, SockFilter, SockRef, Type};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

pub(super) use super::protocol::{Netlink, Received};

/// The kernel fills datagrams of a dump up to 32 KiB; a link with hundreds of virtual functions
/// takes more.
pub(super) const BUFFER: usize = 64 * 1024;

/// `NETLINK_ADD_MEMBERSHIP`, for the groups beyond those that `bind` takes.
#[derive(Clone, Copy)]
struct AddMembership;

nix::setsockopt_impl!(
    AddMembership,
    libc::SOL_NETLINK,
    libc::NETLINK_ADD_MEMBERSHIP,
    usize,
    sockopt::SetUsize
);

/// `NETLINK_GET_STRICT_CHK`: the kernel reads the header of a dump request, and filters the dump
/// accordingly (Linux 4.20).
#[derive(Clone, Copy)]
struct StrictCheck;

nix::setsockopt_impl!(
    StrictCheck,
    libc::SOL_NETLINK,
    libc::NETLINK_GET_STRICT_CHK,
    bool,
    sockopt::SetBool
);

/// A bound, non-blocking netlink socket.
#[derive(Debug)]
pub(super) struct Socket {
    fd: AsyncFd<OwnedFd>,
    port: u32,
    #[cfg(test)]
    protocol: Netlink,
}

impl Socket {
    /// Opens a socket that listens to `groups`, a mask of the first 32. Forces a receive buffer of
    /// `receive_buffer` bytes (the kernel doubles the number, for its book-keeping), or sets it
    /// within the limit of `net.core.rmem_max`; 0 leaves the default.
    pub fn open(protocol: Netlink, groups: u32, receive_buffer: usize) -> io::Result<Self> {
        let domain = Domain::from(AddressFamily::Netlink as i32);
        let socket = socket2::Socket::new(domain, Type::RAW, Some((protocol as i32).into()))?;
        socket.set_nonblocking(true)?;
        let fd = OwnedFd::from(socket);
        if receive_buffer != 0 && setsockopt(&fd, sockopt::RcvBufForce, &receive_buffer).is_err() {
            setsockopt(&fd, sockopt::RcvBuf, &receive_buffer)?;
        }
        bind(fd.as_raw_fd(), &NetlinkAddr::new(0, groups))?;
        let port = getsockname::<NetlinkAddr>(fd.as_raw_fd())?.pid();
        // Deprecated in favour of an unsafe function, because a type could change its descriptor
        // under tokio. `OwnedFd` cannot.
        #[allow(deprecated)]
        let fd = AsyncFd::with_interest(fd, Interest::READABLE)?;
        Ok(Self {
            fd,
            port,
            #[cfg(test)]
            protocol,
        })
    }

    /// Returns the kernel's number for this socket: `nlmsg_pid` of messages that it causes.
    pub fn port(&self) -> u32 {
        self.port
    }

    /// Makes the kernel filter dumps by the header of their request from now on.
    pub fn check_strictly(&self) -> io::Result<()> {
        Ok(setsockopt(self.fd.get_ref(), StrictCheck, &true)?)
    }

    /// Listens to one more group, by its number.
    pub fn join(&self, group: u32) -> io::Result<()> {
        Ok(setsockopt(
            self.fd.get_ref(),
            AddMembership,
            &(group as usize),
        )?)
    }

    /// Makes the kernel not even queue messages that this port causes: a filter in the classic BPF
    /// compares `nlmsg_pid`.
    pub fn filter_port(&self, port: u32) -> io::Result<()> {
        // BPF_LD|BPF_W|BPF_ABS reads in network order, the kernel wrote in its own order.
        let filter = [
            SockFilter::new(0x20, 0, 0, 12),
            SockFilter::new(0x15, 0, 1, u32::from_be_bytes(port.to_ne_bytes())),
            SockFilter::new(0x06, 0, 0, 0),
            SockFilter::new(0x06, 0, 0, u32::MAX),
        ];
        SockRef::from(self.fd.get_ref()).attach_filter(&filter)
    }

    /// Sends requests. The kernel has dealt with all of them when this returns, and queued its
    /// answers, other than to dumps.
    pub fn send(&self, requests: &[u8]) -> io::Result<()> {
        #[cfg(test)]
        if super::virtual_kernel::takes((self.protocol, self.port), requests) {
            return Ok(());
        }
        let sent = send(self.fd.as_raw_fd(), requests, MsgFlags::empty())?;
        if sent == requests.len() {
            Ok(())
        } else {
            Err(io::ErrorKind::WriteZero.into())
        }
    }

    /// Reads one datagram without waiting. Datagrams from other processes are dropped: a privileged
    /// process could send some.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Received> {
        #[cfg(test)]
        if let Some(given) = super::virtual_kernel::gives((self.protocol, self.port), buffer) {
            return Ok(given);
        }
        loop {
            let mut slices = [IoSliceMut::new(buffer)];
            match recvmsg::<NetlinkAddr>(self.fd.as_raw_fd(), &mut slices, None, MsgFlags::empty())
            {
                Ok(message) if message.address.is_none_or(|address| address.pid() != 0) => {}
                Ok(message) if message.flags.contains(MsgFlags::MSG_TRUNC) => {
                    return Ok(Received::TooLong);
                }
                Ok(message) => return Ok(Received::Datagram(message.bytes)),
                Err(Errno::EINTR) => {}
                Err(Errno::ENOBUFS) => return Ok(Received::Lost),
                Err(Errno::EAGAIN) => return Ok(Received::Empty),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Reads up to `most` datagrams, waiting for the first. Passes each to `each` (never
    /// [`Received::Empty`]), which returns true to continue. Cancelling loses nothing.
    pub async fn drain(
        &self,
        buffer: &mut [u8],
        most: usize,
        mut each: impl FnMut(Received, &[u8]) -> bool,
    ) -> io::Result<()> {
        loop {
            let mut ready = self.fd.readable().await?;
            for count in 0..most {
                match self.receive(buffer)? {
                    Received::Empty if count > 0 => {
                        ready.clear_ready();
                        return Ok(());
                    }
                    // The readiness was old: wait again.
                    Received::Empty => {
                        ready.clear_ready();
                        break;
                    }
                    Received::Datagram(length) => {
                        if !each(Received::Datagram(length), &buffer[..length]) {
                            return Ok(());
                        }
                    }
                    other => {
                        if !each(other, &[]) {
                            return Ok(());
                        }
                    }
                }
                if count + 1 == most {
                    return Ok(());
                }
            }
        }
    }
}
