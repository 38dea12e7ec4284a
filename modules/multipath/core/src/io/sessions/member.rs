//! A router, as seen by its connections and its end of the tunnel.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use tokio::sync::watch;

use crate::io::observations::RouterCounters;
use crate::key::KeyId;

/// Silence, in seconds, after which a router without an open connection is not connected.
const SILENCE: u64 = 60;

/// Traffic of a router, counted by several threads.
#[derive(Debug, Default)]
pub struct Counts {
    /// Time of the last sign before the partner began, seconds since 1970.
    before: u64,
    /// Time of the last sign, seconds since the partner began, and 1 more; 0: not yet.
    last_seen: AtomicU64,
    sent: AtomicU64,
    received: AtomicU64,
    open: AtomicU64,
}

impl Counts {
    /// Returns the current figures. `unix`: start of the partner, seconds since 1970.
    pub fn figures(&self, began: Instant, unix: u64) -> RouterCounters {
        let of = |number: &AtomicU64| number.load(Ordering::Relaxed);
        let (heard, open) = (of(&self.last_seen), of(&self.open));
        RouterCounters {
            last: match heard {
                0 => self.before,
                heard => unix.saturating_add(heard),
            },
            sent: of(&self.sent),
            received: of(&self.received),
            open,
            connected: open > 0 || heard > 0 && seconds(began).saturating_sub(heard) < SILENCE,
        }
    }
}

impl From<RouterCounters> for Counts {
    /// Continues from the figures before a restart of the partner, without open connections.
    fn from(seen: RouterCounters) -> Self {
        Self {
            before: seen.last,
            last_seen: 0.into(),
            sent: seen.sent.into(),
            received: seen.received.into(),
            open: 0.into(),
        }
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Member {
    /// Id of the router's key.
    pub id: KeyId,
    counts: Arc<Counts>,
    alive: watch::Receiver<()>,
    began: Instant,
}

/// Seconds since the partner began, and 1 more.
fn seconds(began: Instant) -> u64 {
    began.elapsed().as_secs().saturating_add(1)
}

impl Member {
    /// Creates a member of a partner that began then. Dropping the sender of `alive` revokes it.
    pub(super) fn new(
        id: KeyId,
        counts: Arc<Counts>,
        alive: watch::Receiver<()>,
        began: Instant,
    ) -> Self {
        Self {
            id,
            counts,
            alive,
            began,
        }
    }

    /// Waits until the router is revoked.
    pub async fn revoked(&self) {
        let mut alive = self.alive.clone();
        while alive.changed().await.is_ok() {}
    }

    /// Notes an authenticated sign of the router.
    pub fn mark_seen(&self) {
        // A store only if the second is new spares the other threads' caches.
        let now = seconds(self.began);
        if self.counts.last_seen.load(Ordering::Relaxed) != now {
            self.counts.last_seen.store(now, Ordering::Relaxed);
        }
    }

    /// Counts bytes to the router and from it.
    pub fn moved(&self, sent: u64, received: u64) {
        if sent > 0 {
            self.counts.sent.fetch_add(sent, Ordering::Relaxed);
        }
        if received > 0 {
            self.counts.received.fetch_add(received, Ordering::Relaxed);
            self.mark_seen();
        }
    }

    /// Counts an open connection of the router, until the result is dropped.
    pub fn connection(&self) -> OpenConnection {
        self.mark_seen();
        self.counts.open.fetch_add(1, Ordering::Relaxed);
        OpenConnection(Arc::clone(&self.counts))
    }
}

/// An open connection.
pub struct OpenConnection(Arc<Counts>);

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}
