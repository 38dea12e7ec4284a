//! State that the threads of a router's proxy share.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use answers::ConnectionCounts;
use tokio::sync::{Notify, watch};
use tracing::{info, warn};

use super::ordering::ConnectionOrder;
use super::places::Places;
use super::pump::Moved;
use super::threads::lock;
use super::traffic_settings::TrafficSettings;
use crate::encrypt::Encrypt;
use crate::flaps::{Flaps, Word};
use crate::hints::{Hint, Hints};
use crate::session::Session;
use crate::welcome::Welcome;

/// Time for which new connections avoid to begin by a path on which MPTCP is stripped. Then the
/// path is tried again.
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

    /// Counts a connection that had no room.
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

    /// Returns the current sums.
    pub fn read(&self) -> ConnectionCounts {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        ConnectionCounts {
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

/// A session, and the partner's settings.
pub struct ActiveSession {
    /// The session with its keys.
    pub session: Session,
    /// Welcome of the partner.
    pub welcome: Welcome,
    /// Address at which the partner proved to have the key: the session is used only there.
    pub partner: SocketAddr,
}

/// State of a path. A path that is unknown has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// The partner answers by the path.
    Up,
    /// The partner no longer answers by the path.
    Down,
}

/// A path, as other threads see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PathInfo {
    /// Own address.
    pub address: IpAddr,
    /// Name of the device.
    pub device: String,
    /// The user's hint.
    pub hint: Hint,
}

/// See the module.
pub struct ProxyState {
    partners: Mutex<BTreeMap<String, Vec<SocketAddr>>>,
    /// Paths that may be used, best first.
    paths: watch::Sender<Vec<PathInfo>>,
    hints: Mutex<Hints>,
    /// Addresses of paths that wait until others fail, resting ones too.
    reserve: Mutex<Vec<IpAddr>>,
    /// Addresses of paths that are paused for TCP.
    resting: Mutex<Vec<IpAddr>>,
    health: Mutex<BTreeMap<IpAddr, Health>>,
    /// Addresses of paths that strip MPTCP, and when that was last seen.
    stripped: Mutex<BTreeMap<IpAddr, Instant>>,
    flaps: Mutex<Flaps>,
    /// Bytes of the tunnel's datagrams there and back, by own address.
    tunnelled: Mutex<BTreeMap<IpAddr, [u64; 2]>>,
    /// Notified when the health of a path or a hint changes.
    pub(super) ailing: Notify,
    meeting: watch::Sender<Option<Arc<ActiveSession>>>,
    /// True if a new session is needed, and the notification of that.
    doubted: AtomicBool,
    wanted: Notify,
    /// True if the last try to make a session succeeded; also before the first.
    reached: watch::Sender<bool>,
    /// Notified when the partner's addresses change.
    pub(super) moved: Notify,
    fall_back: AtomicBool,
    encrypt: Mutex<Encrypt>,
    renew: Mutex<Duration>,
    /// Places of connections, by client.
    pub(super) places: Places<IpAddr>,
    /// Slots at the partner, by client: a client without a slot goes directly, if permitted.
    pub(super) given: Places<IpAddr>,
    /// Order of clients' connections.
    pub(super) turns: ConnectionOrder,
    /// Sums.
    pub counts: Counts,
}

