//! A partner's sessions with its routers.

mod member;
mod once;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tracing::{debug, info, warn};

pub use member::Member;

use super::observations::RouterCounters;
use super::router_list::RouterEntry;
use super::store::{Stamp, Store, StoreError};
use crate::identity::{Identity, Master};
use crate::key::{Key, KeyId, PublicKey};
use crate::session::{Session, SessionId};
use crate::traffic_policy::Ports;
use member::Counts;
use once::Once;

/// Number of used sessions per router: after several power failures, the oldest is surely unused.
const OF_ONE: usize = 4;
/// Unused sessions kept per router. They may be replays of recorded handshakes, by an attacker
/// without a key: so an unused session displaces no used one, and the router has some time until it
/// opens a connection.
const PENDING: usize = 64;
/// A router whose line is missing this long was deleted: editors may write the list in steps.
const MISSING: Duration = Duration::from_secs(1);
/// Changes of a file with at least this interval have different modification times.
const GRANULE: Duration = Duration::from_millis(100);
/// Idle time after which a session is forgotten; its router makes another.
const IDLE: Duration = Duration::from_secs(24 * 3600);

/// Shortest interval of warnings about a refused router.
const MINUTE: Duration = Duration::from_secs(60);

/// A router that used another session this recently has renewed its keys, and does not return to
/// the old one.
const RENEWED: Duration = Duration::from_secs(60);

struct Entry {
    session: Arc<Session>,
    router: KeyId,
    /// Time of the last open, or of the session's creation.
    used: Instant,
    opened: bool,
}

struct Router {
    paired: RouterEntry,
    member: Member,
    /// Dropping this ends all connections of the router.
    _alive: watch::Sender<()>,
    once: Once,
    /// Time of the last warning that another router came with the line.
    refused: Option<Instant>,
    /// Time since which the line is missing.
    missing: Option<Instant>,
}

/// State of the list of routers when read.
#[derive(Clone, Copy)]
struct Read {
    stamp: Option<Stamp>,
    /// Time of the first and of the last read of this state.
    first: Instant,
    last: Instant,
}

impl Read {
    /// Returns true if a further change would have another time.
    fn is_settled(&self) -> bool {
        self.last.duration_since(self.first) > GRANULE
    }
}

#[derive(Default)]
struct Known {
    sessions: HashMap<SessionId, Entry>,
    routers: HashMap<KeyId, Router>,
    /// Counts of all routers, revoked ones too.
    counts: BTreeMap<KeyId, Arc<Counts>>,
    /// State of the list when read; `None`: the list is to be read again.
    read: Option<Read>,
}

impl Known {
    /// Limits a router's used or unused sessions to `most`: removes the oldest one.
    fn leave(&mut self, router: KeyId, opened: bool, most: usize) {
        let of_router = || {
            let mut all = self.sessions.iter();
            std::iter::from_fn(move || all.find(|(_, e)| e.router == router && e.opened == opened))
        };
        if of_router().count() > most
            && let Some(oldest) = of_router().min_by_key(|(_, e)| e.used).map(|(id, _)| *id)
        {
            self.sessions.remove(&oldest);
        }
    }
}

/// A router's session.
pub struct RouterSession {
    /// The session with its keys.
    pub session: Arc<Session>,
    /// The router of the session.
    pub member: Member,
    /// Index that determines the router's addresses.
    pub address_index: usize,
    /// Maximum number of connections.
    pub max_connections: usize,
}

/// See the module.
pub struct Sessions {
    store: Store,
    master: Master,
    known: RwLock<Known>,
    changed: watch::Sender<()>,
    began: Instant,
    /// Only one thread reads the list at a time: an older state must not replace a newer.
    reading: Mutex<()>,
}

impl Sessions {
    /// Reads the partner's key and list, and writes down missing places.
    ///
    /// # Errors
    /// They cannot be read or made.
    pub fn open(store: Store) -> Result<Self, StoreError> {
        let master = store.master()?;
        store.settle()?;
        let figures = store
            .observations()?
            .map(|seen| seen.routers)
            .unwrap_or_default();
        let counts = figures.into_iter().map(|(id, seen)| {
            let counts = Counts::from(seen);
            (id, Arc::new(counts))
        });
        let known = Known {
            counts: counts.collect(),
            ..Known::default()
        };
        let sessions = Self {
            store,
            master,
            known: RwLock::new(known),
            changed: watch::Sender::new(()),
            began: Instant::now(),
            reading: Mutex::default(),
        };
        sessions.refresh(Instant::now())?;
        Ok(sessions)
    }

