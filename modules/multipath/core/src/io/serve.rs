//! The partner: accepts routers' connections and connects to their destinations.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};
use tracing::{debug, warn};

use super::ordering::StartedConnections;
use super::places::Places;
use super::sessions::{RouterSession, Sessions};
use super::unauthenticated::UnauthenticatedPool;
use super::{pump, sealed, socket, wire};
use crate::frame::{self, FrameError, Kind};
use crate::handshake::{self, Responder};
use crate::key::KeyId;
use crate::net::TunnelNet;
use crate::open::Status;
use crate::reach::Reach;
use crate::session::{self, SessionId};
use crate::welcome::Welcome;

/// Time for a new connection to authenticate.
const HELLO: Duration = Duration::from_secs(10);
/// Connections that have not authenticated yet: a router may begin some hundred while the first is
/// on its way.
const STRANGERS: usize = 1024;
/// Time for a destination to answer: as long as Linux tries (six SYNs are two minutes; most clients
/// give up sooner).
const CONNECT: Duration = Duration::from_secs(60);
/// Pause after a failed accept: no descriptors are free, most likely.
const REST: Duration = Duration::from_millis(50);

/// State that the threads of a partner share.
pub struct PartnerState {
    /// Routers and their sessions.
    pub sessions: Sessions,
    /// Permitted destinations.
    pub reach: Reach,
    /// Welcome that routers get.
    pub welcome: Welcome,
    /// The networks of the tunnel, if there is one.
    pub net: Option<TunnelNet>,
    /// Places of connections that have not authenticated yet.
    arrivals: UnauthenticatedPool,
    /// Places of routers' connections.
    connections: Places<KeyId>,
    /// Connections that were begun.
    begun: StartedConnections,
}

impl PartnerState {
    /// Creates the state without connections, with room for a given number.
    pub fn new(
        sessions: Sessions,
        reach: Reach,
        welcome: Welcome,
        net: Option<TunnelNet>,
        limit: usize,
    ) -> Self {
        Self {
            sessions,
            reach,
            welcome,
            net,
            arrivals: UnauthenticatedPool::new(STRANGERS),
            connections: Places::new(limit),
            begun: StartedConnections::default(),
        }
    }
}

/// Accepts and serves connections, for ever: one thread's share of the work.
pub async fn accept(listener: TcpListener, serving: Arc<PartnerState>) {
    loop {
        match listener.accept().await {
            Ok((router, from)) => {
                let serving = Arc::clone(&serving);
                tokio::task::spawn_local(async move { meet(router, from, &serving).await });
            }
            Err(error) => {
                debug!(%error, "cannot accept a connection");
                sleep(REST).await;
            }
        }
    }
}

/// Serves a connection from the first byte to the last.
async fn meet(mut router: TcpStream, from: SocketAddr, serving: &PartnerState) {
    let mut stranger = serving.arrivals.come(from.ip());
    if stranger.is_crowd {
        warn!(%from, "too many unauthenticated connections, the latest from this address: closing \
            the oldest");
    }
    socket::settle_link(&router);
    let said = tokio::select! {
        said = timeout(HELLO, wire::read(&mut router)) => Some(said),
        () = stranger.turned_out() => None,
    };
    let Some(said) = said else {
        debug!(%from, "connection closed: too many unauthenticated ones");
        return pump::reset(router);
    };
    let said = match said {
        Ok(Ok(said)) => said,
        Ok(Err(error)) => {
            debug!(%from, %error, "not a router with weir");
            if let wire::WireError::Frame(FrameError::Version(_)) = error {
                let _ = router.write_all(&frame::other_version()).await;
            }
            return;
        }
        Err(_) => return debug!(%from, "nothing received in time"),
    };
    match said {
        (Kind::Handshake, body) => {
            if let Err(error) = welcome(&mut router, from, &body, serving).await {
                debug!(%from, %error, "no session established");
            }
        }
        (Kind::Open, body) => {
            let Ok(id) = session::session_id(&body) else {
                return;
            };
            let Some(found) = serving.sessions.find(id) else {
                let _ = router.write_all(&session::unknown(id)).await;
                return;
            };
            drop(stranger);
            open(router, from, &body, &found, serving).await;
        }
        (kind, _) => debug!(%from, ?kind, "unexpected frame from a router"),
    }
}

