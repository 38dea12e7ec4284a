//! The connections of one server: the [`Crowd`], and how those that are meant hear of it.

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

use super::Answer;
use super::crowd::{Crowd, Peer};
use super::progress::Progress;

/// How often one that waits for a seat looks whether somebody stands still on one.
const LOOK: Duration = Duration::from_millis(250);

/// What one connection is told.
#[derive(Default)]
struct Told {
    seat: Notify,
    go: Notify,
}

/// Where connections are received.
#[derive(Clone)]
pub struct Hall(Rc<Inner>);

struct Inner {
    crowd: RefCell<Crowd>,
    told: RefCell<HashMap<u64, Rc<Told>>>,
    /// One went, or fell silent.
    changed: Notify,
}

impl Hall {
    /// For so many answers at once, and so many connections beside these.
    pub fn new(answers: usize, waiting: usize) -> Self {
        Self(Rc::new(Inner {
            crowd: RefCell::new(Crowd::new(answers, waiting)),
            told: RefCell::default(),
            changed: Notify::new(),
        }))
    }

    /// Returns when there is a place for one more connection: the one that has to go for it is told
    /// to.
    pub async fn place(&self) {
        while self.0.crowd.borrow().is_full() {
            let changed = self.0.changed.notified();
            self.clear_one();
            if self.0.crowd.borrow().is_full() {
                changed.await;
            } else {
                // The connection that goes closes its descriptor before another one comes: whoever
                // connects without end holds no more of them than there are places.
                tokio::task::yield_now().await;
            }
        }
    }

    /// Has a silent connection go, if there is one.
    pub fn clear_one(&self) {
        let silent = self.0.crowd.borrow().silent();
        if let Some(number) = silent {
            self.dismiss(number);
        }
    }

    /// Lets one in.
    pub fn enter(&self, peer: Peer, progress: &Progress) -> Visitor {
        let now = Instant::now();
        let moved = progress.moved();
        let entered = Rc::clone(&moved);
        let number = self.0.crowd.borrow_mut().enter(peer, entered, now);
        let told = Rc::<Told>::default();
        let mut all = self.0.told.borrow_mut();
        all.insert(number, Rc::clone(&told));
        Visitor {
            hall: self.clone(),
            number,
            told,
            moved,
        }
    }

    /// Its place is free at once; it hears of it with its next turn.
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

/// One connection. Dropping it is how it goes.
pub struct Visitor {
    hall: Hall,
    number: u64,
    told: Rc<Told>,
    moved: Rc<Cell<Instant>>,
}

impl Visitor {
    /// Returns when it has to go for others.
    pub async fn dismissed(&self) {
        self.told.go.notified().await;
    }

    /// Waits for its turn.
    pub async fn seat(self: &Rc<Self>) -> Seat {
        let hall = &self.hall;
        hall.0.crowd.borrow_mut().ask(self.number, Instant::now());
        // From here on it is asking: dropped while it waits, it is so no longer.
        let seat = Seat(Rc::clone(self));
        hall.changed();
        while timeout(LOOK, self.told.seat.notified()).await.is_err() {
            let now = Instant::now();
            // It is not this client that nothing moves for.
            self.moved.set(now);
            let still = hall.0.crowd.borrow().still(now);
            if let Some(number) = still {
                hall.dismiss(number);
            }
        }
        seat
    }
}

impl Drop for Visitor {
    fn drop(&mut self) {
        self.hall.0.crowd.borrow_mut().leave(self.number);
        self.hall.0.told.borrow_mut().remove(&self.number);
        self.hall.changed();
    }
}

/// The turn of one connection: it lasts as long as this.
pub struct Seat(Rc<Visitor>);

impl Drop for Seat {
    fn drop(&mut self) {
        let Visitor { hall, number, .. } = &*self.0;
        hall.0.crowd.borrow_mut().rest(*number, Instant::now());
        hall.changed();
    }
}

/// An answer, and the seat it takes until all of it was given to the client's socket.
pub struct Seated {
    answer: Answer,
    _seat: Option<Seat>,
}

impl Seated {
    /// None: a refusal, which takes no seat.
    pub fn new(answer: Answer, seat: Option<Seat>) -> Self {
        Self {
            answer,
            _seat: seat,
        }
    }
}

impl Body for Seated {
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
