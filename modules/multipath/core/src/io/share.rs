//! What the threads of a router's proxy share.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use answers::Carriage;
use tokio::sync::{Notify, watch};
use tracing::{info, warn};

use super::conduct::Conduct;
use super::places::Places;
use super::pump::Moved;
use super::threads::lock;
use super::turns::Turns;
use crate::encrypt::Encrypt;
use crate::flaps::{Flaps, Word};
use crate::hints::{Hint, Hints};
use crate::session::Session;
use crate::welcome::Welcome;

/// For so long a path that MPTCP does not pass is not the one that connections begin by. Then it is
/// tried again.
const STRIPPED: Duration = Duration::from_secs(300);

/// Sums since the start.
#[derive(Debug, Default)]
pub struct Counts {
    open: AtomicU64,
    carried: AtomicU64,
    direct: AtomicU64,
    clear: AtomicU64,
    refused: AtomicU64,
    sent: AtomicU64,
    received: AtomicU64,
}

impl Counts {
    pub(super) fn began(&self) {
        self.open.fetch_add(1, Ordering::Relaxed);
        self.carried.fetch_add(1, Ordering::Relaxed);
    }

    /// There was no room for one.
    pub(super) fn refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn ended(&self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }

    pub(super) fn direct(&self) {
        self.direct.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn clear(&self) {
        self.clear.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn moved(&self, moved: Moved) {
        self.sent.fetch_add(moved.there, Ordering::Relaxed);
        self.received.fetch_add(moved.back, Ordering::Relaxed);
    }

    /// As they are now.
    pub fn read(&self) -> Carriage {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Carriage {
            open: of(&self.open),
            all: of(&self.carried),
            direct: of(&self.direct),
            clear: of(&self.clear),
            refused: of(&self.refused),
            sent: of(&self.sent),
            received: of(&self.received),
        }
    }
}

/// What the partner and this router agreed on.
pub struct Meeting {
    /// The keys.
    pub session: Session,
    /// What the partner said of itself.
    pub welcome: Welcome,
    /// Where it proved to have the key: nothing of the session goes elsewhere.
    pub partner: SocketAddr,
}

/// Whether the partner answers by a path. Of one of which nothing is known there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// It does.
    Up,
    /// It did, and does not any more.
    Down,
}

/// A path, as threads know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Known {
    /// Own address.
    pub address: IpAddr,
    /// Name of the device.
    pub device: String,
    /// What is said of it.
    pub hint: Hint,
}

/// See the module.
pub struct Share {
    partners: Mutex<BTreeMap<String, Vec<SocketAddr>>>,
    /// Those that may be used, best first.
    paths: watch::Sender<Vec<Known>>,
    hints: Mutex<Hints>,
    /// Addresses of paths that wait until others fail, those that rest too.
    reserve: Mutex<Vec<IpAddr>>,
    /// Addresses of paths that rest from TCP.
    resting: Mutex<Vec<IpAddr>>,
    health: Mutex<BTreeMap<IpAddr, Health>>,
    /// Addresses of paths on which something takes MPTCP out, and when that was last seen.
    stripped: Mutex<BTreeMap<IpAddr, Instant>>,
    flaps: Mutex<Flaps>,
    /// By own address: bytes that the tunnel's datagrams had there and back.
    tunnelled: Mutex<BTreeMap<IpAddr, [u64; 2]>>,
    /// Told when the health of a path is another, or what is said of it.
    pub(super) ailing: Notify,
    meeting: watch::Sender<Option<Arc<Meeting>>>,
    /// Whether the session is to be made anew, and who is told of that.
    doubted: AtomicBool,
    wanted: Notify,
    /// Whether the last try to make a session went well; also before the first.
    reached: watch::Sender<bool>,
    /// Told when the partner is found elsewhere than before.
    pub(super) moved: Notify,
    fall_back: AtomicBool,
    encrypt: Mutex<Encrypt>,
    renew: Mutex<Duration>,
    /// Of connections, by client.
    pub(super) places: Places<IpAddr>,
    /// Of those that the partner gives, by client: who gets none goes directly, if he may.
    pub(super) given: Places<IpAddr>,
    /// Whose turn it is.
    pub(super) turns: Turns,
    /// Sums.
    pub counts: Counts,
}