async fn welcome(
    router: &mut TcpStream,
    from: SocketAddr,
    body: &[u8],
    serving: &PartnerState,
) -> Result<(), Box<dyn std::error::Error>> {
    let id = handshake::key_id(body)?;
    let (key, paired) = serving
        .sessions
        .key(id)
        .ok_or_else(|| format!("no router paired under {id}"))?;
    let once = handshake::once(body)?;
    let again = || format!("replayed handshake of {id}");
    // Before any cryptography: anybody who recorded a handshake can send it as often as they like.
    if serving.sessions.was_there(id, &once) {
        return Err(again().into());
    }
    let asked = Responder::read(serving.sessions.identity(), &key, body)?;
    let admitted = serving.sessions.admit(&paired, asked.router());
    if let Err(error) = &admitted {
        warn!(%error, router = %id, "cannot store the owner of a pairing line: refusing the router");
    }
    if !admitted? {
        serving.sessions.refused(id, from);
        router.write_all(&asked.refuse()?).await?;
        return Err(format!("another router has used the line of {id} before").into());
    }
    let number = SessionId::generate()?;
    let mut welcome = serving.welcome.clone();
    let most = paired
        .max_connections
        .map_or(usize::MAX, |most| most as usize);
    welcome.places = u32::try_from(serving.connections.of_one(most)).ok();
    if let (Some(net), Some(place)) = (&serving.net, paired.address_index) {
        (welcome.tunnel4, welcome.tunnel6) = net.router(place);
        welcome.forwards = paired.forwards;
    }
    let (session, answer) = asked.welcome(number, &welcome)?;
    if !serving.sessions.keep(number, id, once, session) {
        return Err(again().into());
    }
    router.write_all(&answer).await?;
    debug!(%from, router = %id, session = %number, "session established, not used yet");
    Ok(())
}

async fn open(
    mut router: TcpStream,
    from: SocketAddr,
    body: &[u8],
    RouterSession {
        session,
        member,
        max_connections: most,
        ..
    }: &RouterSession,
    serving: &PartnerState,
) {
    let (mut accepted, open) = match session.accept(body) {
        Ok(accepted) => accepted,
        Err(error) => return warn!(%from, %error, "cannot open a connection"),
    };
    let destination = SocketAddr::new(
        open.destination.ip().to_canonical(),
        open.destination.port(),
    );
    serving.sessions.opened(session.id(), from);
    serving.arrivals.know(from.ip());
    let _connected = member.connection();
    let place = serving.connections.take(member.id, *most);
    let mut begun = None;
    let find = async {
        if place.is_none() {
            return Err(Status::Busy);
        }
        if !serving.reach.permits_tcp(destination) {
            return Err(Status::Forbidden);
        }
        if let Some(port) = open.after {
            let before = SocketAddr::new(open.client.ip(), port);
            let name = (member.id, before, destination);
            serving.begun.after(name).await;
        }
        let mut connecting = pin!(connect(destination));
        // The first poll sends the SYN.
        let done = poll_fn(|cx| Poll::Ready(connecting.as_mut().poll(cx))).await;
        begun = Some(serving.begun.begin((member.id, open.client, destination)));
        match done {
            Poll::Ready(done) => done,
            Poll::Pending => connecting.await,
        }
    };
    let found = tokio::select! {
        found = find => found,
        () = member.revoked() => return pump::reset(router),
    };
    let status = found.as_ref().err().copied().unwrap_or(Status::Connected);
    let ends = accepted.stream();
    let told = router.write_all(&accepted.status(status)).await;
    let Ok(stream) = found else {
        return debug!(%from, client = %open.client, %destination, ?status, "cannot connect to the destination");
    };
    if told.is_err() {
        return pump::reset(stream);
    }
    socket::settle(&stream);
    let carry = async {
        match ends {
            None => {
                let told = |moved: pump::Moved| member.moved(moved.back, moved.there);
                pump::both(&router, &stream, told).await
            }
            Some(ends) => {
                let told = |moved: pump::Moved| member.moved(moved.there, moved.back);
                sealed::both(&stream, &router, ends, told).await
            }
        }
    };
    let carried = tokio::select! {
        carried = carry => carried,
        () = member.revoked() => Err(io::Error::other("the router was revoked")),
    };
    if let Err(error) = carried {
        debug!(%from, client = %open.client, %destination, %error, "connection broke");
        pump::reset(router);
        pump::reset(stream);
    }
}

async fn connect(to: SocketAddr) -> Result<TcpStream, Status> {
    match timeout(CONNECT, socket::connect(to, None, false)).await {
        Ok(connected) => connected.map_err(|error| status_of(&error)),
        Err(_) => Err(Status::TimedOut),
    }
}

fn status_of(error: &io::Error) -> Status {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => Status::Refused,
        io::ErrorKind::TimedOut => Status::TimedOut,
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => Status::Unreachable,
        _ => Status::Failed,
    }
}
