//! Clients' connections at the router: accepted in the place of whomever they are for, carried to
//! the partner.

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

use super::share::Share;
use super::turns::Turn;
use super::{pump, sealed, socket, wire};
use crate::encrypt::Encrypt;
use crate::frame::Kind;
use crate::open::{Open, Status};
use crate::session::Session;

/// Where clients' connections are accepted, IPv4 and IPv6: nobody gets there but by the
/// redirection.
pub const ACCEPT: [SocketAddr; 2] = [
    SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 9348),
    SocketAddr::new(IpAddr::V6(Ipv6Addr::LOCALHOST), 9348),
];
/// Of what a client has sent before the partner is connected to, so much goes with the first
/// segment, and is kept until it has arrived.
const FIRST: usize = 16 * 1024;
/// Who speaks TLS, speaks at once: how long is waited for that, beside connecting to the partner.
/// Servers that speak first are that much later, where the partner is nearer.
const WORD: Duration = Duration::from_millis(50);
/// How long one path may take to connect before the next is tried.
const NEXT: Duration = Duration::from_millis(700);
/// How long all paths together may take: then the partner is not there.
const DIAL: Duration = Duration::from_millis(2500);
/// How long the partner may take to connect to where a client wants to.
const ANSWER: Duration = Duration::from_secs(75);
/// How long is waited for a session with the partner.
const SESSION: Duration = Duration::from_millis(2500);
/// After a failed accept: no descriptors are free, most likely.
const REST: Duration = Duration::from_millis(50);

/// One thread's share of the work, for ever.
pub async fn accept(listener: TcpListener, share: Arc<Share>) {
    loop {
        let (client, turn) = match poll_fn(|cx| next(&listener, &share, cx)).await {
            Ok(accepted) => accepted,
            Err(error) => {
                debug!(%error, "a client's connection cannot be accepted");
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

/// The next connection. All threads take them from one queue, and one at a time, so that each is
/// counted in the order in which clients began them.
fn next(
    listener: &TcpListener,
    share: &Share,
    context: &mut Context<'_>,
) -> Poll<io::Result<(TcpStream, Turn)>> {
    share.turns.one_at_a_time(|turns| {
        let (client, from) = ready!(listener.poll_accept(context))?;
        let turn = turns.take(plain(from), plain(client.local_addr()?));
        Poll::Ready(Ok((client, turn)))
    })
}

async fn carry(client: TcpStream, turn: Turn, share: &Share) {
    let (from, destination) = (turn.client, turn.destination);
    socket::settle(&client);
    let mut given = share.given.take(from.ip(), usize::MAX);
    // Boxed, as what it takes to begin is not kept for as long as a connection lasts.
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
            debug!(%from, %destination, ?status, "the partner cannot connect");
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
                    debug!(%from, %destination, %error, "not reached directly either");
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
        debug!(%from, %destination, %error, "a connection broke");
        pump::reset(client);
        pump::reset(link);
    }
    drop(given);
}

/// An IPv4 address in an IPv6 socket is an IPv4 address.
fn plain(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

enum Failure {
    /// By the partner.
    Answered(Status),
    /// The partner is not reached, or has no room; what the client has said so far.
    NoWay { first: Vec<u8> },
    /// The client itself.
    Gone,
}

/// A connection to the partner that goes on to the destination, and the ends of its stream where
/// that is encrypted; what the client has sent by now is on its way.
async fn through(
    client: &TcpStream,
    turn: &Turn,
    share: &Share,
) -> Result<(TcpStream, Option<sealed::Ends>), Failure> {
    let (mut first, mut doubted, encrypt) = (Vec::new(), None, share.encrypt());
    // Twice: a partner that began anew knows no session of before, and a reset may be anybody's.
    for _ in 0..2 {
        let meeting = timeout(SESSION, share.meeting(doubted.as_ref())).await;
        let Ok(Some(meeting)) = meeting else { break };
        let partner = [meeting.partner];
        let (link, ()) = tokio::join!(dial(share, &partner), hear(client, encrypt));
        let Ok(mut link) = link else {
            // It is asked for a session anew: if it does not answer that either, clients are not
            // brought here any more.
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
            // It may go directly.
            Ok(Some((Status::Busy, _))) => {
                debug!("the partner has no room");
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

/// Lets a client say its first word, where what it says decides.
async fn hear(client: &TcpStream, encrypt: Encrypt) {
    if encrypt == Encrypt::Auto {
        let _ = timeout(WORD, client.readable()).await;
    }
}

/// What the client has said by now, if it is not there yet.
fn read_first(client: &TcpStream, first: &mut Vec<u8>) -> io::Result<()> {
    if !first.is_empty() {
        return Ok(());
    }
    first.reserve_exact(FIRST);
    match client.try_read_buf(first) {
        // Nothing yet: perhaps it is the other end that speaks first.
        Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
        _ => Ok(()),
    }
}

/// Opens a connection, with what the client has said, and gives the ends of its stream where that
/// is encrypted; `None`: the partner does not know the session. Each time all is sealed anew, as
/// keys belong to an open.
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
        // The handshake tells which versions there are.
        Kind::UnknownSession | Kind::OtherVersion => None,
        _ => Some((Status::Failed, None)),
    })
}

/// Connects to the partner, at one of these addresses, by the first path that answers: each gets a
/// little time before the next is tried as well.
pub async fn dial(share: &Share, partner: &[SocketAddr]) -> io::Result<TcpStream> {
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
