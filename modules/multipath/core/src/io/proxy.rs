//! Clients' connections at the router: accepted on behalf of their destinations, carried to the
//! partner.

use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};
use tracing::debug;

use super::ordering::PendingConnection;
use super::proxy_state::ProxyState;
use super::{pump, sealed, socket, wire};
use crate::encrypt::Encrypt;
use crate::frame::Kind;
use crate::open::{Open, Status};
use crate::session::Session;

/// Addresses on which clients' connections are accepted, IPv4 and IPv6: only redirected connections
/// arrive there.
pub const ACCEPT: [SocketAddr; 2] = [
    SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 9348),
    SocketAddr::new(IpAddr::V6(Ipv6Addr::LOCALHOST), 9348),
];
/// Most of a client's early bytes that go with the first segment, before the partner is connected;
/// they are kept until they have arrived.
const FIRST: usize = 16 * 1024;
/// Time to wait for a client's TLS hello, while connecting to the partner. Servers that speak first
/// are delayed by as much, where the partner is nearer.
const WORD: Duration = Duration::from_millis(50);
/// Time for a path to connect before the next is tried.
const NEXT: Duration = Duration::from_millis(700);
/// Time for all paths together to connect: then the partner counts as unreachable.
const DIAL: Duration = Duration::from_millis(2500);
/// Time for the partner to connect to the destination.
const ANSWER: Duration = Duration::from_secs(75);
/// Time to wait for a session with the partner.
const SESSION: Duration = Duration::from_millis(2500);
/// Pause after a failed accept: no descriptors are free, most likely.
const REST: Duration = Duration::from_millis(50);

/// Accepts and carries connections, for ever: one thread's share of the work.
pub async fn accept(listener: TcpListener, share: Arc<ProxyState>) {
    loop {
        let (client, turn) = match poll_fn(|cx| next(&listener, &share, cx)).await {
            Ok(accepted) => accepted,
            Err(error) => {
                debug!(%error, "cannot accept a client's connection");
                sleep(REST).await;
                continue;
            }
        };
        let share = Arc::clone(&share);
        tokio::task::spawn_local(async move {
            let Some(_place) = share.places.take(turn.client.ip(), usize::MAX) else {
                share.counts.refused();
                return pump::reset(client);
            };
            share.counts.began();
            carry(client, turn, &share).await;
            share.counts.ended();
        });
    }
}

/// Accepts the next connection. All threads take them from one queue, one at a time, so that each
/// is counted in the order in which clients began them.
fn next(
    listener: &TcpListener,
    share: &ProxyState,
    context: &mut Context<'_>,
) -> Poll<io::Result<(TcpStream, PendingConnection)>> {
    share.turns.one_at_a_time(|turns| {
        let (client, from) = ready!(listener.poll_accept(context))?;
        let turn = turns.take(plain(from), plain(client.local_addr()?));
        Poll::Ready(Ok((client, turn)))
    })
}

async fn carry(client: TcpStream, turn: PendingConnection, share: &ProxyState) {
    let (from, destination) = (turn.client, turn.destination);
    socket::settle(&client);
    let mut given = share.given.take(from.ip(), usize::MAX);
    // Boxed, so that the state of the setup is freed while the connection lasts.
    let way = match given {
        Some(_) => Box::pin(through(&client, &turn, share)).await,
        None => Err(Failure::NoWay { first: Vec::new() }),
    };
    let (link, ends) = match way {
        Ok((link, None)) => {
            share.counts.clear();
            (link, None)
        }
        Ok(way) => way,
        Err(Failure::Answered(status)) => {
            debug!(%from, %destination, ?status, "the partner cannot connect to the destination");
            return pump::reset(client);
        }
        Err(Failure::Gone) => return pump::reset(client),
        Err(Failure::NoWay { first }) => match share.falls_back() {
            true => match Box::pin(directly(destination, &first)).await {
                Ok(link) => {
                    given = None;
                    share.counts.direct();
                    (link, None)
                }
                Err(error) => {
                    debug!(%from, %destination, %error, "direct connection failed too");
                    return pump::reset(client);
                }
            },
            false => {
                if given.is_none() {
                    share.counts.refused();
                }
                return pump::reset(client);
            }
        },
    };
    drop(turn);
    let told = |moved| share.counts.moved(moved);
    let carried = match ends {
        None => Box::pin(pump::both(&client, &link, told)).await,
        Some(ends) => Box::pin(sealed::both(&client, &link, ends, told)).await,
    };
    if let Err(error) = carried {
        debug!(%from, %destination, %error, "connection broke");
        pump::reset(client);
        pump::reset(link);
    }
    drop(given);
}

