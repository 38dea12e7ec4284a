//! The partner's sockets: a machine may have several addresses, and a sender accepts answers only
//! from the address that it sent to.

use std::future::poll_fn;
use std::io::{self, IoSlice, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsRawFd;
use std::task::{Context, Poll};

use nix::cmsg_space;
use nix::errno::Errno;
use nix::libc::{in_addr, in_pktinfo, in6_addr, in6_pktinfo};
use nix::sys::socket::sockopt::{Ipv4PacketInfo, Ipv6RecvPacketInfo};
use nix::sys::socket::{
    ControlMessage, ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, sendmsg, setsockopt,
};
use tokio::io::Interest;
use tokio::net::UdpSocket;

/// Sockets that record the address of this machine to which each datagram was sent.
pub struct Datagrams {
    sockets: Vec<UdpSocket>,
    /// Socket to read next.
    turn: usize,
    /// Buffer for the kernel's control messages.
    space: Vec<u8>,
}

/// Route of a datagram, which an answer takes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// Index of the socket.
    socket: usize,
    /// Address of this machine.
    at: Option<IpAddr>,
}

/// A received datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Came {
    /// Length in bytes.
    pub length: usize,
    /// Sender.
    pub from: SocketAddr,
    /// Socket and address of its arrival.
    pub way: Way,
}

impl Datagrams {
    /// Takes sockets that are each bound to one address, or to all.
    ///
    /// # Errors
    /// The kernel refuses to report addresses.
    pub fn new(sockets: Vec<UdpSocket>) -> io::Result<Self> {
        for socket in &sockets {
            // A socket of both families reports IPv4 datagrams in the format of IPv6.
            match socket.local_addr()? {
                SocketAddr::V4(_) => setsockopt(socket, Ipv4PacketInfo, &true)?,
                SocketAddr::V6(_) => setsockopt(socket, Ipv6RecvPacketInfo, &true)?,
            }
        }
        Ok(Self {
            sockets,
            turn: 0,
            space: cmsg_space!(in6_pktinfo, in_pktinfo),
        })
    }

    /// Waits for a datagram.
    ///
    /// # Errors
    /// A socket is broken.
    pub async fn readable(&self) -> io::Result<()> {
        let any = |context: &mut Context<'_>| {
            let mut ready = self.sockets.iter().map(|it| it.poll_recv_ready(context));
            ready.find(Poll::is_ready).unwrap_or(Poll::Pending)
        };
        poll_fn(any).await
    }

    /// Receives the next datagram.
    ///
    /// # Errors
    /// `WouldBlock` if no datagram waits. Datagrams may follow other errors.
    pub fn try_recv(&mut self, buffer: &mut [u8]) -> io::Result<Came> {
        // Round-robin: a socket that is never empty must not starve the others.
        for _ in 0..self.sockets.len() {
            let socket = self.turn;
            self.turn = (socket + 1) % self.sockets.len();
            match self.recv(socket, buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                came => return came,
            }
        }
        Err(io::ErrorKind::WouldBlock.into())
    }

    fn recv(&mut self, number: usize, buffer: &mut [u8]) -> io::Result<Came> {
        let (socket, space) = (&self.sockets[number], &mut self.space);
        socket.try_io(Interest::READABLE, || {
            let mut parts = [IoSliceMut::new(buffer)];
            let descriptor = socket.as_raw_fd();
            let flags = MsgFlags::MSG_DONTWAIT;
            let came = recvmsg::<SockaddrStorage>(descriptor, &mut parts, Some(space), flags)?;
            let from = came.address.as_ref().and_then(socket_address);
            let at = came.cmsgs()?.find_map(|told| match told {
                ControlMessageOwned::Ipv4PacketInfo(info) => {
                    Some(Ipv4Addr::from(info.ipi_addr.s_addr.to_ne_bytes()).into())
                }
                ControlMessageOwned::Ipv6PacketInfo(info) => {
                    Some(Ipv6Addr::from(info.ipi6_addr.s6_addr).into())
                }
                _ => None,
            });
            Ok(Came {
                length: came.bytes,
                from: from.ok_or(io::ErrorKind::InvalidData)?,
                way: Way { socket: number, at },
            })
        })
    }

    /// Sends a datagram from the address at which another one arrived, if this machine still has
    /// the address.
    ///
    /// # Errors
    /// The kernel refuses the datagram, temporarily or permanently.
    pub fn try_send(&self, octets: &[u8], to: SocketAddr, way: Option<Way>) -> io::Result<()> {
        let Some(socket) = self.sockets.get(way.map_or(0, |way| way.socket)) else {
            return Ok(());
        };
        let from = way.and_then(|way| way.at);
        match send(socket, octets, to, from) {
            Err(error) if from.is_some() && gone(&error) => send(socket, octets, to, None),
            done => done,
        }
    }
}

