//! The sessions that a partner has with its routers.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant, SystemTime};

use super::store::{Paired, Store, StoreError};
use crate::choice::Ports;
use crate::key::{Key, KeyId, Master};
use crate::session::{Session, SessionId};

/// Sessions of one router: after it lost power a few times, the oldest is surely gone.
const OF_ONE: usize = 4;
/// A session that nobody used for so long is forgotten; its router makes another.
const IDLE: Duration = Duration::from_secs(24 * 3600);

struct Entry {
    session: Arc<Session>,
    router: KeyId,
    /// When something was opened last, or it was made.
    used: Instant,
    opened: bool,
}

#[derive(Default)]
struct Known {
    sessions: HashMap<SessionId, Entry>,
    /// With their places in the list, from 0: addresses in the tunnel go by them.
    routers: HashMap<KeyId, (usize, Paired)>,
    read: Option<SystemTime>,
}

/// See the module.
pub struct Sessions {
    store: Store,
    master: Master,
    known: RwLock<Known>,
}

impl Sessions {
    /// Reads the partner's key and list.
    ///
    /// # Errors
    /// They cannot be read or made.
    pub fn open(store: Store) -> Result<Self, StoreError> {
        let master = store.master()?;
        let sessions = Self {
            store,
            master,
            known: RwLock::default(),
        };
        sessions.refresh()?;
        Ok(sessions)
    }

    /// Reads the list of routers again, where it changed.
    fn refresh(&self) -> Result<(), StoreError> {
        let changed = self.store.changed();
        if self
            .known
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .read
            == changed
        {
            return Ok(());
        }
        let paired = self.store.paired()?;
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let routers = paired.into_iter().enumerate();
        known.routers = routers
            .map(|(place, router)| (router.id, (place, router)))
            .collect();
        known.read = changed;
        let Known {
            sessions, routers, ..
        } = &mut *known;
        sessions.retain(|_, entry| routers.contains_key(&entry.router));
        Ok(())
    }

    /// The key of a router that this partner was paired with, its place, and what is known of it.
    pub fn key(&self, id: KeyId) -> Option<(Key, usize, Paired)> {
        if let Err(error) = self.refresh() {
            tracing::warn!(%error, "the list of routers cannot be read");
        }
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let (place, router) = known.routers.get(&id)?.clone();
        Some((self.master.key(id), place, router))
    }

    /// Places of routers, and the ports that they have, as the list is now.
    pub fn forwards(&self) -> Vec<(usize, Vec<Ports>)> {
        if let Err(error) = self.refresh() {
            tracing::warn!(%error, "the list of routers cannot be read");
        }
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let routers = known.routers.values();
        let mut forwards: Vec<_> = routers
            .map(|(place, router)| (*place, router.forwards.clone()))
            .filter(|(_, forwards)| !forwards.is_empty())
            .collect();
        forwards.sort_unstable_by_key(|(place, _)| *place);
        forwards
    }

    /// A session of this number, and whose it is.
    pub fn find(&self, id: SessionId) -> Option<(Arc<Session>, KeyId)> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let entry = known.sessions.get(&id)?;
        Some((Arc::clone(&entry.session), entry.router))
    }

    /// A session of this number, and the place of its router.
    pub fn placed(&self, id: SessionId) -> Option<(Arc<Session>, usize)> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let entry = known.sessions.get(&id)?;
        let place = known.routers.get(&entry.router)?.0;
        Some((Arc::clone(&entry.session), place))
    }

    /// Something was opened in it: not by somebody who only knows its number.
    pub fn opened(&self, id: SessionId) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = known.sessions.get_mut(&id) {
            entry.used = Instant::now();
            entry.opened = true;
        }
    }

    /// One more session; for it goes one of the router's in which nothing was opened, or the
    /// oldest, where there are too many.
    pub fn keep(&self, id: SessionId, router: KeyId, session: Session) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        known
            .sessions
            .retain(|_, entry| now.duration_since(entry.used) < IDLE);
        let of_router = || known.sessions.iter().filter(|(_, e)| e.router == router);
        if of_router().count() >= OF_ONE
            && let Some(oldest) = of_router()
                .min_by_key(|(_, e)| (e.opened, e.used))
                .map(|(id, _)| *id)
        {
            known.sessions.remove(&oldest);
        }
        let entry = Entry {
            session: Arc::new(session),
            router,
            used: now,
            opened: false,
        };
        known.sessions.insert(id, entry);
    }
}
