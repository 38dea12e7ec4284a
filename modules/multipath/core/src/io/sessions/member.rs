//! A router, as its connections and its end of the tunnel know it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use tokio::sync::watch;

use crate::io::seen::Figures;
use crate::key::KeyId;

/// Who was silent for so long, seconds, with no connection open, is not connected.
const SILENCE: u64 = 60;

/// What it moved, by several threads.
#[derive(Debug, Default)]
pub struct Counts {
    /// When it was heard before the partner began, seconds since 1970.
    before: u64,
    /// When it was heard last, seconds since the partner began, and 1 more; 0: not yet.
    heard: AtomicU64,
    sent: AtomicU64,
    received: AtomicU64,
    open: AtomicU64,
}

impl Counts {
    /// As they are now: of a partner that began then, in seconds since 1970.
    pub fn figures(&self, began: Instant, unix: u64) -> Figures {
        let of = |number: &AtomicU64| number.load(Ordering::Relaxed);
        let (heard, open) = (of(&self.heard), of(&self.open));
        Figures {
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

impl From<Figures> for Counts {
    /// Goes on with what was seen before the partner was started anew: nothing is open now.
    fn from(seen: Figures) -> Self {
        Self {
            before: seen.last,
            heard: 0.into(),
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
    began: Instant,
}

/// Since the partner began, and 1 more.
fn seconds(began: Instant) -> u64 {
    began.elapsed().as_secs().saturating_add(1)
}

impl Member {
    /// Of a partner that began then. Once nobody has the other end of `alive`, it is revoked.
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

    /// Waits until it may not come any more.
    pub async fn revoked(&self) {
        let mut alive = self.alive.clone();
        while alive.changed().await.is_ok() {}
    }

    /// Something of it came that nobody else can have sent.
    pub fn heard(&self) {
        // What is there already costs the other threads nothing.
        let now = seconds(self.began);
        if self.counts.heard.load(Ordering::Relaxed) != now {
            self.counts.heard.store(now, Ordering::Relaxed);
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
