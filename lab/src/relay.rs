//! A piece of a line in user space, for kernels without `sch_netem`: delays frames, drops some, and
//! changes TCP options. One thread does all work: some 300 Mbit/s on a machine that has 10 Gbit/s
//! without a relay.

mod delay_queue;
mod options;

use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;

use crate::wire::Tap;
use crate::{Error, Namespace};

use delay_queue::DelayQueue;

/// Longest time until the thread notices an end or a new treatment.
const NOTICE: Duration = Duration::from_millis(20);
/// Frames taken from one side before the other side's turn.
const TURN: usize = 64;

/// Treatment of frames, in both directions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Impairment {
    /// Delay per direction; a round trip takes twice this longer.
    pub delay: Duration,
    /// Share of lost frames, 0 to 1, evenly distributed. The generator begins with equal seeds in
    /// each relay.
    pub loss: f64,
    /// Removes the MPTCP options from TCP segments, as some firewalls do.
    pub strip: bool,
    /// Drops segments with MP_PRIO, which sets a subflow's backup flag. MP_PRIO is not
    /// retransmitted.
    pub hush: bool,
}

impl Impairment {
    /// Returns a treatment that only delays each direction.
    pub fn delay(delay: Duration) -> Self {
        Self {
            delay,
            ..Self::default()
        }
    }
}

/// Counters of a relay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RelayCounts {
    /// Frames passed on.
    pub passed: u64,
    /// Frames lost on purpose.
    pub lost: u64,
    /// Frames lost because the queue was full: the delay is too long for the rate.
    pub overrun: u64,
    /// Segments with MP_PRIO that were dropped on purpose.
    pub hushed: u64,
}

/// A running relay between two devices of a namespace. Frames stay in order. Dropping the relay
/// ends its thread.
#[derive(Debug)]
pub struct Relay {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<Result<Result<(), Error>, Error>>>,
}

#[derive(Debug, Default)]
struct Shared {
    stopping: AtomicBool,
    treatment: Mutex<Impairment>,
    passed: AtomicU64,
    lost: AtomicU64,
    overrun: AtomicU64,
    hushed: AtomicU64,
}

impl Relay {
    /// Starts a relay between two devices that carry plain frames ([`crate::Offloads::Plain`]).
    /// Only the relay may forward between these devices.
    pub fn start(
        namespace: &Namespace,
        devices: [&str; 2],
        treatment: Impairment,
    ) -> Result<Self, Error> {
        let taps = [
            Tap::open(namespace, devices[0])?,
            Tap::open(namespace, devices[1])?,
        ];
        let shared = Arc::new(Shared {
            treatment: Mutex::new(treatment),
            ..Shared::default()
        });
        let work = shared.clone();
        let thread = namespace.background(move || run(taps, &work))?;
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    /// Sets the treatment of later frames. With a shorter delay, later frames still wait for held
    /// frames.
    pub fn treat(&self, treatment: Impairment) {
        *self
            .shared
            .treatment
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = treatment;
    }

    /// Returns the counters of both directions.
    pub fn counts(&self) -> RelayCounts {
        let shared = &self.shared;
        let value = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        RelayCounts {
            passed: value(&shared.passed),
            lost: value(&shared.lost),
            overrun: value(&shared.overrun),
            hushed: value(&shared.hushed),
        }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::Relaxed);
        let ended = self.thread.take().map(JoinHandle::join);
        if let Some(Ok(Ok(Err(error)) | Err(error))) = ended {
            eprintln!("a relay ended: {error}");
        }
    }
}

fn run(mut taps: [Tap; 2], shared: &Shared) -> Result<(), Error> {
    // Frames from the first device, and from the second.
    let mut holds = [DelayQueue::new(1), DelayQueue::new(2)];
    while !shared.stopping.load(Ordering::Relaxed) {
        let treatment = *shared
            .treatment
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        for (tap, hold) in taps.iter_mut().zip(&mut holds) {
            for _ in 0..TURN {
                let Some(frame) = tap.receive(Duration::ZERO)? else {
                    break;
                };
                take(hold, frame, treatment, shared);
            }
        }
        for (hold, other) in holds.iter_mut().zip([1, 0]) {
            while let Some(frame) = hold.due(Instant::now()) {
                pass(&taps[other], &frame)?;
                shared.passed.fetch_add(1, Ordering::Relaxed);
            }
        }
        wait(&taps, holds.iter().filter_map(DelayQueue::next).min())?;
    }
    Ok(())
}

fn take(hold: &mut DelayQueue, mut frame: Vec<u8>, treatment: Impairment, shared: &Shared) {
    let counter = if hold.loses(treatment.loss) {
        &shared.lost
    } else if treatment.hush && options::tells_priority(&frame) {
        &shared.hushed
    } else {
        if treatment.strip {
            options::strip(&mut frame);
        }
        match hold.keep(frame, Instant::now(), treatment.delay) {
            true => return,
            false => &shared.overrun,
        }
    };
    counter.fetch_add(1, Ordering::Relaxed);
}

/// Sends a frame; drops the frame if the device is down, as for a disconnected cable.
fn pass(tap: &Tap, frame: &[u8]) -> Result<(), Error> {
    match tap.send(frame) {
        Err(Error::System { source, .. }) if source.raw_os_error() == Some(libc::ENETDOWN) => {
            Ok(())
        }
        other => other,
    }
}

/// Waits until a frame arrives or is due, to the microsecond, which `poll` cannot.
fn wait(taps: &[Tap; 2], next: Option<Instant>) -> Result<(), Error> {
    let left = next.map_or(NOTICE, |at| {
        at.saturating_duration_since(Instant::now()).min(NOTICE)
    });
    let mut sources = [&taps[0], &taps[1]].map(|tap| PollFd::new(tap.as_fd(), PollFlags::POLLIN));
    match ppoll(&mut sources, Some(TimeSpec::from_duration(left)), None) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(error) => Err(Error::system::<Errno>("wait at a relay")(error)),
    }
}
