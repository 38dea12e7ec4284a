//! Sockets with the options of multipath.

use std::ffi::OsString;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::OnceLock;
use std::time::Duration;

use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::{self, RcvBufForce, TcpCongestion};
use socket2::{Domain, Protocol, SockRef, Socket, TcpKeepalive, Type};
use tokio::net::{TcpStream, UdpSocket};

use super::limits;

/// Receive buffer of datagrams, bytes.
const DATAGRAMS: usize = 4 << 20;
/// Bytes that a connection over several paths may hold until they are in order, at most, and as a
/// share of memory, which is Linux's own default: more than a sender has in flight. The kernel
/// (6.18) believes an idle subflow's old window, which is wider than the present one; bytes beyond
/// its end are dropped after they were acknowledged, and retransmitted by timer, 32 kB each 200 ms
/// (`MPTcpExtNoDSSInWindow`). So the window's end should be out of reach.
const WINDOW: u64 = 16 << 20;
const WINDOWS: u64 = 128;
/// Connections that may wait to be accepted.
const BACKLOG: i32 = 1024;
/// Keepalive: silence before the first probe, interval, and probes. Keepalive must come before NAT
/// on the path forgets the connection (RFC 5382 requires two hours and four minutes; some home
/// routers and mobile networks forget after five minutes).
const IDLE: Duration = Duration::from_secs(240);
const AGAIN: Duration = Duration::from_secs(15);
const TRIES: u32 = 6;

/// Creates a TCP socket that can use several paths; without MPTCP in the kernel, a plain one.
fn stream(address: SocketAddr, multipath: bool) -> io::Result<Socket> {
    let domain = Domain::for_address(address);
    let kind = Type::STREAM.nonblocking();
    if multipath {
        match Socket::new(domain, kind, Some(Protocol::MPTCP)) {
            Err(error) if unknown(&error) => {}
            other => {
                let socket = other?;
                let _ = setsockopt(&socket, RcvBufForce, &window());
                return Ok(socket);
            }
        }
    }
    Socket::new(domain, kind, Some(Protocol::TCP))
}

fn window() -> usize {
    static OCTETS: OnceLock<usize> = OnceLock::new();
    *OCTETS.get_or_init(|| (limits::memory() / WINDOWS).min(WINDOW) as usize)
}

/// Returns true if the kernel lacks the protocol, or `net.mptcp.enabled` is 0.
fn unknown(error: &io::Error) -> bool {
    [
        Errno::EPROTONOSUPPORT,
        Errno::ENOPROTOOPT,
        Errno::EINVAL,
        Errno::ESOCKTNOSUPPORT,
    ]
    .into_iter()
    .any(|known| error.raw_os_error() == Some(known as i32))
}

/// Connects from this address, or any.
pub async fn connect(
    to: SocketAddr,
    from: Option<IpAddr>,
    multipath: bool,
) -> io::Result<TcpStream> {
    let socket = stream(to, multipath)?;
    if let Some(from) = from {
        socket.bind(&SocketAddr::new(from, 0).into())?;
    }
    match socket.connect(&to.into()) {
        Err(error) if error.raw_os_error() != Some(Errno::EINPROGRESS as i32) => {
            return Err(error);
        }
        _ => {}
    }
    let stream = TcpStream::from_std(socket.into())?;
    stream.writable().await?;
    match stream.take_error()? {
        Some(error) => Err(error),
        None => Ok(stream),
    }
}

/// Listens; other sockets may share the address.
pub fn listen(address: SocketAddr, multipath: bool, transparent: bool) -> io::Result<TcpListener> {
    let socket = stream(address, multipath)?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    if address.is_ipv6() {
        // `[::]` accepts both families; any other address only its own.
        socket.set_only_v6(!address.ip().is_unspecified())?;
    }
    if transparent {
        match address {
            SocketAddr::V4(_) => socket.set_ip_transparent_v4(true)?,
            SocketAddr::V6(_) => socket.set_ip_transparent_v6(true)?,
        }
    }
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// Fails if a process listens there. Several sockets may share an address, across processes too.
pub fn is_free(address: SocketAddr) -> io::Result<()> {
    let socket = stream(address, false)?;
    socket.set_reuse_address(true)?;
    if address.is_ipv6() {
        socket.set_only_v6(!address.ip().is_unspecified())?;
    }
    socket.bind(&address.into())
}

/// `IP_MTU_DISCOVER`.
#[derive(Clone, Copy)]
struct MtuDiscover;

nix::setsockopt_impl!(
    MtuDiscover,
    libc::IPPROTO_IP,
    libc::IP_MTU_DISCOVER,
    usize,
    sockopt::SetUsize
);

/// Makes the kernel ignore path MTU messages of IPv4: they are not authenticated, and apply to all
/// traffic to an address. Routers fragment longer packets. Routers do not fragment IPv6, so the
/// kernel keeps believing these messages for IPv6.
pub fn keep_length(socket: &impl std::os::fd::AsFd) -> io::Result<()> {
    let omit = usize::try_from(libc::IP_PMTUDISC_OMIT).unwrap_or_default();
    setsockopt(socket, MtuDiscover, &omit).map_err(io::Error::from)
}

/// Opens a socket for datagrams of both families.
pub fn datagrams(address: SocketAddr) -> io::Result<UdpSocket> {
    let kind = Type::DGRAM.nonblocking();
    let socket = Socket::new(Domain::for_address(address), kind, Some(Protocol::UDP))?;
    if address.is_ipv6() {
        socket.set_only_v6(!address.ip().is_unspecified())?;
    }
    // As much as the kernel permits: further datagrams are lost while the thread is busy.
    let _ = socket.set_recv_buffer_size(DATAGRAMS);
    keep_length(&socket)?;
    socket.bind(&address.into())?;
    UdpSocket::from_std(socket.into())
}

/// Congestion control of links with several paths: one lost segment is no reason to halve the rate
/// of a path (if the kernel has it; otherwise the default).
const CONGESTION: &str = "bbr";

/// Sets the options of a connection between router and partner, at both ends.
pub fn settle_link(stream: &TcpStream) {
    settle(stream);
    let _ = setsockopt(stream, TcpCongestion, &OsString::from(CONGESTION));
}

/// Sets the options of a carried connection, at both ends: no delay to coalesce, keepalive, urgent
/// bytes in line.
pub fn settle(stream: &TcpStream) {
    let socket = SockRef::from(stream);
    let keepalive = TcpKeepalive::new()
        .with_time(IDLE)
        .with_interval(AGAIN)
        .with_retries(TRIES);
    // Bytes arrive without these options too, and older kernels do not know all of them on MPTCP.
    let _ = socket.set_tcp_nodelay(true);
    let _ = socket.set_tcp_keepalive(&keepalive);
    let _ = socket.set_out_of_band_inline(true);
}
