//! A router's session with its partner: made at the start, and renewed in case of doubt. Doubts
//! arise from unauthenticated events (a reset, *unknown session*), so a session stays until the
//! next one has been made.

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

use super::proxy_state::{ActiveSession, ProxyState};
use super::{locked, proxy, wire};
use crate::VERSION;
use crate::frame::{self, Kind};
use crate::handshake::{HandshakeError, Initiator};
use crate::handshake_limiter::Pace;
use crate::identity::Identity;
use crate::pairing::Pairing;
use crate::welcome::Welcome;

/// Timeout of the partner's answer.
const ANSWER: Duration = Duration::from_secs(4);
/// Pauses between tries: the first; the longest while the tunnel answers; the longest otherwise.
const AGAIN: [Duration; 3] = [
    Duration::from_millis(250),
    Duration::from_secs(1),
    Duration::from_secs(5),
];

/// Interval of tries of the first partner while another is used.
const BACK: Duration = Duration::from_secs(10);
/// Interval of tries of an unused partner: one that was not reached; one that was.
const STANDBY: [Duration; 2] = [Duration::from_secs(60), Duration::from_secs(900)];

/// Bytes by the tunnel after which keys are renewed, however young they are: some 2²³ datagrams,
/// the limit of AES-GCM (RFC 9001, 6.6).
const MOST_TUNNELLED: u64 = 8 << 30;
/// Interval of checking the age and the bytes of the keys.
const LOOK: Duration = Duration::from_secs(5);

/// Failure to make a session.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The partner cannot be reached.
    #[error("cannot reach the partner: {0}")]
    NotReached(#[from] io::Error),
    /// The exchange timed out.
    #[error("the partner does not answer within {} s", ANSWER.as_secs())]
    Silent,
    /// The answer is not weir's protocol.
    #[error("not a partner at the partner's address: {0}")]
    Strange(wire::WireError),
    /// The partner ended the connection without an answer.
    #[error(
        "the partner does not know this router: the line is from another partner, or the router \
            was revoked or has a newer line; check `weir multipath list` there"
    )]
    Unknown,
    /// The partner does not support any version of this side.
    #[error(
        "the partner speaks versions {0} to {1}, but this weir speaks version {VERSION}: update the older side"
    )]
    Version(u8, u8),
    /// The answer is not the partner's.
    #[error(transparent)]
    Wrong(#[from] HandshakeError),
}

impl SessionError {
    /// Returns true if a partner answered: such a partner must not be asked all the time.
    fn answered(&self) -> bool {
        !matches!(self, Self::NotReached(_) | Self::Silent)
    }
}

/// A partner, and the router's identity for it.
pub struct PartnerCandidate<'a> {
    pairing: &'a Pairing,
    identity: Identity,
    /// Addresses of the partner when last resolved.
    addresses: Vec<SocketAddr>,
    pace: Pace,
    /// Cause of the last failure, and the number of failures in a row.
    problem: Option<String>,
    failures: u32,
    /// Time of the last attempt while a session with another partner exists.
    looked: Option<Instant>,
}

impl<'a> PartnerCandidate<'a> {
    /// Takes the partner's line and the router's own key, if it has one.
    pub fn new(pairing: &'a Pairing, own: Option<&Identity>) -> Self {
        let of_line = || Identity::of_line(&pairing.key);
        Self {
            pairing,
            identity: own.cloned().unwrap_or_else(of_line),
            addresses: Vec::new(),
            pace: Pace::default(),
            problem: None,
            failures: 0,
            looked: None,
        }
    }

    /// Returns true if the partner should be tried again, while a session with another exists.
    fn is_due(&self) -> bool {
        let every = self.problem.as_ref().map_or(STANDBY[1], |_| STANDBY[0]);
        self.looked.is_none_or(|looked| looked.elapsed() >= every)
    }
}

