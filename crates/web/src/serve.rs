//! The sockets: accepting, time limits, and TLS.

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener as StdListener};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::rc::Rc;
use std::time::Duration;

use api::server::{ProgressStream, ResponseBody};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
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
use crate::pool::{ConnectionPool, RequestBody, SLOT, SlotBody};
use crate::rate::{CONNECT_ALL, CONNECT_EACH};
use crate::request_checks::ClientConnection;
use crate::settings::{Limits, Settings};
use crate::throttle::{Allowance, Client};

/// Header lines of a request. Browsers send some 15.
const HEADERS: usize = 64;

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 64;

/// Bound sockets.
#[derive(Debug)]
pub struct Listeners(Vec<StdListener>);

impl Listeners {
    /// Binds all addresses of the settings, or none. An address that this machine does not have yet
    /// can be bound too. Must be called before the capability to bind ports below 1024 is given up.
    pub fn bind(settings: &Settings) -> Result<Self, WebError> {
        settings.check()?;
        Self::bind_addresses(&settings.listen)
    }

    /// Binds these addresses.
    pub fn bind_addresses(addresses: &[SocketAddr]) -> Result<Self, WebError> {
        addresses
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

    /// Takes sockets that another process bound.
    pub fn from_sockets<T: Into<StdListener>>(sockets: Vec<T>) -> Self {
        Self(sockets.into_iter().map(Into::into).collect())
    }

    /// Returns the sockets themselves.
    pub fn into_inner(self) -> Vec<StdListener> {
        self.0
    }

    /// Returns descriptors to pass on.
    pub fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        self.0.iter().map(AsFd::as_fd).collect()
    }

    /// Returns the addresses, with the port that the system chose if the port was 0.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.0
            .iter()
            .filter_map(|listener| listener.local_addr().ok())
            .collect()
    }
}

/// Binds like `std`, with two more options. At boot the LAN's bridge may get its address after the
/// daemon has started (`IP_FREEBIND`, ip(7); IPv6 sockets take it too). And `[::]` means IPv6
/// alone, so that `0.0.0.0` can be bound beside it.
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

/// A service that answers HTTP requests.
pub trait HttpService: 'static {
    /// Returns the limits of clients.
    fn limits(&self) -> Limits;

    /// Returns the allowances to connect: of one client, and of all clients together.
    fn connection_limits(&self) -> [Allowance; 2] {
        [CONNECT_EACH, CONNECT_ALL]
    }

    /// Returns the time since some beginning; never goes back.
    fn now(&self) -> Duration;

    /// Finds the client of an address: a device, if the neighbour table has it. `None`: no answer.
    fn client(&self, address: IpAddr) -> impl Future<Output = Option<Client>> {
        async move { Some(address.into()) }
    }

    /// Answers one request.
    fn respond(
        &self,
        request: Request<RequestBody>,
        peer: ClientConnection,
    ) -> impl Future<Output = Response<ResponseBody>>;

    /// Handles a connection: HTTP, unless a handshake comes before it.
    fn serve_connection(
        &self,
        stream: TcpStream,
        peer: ClientConnection,
    ) -> impl Future<Output = io::Result<()>>
    where
        Self: Sized,
    {
        async move {
            speak(stream, peer, self).await;
            Ok(())
        }
    }
}

/// Serves until dropped. Runs on any current-thread runtime; its connection tasks end with it.
///
/// # Errors
/// The sockets cannot be used.
pub async fn serve<S: HttpService>(listeners: Listeners, served: Rc<S>) -> io::Result<Infallible> {
    let sockets = listeners.0.into_iter().map(TcpListener::from_std);
    let sockets: Vec<TcpListener> = sockets.collect::<Result<_, _>>()?;
    let limits = served.limits();
    let clock = {
        let served = Rc::clone(&served);
        Rc::new(move || served.now())
    };
    let pool = ConnectionPool::new(limits.connections, limits.per_address, clock);
    let pool = Rc::new(pool.with_rate(served.connection_limits()));
    let connections = LocalSet::new();
    let all = sockets.iter().map(|socket| accept(socket, &served, &pool));
    Ok(connections.run_until(together(all)).await)
}

/// Polls all loops; none ever ends.
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

async fn accept<S: HttpService>(
    listener: &TcpListener,
    served: &Rc<S>,
    pool: &Rc<ConnectionPool>,
) -> Infallible {
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
        let client = pool.client(address, served.client(address)).await;
        let Some(slot) = pool.enter(client, address) else {
            debug!(%address, "too many connections");
            continue;
        };
        let served = Rc::clone(served);
        // Released however the connection ends, a panic included.
        let place = Rc::clone(&slot);
        tokio::task::spawn_local(SLOT.scope(slot, async move {
            tokio::select! {
                ended = converse(stream, address, &served) => if let Err(error) = ended {
                    debug!(%address, %error, "a client went away");
                },
                () = place.displaced() => debug!(
                    %address,
                    "closed a connection to make room for another client"
                ),
            }
        }));
        // The displaced connection closes its descriptor first.
        tokio::task::yield_now().await;
    }
}

async fn converse<S: HttpService>(
    stream: TcpStream,
    address: IpAddr,
    served: &Rc<S>,
) -> io::Result<()> {
    let peer = ClientConnection {
        address,
        local: stream.local_addr()?.ip().to_canonical(),
        tls: false,
    };
    // Answers are written whole: to wait for more data would only delay them.
    stream.set_nodelay(true)?;
    served.serve_connection(stream, peer).await
}

/// Speaks HTTP until either side has finished.
pub(crate) async fn speak<T: AsyncRead + AsyncWrite + Unpin, S: HttpService>(
    stream: T,
    peer: ClientConnection,
    served: &S,
) {
    let limits = served.limits();
    let (stream, progress) = ProgressStream::new(stream);
    let service = service_fn(|request: Request<_>| async move {
        // A test may call this without a slot.
        let slot = SLOT.try_with(Rc::clone).ok();
        let request = request.map(|body| RequestBody::new(body, slot.clone()));
        let answer = served.respond(request, peer).await;
        Ok::<_, Infallible>(answer.map(|body| SlotBody::new(body, slot)))
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.request_time)
        .max_buf_size(limits.head.max(8192))
        .max_headers(HEADERS)
        // A client that closed its sending side still gets an answer.
        .half_close(true)
        .serve_connection(TokioIo::new(stream), service);
    tokio::select! {
        ended = connection => if let Err(error) = ended {
            debug!(%error, "a client went away, or was too slow");
        },
        () = progress.stalls(limits.stall_time) => debug!("a client read nothing for too long"),
    }
}