impl Share {
    /// Nothing is known yet.
    pub(super) fn new(places: usize, conduct: &Conduct, hints: Hints) -> Self {
        Self {
            partners: Mutex::default(),
            paths: watch::Sender::default(),
            hints: Mutex::new(hints),
            reserve: Mutex::default(),
            resting: Mutex::default(),
            health: Mutex::default(),
            stripped: Mutex::default(),
            flaps: Mutex::default(),
            tunnelled: Mutex::default(),
            ailing: Notify::new(),
            meeting: watch::Sender::new(None),
            doubted: AtomicBool::new(false),
            wanted: Notify::new(),
            reached: watch::Sender::new(true),
            moved: Notify::new(),
            fall_back: conduct.fall_back.into(),
            encrypt: Mutex::new(conduct.encrypt),
            renew: Mutex::new(conduct.renew),
            places: Places::new(places),
            given: Places::new(usize::MAX),
            turns: Turns::default(),
            counts: Counts::default(),
        }
    }

    /// The first of these addresses of the partner that a path leads to, and from which addresses
    /// to go there; where no path is known, the kernel chooses.
    pub(super) fn ways(&self, partner: &[SocketAddr]) -> (Option<SocketAddr>, Vec<Option<IpAddr>>) {
        let paths = self.paths.borrow();
        let health = lock(&self.health);
        let works = |address: &IpAddr| health.get(address) != Some(&Health::Down);
        let same = |source: &IpAddr, partner: &SocketAddr| source.is_ipv4() == partner.is_ipv4();
        let fits = |partner: &&SocketAddr| paths.iter().any(|own| same(&own.address, partner));
        let partner = partner.iter().find(fits).or(partner.first()).copied();
        let own = paths.iter();
        let mut own: Vec<_> = own
            .filter(|own| partner.is_some_and(|p| same(&own.address, &p)))
            .collect();
        // Those that do not answer last: what is known of them may be old. Before them those that
        // cost, and of these and of others first those on which a connection would not stay alone,
        // as it is the first subflow that asks for MPTCP.
        own.sort_by_key(|own| {
            (
                !works(&own.address),
                own.hint.used,
                self.strips(own.address),
                self.rests(own.address),
            )
        });
        let mut sources: Vec<_> = own.into_iter().map(|own| Some(own.address)).collect();
        if sources.is_empty() {
            sources.push(None);
        }
        (partner, sources)
    }

    pub(super) fn set_partner(&self, name: &str, found: &[SocketAddr]) {
        let mut partners = lock(&self.partners);
        if partners.get(name).is_none_or(|known| known != found) {
            partners.insert(name.to_owned(), found.to_vec());
            self.moved.notify_one();
        }
    }

    /// Addresses of the partners, as far as they are known: as their names have them now, and where
    /// the session was made.
    pub fn partners(&self) -> Vec<SocketAddr> {
        let mut known: Vec<_> = lock(&self.partners).values().flatten().copied().collect();
        let meeting = self.meeting.borrow().clone();
        known.extend(
            meeting
                .map(|it| it.partner)
                .filter(|it| !known.contains(it)),
        );
        known
    }

    /// Port of the partner, where the session was made or will be.
    pub(super) fn port(&self) -> u16 {
        let meeting = self.meeting.borrow().as_ref().map(|it| it.partner);
        let partner = meeting.or_else(|| self.partners().first().copied());
        partner.map_or(0, |partner| partner.port())
    }

    pub(super) fn set_paths(&self, paths: Vec<Known>) {
        self.paths.send_if_modified(|known| {
            let other = *known != paths;
            *known = paths;
            other
        });
    }

    /// The paths, as they change.
    pub(super) fn paths(&self) -> watch::Receiver<Vec<Known>> {
        self.paths.subscribe()
    }

