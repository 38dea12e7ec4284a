//! A router's session with its partner: made at the start, and anew when it is doubted. What raises
//! doubts is not authenticated (a reset, *unknown session*), so a session stays until the next one
//! has been made.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use kernel::io::Subflows;
use kernel::subflows::{Sockets, Subflow, SubflowKind};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};
use tracing::{debug, info, warn};

use super::share::{Meeting, Share};
use super::{locked, proxy, wire};
use crate::VERSION;
use crate::frame::{self, Kind};
use crate::handshake::{HandshakeError, Initiator};
use crate::identity::Identity;
use crate::pace::Pace;
use crate::pairing::Pairing;
use crate::welcome::Welcome;

/// How long the partner may take to answer.
const ANSWER: Duration = Duration::from_secs(4);
/// Between two tries: at first; at most while the tunnel shows that the partner is there; at most.
const AGAIN: [Duration; 3] = [
    Duration::from_millis(250),
    Duration::from_secs(1),
    Duration::from_secs(5),
];

/// Bytes by the tunnel after which keys are renewed, however young they are: some 2²³ datagrams, which
/// is what AES-GCM is good for (RFC 9001, 6.6).
const MOST_TUNNELLED: u64 = 8 << 30;
/// How often is looked at that.
const LOOK: Duration = Duration::from_secs(5);

/// No session was made.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The partner cannot be reached.
    #[error("the partner is not reached: {0}")]
    NotReached(#[from] io::Error),
    /// It took too long.
    #[error("the partner does not answer within {} s", ANSWER.as_secs())]
    Silent,
    /// It answered something else.
    #[error("what answers at the partner's address is no partner: {0}")]
    Strange(wire::WireError),
    /// It ended the connection without an answer.
    #[error(
        "the partner knows no such router: is the line in `partner` one that `weir multipath \
            pair` printed there?"
    )]
    Unknown,
    /// It speaks none that is spoken here.
    #[error(
        "the partner speaks version {0} to {1}, and this weir {VERSION}: update the older side"
    )]
    Version(u8, u8),
    /// The answer is not the partner's.
    #[error(transparent)]
    Wrong(#[from] HandshakeError),
}

impl SessionError {
    /// Whether somebody was there: who must not be asked all the time.
    fn answered(&self) -> bool {
        !matches!(self, Self::NotReached(_) | Self::Silent)
    }
}

/// Who the router is to its partner.
pub struct Who<'a> {
    pairing: &'a Pairing,
    own: &'a Identity,
    /// What a router is that could not keep a key of its own.
    of_line: Identity,
    is_of_line: bool,
}

impl<'a> Who<'a> {
    /// With the partner's line and the router's own key.
    pub fn new(pairing: &'a Pairing, own: &'a Identity) -> Self {
        Self {
            pairing,
            own,
            of_line: Identity::of_line(&pairing.key),
            is_of_line: false,
        }
    }

    fn identity(&self) -> &Identity {
        match self.is_of_line {
            true => &self.of_line,
            false => self.own,
        }
    }

    /// The partner knows another: it may be what this one was before it could keep a key, or the
    /// other way round.
    fn is_another(&mut self) {
        self.is_of_line = !self.is_of_line;
    }
}

/// Keeps a session, for ever: one that is doubted is kept until another has been made. `told` hears
/// of each try, but of the first that fails beside a session. `lock`: its file.
pub async fn keep(
    mut who: Who<'_>,
    lock: &Path,
    share: &Share,
    told: impl Fn(Result<&Welcome, &SessionError>),
) {
    let (mut tries, mut pace, mut renewed) = (0_u32, Pace::default(), false);
    loop {
        sleep(pace.wait(Instant::now())).await;
        match make(&who, lock, share).await {
            Ok(meeting) => {
                let (partner, version) = (&who.pairing.host, &meeting.welcome.version);
                match renewed {
                    true => debug!(partner, version, "the session has new keys"),
                    false => info!(partner, version, "connected to the partner"),
                }
                let welcome = meeting.welcome.clone();
                pace.made(Instant::now());
                share.met(meeting);
                told(Ok(&welcome));
                tries = 0;
                renewed = tokio::select! {
                    () = share.doubted() => false,
                    () = worn(share) => true,
                };
                debug!(renewed, "another session is made");
            }
            Err(error) => {
                tries += 1;
                if matches!(error, SessionError::Wrong(HandshakeError::Another)) {
                    who.is_another();
                }
                let first = if share.connected() { 2 } else { 1 };
                if tries == first {
                    warn!(partner = who.pairing.host, %error, "no session with the partner: it is \
                        tried again");
                }
                if tries >= first {
                    share.missed();
                    told(Err(&error));
                }
                if error.answered() {
                    pace.made(Instant::now());
                }
                sleep(wait(tries, share.answers())).await;
            }
        }
    }
}

