//! The connections of one server: the [`ConnectionTable`], and notifications for its members.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

use super::ResponseBody;
use super::connection_table::{ConnectionTable, Peer};
use super::progress::Progress;

/// Interval at which a waiting connection checks for stalled ones with a slot.
const LOOK: Duration = Duration::from_millis(250);

/// Notifications for one connection.
#[derive(Default)]
struct ConnectionSignals {
    seat: Notify,
    go: Notify,
}

/// Handle to the connections of one server.
#[derive(Clone)]
pub struct ConnectionPool(Rc<Inner>);

struct Inner {
    crowd: RefCell<ConnectionTable>,
    told: RefCell<HashMap<u64, Rc<ConnectionSignals>>>,
    /// Notifies when a connection ends or falls silent.
    changed: Notify,
}

impl ConnectionPool {
    /// Allows this many answers at once, and this many more connections.
    pub fn new(answers: usize, waiting: usize) -> Self {
        Self(Rc::new(Inner {
            crowd: RefCell::new(ConnectionTable::new(answers, waiting)),
            told: RefCell::default(),
            changed: Notify::new(),
        }))
    }

    /// Returns when one more connection fits. Dismisses a silent connection if necessary.
    pub async fn place(&self) {
        while self.0.crowd.borrow().is_full() {
            let changed = self.0.changed.notified();
            self.clear_one();
            if self.0.crowd.borrow().is_full() {
                changed.await;
            } else {
                // The dismissed connection closes its descriptor before another one comes: a client
                // that connects without end holds no more descriptors than the limit allows.
                tokio::task::yield_now().await;
            }
        }
    }

    /// Dismisses a silent connection, if there is one.
    pub fn clear_one(&self) {
        let silent = self.0.crowd.borrow().silent();
        if let Some(number) = silent {
            self.dismiss(number);
        }
    }

    /// Admits a connection.
    pub fn enter(&self, peer: Peer, progress: &Progress) -> Connection {
        let now = Instant::now();
        let moved = progress.moved();
        let entered = Rc::clone(&moved);
        let number = self.0.crowd.borrow_mut().enter(peer, entered, now);
        let told = Rc::<ConnectionSignals>::default();
        let mut all = self.0.told.borrow_mut();
        all.insert(number, Rc::clone(&told));
        Connection {
            hall: self.clone(),
            number,
            told,
            moved,
        }
    }

    /// Releases the connection at once; the connection ends with its next turn.
    fn dismiss(&self, number: u64) {
        self.0.crowd.borrow_mut().leave(number);
        if let Some(told) = self.0.told.borrow().get(&number) {
            told.go.notify_one();
        }
        self.changed();
    }

    fn changed(&self) {
        let now = Instant::now();
        while let Some(number) = self.0.crowd.borrow_mut().seat(now) {
            if let Some(told) = self.0.told.borrow().get(&number) {
                told.seat.notify_one();
            }
        }
        self.0.changed.notify_one();
    }
}

/// A connection, until dropped.
pub struct Connection {
    hall: ConnectionPool,
    number: u64,
    told: Rc<ConnectionSignals>,
    moved: Rc<Cell<Instant>>,
}

impl Connection {
    /// Returns when the connection has to give way.
    pub async fn dismissed(&self) {
        self.told.go.notified().await;
    }

    /// Waits for a slot.
    pub async fn seat(self: &Rc<Self>) -> Slot {
        let hall = &self.hall;
        hall.0.crowd.borrow_mut().ask(self.number, Instant::now());
        // From here on the connection counts as asking, until the slot is dropped.
        let seat = Slot(Rc::clone(self));
        hall.changed();
        while timeout(LOOK, self.told.seat.notified()).await.is_err() {
            let now = Instant::now();
            // A waiting client does not count as stalled.
            self.moved.set(now);
            let still = hall.0.crowd.borrow().still(now);
            if let Some(number) = still {
                hall.dismiss(number);
            }
        }
        seat
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.hall.0.crowd.borrow_mut().leave(self.number);
        self.hall.0.told.borrow_mut().remove(&self.number);
        self.hall.changed();
    }
}

/// The slot of one connection, until dropped.
pub struct Slot(Rc<Connection>);

impl Drop for Slot {
    fn drop(&mut self) {
        let Connection { hall, number, .. } = &*self.0;
        hall.0.crowd.borrow_mut().set_idle(*number, Instant::now());
        hall.changed();
    }
}

/// A response, and its slot until the client's socket holds the whole response.
pub struct SlotBody {
    answer: ResponseBody,
    _seat: Option<Slot>,
}

impl SlotBody {
    /// Wraps a response. A refusal takes no slot: `None`.
    pub fn new(answer: ResponseBody, seat: Option<Slot>) -> Self {
        Self {
            answer,
            _seat: seat,
        }
    }
}

impl Body for SlotBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        Pin::new(&mut self.get_mut().answer).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.answer.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.answer.size_hint()
    }
}
