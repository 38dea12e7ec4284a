//! Threads, each with an event loop of its own: connections stay in the thread that accepted them.

use std::future::Future;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use tokio::sync::watch;
use tokio::task::LocalSet;
use tracing::warn;

/// Returns the number of processors.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Locks a mutex. Its content is valid even after a panic of another thread that held it.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Signal for a thread to end.
#[derive(Clone, Debug)]
pub struct Stop(watch::Receiver<bool>);

impl Stop {
    /// Works until done, or until the thread is to end: then the work is dropped at its next await.
    pub async fn during(mut self, work: impl Future<Output = ()>) {
        tokio::select! {
            () = work => {}
            _ = self.0.wait_for(|stop| *stop) => {}
        }
    }
}

/// Threads; they end when this is dropped.
#[derive(Debug)]
pub struct Threads {
    stop: watch::Sender<bool>,
    running: Vec<JoinHandle<()>>,
}

impl Threads {
    /// Creates an empty set.
    pub fn new() -> Self {
        Self {
            stop: watch::Sender::new(false),
            running: Vec::new(),
        }
    }

    /// Starts a thread. Its work is created there, as an event loop's objects belong to its thread.
    ///
    /// # Errors
    /// The system cannot start a thread.
    pub fn start<W, F>(&mut self, name: &str, work: W) -> io::Result<()>
    where
        W: FnOnce(Stop) -> io::Result<F> + Send + 'static,
        F: Future<Output = ()>,
    {
        let stop = Stop(self.stop.subscribe());
        let (tell, told) = std::sync::mpsc::channel();
        let body = move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            let runtime = match runtime {
                Ok(runtime) => runtime,
                Err(error) => return drop(tell.send(Err(error))),
            };
            let local = LocalSet::new();
            local.block_on(&runtime, async move {
                match work(stop) {
                    Err(error) => drop(tell.send(Err(error))),
                    Ok(work) => {
                        let _ = tell.send(Ok(()));
                        work.await;
                    }
                }
            });
        };
        let thread = std::thread::Builder::new().name(name.to_owned());
        self.running.push(thread.spawn(body)?);
        told.recv()
            .unwrap_or_else(|_| Err(io::Error::other("thread ended at its start")))
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        for thread in self.running.drain(..) {
            if thread.join().is_err() {
                warn!("a thread of multipath panicked");
            }
        }
    }
}
