//! Threads, each with an event loop of its own: connections stay where they were accepted.

use std::future::Future;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use tokio::sync::watch;
use tokio::task::LocalSet;
use tracing::warn;

/// One for each processor.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// What a mutex guards: whole at any time, as a panic while it was held changes nothing.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// By which a thread hears that it is to end.
#[derive(Clone, Debug)]
pub struct Stop(watch::Receiver<bool>);

impl Stop {
    /// Works until it is done, or the thread is to end: then what it does is dropped where it
    /// waits.
    pub async fn during(mut self, work: impl Future<Output = ()>) {
        tokio::select! {
            () = work => {}
            _ = self.0.wait_for(|stop| *stop) => {}
        }
    }
}

/// Ends the threads that were started with it when it is dropped.
#[derive(Debug)]
pub struct Threads {
    stop: watch::Sender<bool>,
    running: Vec<JoinHandle<()>>,
}

impl Threads {
    /// None yet.
    pub fn new() -> Self {
        Self {
            stop: watch::Sender::new(false),
            running: Vec::new(),
        }
    }

    /// Starts one. Its work is made there, as what an event loop knows is its thread's.
    ///
    /// # Errors
    /// The system has no thread to give.
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
            .unwrap_or_else(|_| Err(io::Error::other("a thread ended at once")))
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        for thread in self.running.drain(..) {
            if thread.join().is_err() {
                warn!("a thread of multipath had panicked");
            }
        }
    }
}
