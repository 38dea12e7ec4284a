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

/// How often is the first partner tried while another is used.
const BACK: Duration = Duration::from_secs(10);

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

/// A partner, and who the router is to it.
pub struct Who<'a> {
    pairing: &'a Pairing,
    own: Option<&'a Identity>,
    /// What a router is that could not keep a key of its own.
    of_line: Identity,
    is_of_line: bool,
    /// Where it was last.
    addresses: Vec<SocketAddr>,
}

impl<'a> Who<'a> {
    /// With the partner's line and the router's own key, if it has one.
    pub fn new(pairing: &'a Pairing, own: Option<&'a Identity>) -> Self {
        Self {
            pairing,
            own,
            of_line: Identity::of_line(&pairing.key),
            is_of_line: false,
            addresses: Vec::new(),
        }
    }

    fn identity(&self) -> &Identity {
        let own = self.own.filter(|_| !self.is_of_line);
        own.unwrap_or(&self.of_line)
    }

    /// The partner knows another: it may be what this one was before it could keep a key, or the
    /// other way round.
    fn is_another(&mut self) {
        self.is_of_line = !self.is_of_line;
    }
}

/// Keeps a session with one of these partners, for ever: one that is doubted is kept until another has
/// been made. While it is not the first, that one is tried at times. `told` hears of each try, but of
/// those that fail beside a session until each was tried again. `lock`: its file.
pub async fn keep(
    mut whos: Vec<Who<'_>>,
    lock: &Path,
    share: &Share,
    told: impl Fn(&Pairing, Result<&Welcome, &SessionError>),
) {
    let (mut tries, mut pace, mut renewed, mut at) = (0_u32, Pace::default(), false, 0);
    let number = u32::try_from(whos.len()).unwrap_or(u32::MAX);
    let met = |who: &Who<'_>, meeting: Meeting, renewed: bool| {
        let (partner, version) = (&who.pairing.host, &meeting.welcome.version);
        match renewed {
            true => debug!(partner, version, "the session has new keys"),
            false => info!(partner, version, "connected to the partner"),
        }
        let welcome = meeting.welcome.clone();
        share.met(meeting);
        told(who.pairing, Ok(&welcome));
    };
    while let Some(who) = whos.get_mut(at) {
        sleep(pace.wait(Instant::now())).await;
        match make(who, lock, share).await {
            Ok(meeting) => {
                pace.made(Instant::now());
                met(who, meeting, renewed);
                tries = 0;
                renewed = tokio::select! {
                    () = share.doubted() => false,
                    () = worn(share) => true,
                    meeting = first(&mut whos[0], lock, share), if at != 0 => {
                        at = 0;
                        met(&whos[0], meeting, false);
                        true
                    }
                };
                debug!(renewed, "another session is made");
            }
            Err(error) => {
                tries += 1;
                // Each once; beside a session, the one that there is once more.
                let most = if share.connected() {
                    number + 1
                } else {
                    number
                };
                if tries == most {
                    warn!(partner = who.pairing.host, %error, "no session with the partner: it is \
                        tried again");
                }
                if tries >= most {
                    share.missed();
                    told(who.pairing, Err(&error));
                }
                if matches!(error, SessionError::Wrong(HandshakeError::Another)) {
                    who.is_another();
                }
                if error.answered() {
                    pace.made(Instant::now());
                }
                at = (at + 1) % whos.len();
                // The next one is another, until all were tried.
                if number == 1 || tries >= most {
                    sleep(wait(tries - (number - 1), share.answers())).await;
                }
            }
        }
    }
}

/// A session with the first partner, once it is there again.
async fn first(who: &mut Who<'_>, lock: &Path, share: &Share) -> Meeting {
    loop {
        sleep(BACK).await;
        match make(who, lock, share).await {
            Ok(meeting) => return meeting,
            Err(error) => debug!(partner = who.pairing.host, %error, "the first partner"),
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

async fn make(who: &mut Who<'_>, lock: &Path, share: &Share) -> Result<Meeting, SessionError> {
    let exchange = async {
        resolve(who, lock).await?;
        share.set_partner(&who.addresses);
        let mut link = proxy::dial(share, &who.addresses).await?;
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

/// Where a partner is, by its name: asked for again before each session, as names move. Where
/// nobody tells, it is where it was. Of a locked router it is where the lock says: nothing else is
/// let out, and nobody tells names before it is reached.
async fn resolve(who: &mut Who<'_>, lock: &Path) -> io::Result<()> {
    let pairing = who.pairing;
    if let Some(lock) = locked::read(lock) {
        let mut partners = lock.partners.into_iter();
        if let Some(reached) = partners.find(|it| it.partner == pairing.address()) {
            who.addresses = reached.addresses;
            return Ok(());
        }
        warn!(
            partner = pairing.address(),
            "the lock is for another partner: `weir multipath lock` makes it anew"
        );
    }
    match tokio::net::lookup_host((&*pairing.host, pairing.port)).await {
        Ok(found) => who.addresses = found.collect(),
        Err(error) if who.addresses.is_empty() => return Err(error),
        Err(error) => debug!(%error, "the partner's name is not found: it is where it was"),
    }
    Ok(())
}
