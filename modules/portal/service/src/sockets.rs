//! Sockets for guests: the page and names, on every address. The firewall's table blocks access
//! from devices outside of the portal. Also sockets for requests to servers.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::sys::socket::sockopt::{Ipv4PacketInfo, Ipv6RecvPacketInfo, Ipv6V6Only, ReuseAddr};
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrStorage, bind, setsockopt, socket,
};
use web::Listeners;

/// Port of the page.
pub const PAGE: u16 = 2080;
/// Port of the page by HTTPS.
pub const SECURE: u16 = 2443;
/// Port of names.
pub const NAMES: u16 = 2053;

/// Opens a socket for one server. The kernel chooses a random port, and drops other senders.
///
/// # Errors
/// No route leads to the server.
pub async fn asking(server: SocketAddr) -> io::Result<tokio::net::UdpSocket> {
    let own = match server {
        SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
        SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
    };
    let socket = tokio::net::UdpSocket::bind(own).await?;
    socket.connect(server).await?;
    Ok(socket)
}

/// Bound.
pub struct Sockets {
    page: Listeners,
    /// Only where the page has a name and a certificate.
    secure: Option<Listeners>,
    names_tcp: Listeners,
    names_udp: Vec<UdpSocket>,
}

impl Sockets {
    /// Binds all of them. Without IPv6 those of IPv4 alone.
    pub fn bind(secure: bool) -> io::Result<Self> {
        let tcp = |port| {
            Listeners::bind_addresses(&everywhere(port))
                .map_err(|error| io::Error::other(error.to_string()))
        };
        let udp = everywhere(NAMES).into_iter().map(datagrams);
        Ok(Self {
            page: tcp(PAGE)?,
            secure: secure.then(|| tcp(SECURE)).transpose()?,
            names_tcp: tcp(NAMES)?,
            names_udp: udp.collect::<Result<_, _>>()?,
        })
    }

    /// Returns the descriptors to hand over: listeners of the page, as many of names, datagram
    /// sockets of names, then listeners of the page by HTTPS.
    pub fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        let tcp = [&self.page, &self.names_tcp];
        let mut all: Vec<_> = tcp
            .iter()
            .flat_map(|listeners| listeners.descriptors())
            .collect();
        all.extend(self.names_udp.iter().map(AsFd::as_fd));
        all.extend(self.secure.iter().flat_map(Listeners::descriptors));
        all
    }

    /// Takes the descriptors that were handed over, as many of each kind; `secure`: including those
    /// of the page by HTTPS.
    pub fn of(mut handed: Vec<OwnedFd>, secure: bool) -> Self {
        let each = handed.len() / (3 + usize::from(secure));
        let secure = secure.then(|| Listeners::from_sockets(handed.split_off(3 * each)));
        let names_udp = handed.split_off(2 * each);
        let names_tcp = handed.split_off(each);
        Self {
            page: Listeners::from_sockets(handed),
            secure,
            names_tcp: Listeners::from_sockets(names_tcp),
            names_udp: names_udp.into_iter().map(Into::into).collect(),
        }
    }

    /// Takes the page's listeners for HTTPS.
    pub fn secure(&mut self) -> Option<Listeners> {
        self.secure.take()
    }

    /// Returns the page's listeners, and the sockets for DNS by TCP and by datagrams.
    pub fn parts(self) -> (Listeners, Vec<TcpListener>, Vec<UdpSocket>) {
        (self.page, self.names_tcp.into_inner(), self.names_udp)
    }
}

fn everywhere(port: u16) -> Vec<SocketAddr> {
    let ipv6 = socket(
        AddressFamily::Inet6,
        SockType::Datagram,
        SockFlag::SOCK_CLOEXEC,
        None,
    );
    let mut all = vec![SocketAddr::from((Ipv4Addr::UNSPECIFIED, port))];
    if ipv6.is_ok() {
        all.push(SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)));
    }
    all
}

/// Reports the destination address of each datagram: answers are sent from there.
fn datagrams(address: SocketAddr) -> io::Result<UdpSocket> {
    let family = match address {
        SocketAddr::V4(_) => AddressFamily::Inet,
        SocketAddr::V6(_) => AddressFamily::Inet6,
    };
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let socket = socket(family, SockType::Datagram, flags, None)?;
    setsockopt(&socket, ReuseAddr, &true)?;
    match address {
        SocketAddr::V4(_) => setsockopt(&socket, Ipv4PacketInfo, &true)?,
        SocketAddr::V6(_) => {
            setsockopt(&socket, Ipv6V6Only, &true)?;
            setsockopt(&socket, Ipv6RecvPacketInfo, &true)?;
        }
    }
    bind(socket.as_raw_fd(), &SockaddrStorage::from(address))?;
    Ok(socket.into())
}
