//! A thread alongside the event loop, with few rights and an event loop of its own, for work that a
//! module begins before the packet path is loaded: the kernel takes seconds to verify the programs.

use std::io;
use std::thread::{Builder, JoinHandle};

use caps::Capability;
use tokio::sync::oneshot::{Receiver, Sender, channel};

use super::{Work, confine, privileges};
use crate::Error;

/// A thread alongside the event loop, which ends when this value is dropped.
#[derive(Debug)]
pub struct CompanionThread {
    goes_on: Option<Sender<()>>,
    ended: Receiver<()>,
    thread: Option<JoinHandle<()>>,
}

impl CompanionThread {
    /// Starts the thread, with these of weir's capabilities only; it may read the files of `/proc`,
    /// and no others. The work is created in the thread, and dropped at its next wait when weir
    /// ends; then `after` runs.
    ///
    /// # Errors
    /// The kernel cannot create a thread.
    pub fn begin<W: Future<Output = ()>>(
        name: &str,
        kept: &'static [Capability],
        work: impl FnOnce() -> W + Send + 'static,
        after: impl FnOnce() + Send + 'static,
    ) -> Result<Self, Error> {
        let failed = |error: io::Error| {
            let what = format!("cannot start a thread for {name}");
            Error::with_cause(what, &error, "check whether too many threads run")
        };
        let runtime = crate::event_loop()?;
        let (goes_on, over) = channel();
        let (end, ended) = channel();
        let thread = Builder::new().name(name.to_owned()).spawn(move || {
            confine::confine_to_proc();
            privileges::drop_to(kept);
            runtime.block_on(async {
                let work = work();
                tokio::select! {
                    () = work => {}
                    _ = over => {}
                }
            });
            after();
            // The receiver may be gone.
            let _ = end.send(());
        });
        Ok(Self {
            goes_on: Some(goes_on),
            ended,
            thread: Some(thread.map_err(failed)?),
        })
    }

    /// Returns true if the thread has failed: a healthy thread runs until weir ends it.
    pub fn broke_off(&self) -> bool {
        self.thread.as_ref().is_some_and(JoinHandle::is_finished)
    }

    /// Ends the thread. The caller awaits the returned work.
    pub fn end(mut self) -> Work {
        self.goes_on = None;
        Box::pin(async move {
            // The end is reported also if the thread has failed.
            let _ = (&mut self.ended).await;
        })
    }
}

impl Drop for CompanionThread {
    fn drop(&mut self) {
        self.goes_on = None;
        if let Some(thread) = self.thread.take() {
            // Standard error has the reason already.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::mpsc::{self, RecvTimeoutError};
    use std::time::{Duration, Instant};

    use caps::CapSet;

    use super::*;

    const KEPT: &[Capability] = &[Capability::CAP_NET_ADMIN];
    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn it_begins_at_once_with_few_rights_and_ends_with_weir() {
        let (tell, told) = mpsc::channel();
        let (last, lasted) = mpsc::channel();
        let work = move || async move {
            let kept = caps::read(None, CapSet::Permitted).expect("own capabilities");
            let reads = ["/proc/net/dev", "/etc/hostname"].map(|file| fs::read(file).is_ok());
            tell.send((kept, reads)).expect("somebody waits");
            std::future::pending().await
        };
        let after = move || last.send(()).expect("somebody waits");
        let beside = CompanionThread::begin("a test", KEPT, work, after).expect("a thread");
        let (kept, reads) = told.recv_timeout(LONG).expect("it began");
        assert_eq!(kept, KEPT.iter().copied().collect(), "run as root");
        assert_eq!(reads, [true, false]);
        // All of this thread's rights stay.
        let own = caps::read(None, CapSet::Permitted).expect("own capabilities");
        assert!(own.contains(&Capability::CAP_SYS_ADMIN));
        assert_eq!(lasted.try_recv().ok(), None);
        let runtime = crate::event_loop().expect("a loop");
        runtime.block_on(beside.end());
        assert_eq!(lasted.recv_timeout(LONG), Ok(()));
    }

    #[test]
    fn it_ends_where_weir_does_not_get_so_far_as_to_end_it() {
        let (last, lasted) = mpsc::channel();
        let after = move || last.send(()).expect("somebody waits");
        let beside = CompanionThread::begin("a test", KEPT, std::future::pending::<()>, after);
        assert_eq!(
            lasted.recv_timeout(Duration::ZERO),
            Err(RecvTimeoutError::Timeout)
        );
        drop(beside.expect("a thread"));
        assert_eq!(lasted.recv_timeout(LONG), Ok(()));
    }

    #[test]
    fn one_that_broke_off_is_known() {
        let work = || async { panic!("as a fault would") };
        let beside = CompanionThread::begin("a test", KEPT, work, || {}).expect("a thread");
        let begun = Instant::now();
        while !beside.broke_off() {
            assert!(begun.elapsed() < LONG);
            std::thread::yield_now();
        }
        let beside = CompanionThread::begin("a test", KEPT, std::future::pending::<()>, || {});
        assert!(!beside.expect("a thread").broke_off());
    }
}