    /// Other things are said of paths.
    pub(super) fn set_hints(&self, hints: Hints) {
        *lock(&self.hints) = hints;
        self.ailing.notify_one();
    }

    /// What is said of paths.
    pub(super) fn hints(&self) -> Hints {
        lock(&self.hints).clone()
    }

    pub(super) fn set_resting(&self, addresses: Vec<IpAddr>) {
        let before = std::mem::replace(&mut *lock(&self.resting), addresses.clone());
        if before != addresses {
            self.ailing.notify_one();
        }
    }

    /// Whether the path from this address rests from TCP.
    pub(super) fn rests(&self, address: IpAddr) -> bool {
        lock(&self.resting).contains(&address)
    }

    pub(super) fn set_reserve(&self, addresses: Vec<IpAddr>) {
        *lock(&self.reserve) = addresses;
    }

    /// Addresses of the paths that wait until others fail.
    pub(super) fn reserve(&self) -> Vec<IpAddr> {
        lock(&self.reserve).clone()
    }

    /// Whether the path from this address waits until others fail.
    pub(super) fn in_reserve(&self, address: IpAddr) -> bool {
        lock(&self.reserve).contains(&address)
    }

    pub(super) fn set_health(&self, health: BTreeMap<IpAddr, Health>) {
        let mut known = lock(&self.health);
        if *known != health {
            *known = health;
            self.ailing.notify_one();
        }
    }

    /// Whether the partner answers by the path from this address, where that is known.
    pub(super) fn health(&self, address: IpAddr) -> Option<Health> {
        lock(&self.health).get(&address).copied()
    }

    /// A path has changed: whether to say so. That it flaps is said here.
    pub(super) fn tells(&self, device: &str) -> bool {
        let word = lock(&self.flaps).change(device, Instant::now());
        if word == Word::Flaps {
            warn!(
                device,
                "a path flaps: connections leave it, and what happens to it is told again, once \
                    it has kept still for 10 s"
            );
        }
        word == Word::Change
    }

    /// Says which paths do not flap any more.
    pub(super) fn look_at_flaps(&self) {
        for device in lock(&self.flaps).still(Instant::now()) {
            info!(device, "a path does not flap any more");
            self.ailing.notify_one();
        }
    }

    /// Devices of paths that flap.
    pub(super) fn flapping(&self) -> Vec<String> {
        lock(&self.flaps).flapping()
    }

    /// So many bytes more went by the tunnel on the path from this address, there and back.
    pub(super) fn add_tunnelled(&self, address: IpAddr, more: [u64; 2]) {
        let mut tunnelled = lock(&self.tunnelled);
        let sums = tunnelled.entry(address).or_default();
        for (sum, more) in sums.iter_mut().zip(more) {
            *sum = sum.saturating_add(more);
        }
    }

    /// Bytes by the tunnel on the path from this address, there and back.
    pub(super) fn tunnelled(&self, address: IpAddr) -> [u64; 2] {
        let tunnelled = lock(&self.tunnelled);
        tunnelled.get(&address).copied().unwrap_or_default()
    }

    /// Bytes by the tunnel on all paths, both ways.
    pub(super) fn all_tunnelled(&self) -> u64 {
        let tunnelled = lock(&self.tunnelled);
        let sums = tunnelled.values().flatten();
        sums.fold(0, |sum, more| sum.saturating_add(*more))
    }

    /// How long keys are used.
    pub(super) fn renew(&self) -> Duration {
        *lock(&self.renew)
    }

    /// Other things go elsewhere from now on.
    pub(super) fn conduct(&self, conduct: &Conduct) {
        *lock(&self.encrypt) = conduct.encrypt;
        *lock(&self.renew) = conduct.renew;
        self.fall_back.store(conduct.fall_back, Ordering::Relaxed);
    }

    /// What is encrypted.
    pub(super) fn encrypt(&self) -> Encrypt {
        *lock(&self.encrypt)
    }

    pub(super) fn falls_back(&self) -> bool {
        self.fall_back.load(Ordering::Relaxed)
    }

