//! The partner: takes routers' connections, and goes on to where they want to.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};
use tracing::{debug, info, warn};

use super::sessions::Sessions;
use super::{pump, socket, wire};
use crate::frame::{self, FrameError, Kind};
use crate::handshake;
use crate::net::TunnelNet;
use crate::open::Status;
use crate::reach::Reach;
use crate::session::{self, Session, SessionId};
use crate::welcome::Welcome;

/// Who connects must say within this time who it is.
const HELLO: Duration = Duration::from_secs(10);
/// Connections that have not said who they are: of all, and of one address.
const STRANGERS: usize = 1024;
const STRANGERS_OF_ONE: usize = 64;
/// How long a destination may take to answer: as long as Linux tries (six SYNs are two minutes; most clients give up sooner).
const CONNECT: Duration = Duration::from_secs(60);
/// After a failed accept: no descriptors are free, most likely.
const REST: Duration = Duration::from_millis(50);

/// What the threads of a partner share.
pub struct Serving {
    /// Routers and their sessions.
    pub sessions: Sessions,
    /// Where connections may lead.
    pub reach: Reach,
    /// What routers are told.
    pub welcome: Welcome,
    /// The networks of the tunnel, where there is one.
    pub net: Option<TunnelNet>,
    strangers: Strangers,
}

impl Serving {
    /// Begins with nobody connected.
    pub fn new(sessions: Sessions, reach: Reach, welcome: Welcome, net: Option<TunnelNet>) -> Self {
        Self {
            sessions,
            reach,
            welcome,
            net,
            strangers: Strangers::default(),
        }
    }
}

/// Who has not said yet who it is.
#[derive(Default)]
struct Strangers(Mutex<Numbers>);

#[derive(Default)]
struct Numbers {
    all: usize,
    of: HashMap<IpAddr, usize>,
}

/// One of them; not any more when dropped.
struct Stranger<'a> {
    strangers: &'a Strangers,
    address: IpAddr,
}

impl Strangers {
    fn admit(&self, address: IpAddr) -> Option<Stranger<'_>> {
        let mut numbers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of_one = numbers.of.get(&address).copied().unwrap_or(0);
        if numbers.all >= STRANGERS || of_one >= STRANGERS_OF_ONE {
            return None;
        }
        numbers.all += 1;
        numbers.of.insert(address, of_one + 1);
        Some(Stranger {
            strangers: self,
            address,
        })
    }
}

impl Drop for Stranger<'_> {
    fn drop(&mut self) {
        let mut numbers = self
            .strangers
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        numbers.all -= 1;
        if let Some(number) = numbers.of.get_mut(&self.address) {
            *number -= 1;
            if *number == 0 {
                numbers.of.remove(&self.address);
            }
        }
    }
}

/// One thread's share of the work, for ever.
pub async fn accept(listener: TcpListener, serving: Arc<Serving>) {
    loop {
        match listener.accept().await {
            Ok((router, from)) => {
                let serving = Arc::clone(&serving);
                tokio::task::spawn_local(async move { meet(router, from, &serving).await });
            }
            Err(error) => {
                debug!(%error, "a connection cannot be accepted");
                sleep(REST).await;
            }
        }
    }
}

/// From the first octet to the last.
async fn meet(mut router: TcpStream, from: SocketAddr, serving: &Serving) {
    let Some(stranger) = serving.strangers.admit(from.ip().to_canonical()) else {
        debug!(%from, "too many that do not say who they are");
        return pump::reset(router);
    };
    socket::settle_link(&router);
    let said = match timeout(HELLO, wire::read(&mut router)).await {
        Ok(Ok(said)) => said,
        Ok(Err(error)) => {
            debug!(%from, %error, "not a router of weir");
            if let wire::WireError::Frame(FrameError::Version(_)) = error {
                let _ = router.write_all(&frame::other_version()).await;
            }
            return;
        }
        Err(_) => return debug!(%from, "said nothing"),
    };
    match said {
        (Kind::Handshake, body) => {
            if let Err(error) = welcome(&mut router, from, &body, serving).await {
                debug!(%from, %error, "no session was made");
            }
        }
        (Kind::Open, body) => {
            let Ok(id) = session::session_id(&body) else {
                return;
            };
            let Some(session) = serving.sessions.find(id) else {
                let _ = router.write_all(&session::unknown(id)).await;
                return;
            };
            drop(stranger);
            open(router, from, &body, &session, serving).await;
        }
        (kind, _) => debug!(%from, ?kind, "a frame that routers do not send"),
    }
}

async fn welcome(
    router: &mut TcpStream,
    from: SocketAddr,
    body: &[u8],
    serving: &Serving,
) -> Result<(), Box<dyn std::error::Error>> {
    let id = handshake::key_id(body)?;
    let (key, paired) = serving
        .sessions
        .key(id)
        .ok_or_else(|| format!("no router was paired under {id}"))?;
    let number = SessionId::generate()?;
    let mut welcome = serving.welcome.clone();
    if let Some(net) = &serving.net {
        (welcome.tunnel4, welcome.tunnel6) = net.router(paired.place);
    }
    let (session, answer) = handshake::answer(&key, body, number, &welcome)?;
    serving.sessions.keep(number, id, session);
    router.write_all(&answer).await?;
    info!(%from, router = %id, name = paired.name, "a router is connected");
    Ok(())
}

async fn open(
    mut router: TcpStream,
    from: SocketAddr,
    body: &[u8],
    session: &Session,
    serving: &Serving,
) {
    let (accepted, open) = match session.accept(body) {
        Ok(accepted) => accepted,
        Err(error) => return warn!(%from, %error, "not opened"),
    };
    let destination = SocketAddr::new(
        open.destination.ip().to_canonical(),
        open.destination.port(),
    );
    let found = match serving.reach.permits(destination.ip()) {
        false => Err(Status::Forbidden),
        true => match timeout(CONNECT, socket::connect(destination, None, false)).await {
            Ok(Ok(stream)) => Ok(stream),
            Ok(Err(error)) => Err(status_of(&error)),
            Err(_) => Err(Status::TimedOut),
        },
    };
    let status = found.as_ref().err().copied().unwrap_or(Status::Connected);
    let told = router.write_all(&accepted.status(status)).await;
    let Ok(stream) = found else {
        return debug!(%from, client = %open.client, %destination, ?status, "not connected");
    };
    if told.is_err() {
        return pump::reset(stream);
    }
    socket::settle(&stream);
    if let Err(error) = pump::both(&router, &stream, |_| {}).await {
        debug!(%from, client = %open.client, %destination, %error, "a connection broke");
        pump::reset(router);
        pump::reset(stream);
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