    fn read(&self) -> RwLockReadGuard<'_, Known> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Known> {
        self.known.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the folder of the list.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Reads the list of routers again if it changed. Ends connections of routers that are no
    /// longer in the list.
    fn refresh(&self, now: Instant) -> Result<(), StoreError> {
        let _reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        let stamp = self.store.stamp();
        let before = self.read().read.filter(|read| read.stamp == stamp);
        if before.is_some_and(|read| read.is_settled()) {
            return Ok(());
        }
        let roll = self.store.roll()?;
        let mut known = self.write();
        let Known {
            sessions,
            routers,
            counts,
            read,
        } = &mut *known;
        *read = Some(Read {
            stamp,
            first: before.map_or(now, |read| read.first),
            last: now,
        });
        let is_listed = |id: KeyId| roll.all().any(|router| router.id == id);
        let mut former = std::mem::take(routers);
        let mut is_changed = false;
        for paired in roll.paired() {
            let id = paired.id;
            let router = match former.remove(&id) {
                Some(mut router) => {
                    is_changed |= router.paired != *paired;
                    router.paired = paired.clone();
                    router.missing = None;
                    router
                }
                None => {
                    is_changed = true;
                    let counts = Arc::clone(counts.entry(id).or_default());
                    let alive = watch::Sender::new(());
                    Router {
                        paired: paired.clone(),
                        member: Member::new(id, counts, alive.subscribe(), self.began),
                        _alive: alive,
                        once: Once::default(),
                        refused: None,
                        missing: None,
                    }
                }
            };
            routers.insert(id, router);
        }
        let is_missing = |id: &KeyId, router: &mut Router| {
            let since = *router.missing.get_or_insert(now);
            !is_listed(*id) && now.duration_since(since) < MISSING
        };
        for (id, router) in former.extract_if(|id, router| is_missing(id, router)) {
            // The file has to be read again, whatever happens to it.
            *read = None;
            routers.insert(id, router);
        }
        counts.retain(|id, _| is_listed(*id) || routers.contains_key(id));
        for (id, router) in &former {
            info!(router = %id, name = router.paired.name, "router revoked");
        }
        is_changed |= !former.is_empty();
        sessions.retain(|_, entry| routers.contains_key(&entry.router));
        drop(known);
        // Now their connections receive the end.
        drop(former);
        if is_changed {
            self.changed.send_replace(());
        }
        Ok(())
    }

    /// Checks the list. If the list is unreadable, all stays unchanged.
    pub fn poll_list(&self) {
        if let Err(error) = self.refresh(Instant::now()) {
            warn!(%error, "cannot read the list of routers");
        }
    }