/// Event of a partner, which is given by its place in the list.
pub enum PartnerEvent<'a> {
    /// A session with this partner exists.
    Connected(usize, &'a Welcome),
    /// This partner answers, while the session is with another.
    Reachable(usize),
    /// No session could be made with this partner.
    Failed(usize, &'a SessionError),
    /// All partners were tried, and no session remains.
    Lost,
}

/// Keeps a session with one of these partners, for ever. A doubted session stays until another has
/// been made, or all partners were tried. While the session is not with the first partner, the
/// first partner is tried all the time; the others are tried occasionally, so that their state is
/// known in advance. `lock`: its file.
pub async fn keep(
    whos: Vec<PartnerCandidate<'_>>,
    lock: &Path,
    share: &ProxyState,
    told: impl Fn(PartnerEvent<'_>),
) {
    let mut keeper = Keeper {
        whos,
        lock,
        share,
        told,
    };
    let (mut at, mut renewed) = (0, false);
    while !keeper.whos.is_empty() {
        let (one, meeting) = keeper.any(at).await;
        keeper.met(one, at, meeting, renewed);
        at = one;
        renewed = loop {
            tokio::select! {
                () = share.doubted() => break false,
                () = worn(share) => break true,
                meeting = keeper.others(at) => {
                    keeper.met(0, 0, meeting, false);
                    at = 0;
                }
            }
        };
        debug!(renewed, "new session established");
    }
}

struct Keeper<'a, T> {
    whos: Vec<PartnerCandidate<'a>>,
    lock: &'a Path,
    share: &'a ProxyState,
    told: T,
}

impl<T: Fn(PartnerEvent<'_>)> Keeper<'_, T> {
    /// Makes a session with any partner, this one first.
    async fn any(&mut self, mut first: usize) -> (usize, ActiveSession) {
        let mut rounds = 0;
        loop {
            if let Some(made) = self.round(first).await {
                return made;
            }
            (rounds, first) = (rounds + 1, 0);
            self.share.missed();
            (self.told)(PartnerEvent::Lost);
            sleep(wait(rounds, self.share.answers())).await;
        }
    }

    /// Tries each partner: this one first, and twice if there is a session with it, as anybody on
    /// the way can end one connection.
    async fn round(&mut self, first: usize) -> Option<(usize, ActiveSession)> {
        for step in 0..self.whos.len() {
            let one = (first + step) % self.whos.len();
            let twice = step == 0 && self.share.connected();
            for pause in [Duration::ZERO, AGAIN[0]]
                .iter()
                .take(1 + usize::from(twice))
            {
                let pace = self.whos[one].pace.wait(Instant::now());
                sleep(pace.max(*pause)).await;
                if let Some(meeting) = self.make(one).await {
                    return Some((one, meeting));
                }
            }
        }
        None
    }

    /// Tries the other partners while a session exists, until the first one answers again.
    async fn others(&mut self, at: usize) -> ActiveSession {
        loop {
            sleep(BACK).await;
            for one in (0..self.whos.len()).filter(|one| *one != at) {
                if one > 0 && !self.whos[one].is_due() {
                    continue;
                }
                self.whos[one].looked = Some(Instant::now());
                match self.make(one).await {
                    Some(meeting) if one == 0 => return meeting,
                    Some(_) => (self.told)(PartnerEvent::Reachable(one)),
                    None => {}
                }
            }
        }
    }

    async fn make(&mut self, one: usize) -> Option<ActiveSession> {
        let who = &mut self.whos[one];
        match make(who, self.lock, self.share).await {
            Ok(meeting) => {
                who.pace.made(Instant::now());
                (who.problem, who.failures) = (None, 0);
                Some(meeting)
            }
            Err(error) => {
                if error.answered() {
                    who.pace.made(Instant::now());
                }
                who.failures = who.failures.saturating_add(1);
                // While a session exists, a single failure does not matter.
                if who.failures == 1 + u32::from(self.share.connected()) {
                    let partner = who.pairing.address();
                    warn!(partner, %error, "no session with the partner: retrying");
                }
                who.problem = Some(error.to_string());
                (self.told)(PartnerEvent::Failed(one, &error));
                None
            }
        }
    }

    /// Takes over the session with this partner. `wanted`: the partner that was tried first.
    fn met(&self, one: usize, wanted: usize, meeting: ActiveSession, renewed: bool) {
        let who = &self.whos[one];
        let (partner, version) = (who.pairing.address(), meeting.welcome.version.clone());
        match (&self.whos[wanted].problem, renewed) {
            (Some(problem), _) if one != wanted => {
                let instead_of = self.whos[wanted].pairing.address();
                warn!(
                    partner,
                    version, instead_of, problem, "switched to another partner"
                );
            }
            (_, true) => debug!(partner, version, "session keys renewed"),
            (_, false) => info!(partner, version, "connected to the partner"),
        }
        let welcome = meeting.welcome.clone();
        self.share.met(meeting);
        (self.told)(PartnerEvent::Connected(one, &welcome));
    }
}

/// Waits until the current keys are worn out: an attacker who learns them can read only the traffic
/// since.
async fn worn(share: &ProxyState) {
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

/// Returns the pause after `tries` attempts. A partner that `answers` in the tunnel is reachable.
fn wait(tries: u32, answers: bool) -> Duration {
    let most = if answers { AGAIN[1] } else { AGAIN[2] };
    let doubled = 2u32.saturating_pow(tries.saturating_sub(1));
    AGAIN[0].saturating_mul(doubled).min(most)
}

async fn make(
    who: &mut PartnerCandidate<'_>,
    lock: &Path,
    share: &ProxyState,
) -> Result<ActiveSession, SessionError> {
    let exchange = async {
        resolve(who, lock).await?;
        share.set_partner(&who.pairing.address(), &who.addresses);
        let mut link = proxy::dial(share, &who.addresses).await?;
        look(&link, share);
        let (initiator, frame) = Initiator::begin(&who.pairing.key, &who.identity)?;
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
                Ok(ActiveSession {
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

/// Notes whether MPTCP passed: the next connections would begin by this connection's path.
fn look(link: &TcpStream, share: &ProxyState) {
    let (Ok(local), Ok(remote)) = (link.local_addr(), link.peer_addr()) else {
        return;
    };
    let mut found = Vec::new();
    let read = Subflows::open()
        .and_then(|mut sockets| sockets.read(Sockets::To(remote.port()), &mut found));
    if let Err(error) = read {
        debug!(%error, "cannot read subflows");
    }
    let fell_back = |subflow: &Subflow| {
        subflow.kind == SubflowKind::FellBack && subflow.local.port() == local.port()
    };
    if found.iter().any(fell_back) {
        share.note_stripped(local.ip().to_canonical());
    }
}

/// Resolves a partner's name before each session, as names move. If the lookup fails, the last
/// addresses stay. A locked router takes the addresses in the lock: its packets to all other
/// destinations, name servers too, are dropped.
async fn resolve(who: &mut PartnerCandidate<'_>, lock: &Path) -> io::Result<()> {
    let pairing = who.pairing;
    if let Some(lock) = locked::read(lock) {
        let mut partners = lock.partners.into_iter();
        if let Some(reached) = partners.find(|it| it.partner == pairing.address()) {
            who.addresses = reached.addresses;
            return Ok(());
        }
        warn!(
            partner = pairing.address(),
            "the lock is for another partner: run `weir multipath lock` again"
        );
    }
    match tokio::net::lookup_host((&*pairing.host, pairing.port)).await {
        Ok(found) => who.addresses = found.collect(),
        Err(error) if who.addresses.is_empty() => return Err(error),
        Err(error) => {
            debug!(%error, "cannot resolve the partner's name: using its last known addresses")
        }
    }
    Ok(())
}
