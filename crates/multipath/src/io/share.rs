//! What the threads of a router's proxy share.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, watch};

use super::pump::Moved;
use crate::session::Session;

/// Sums since the start.
#[derive(Debug, Default)]
pub struct Counts {
    open: AtomicU64,
    carried: AtomicU64,
    direct: AtomicU64,
    refused: AtomicU64,
    sent: AtomicU64,
    received: AtomicU64,
}

/// [`Counts`], read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Counted {
    /// Connections that are there now.
    pub open: u64,
    /// Connections that there were, with those.
    pub carried: u64,
    /// Of them those that went directly, as the partner was not reached.
    pub direct: u64,
    /// Connections for which there was no room.
    pub refused: u64,
    /// Octets that clients sent.
    pub sent: u64,
    /// Octets that they received.
    pub received: u64,
}

impl Counts {
    pub(super) fn began(&self) {
        self.open.fetch_add(1, Ordering::Relaxed);
        self.carried.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn ended(&self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }

    pub(super) fn direct(&self) {
        self.direct.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn moved(&self, moved: Moved) {
        self.sent.fetch_add(moved.there, Ordering::Relaxed);
        self.received.fetch_add(moved.back, Ordering::Relaxed);
    }

    /// As they are now.
    pub fn read(&self) -> Counted {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Counted {
            open: of(&self.open),
            carried: of(&self.carried),
            direct: of(&self.direct),
            refused: of(&self.refused),
            sent: of(&self.sent),
            received: of(&self.received),
        }
    }
}

/// Where the partner is, and the addresses by which to go there.
#[derive(Debug, Default)]
struct Ways {
    /// All that its name stands for; none while that is not resolved.
    partner: Vec<SocketAddr>,
    /// Own addresses, one for each path, best first.
    sources: Vec<IpAddr>,
}

/// See the module.
#[derive(Debug)]
pub struct Share {
    ways: Mutex<Ways>,
    session: watch::Sender<Option<Arc<Session>>>,
    /// Told when a session is missed.
    pub(super) wanted: Notify,
    /// Told when the partner is found elsewhere than before.
    pub(super) moved: Notify,
    fall_back: AtomicBool,
    /// Most connections of one thread.
    pub(super) limit: usize,
    /// Sums.
    pub counts: Counts,
}

impl Share {
    /// Nothing is known yet.
    pub(super) fn new(limit: usize, fall_back: bool) -> Self {
        Self {
            ways: Mutex::default(),
            session: watch::Sender::new(None),
            wanted: Notify::new(),
            moved: Notify::new(),
            fall_back: fall_back.into(),
            limit,
            counts: Counts::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Ways> {
        // Whole at any time: a panic while it was held changes nothing.
        self.ways.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The partner, and from which addresses to go there; where no path is known, the kernel chooses.
    pub(super) fn ways(&self) -> (Option<SocketAddr>, Vec<Option<IpAddr>>) {
        let ways = self.lock();
        let fits = |partner: &&SocketAddr| {
            let mut sources = ways.sources.iter();
            sources.any(|source| source.is_ipv4() == partner.is_ipv4())
        };
        let partner = ways.partner.iter().find(fits).or(ways.partner.first());
        let fits = |source: &IpAddr| partner.is_some_and(|p| p.is_ipv4() == source.is_ipv4());
        let sources = ways.sources.iter().copied();
        let mut sources: Vec<_> = sources.filter(fits).map(Some).collect();
        if sources.is_empty() {
            sources.push(None);
        }
        (partner.copied(), sources)
    }

    pub(super) fn set_partner(&self, found: &[SocketAddr]) {
        let mut ways = self.lock();
        if ways.partner != found {
            ways.partner = found.to_vec();
            self.moved.notify_one();
        }
    }

    /// Addresses of the partner, as far as they are known.
    pub fn partner(&self) -> Vec<SocketAddr> {
        self.lock().partner.clone()
    }

    pub(super) fn set_sources(&self, sources: Vec<IpAddr>) {
        self.lock().sources = sources;
    }

    pub(super) fn falls_back(&self) -> bool {
        self.fall_back.load(Ordering::Relaxed)
    }

    /// The session, as soon as there is one; `None`: there will be none.
    pub(super) async fn session(&self) -> Option<Arc<Session>> {
        let mut told = self.session.subscribe();
        if told.borrow().is_none() {
            self.wanted.notify_one();
        }
        let found = told.wait_for(Option::is_some).await.ok()?;
        found.clone()
    }

    /// Whether there is a session.
    pub fn connected(&self) -> bool {
        self.session.borrow().is_some()
    }

    pub(super) fn set_session(&self, session: Option<Arc<Session>>) {
        self.session.send_replace(session);
    }

    /// The partner does not know this session any more.
    pub(super) fn forget(&self, session: &Arc<Session>) {
        let gone = self.session.send_if_modified(|known| {
            let same = known
                .as_ref()
                .is_some_and(|known| Arc::ptr_eq(known, session));
            if same {
                *known = None;
            }
            same
        });
        if gone {
            self.wanted.notify_one();
        }
    }
}