/// Converts an IPv4 address in an IPv6 socket to a plain IPv4 address.
fn plain(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

enum Failure {
    /// The partner reported this.
    Answered(Status),
    /// The partner is unreachable, or has no room. `first`: the client's bytes so far.
    NoWay { first: Vec<u8> },
    /// The client is gone.
    Gone,
}

/// Connects to the destination through the partner, and returns the ends of its stream if the
/// stream is encrypted; the client's bytes so far are already sent.
async fn through(
    client: &TcpStream,
    turn: &PendingConnection,
    share: &ProxyState,
) -> Result<(TcpStream, Option<sealed::Ends>), Failure> {
    let (mut first, mut doubted, encrypt) = (Vec::new(), None, share.encrypt());
    // Twice: a restarted partner does not know the session, and anybody can send a reset.
    for _ in 0..2 {
        let meeting = timeout(SESSION, share.meeting(doubted.as_ref())).await;
        let Ok(Some(meeting)) = meeting else { break };
        let partner = [meeting.partner];
        let (link, ()) = tokio::join!(dial(share, &partner), hear(client, encrypt));
        let Ok(mut link) = link else {
            // Ask for a new session: if the partner does not answer that either, the redirection of
            // clients ends.
            share.doubt(&meeting);
            if !share.answers() {
                break;
            }
            doubted = Some(meeting);
            continue;
        };
        socket::settle_link(&link);
        read_first(client, &mut first).map_err(|_| Failure::Gone)?;
        let open = Open {
            destination: turn.destination,
            client: turn.client,
            encrypted: encrypt.applies(&first),
            after: turn.after,
        };
        match ask(&mut link, &meeting.session, &open, &first).await {
            Ok(Some((Status::Connected, ends))) => return Ok((link, ends)),
            // The connection may go directly.
            Ok(Some((Status::Busy, _))) => {
                debug!("the partner has no free slot for connections");
                break;
            }
            Ok(Some((status, _))) => return Err(Failure::Answered(status)),
            Ok(None) => debug!("the partner does not know the session"),
            Err(error) => debug!(%error, "the partner does not answer"),
        }
        share.doubt(&meeting);
        doubted = Some(meeting);
    }
    Err(Failure::NoWay { first })
}

/// Waits for the client's first bytes, where they decide.
async fn hear(client: &TcpStream, encrypt: Encrypt) {
    if encrypt == Encrypt::Auto {
        let _ = timeout(WORD, client.readable()).await;
    }
}

/// Reads the client's bytes so far, unless they were read already.
fn read_first(client: &TcpStream, first: &mut Vec<u8>) -> io::Result<()> {
    if !first.is_empty() {
        return Ok(());
    }
    first.reserve_exact(FIRST);
    match client.try_read_buf(first) {
        // No bytes yet: perhaps the server sends first.
        Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
        _ => Ok(()),
    }
}

/// Opens a connection, with the client's first bytes, and returns the ends of its stream if the
/// stream is encrypted; `None`: the partner does not know the session. Each attempt encrypts all
/// bytes again, as keys belong to an open.
async fn ask(
    link: &mut TcpStream,
    session: &Session,
    open: &Open,
    first: &[u8],
) -> Result<Option<(Status, Option<sealed::Ends>)>, wire::WireError> {
    let (mut opened, mut frame) = session.open(open);
    let mut ends = opened.stream();
    match &mut ends {
        Some((sealer, _)) => sealer.seal(first, &mut frame),
        None => frame.extend_from_slice(first),
    }
    link.write_all(&frame).await?;
    let answer = timeout(ANSWER, wire::read(link)).await;
    let (kind, body) = answer.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
    Ok(match kind {
        Kind::Status => Some((opened.status(&body).unwrap_or(Status::Failed), ends)),
        // The next handshake shows which versions the partner speaks.
        Kind::UnknownSession | Kind::OtherVersion => None,
        _ => Some((Status::Failed, None)),
    })
}

/// Connects to the partner, at one of these addresses, by the first path that answers: each path
/// gets a little time before the next is tried as well.
pub async fn dial(share: &ProxyState, partner: &[SocketAddr]) -> io::Result<TcpStream> {
    let race = async {
        let (partner, sources) = share.ways(partner);
        let partner = partner.ok_or(io::ErrorKind::HostUnreachable)?;
        let mut last = io::Error::from(io::ErrorKind::NetworkUnreachable);
        let mut tries = tokio::task::JoinSet::new();
        let mut sources = sources.into_iter();
        loop {
            if let Some(source) = sources.next() {
                tries.spawn_local(socket::connect(partner, source, true));
            } else if tries.is_empty() {
                return Err(last);
            }
            let wait = if sources.len() > 0 { NEXT } else { DIAL };
            match timeout(wait, tries.join_next()).await {
                Ok(Some(Ok(Ok(link)))) => return Ok(link),
                Ok(Some(Ok(Err(error)))) => last = error,
                Ok(Some(Err(error))) => last = io::Error::other(error),
                Ok(None) | Err(_) => {}
            }
        }
    };
    timeout(DIAL, race)
        .await
        .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

async fn directly(destination: SocketAddr, first: &[u8]) -> io::Result<TcpStream> {
    let mut link = timeout(ANSWER, socket::connect(destination, None, false))
        .await
        .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
    socket::settle(&link);
    link.write_all(first).await?;
    Ok(link)
}