    /// What was agreed on, as soon as it is, and is something else than `but`; `None`: nothing
    /// will be, soon.
    pub(super) async fn meeting(&self, but: Option<&Arc<Meeting>>) -> Option<Arc<Meeting>> {
        let (mut told, mut reached) = (self.meeting.subscribe(), self.reached.subscribe());
        let other = |now: &Option<Arc<Meeting>>| match (now, but) {
            (Some(now), Some(but)) => !Arc::ptr_eq(now, but),
            (now, None) => now.is_some(),
            (None, _) => false,
        };
        // Where it may go directly, nobody waits for a partner that is known not to be there.
        let lost = async {
            match self.falls_back() {
                true => drop(reached.wait_for(|reached| !reached).await),
                false => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            found = told.wait_for(other) => found.ok()?.clone(),
            () = lost => None,
        }
    }

    /// What is agreed on, as it changes.
    pub(super) fn meetings(&self) -> watch::Receiver<Option<Arc<Meeting>>> {
        self.meeting.subscribe()
    }

    /// Whether there is a session.
    pub fn connected(&self) -> bool {
        self.meeting.borrow().is_some()
    }

    /// A session was made. It takes the place of the one before.
    pub(super) fn met(&self, meeting: Meeting) {
        self.doubted.store(false, Ordering::Relaxed);
        // Its clients share what the partner gives to all of them.
        let places = meeting.welcome.places.unwrap_or(u32::MAX);
        self.given.narrow(places as usize);
        self.meeting.send_replace(Some(Arc::new(meeting)));
        self.reached.send_replace(true);
    }

    /// No session could be made. One that is there stays: it may be that new connections only are
    /// kept from the partner.
    pub(super) fn missed(&self) {
        self.reached.send_replace(false);
    }

    /// Whether the partner answers by a path, as the tunnel sees it: that is authenticated.
    pub(super) fn answers(&self) -> bool {
        lock(&self.health)
            .values()
            .any(|health| *health == Health::Up)
    }

    /// Addresses of the paths by which the partner answers, and MPTCP passes; those that flap are
    /// left alone.
    pub(super) fn working(&self) -> Vec<IpAddr> {
        let flapping = self.flapping();
        let paths = self.paths.borrow();
        let flaps = |address: &IpAddr| {
            let mut paths = paths.iter();
            paths.any(|path| path.address == *address && flapping.contains(&path.device))
        };
        let health = lock(&self.health);
        let up = health.iter().filter(|(_, health)| **health == Health::Up);
        let up = up.map(|(address, _)| *address);
        up.filter(|address| !self.strips(*address) && !flaps(address))
            .collect()
    }

    /// Something on the path from this address took MPTCP out.
    pub(super) fn note_stripped(&self, address: IpAddr) {
        if !self.strips(address) {
            warn!(%address, "something on this path takes MPTCP out: connections that begin by it \
                stay on it alone, so others begin elsewhere");
        }
        lock(&self.stripped).insert(address, Instant::now());
    }

    /// Whether something on the path from this address takes MPTCP out, as far as was seen lately.
    pub(super) fn strips(&self, address: IpAddr) -> bool {
        let seen = lock(&self.stripped).get(&address).copied();
        seen.is_some_and(|seen| seen.elapsed() < STRIPPED)
    }

    /// Has a session made beside the one that there is, whichever.
    pub(super) fn doubt_any(&self) {
        self.doubted.store(true, Ordering::Relaxed);
        self.wanted.notify_one();
    }

    /// It looks as if the partner did not know this session any more, or were not reached. Nobody
    /// who says so is authenticated: so the session stays until another has been made.
    pub(super) fn doubt(&self, meeting: &Arc<Meeting>) {
        let present = self.meeting.borrow().clone();
        if present.is_some_and(|present| Arc::ptr_eq(&present, meeting)) {
            self.doubt_any();
        }
    }

    /// Waits until the session is doubted.
    pub(super) async fn doubted(&self) {
        while !self.doubted.load(Ordering::Relaxed) {
            self.wanted.notified().await;
        }
    }
}
