//! A router, as its connections and its end of the tunnel know it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use tokio::sync::watch;

use crate::io::seen::Figures;
use crate::key::KeyId;

/// What it moved, by several threads.
#[derive(Debug, Default)]
pub struct Counts {
    last: AtomicU64,
    sent: AtomicU64,
    received: AtomicU64,
    open: AtomicU64,
}

impl Counts {
    /// As they are now.
    pub fn figures(&self) -> Figures {
        let of = |number: &AtomicU64| number.load(Ordering::Relaxed);
        Figures {
            last: of(&self.last),
            sent: of(&self.sent),
            received: of(&self.received),
            open: of(&self.open),
        }
    }
}

impl From<Figures> for Counts {
    /// Goes on with what was seen before the partner was started anew: nothing is open now.
    fn from(seen: Figures) -> Self {
        Self {
            last: seen.last.into(),
            sent: seen.sent.into(),
            received: seen.received.into(),
            open: 0.into(),
        }
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Member {
    /// Names its key.
    pub id: KeyId,
    counts: Arc<Counts>,
    alive: watch::Receiver<()>,
}

/// Seconds since 1970.
pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

impl Member {
    pub(super) fn new(id: KeyId, counts: Arc<Counts>, alive: watch::Receiver<()>) -> Self {
        Self { id, counts, alive }
    }

    /// Waits until it may not come any more.
    pub async fn revoked(&self) {
        let mut alive = self.alive.clone();
        while alive.changed().await.is_ok() {}
    }

    /// Something of it came that nobody else can have sent.
    pub fn heard(&self) {
        // What is there already costs the other threads nothing.
        let now = now();
        if self.counts.last.load(Ordering::Relaxed) != now {
            self.counts.last.store(now, Ordering::Relaxed);
        }
    }

    /// So many bytes went to it, and came from it.
    pub fn moved(&self, sent: u64, received: u64) {
        if sent > 0 {
            self.counts.sent.fetch_add(sent, Ordering::Relaxed);
        }
        if received > 0 {
            self.counts.received.fetch_add(received, Ordering::Relaxed);
            self.heard();
        }
    }

    /// One more connection of its, until this is dropped.
    pub fn connection(&self) -> Connected {
        self.heard();
        self.counts.open.fetch_add(1, Ordering::Relaxed);
        Connected(Arc::clone(&self.counts))
    }
}

/// An open connection.
pub struct Connected(Arc<Counts>);

impl Drop for Connected {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}
