//! The sockets: who may connect, for how long, and TLS.

use std::cell::RefCell;
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener as StdListener};
use std::os::fd::AsRawFd;
use std::rc::Rc;
use std::time::Duration;

use api::server::Watched;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use nix::sys::socket::sockopt::{IpFreebind, Ipv6V6Only, ReuseAddr};
use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, SockaddrStorage, listen, setsockopt, socket,
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::LocalSet;
use tracing::debug;

use crate::WebError;
use crate::crowd::Crowd;
use crate::door::Door;
use crate::guard::Peer;
use crate::settings::Settings;
use crate::throttle::{CONNECT_ALL, CONNECT_EACH, Throttle};

/// Header lines of a request. Browsers send some 15.
const HEADERS: usize = 64;

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 64;

/// Bound sockets.
#[derive(Debug)]
pub struct Listeners(Vec<StdListener>);

impl Listeners {
    /// Binds all addresses of the settings, or none. One that this machine does not have yet can be
    /// bound too. Must be called before the capability to bind ports below 1024 is given up.
    pub fn bind(settings: &Settings) -> Result<Self, WebError> {
        settings.check()?;
        settings
            .listen
            .iter()
            .map(|address| {
                bind(*address).map_err(|source| WebError::Listen {
                    address: *address,
                    source,
                })
            })
            .collect::<Result<_, _>>()
            .map(Self)
    }

    pub(crate) fn of(sockets: Vec<StdListener>) -> Self {
        Self(sockets)
    }

    pub(crate) fn sockets(&self) -> &[StdListener] {
        &self.0
    }

    /// Where they listen: with the port that the system chose, where 0 was asked for.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.0
            .iter()
            .filter_map(|listener| listener.local_addr().ok())
            .collect()
    }
}

/// As `std` does it, with two options that it has not. At boot the LAN's bridge may get its address
/// after the daemon has started (`IP_FREEBIND`, ip(7); IPv6 sockets take it too). And `[::]` means
/// IPv6 alone, so that `0.0.0.0` may stand beside it.
fn bind(address: SocketAddr) -> io::Result<StdListener> {
    let family = match address {
        SocketAddr::V4(_) => AddressFamily::Inet,
        SocketAddr::V6(_) => AddressFamily::Inet6,
    };
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let socket = socket(family, SockType::Stream, flags, None)?;
    setsockopt(&socket, ReuseAddr, &true)?;
    setsockopt(&socket, IpFreebind, &true)?;
    if address.is_ipv6() {
        setsockopt(&socket, Ipv6V6Only, &true)?;
    }
    nix::sys::socket::bind(socket.as_raw_fd(), &SockaddrStorage::from(address))?;
    listen(&socket, Backlog::new(BACKLOG)?)?;
    Ok(socket.into())
}

/// Who is connected, and how often who connects.
struct Gate {
    crowd: RefCell<Crowd>,
    rate: RefCell<Throttle>,
}

/// Serves until dropped. Runs on any current-thread runtime; brings its own place for the
/// connections, which end with it.
///
/// # Errors
/// The sockets cannot be used.
pub async fn serve(listeners: Listeners, door: Rc<Door>) -> io::Result<Infallible> {
    let sockets = listeners.0.into_iter().map(TcpListener::from_std);
    let sockets: Vec<TcpListener> = sockets.collect::<Result<_, _>>()?;
    let limits = &door.front.limits;
    let gate = Rc::new(Gate {
        crowd: RefCell::new(Crowd::new(limits.connections, limits.per_address)),
        rate: RefCell::new(Throttle::new(CONNECT_EACH, CONNECT_ALL)),
    });
    let connections = LocalSet::new();
    let all = sockets.iter().map(|socket| accept(socket, &door, &gate));
    Ok(connections.run_until(together(all)).await)
}

/// Polls all of them, as none ever ends.
async fn together(loops: impl Iterator<Item = impl Future<Output = Infallible>>) -> Infallible {
    let mut loops: Vec<_> = loops.map(Box::pin).collect();
    std::future::poll_fn(|context| {
        for each in &mut loops {
            let _ = each.as_mut().poll(context);
        }
        std::task::Poll::Pending
    })
    .await
}

async fn accept(listener: &TcpListener, door: &Rc<Door>, gate: &Rc<Gate>) -> Infallible {
    loop {
        let (stream, from) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                // Out of descriptors or memory: it passes, and trying at once would only spin.
                debug!(%error, "cannot accept");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let address = from.ip().to_canonical();
        let Some(guest) = Guest::enter(gate, address, (door.clock)()) else {
            debug!(%address, "too many connections");
            continue;
        };
        let door = Rc::clone(door);
        tokio::task::spawn_local(async move {
            if let Err(error) = converse(stream, address, &door).await {
                debug!(%address, %error, "a client went away");
            }
            drop(guest);
        });
    }
}

/// A connection's place, given back however it ends, a panic included.
struct Guest {
    gate: Rc<Gate>,
    address: IpAddr,
}

impl Guest {
    fn enter(gate: &Rc<Gate>, address: IpAddr, now: Duration) -> Option<Self> {
        // This machine's own are not counted: a proxy may have many.
        if !address.is_loopback() {
            gate.rate.borrow_mut().take(address, now).ok()?;
        }
        gate.crowd.borrow_mut().enter(address).then(|| Self {
            gate: Rc::clone(gate),
            address,
        })
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.gate.crowd.borrow_mut().leave(self.address);
    }
}

async fn converse(stream: TcpStream, address: IpAddr, door: &Rc<Door>) -> io::Result<()> {
    let mut peer = Peer {
        address,
        local: stream.local_addr()?.ip().to_canonical(),
        tls: false,
    };
    // Answers are written whole: to wait for more would only delay them.
    stream.set_nodelay(true)?;
    #[cfg(feature = "tls")]
    if let Some(tls) = &door.tls {
        peer.tls = true;
        let time = door.front.limits.request_time;
        let shaken = tokio::time::timeout(time, tls.accept(stream, door)).await;
        return match shaken {
            Ok(Ok(Some(stream))) => {
                speak(stream, peer, door).await;
                Ok(())
            }
            Ok(Ok(None)) => Ok(()),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        };
    }
    peer.tls = false;
    speak(stream, peer, door).await;
    Ok(())
}

async fn speak<S: AsyncRead + AsyncWrite + Unpin>(stream: S, peer: Peer, door: &Rc<Door>) {
    let limits = door.front.limits;
    let (stream, progress) = Watched::new(stream);
    let service =
        service_fn(|request| async move { Ok::<_, Infallible>(door.answer(request, peer).await) });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.request_time)
        .max_buf_size(limits.head.max(8192))
        .max_headers(HEADERS)
        // A client that has said all it will say is still to be answered.
        .half_close(true)
        .serve_connection(TokioIo::new(stream), service);
    tokio::select! {
        ended = connection => if let Err(error) = ended {
            debug!(%error, "a client went away, or was too slow");
        },
        () = progress.stalls(limits.stall_time) => debug!("a client took nothing for too long"),
    }
}
