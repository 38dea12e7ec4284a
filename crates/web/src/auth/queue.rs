//! The queue for work on passwords.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use api::Problem;
use tokio::sync::Semaphore;

/// Logins that may wait for the current one: this many of new devices, and this many of devices
/// that logged in before.
const QUEUE: usize = 4;

/// Works on one password at a time, alongside the event loop.
pub(super) struct Queue {
    trying: Arc<Semaphore>,
    waiting: [Cell<usize>; 2],
}

impl Queue {
    pub(super) fn new() -> Self {
        Self {
            trying: Arc::new(Semaphore::new(1)),
            waiting: Default::default(),
        }
    }

    /// Runs a long task on a thread of its own, one at a time: the event loop, and with it the
    /// packet path's heartbeat, goes on. A client that disconnects meanwhile does not free its
    /// slot. `known`: for a device that logged in before.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        known: bool,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let busy = || {
            let detail = "too many log-ins at the moment";
            Problem::new(503, "busy", detail, "try again in a few seconds")
                .with_retry_after(Duration::from_secs(2))
        };
        let waiting = &self.waiting[usize::from(known)];
        if waiting.get() > QUEUE {
            return Err(busy());
        }
        let _place = QueueSlot::take(waiting);
        let turn = Arc::clone(&self.trying)
            .acquire_owned()
            .await
            .map_err(|_| busy())?;
        tokio::task::spawn_blocking(move || {
            let done = work();
            drop(turn);
            done
        })
        .await
        .map_err(|_| busy())
    }
}

/// A slot in the queue, released however the request ends.
struct QueueSlot<'a>(&'a Cell<usize>);

impl<'a> QueueSlot<'a> {
    fn take(waiting: &'a Cell<usize>) -> Self {
        waiting.set(waiting.get() + 1);
        Self(waiting)
    }
}

impl Drop for QueueSlot<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get().saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;
    use std::sync::mpsc;

    use tokio::task::LocalSet;

    use super::*;

    /// The queue runs one task at a time, four wait, and the next is refused.
    #[test]
    fn the_queue_is_short() {
        let queue = Rc::new(Queue::new());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let (begun, begins) = mpsc::channel();
        let mut ends = Vec::new();
        LocalSet::new().block_on(&runtime, async {
            let mut works = Vec::new();
            for number in 0..5 {
                let (end, ended) = mpsc::channel::<()>();
                ends.push(end);
                let (queue, begun) = (Rc::clone(&queue), begun.clone());
                works.push(tokio::task::spawn_local(async move {
                    let work = move || {
                        begun.send(number).expect("the test waits");
                        let _ = ended.recv();
                    };
                    queue.run(false, work).await.is_ok()
                }));
                tokio::task::yield_now().await;
            }
            assert_eq!(begins.recv(), Ok(0));
            let Err(refused) = queue.run(false, || ()).await else {
                panic!("there is no room");
            };
            assert_eq!((refused.status, refused.after.is_some()), (503, true));
            assert!(begins.try_recv().is_err(), "one at a time");
            drop(ends);
            for work in works {
                assert!(work.await.expect("no panic"));
            }
            assert!(queue.run(false, || ()).await.is_ok(), "there is room again");
        });
        assert_eq!(begins.try_iter().collect::<Vec<_>>(), [1, 2, 3, 4]);
    }
}