impl ProxyState {
    /// Creates the state, without a session or paths.
    pub(super) fn new(places: usize, conduct: &TrafficSettings, hints: Hints) -> Self {
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
            turns: ConnectionOrder::default(),
            counts: Counts::default(),
        }
    }

    /// Returns the partner's first address that a path leads to, and the source addresses for it;
    /// without known paths, the kernel chooses.
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
        // Paths that do not answer come last: their state may be old. Metered paths come after free
        // ones; of equal paths, those that strip MPTCP come last, as the first subflow negotiates
        // it, and a connection would stay on it alone.
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

    /// Returns all known addresses of the partners: those of their names, and that of the session.
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

    /// Returns the partner's port: of the session, or of the next try.
    pub(super) fn port(&self) -> u16 {
        let meeting = self.meeting.borrow().as_ref().map(|it| it.partner);
        let partner = meeting.or_else(|| self.partners().first().copied());
        partner.map_or(0, |partner| partner.port())
    }

    pub(super) fn set_paths(&self, paths: Vec<PathInfo>) {
        self.paths.send_if_modified(|known| {
            let other = *known != paths;
            *known = paths;
            other
        });
    }

    /// Subscribes to the paths.
    pub(super) fn paths(&self) -> watch::Receiver<Vec<PathInfo>> {
        self.paths.subscribe()
    }

    /// Applies other hints.
    pub(super) fn set_hints(&self, hints: Hints) {
        *lock(&self.hints) = hints;
        self.ailing.notify_one();
    }

    /// Returns the hints about paths.
    pub(super) fn hints(&self) -> Hints {
        lock(&self.hints).clone()
    }

    pub(super) fn set_resting(&self, addresses: Vec<IpAddr>) {
        let before = std::mem::replace(&mut *lock(&self.resting), addresses.clone());
        if before != addresses {
            self.ailing.notify_one();
        }
    }

    /// Returns true if the path from this address is paused for TCP.
    pub(super) fn rests(&self, address: IpAddr) -> bool {
        lock(&self.resting).contains(&address)
    }

    pub(super) fn set_reserve(&self, addresses: Vec<IpAddr>) {
        *lock(&self.reserve) = addresses;
    }

    /// Returns the addresses of the paths that wait until others fail.
    pub(super) fn reserve(&self) -> Vec<IpAddr> {
        lock(&self.reserve).clone()
    }

    /// Returns true if the path from this address waits until others fail.
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

    /// Returns the health of the path from this address, if known.
    pub(super) fn health(&self, address: IpAddr) -> Option<Health> {
        lock(&self.health).get(&address).copied()
    }

    /// Notes a change of a path, and returns true if it is to be logged. Logs that a path flaps.
    pub(super) fn tells(&self, device: &str) -> bool {
        let word = lock(&self.flaps).change(device, Instant::now());
        if word == Word::Flaps {
            warn!(
                device,
                "path flaps: moving connections away, and logging its changes again once it is \
                    stable for 10 s"
            );
        }
        word == Word::Change
    }

    /// Logs paths that do not flap any more.
    pub(super) fn look_at_flaps(&self) {
        for device in lock(&self.flaps).still(Instant::now()) {
            info!(device, "path stopped flapping");
            self.ailing.notify_one();
        }
    }

    /// Returns the devices of paths that flap.
    pub(super) fn flapping(&self) -> Vec<String> {
        lock(&self.flaps).flapping()
    }

    /// Counts bytes of the tunnel on the path from this address, there and back.
    pub(super) fn add_tunnelled(&self, address: IpAddr, more: [u64; 2]) {
        let mut tunnelled = lock(&self.tunnelled);
        let sums = tunnelled.entry(address).or_default();
        for (sum, more) in sums.iter_mut().zip(more) {
            *sum = sum.saturating_add(more);
        }
    }

    /// Returns the tunnel's bytes on the path from this address, there and back.
    pub(super) fn tunnelled(&self, address: IpAddr) -> [u64; 2] {
        let tunnelled = lock(&self.tunnelled);
        tunnelled.get(&address).copied().unwrap_or_default()
    }

    /// Returns the tunnel's bytes on all paths, both ways.
    pub(super) fn all_tunnelled(&self) -> u64 {
        let tunnelled = lock(&self.tunnelled);
        let sums = tunnelled.values().flatten();
        sums.fold(0, |sum, more| sum.saturating_add(*more))
    }

    /// Returns the lifetime of keys.
    pub(super) fn renew(&self) -> Duration {
        *lock(&self.renew)
    }

    /// Applies other settings to new connections.
    pub(super) fn conduct(&self, conduct: &TrafficSettings) {
        *lock(&self.encrypt) = conduct.encrypt;
        *lock(&self.renew) = conduct.renew;
        self.fall_back.store(conduct.fall_back, Ordering::Relaxed);
    }

    /// Returns which connections are encrypted.
    pub(super) fn encrypt(&self) -> Encrypt {
        *lock(&self.encrypt)
    }

    pub(super) fn falls_back(&self) -> bool {
        self.fall_back.load(Ordering::Relaxed)
    }

    /// Waits for a session other than `but`; `None`: no session is expected, and connections may go
    /// directly.
    pub(super) async fn meeting(
        &self,
        but: Option<&Arc<ActiveSession>>,
    ) -> Option<Arc<ActiveSession>> {
        let (mut told, mut reached) = (self.meeting.subscribe(), self.reached.subscribe());
        let other = |now: &Option<Arc<ActiveSession>>| match (now, but) {
            (Some(now), Some(but)) => !Arc::ptr_eq(now, but),
            (now, None) => now.is_some(),
            (None, _) => false,
        };
        // If connections may go directly, no connection waits for a partner that is known to be
        // unreachable.
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

    /// Subscribes to sessions.
    pub(super) fn meetings(&self) -> watch::Receiver<Option<Arc<ActiveSession>>> {
        self.meeting.subscribe()
    }

    /// Returns true if there is a session.
    pub fn connected(&self) -> bool {
        self.meeting.borrow().is_some()
    }

    /// Stores a new session, which replaces the old one.
    pub(super) fn met(&self, meeting: ActiveSession) {
        self.doubted.store(false, Ordering::Relaxed);
        // All clients share the connections that the partner grants.
        let places = meeting.welcome.places.unwrap_or(u32::MAX);
        self.given.narrow(places as usize);
        self.meeting.send_replace(Some(Arc::new(meeting)));
        self.reached.send_replace(true);
    }

    /// Notes that no session could be made. An existing one stays: perhaps only new connections do
    /// not reach the partner.
    pub(super) fn missed(&self) {
        self.reached.send_replace(false);
    }

    /// Returns true if the partner answers by a path of the tunnel: that is authenticated.
    pub(super) fn answers(&self) -> bool {
        lock(&self.health)
            .values()
            .any(|health| *health == Health::Up)
    }

    /// Returns the addresses of the paths by which the partner answers and MPTCP passes, without
    /// those that flap.
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

    /// Notes that the path from this address strips MPTCP.
    pub(super) fn note_stripped(&self, address: IpAddr) {
        if !self.strips(address) {
            warn!(%address, "path strips MPTCP: connections that begin on it stay on it alone, so \
                new ones begin on other paths");
        }
        lock(&self.stripped).insert(address, Instant::now());
    }

    /// Returns true if a recent observation showed that the path from this address strips MPTCP.
    pub(super) fn strips(&self, address: IpAddr) -> bool {
        let seen = lock(&self.stripped).get(&address).copied();
        seen.is_some_and(|seen| seen.elapsed() < STRIPPED)
    }

    /// Requests a new session in addition to the present one, whichever it is.
    pub(super) fn doubt_any(&self) {
        self.doubted.store(true, Ordering::Relaxed);
        self.wanted.notify_one();
    }

    /// Requests a new session, as the partner seems not to know this one any more, or is
    /// unreachable. Such signs are not authenticated, so the session stays until another has been
    /// made.
    pub(super) fn doubt(&self, meeting: &Arc<ActiveSession>) {
        let present = self.meeting.borrow().clone();
        if present.is_some_and(|present| Arc::ptr_eq(&present, meeting)) {
            self.doubt_any();
        }
    }

    /// Waits until a new session is requested.
    pub(super) async fn doubted(&self) {
        while !self.doubted.load(Ordering::Relaxed) {
            self.wanted.notified().await;
        }
    }
}
