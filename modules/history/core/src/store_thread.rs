//! A store in a thread of its own.
//!
//! A flush waits for the disk (`fsync`): some milliseconds on good flash, seconds where JFFS2
//! cleans up. The daemon's loop must end proofs within 10 ms, so the loop hands over its counts and
//! continues. No call here waits, except [`StoreThread::stop`].
//!
//! Privileges belong to a thread, and a new thread inherits them. Landlock confines a thread to the
//! folder of the file, which the kernel identifies by its inode: a folder mounted later, or created
//! again, is another. So whenever the folder changes, the store moves to a new thread, which
//! [`Home`] confines again.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use monitor_core::count::Traffic;
use tracing::{info, warn};

use crate::Mac;
use crate::error::Error;
use crate::pending;
use crate::periods::Calendar;
use crate::query::{Period, Query};
use crate::settings::Settings;
use crate::store::Store;
use crate::usage::Usage;

/// Orders that can wait for the thread while it writes; beyond, traffic adds up here.
const QUEUE: usize = 64;
/// Maximum number of pairs that add up here; the others are `other`.
const BACKLOG: usize = 16_384;
/// Wait after a failure until the next attempt.
const RETRY: Duration = Duration::from_secs(60);
/// Bytes of stack of each thread.
const STACK: usize = 512 * 1024;

/// Runner of the threads.
pub struct ThreadHost {
    /// Runs this task to its end in a separate thread, with sufficient privileges to reach the
    /// folder in any case. Only new threads are started there.
    pub run: Box<dyn FnOnce(Task) -> io::Result<()>>,
    /// Confines the thread that calls it to this folder, as it is now.
    pub confine: Arc<dyn Fn(&Path) + Send + Sync>,
}

/// Code for a thread.
pub type Task = Box<dyn FnOnce() + Send>;

impl ThreadHost {
    /// Threads with the rights of the one that begins.
    pub fn plain() -> Self {
        Self {
            run: Box::new(|task| {
                let thread = std::thread::Builder::new().name("weir-history".into());
                thread.stack_size(STACK).spawn(task).map(drop)
            }),
            confine: Arc::new(|_| {}),
        }
    }
}

impl std::fmt::Debug for ThreadHost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Home")
    }
}

/// Traffic since the last time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delta {
    /// Device; `None` for `other`.
    pub device: Option<Mac>,
    /// Application of the traffic; `other` if unknown.
    pub application: Cow<'static, str>,
    /// Traffic of the device.
    pub traffic: Traffic,
}