/// Waits until the keys that there are now were used for long enough: who learns them reads no more
/// than that.
async fn worn(share: &Share) {
    let (begun, before) = (Instant::now(), share.all_tunnelled());
    loop {
        let left = share.renew().saturating_sub(begun.elapsed());
        let tunnelled = share.all_tunnelled().saturating_sub(before);
        if left.is_zero() || tunnelled > MOST_TUNNELLED {
            return;
        }
        sleep(left.min(LOOK)).await;
    }
}

/// How long to wait after so many tries. A partner that `answers` in the tunnel is there.
fn wait(tries: u32, answers: bool) -> Duration {
    let most = if answers { AGAIN[1] } else { AGAIN[2] };
    let doubled = 2u32.saturating_pow(tries.saturating_sub(1));
    AGAIN[0].saturating_mul(doubled).min(most)
}

async fn make(who: &Who<'_>, lock: &Path, share: &Share) -> Result<Meeting, SessionError> {
    let exchange = async {
        resolve(who.pairing, lock, share).await?;
        let mut link = proxy::dial(share, &share.partner()).await?;
        look(&link, share);
        let (initiator, frame) = Initiator::begin(&who.pairing.key, who.identity())?;
        link.write_all(&frame).await?;
        let (kind, body) = wire::read(&mut link).await.map_err(|error| match error {
            wire::WireError::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                SessionError::Unknown
            }
            wire::WireError::Io(error) => SessionError::NotReached(error),
            error => SessionError::Strange(error),
        })?;
        match kind {
            Kind::Welcome => {
                let (session, welcome) = initiator.end(&body)?;
                let partner = link.peer_addr()?;
                let partner = SocketAddr::new(partner.ip().to_canonical(), partner.port());
                Ok(Meeting {
                    session,
                    welcome,
                    partner,
                })
            }
            Kind::OtherVersion => {
                let spoken = frame::versions(&body).map_err(wire::WireError::from);
                let spoken = spoken.map_err(SessionError::Strange)?;
                Err(SessionError::Version(*spoken.start(), *spoken.end()))
            }
            _ => Err(SessionError::Unknown),
        }
    };
    timeout(ANSWER, exchange)
        .await
        .unwrap_or(Err(SessionError::Silent))
}

/// Whether MPTCP passed: it is this connection's path that the next ones would begin by.
fn look(link: &TcpStream, share: &Share) {
    let (Ok(local), Ok(remote)) = (link.local_addr(), link.peer_addr()) else {
        return;
    };
    let mut found = Vec::new();
    let read = Subflows::open()
        .and_then(|mut sockets| sockets.read(Sockets::To(remote.port()), &mut found));
    if let Err(error) = read {
        debug!(%error, "subflows");
    }
    let fell_back = |subflow: &Subflow| {
        subflow.kind == SubflowKind::FellBack && subflow.local.port() == local.port()
    };
    if found.iter().any(fell_back) {
        share.note_stripped(local.ip().to_canonical());
    }
}

/// Where the partner is, by its name: asked for again before each session, as names move. Where
/// nobody tells, it is where it was. Of a locked router it is where the lock says: nothing else is
/// let out, and nobody tells names before it is reached.
async fn resolve(pairing: &Pairing, lock: &Path, share: &Share) -> io::Result<()> {
    if let Some(lock) = locked::read(lock) {
        if lock.partner == pairing.address() {
            share.set_partner(&lock.addresses);
            return Ok(());
        }
        warn!(
            locked = lock.partner,
            partner = pairing.address(),
            "the lock is for another partner: `weir multipath lock` makes it anew"
        );
    }
    match tokio::net::lookup_host((&*pairing.host, pairing.port)).await {
        Ok(found) => share.set_partner(&found.collect::<Vec<SocketAddr>>()),
        Err(error) if share.partner().is_empty() => return Err(error),
        Err(error) => debug!(%error, "the partner's name is not found: it is where it was"),
    }
    Ok(())
}