    /// Returns a receiver that is notified when routers came, went or have other places.
    pub fn changed(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Returns the key of a paired router, and its entry.
    pub fn key(&self, id: KeyId) -> Option<(Key, RouterEntry)> {
        self.poll_list();
        let known = self.read();
        let router = known.routers.get(&id)?;
        Some((self.master.key(id), router.paired.clone()))
    }

    /// Returns the partner's static key.
    pub fn identity(&self) -> &Identity {
        self.master.identity()
    }

    /// Returns true if a router may connect with its line: the line is new and from now on reserved
    /// for this router, or was already its own, or had no router with a key of its own.
    ///
    /// # Errors
    /// The list cannot be read or written.
    pub fn admit(&self, paired: &RouterEntry, router: PublicKey) -> Result<bool, StoreError> {
        if paired.router == Some(router) {
            return Ok(true);
        }
        let of_line = Identity::of_line(&self.master.key(paired.id)).public();
        match paired.router {
            Some(first) if first != of_line => Ok(false),
            _ => self.store.admit(paired.id, router, of_line),
        }
    }

    /// Warns, at most once a minute, that another router used a line.
    pub fn refused(&self, id: KeyId, from: SocketAddr) {
        let now = Instant::now();
        let mut known = self.write();
        let Some(router) = known.routers.get_mut(&id) else {
            return;
        };
        let last = router.refused.replace(now);
        if last.is_some_and(|last| now.duration_since(last) < MINUTE) {
            router.refused = last;
            return;
        }
        warn!(%from, router = %id, name = router.paired.name, "another router used this router's \
            line, and was refused; if that is the router itself and it has lost its own key, print \
            a new line by `weir multipath rotate`");
    }

    /// Returns the places of routers, and their ports, from the present list.
    pub fn forwards(&self) -> Vec<(usize, Vec<Ports>)> {
        self.poll_list();
        let known = self.read();
        let routers = known.routers.values().map(|router| &router.paired);
        let mut forwards: Vec<_> = routers
            .filter(|router| !router.forwards.is_empty())
            .filter_map(|router| Some((router.address_index?, router.forwards.clone())))
            .collect();
        forwards.sort_unstable_by_key(|(place, _)| *place);
        forwards
    }

    /// Returns the session of this number.
    pub fn find(&self, id: SessionId) -> Option<RouterSession> {
        let known = self.read();
        let entry = known.sessions.get(&id)?;
        let router = known.routers.get(&entry.router)?;
        Some(RouterSession {
            session: Arc::clone(&entry.session),
            member: router.member.clone(),
            address_index: router.paired.address_index?,
            max_connections: router
                .paired
                .max_connections
                .map_or(usize::MAX, |most| most as usize),
        })
    }

    /// Notes that the router opened a connection: verified, so neither a guess of the session's
    /// number nor a replay.
    pub fn opened(&self, id: SessionId, from: SocketAddr) {
        let mut known = self.write();
        let Some(entry) = known.sessions.get_mut(&id) else {
            return;
        };
        entry.used = Instant::now();
        if std::mem::replace(&mut entry.opened, true) {
            return;
        }
        let router = entry.router;
        let other = known.sessions.iter().any(|(other, entry)| {
            let is_used = entry.opened && entry.used.elapsed() < RENEWED;
            *other != id && entry.router == router && is_used
        });
        if let Some(known) = known.routers.get(&router) {
            let name = &known.paired.name;
            match other {
                // The router was connected all the time: only its keys are new.
                true => debug!(%from, %router, name, "router reconnected with new keys"),
                false => info!(%from, %router, name, "router connected"),
            }
        }
        known.leave(router, true, OF_ONE);
    }

    /// Returns true if a handshake with this ephemeral key made a session before: such a replay is
    /// ignored.
    pub fn was_there(&self, router: KeyId, once: &[u8; 32]) -> bool {
        let known = self.read();
        let router = known.routers.get(&router);
        router.is_some_and(|router| router.once.has(once))
    }

    /// Stores a session that was begun with this ephemeral key; if there are too many, the router's
    /// oldest unused session is removed. Returns false without storing if the handshake is a
    /// replay, or the router was removed.
    #[must_use]
    pub fn keep(&self, id: SessionId, router: KeyId, once: [u8; 32], session: Session) -> bool {
        let mut known = self.write();
        let Some(of) = known.routers.get_mut(&router) else {
            return false;
        };
        if !of.once.take(once) {
            return false;
        }
        let now = Instant::now();
        known
            .sessions
            .retain(|_, entry| now.duration_since(entry.used) < IDLE);
        let entry = Entry {
            session: Arc::new(session),
            router,
            used: now,
            opened: false,
        };
        known.sessions.insert(id, entry);
        known.leave(router, false, PENDING);
        true
    }

    /// Returns the start of the partner.
    pub fn began(&self) -> Instant {
        self.began
    }

    /// Returns observations of routers; `unix`: start of this partner, seconds since 1970.
    pub fn figures(&self, unix: u64) -> Vec<(KeyId, RouterCounters)> {
        let known = self.read();
        let all = known.counts.iter();
        all.map(|(id, counts)| (*id, counts.figures(self.began, unix)))
            .filter(|(_, seen)| seen.last > 0)
            .collect()
    }
}