fn send(socket: &UdpSocket, octets: &[u8], to: SocketAddr, from: Option<IpAddr>) -> io::Result<()> {
    socket.try_io(Interest::WRITABLE, || {
        let to = SockaddrStorage::from(to);
        let parts = [IoSlice::new(octets)];
        let mut four = in_pktinfo {
            ipi_ifindex: 0,
            ipi_spec_dst: in_addr { s_addr: 0 },
            ipi_addr: in_addr { s_addr: 0 },
        };
        let mut six = in6_pktinfo {
            ipi6_addr: in6_addr { s6_addr: [0; 16] },
            ipi6_ifindex: 0,
        };
        let told = match from {
            Some(IpAddr::V4(from)) => {
                four.ipi_spec_dst.s_addr = u32::from_ne_bytes(from.octets());
                Some(ControlMessage::Ipv4PacketInfo(&four))
            }
            Some(IpAddr::V6(from)) => {
                six.ipi6_addr.s6_addr = from.octets();
                Some(ControlMessage::Ipv6PacketInfo(&six))
            }
            None => None,
        };
        let descriptor = socket.as_raw_fd();
        sendmsg(
            descriptor,
            &parts,
            told.as_slice(),
            MsgFlags::MSG_DONTWAIT,
            Some(&to),
        )?;
        Ok(())
    })
}

/// Returns true if the address no longer belongs to this machine, or cannot send.
fn gone(error: &io::Error) -> bool {
    let errors = [Errno::EINVAL, Errno::EADDRNOTAVAIL, Errno::ENETUNREACH];
    let code = error.raw_os_error();
    errors.into_iter().any(|it| code == Some(it as i32))
}

fn socket_address(address: &SockaddrStorage) -> Option<SocketAddr> {
    let four = address.as_sockaddr_in();
    let four = four.map(|it| SocketAddr::from((it.ip(), it.port())));
    four.or_else(|| {
        address
            .as_sockaddr_in6()
            .map(|it| SocketAddr::V6((*it).into()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn came(datagrams: &mut Datagrams, buffer: &mut [u8]) -> Came {
        loop {
            datagrams.readable().await.expect("a socket");
            match datagrams.try_recv(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                came => return came.expect("a datagram"),
            }
        }
    }

    /// For that destination the kernel would choose 127.0.0.1.
    #[tokio::test]
    async fn who_asked_an_address_is_answered_from_it() {
        for bound in ["0.0.0.0:0", "[::]:0"] {
            let mut sockets = Vec::new();
            for _ in 0..2 {
                sockets.push(UdpSocket::bind(bound).await.expect("a socket"));
            }
            let port = |socket: &UdpSocket| socket.local_addr().expect("an address").port();
            let [first, second] = [port(&sockets[0]), port(&sockets[1])];
            let mut datagrams = Datagrams::new(sockets).expect("addresses are told");
            for (own, asked, port) in [
                ("127.0.0.1:0", "127.0.0.2", first),
                ("127.0.0.1:0", "127.0.0.2", second),
                ("127.0.0.3:0", "127.0.0.4", second),
                ("[::1]:0", "::1", first),
            ] {
                if bound == "0.0.0.0:0" && asked == "::1" {
                    continue;
                }
                let client = UdpSocket::bind(own).await.expect("a socket");
                let asked: IpAddr = asked.parse().expect("an address");
                // The socket accepts datagrams only from there.
                client.connect((asked, port)).await.expect("connected");
                client.send(b"question").await.expect("sent");
                let mut buffer = [0; 64];
                let question = came(&mut datagrams, &mut buffer).await;
                assert_eq!(&buffer[..question.length], b"question");
                let at = question.way.at.map(|it| it.to_canonical());
                assert_eq!(at, Some(asked), "{bound}");
                let client_is = client.local_addr().expect("an address");
                assert_eq!(question.from.ip().to_canonical(), client_is.ip());
                let sent = datagrams.try_send(b"answer", question.from, Some(question.way));
                sent.expect("sent");
                let limit = std::time::Duration::from_secs(5);
                let heard = tokio::time::timeout(limit, client.recv(&mut buffer)).await;
                assert_eq!(heard.expect("in time").expect("an answer"), 6, "{bound}");
                // An address that this machine has not, or not any more.
                let other = match at {
                    Some(IpAddr::V4(_)) if bound == "[::]:0" => "::ffff:192.0.2.1",
                    Some(IpAddr::V4(_)) => "192.0.2.1",
                    _ => "2001:db8::1",
                };
                let other = Way {
                    at: Some(other.parse().expect("an address")),
                    ..question.way
                };
                let sent = datagrams.try_send(b"answer", question.from, Some(other));
                sent.expect("it goes all the same");
            }
        }
    }
}