type Backlog = HashMap<(Option<Mac>, Cow<'static, str>), Traffic>;

/// Callback for a response; called in the thread.
type Reply<T> = Box<dyn FnOnce(Result<T, Error>) + Send>;

enum Command {
    Add(i64, Vec<Delta>),
    /// Traffic that added up while the thread wrote.
    Late(i64, Backlog),
    Name(Mac, String),
    Query(Query, Reply<Vec<Period>>),
    Flush(i64, Reply<()>),
    Change(Box<(Settings, Calendar)>, i64, Reply<()>),
    Stop(i64),
}

/// Handle to the thread. If dropped without [`StoreThread::stop`], the thread still writes its
/// data, and ends.
#[derive(Debug)]
pub struct StoreThread {
    orders: SyncSender<Command>,
    backlog: Backlog,
    usage: Arc<Mutex<Option<Arc<Usage>>>>,
    problem: Arc<Mutex<Option<String>>>,
    ended: Receiver<Result<(), Error>>,
}

impl StoreThread {
    /// Opens the history as [`Store::open`] does, and starts its thread. If the disk does not work
    /// yet, the error is logged, and the thread tries again.
    pub fn start(
        path: &Path,
        settings: Settings,
        calendar: Calendar,
        now: i64,
        home: ThreadHost,
    ) -> Result<Self, Error> {
        let (every, judged) = (settings.flush, settings.usage);
        let (mut store, trouble) = Store::open(path, settings, calendar, now)?;
        // The next addition detects an unreadable file, and reports the error.
        let first = if judged {
            store.usage(now).ok().flatten().cloned()
        } else {
            None
        };
        let usage = Arc::new(Mutex::new(first.map(Arc::new)));
        let (orders, inbox) = sync_channel(QUEUE);
        let (end, ended) = sync_channel(1);
        let said: Arc<Mutex<Option<String>>> = Arc::default();
        let mut worker = Worker {
            store,
            folder: path.parent().unwrap_or(Path::new(".")).to_owned(),
            inbox,
            looked: Instant::now(),
            every,
            judged,
            due: Instant::now()
                + if trouble.is_some() {
                    RETRY.min(every)
                } else {
                    every
                },
            clock: (now, Instant::now()),
            trouble: None,
            shared_problem: Arc::clone(&said),
            usage: Arc::clone(&usage),
        };
        worker.report(trouble);
        let confine = home.confine;
        let last_words = Arc::clone(&said);
        let task = move || {
            let ended = keep(worker, &confine);
            if let Err(error) = &ended {
                *lock(&last_words) = Some(error.to_string());
            }
            // The receiver may be gone.
            let _ = end.send(ended);
        };
        (home.run)(Box::new(task)).map_err(|source| Error::Io {
            what: "start the thread for",
            path: path.to_owned(),
            source,
        })?;
        Ok(Self {
            orders,
            backlog: HashMap::new(),
            usage,
            problem: said,
            ended,
        })
    }

    /// Adds the traffic since the last call, also if there was none; call this once a second. `now`
    /// is the system's clock, correct or not. Never waits: while the disk is slow, traffic adds up
    /// here, and counts for the hour of its delivery.
    pub fn add(&mut self, now: i64, deltas: Vec<Delta>) {
        let order = if self.backlog.is_empty() {
            Command::Add(now, deltas)
        } else {
            self.gather(deltas);
            Command::Late(now, std::mem::take(&mut self.backlog))
        };
        match self.orders.try_send(order) {
            Err(TrySendError::Full(Command::Add(_, deltas))) => self.gather(deltas),
            Err(TrySendError::Full(Command::Late(_, backlog))) => self.backlog = backlog,
            // Otherwise the thread has ended, which `alive` reports.
            _ => {}
        }
    }

    /// Sets the name of a device. Call this on changes only.
    pub fn name(&self, mac: Mac, name: &str) {
        // A name lost while the disk is slow is sent again some time.
        let _ = self.orders.try_send(Command::Name(mac, name.to_owned()));
    }

    /// Asks a question. `reply` is called in the other thread, and should only hand the answer on,
    /// as by a oneshot channel. While the disk is slow to write, answers wait for it.
    pub fn query(
        &self,
        query: Query,
        reply: impl FnOnce(Result<Vec<Period>, Error>) + Send + 'static,
    ) {
        self.order(Command::Query(query, Box::new(reply)));
    }

    /// Writes now; `reply` as in [`StoreThread::query`].
    pub fn flush(&self, now: i64, reply: impl FnOnce(Result<(), Error>) + Send + 'static) {
        self.order(Command::Flush(now, Box::new(reply)));
    }

    /// Applies new settings, as [`Store::change`] does; `reply` as in [`StoreThread::query`].
    pub fn change(
        &self,
        settings: Settings,
        calendar: Calendar,
        now: i64,
        reply: impl FnOnce(Result<(), Error>) + Send + 'static,
    ) {
        self.order(Command::Change(
            Box::new((settings, calendar)),
            now,
            Box::new(reply),
        ));
    }

    /// Returns the usage of devices, including the last traffic added. `None` while no time is
    /// known, and without [`Settings::usage`].
    pub fn usage(&self) -> Option<Arc<Usage>> {
        lock(&self.usage).clone()
    }

    /// Returns the reason why writes fail at present, if they do.
    pub fn problem(&self) -> Option<String> {
        lock(&self.problem).clone()
    }

    /// Writes all data and ends, or gives up after `limit`: a disk that does not answer must not
    /// keep the daemon from ending.
    pub fn stop(mut self, now: i64, limit: Duration) -> Result<(), Error> {
        let until = Instant::now() + limit;
        let slow = || Error::Slow(limit.as_secs());
        let late = std::mem::take(&mut self.backlog);
        for mut order in [Command::Late(now, late), Command::Stop(now)] {
            // The queue is full only while the disk is slow.
            while let Err(TrySendError::Full(back)) = self.orders.try_send(order) {
                if Instant::now() >= until {
                    return Err(slow());
                }
                order = back;
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        match self
            .ended
            .recv_timeout(until.saturating_duration_since(Instant::now()))
        {
            Ok(result) => result,
            Err(RecvTimeoutError::Timeout) => Err(slow()),
            Err(RecvTimeoutError::Disconnected) => Err(Error::Ended),
        }
    }

    fn gather(&mut self, deltas: Vec<Delta>) {
        for delta in deltas {
            let mut key = (delta.device, delta.application);
            if self.backlog.len() >= BACKLOG && !self.backlog.contains_key(&key) {
                key = (None, Cow::Borrowed(crate::words::OTHER_WORD));
            }
            pending::add(self.backlog.entry(key).or_default(), &delta.traffic);
        }
    }

    fn order(&self, order: Command) {
        let (order, error) = match self.orders.try_send(order) {
            Ok(()) => return,
            Err(TrySendError::Full(order)) => (order, Error::Slow(0)),
            Err(TrySendError::Disconnected(order)) => (order, Error::Ended),
        };
        match order {
            Command::Query(_, reply) => reply(Err(error)),
            Command::Flush(_, reply) | Command::Change(_, _, reply) => reply(Err(error)),
            Command::Add(..) | Command::Late(..) | Command::Name(..) | Command::Stop(_) => {}
        }
    }
}

/// Runs a worker, in a new thread whenever its folder is another one.
fn keep(mut worker: Worker, confine: &Arc<dyn Fn(&Path) + Send + Sync>) -> Result<(), Error> {
    loop {
        let confine = Arc::clone(confine);
        let thread = std::thread::Builder::new().name("weir-history".into());
        let thread = thread.stack_size(STACK).spawn(move || {
            let place = Place::of(&worker.folder);
            confine(&worker.folder);
            let ended = worker.run(&place);
            (worker, ended)
        });
        let thread = thread.map_err(|source| Error::Io {
            what: "start the thread for",
            path: PathBuf::from("the history"),
            source,
        })?;
        match thread.join() {
            Ok((_, Some(ended))) => return ended,
            Ok((back, None)) => worker = back,
            Err(_) => return Err(Error::Ended),
        }
    }
}

/// Identity of a folder; `None`: the folder does not exist.
#[derive(Debug, PartialEq, Eq)]
struct Place(Option<(u64, u64)>);

impl Place {
    fn of(folder: &Path) -> Self {
        let found = std::fs::metadata(folder);
        Self(found.ok().map(|folder| (folder.dev(), folder.ino())))
    }
}

struct Worker {
    store: Store,
    folder: PathBuf,
    inbox: Receiver<Command>,
    /// Time of the last check that the folder is unchanged.
    looked: Instant,
    every: Duration,
    judged: bool,
    due: Instant,
    /// Time of the system's clock, and when it was read.
    clock: (i64, Instant),
    trouble: Option<Error>,
    /// Text of the problem, for other threads.
    shared_problem: Arc<Mutex<Option<String>>>,
    usage: Arc<Mutex<Option<Arc<Usage>>>>,
}

impl Worker {
    /// Keeps the history until it ends; `None`: the folder is another one.
    fn run(&mut self, place: &Place) -> Option<Result<(), Error>> {
        loop {
            let look = self.looked + RETRY.min(self.every);
            if Instant::now() >= look {
                self.looked = Instant::now();
                if Place::of(&self.folder) != *place {
                    self.store.let_go();
                    self.due = Instant::now();
                    return None;
                }
            }
            let wait = self.due.min(look).saturating_duration_since(Instant::now());
            match self.inbox.recv_timeout(wait) {
                Ok(Command::Add(now, deltas)) => {
                    let each = deltas.iter();
                    self.add(
                        now,
                        each.map(|d| (d.device, d.application.as_ref(), &d.traffic)),
                    );
                }
                Ok(Command::Late(now, backlog)) => {
                    let each = backlog.iter();
                    self.add(
                        now,
                        each.map(|((device, word), traffic)| (*device, word.as_ref(), traffic)),
                    );
                }
                Ok(Command::Name(mac, name)) => self.store.name(mac, &name),
                Ok(Command::Query(query, reply)) => reply(self.store.query(&query)),
                Ok(Command::Flush(now, reply)) => {
                    self.clock = (now, Instant::now());
                    reply(self.store.flush(now));
                    self.notices();
                }
                Ok(Command::Change(with, now, reply)) => {
                    let (settings, calendar) = *with;
                    (self.every, self.judged) = (settings.flush, settings.usage);
                    self.due = self.due.min(Instant::now() + self.every);
                    reply(self.store.change(settings, calendar, now));
                    self.notices();
                }
                Ok(Command::Stop(now)) => return Some(self.store.last_flush(now)),
                Err(RecvTimeoutError::Disconnected) => {
                    let now = self.now();
                    return Some(self.store.last_flush(now));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            if Instant::now() >= self.due {
                self.flush();
            }
        }
    }

    fn now(&self) -> i64 {
        let (said, at) = self.clock;
        said.saturating_add(i64::try_from(at.elapsed().as_secs()).unwrap_or(0))
    }

    fn add<'a>(
        &mut self,
        now: i64,
        deltas: impl Iterator<Item = (Option<Mac>, &'a str, &'a Traffic)>,
    ) {
        self.clock = (now, Instant::now());
        for (device, application, traffic) in deltas {
            self.store.add(now, device, application, traffic);
        }
        if !self.judged {
            return;
        }
        match self.store.usage(now) {
            Ok(usage) => {
                let usage = usage.cloned().map(Arc::new);
                *lock(&self.usage) = usage;
            }
            Err(error) => self.report(Some(error)),
        }
    }

    fn flush(&mut self) {
        let now = self.now();
        let result = self.store.flush(now);
        let after = if result.is_err() {
            RETRY.min(self.every)
        } else {
            self.every
        };
        self.due = Instant::now() + after;
        self.report(result.err());
        self.notices();
    }

    fn notices(&mut self) {
        for notice in self.store.notices() {
            warn!("{notice}");
        }
    }

    /// Logs a problem once, and its end.
    fn report(&mut self, trouble: Option<Error>) {
        match (&self.trouble, &trouble) {
            (Some(old), Some(new)) if old.kind() == new.kind() => {}
            (_, Some(new)) => warn!("{new}"),
            (Some(_), None) => info!("the history is being written again"),
            (None, None) => {}
        }
        *lock(&self.shared_problem) = trouble.as_ref().map(Error::to_string);
        self.trouble = trouble;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
