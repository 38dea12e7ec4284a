//! Transmit power that follows throughput: one thread for each access point, which reads what
//! stations get and sets the power.

mod device;
mod failures;
mod heard;
mod learned;
mod roster;
mod search;
mod way_back;
mod worker;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Instant;

use kernel::nl80211::Station;
use radio_core::power::{Log, Reason};
use tokio::runtime::Handle;

pub use learned::{FILE, Learned};
pub use way_back::{COMMAND, WayBack, keep};
use worker::Worker;

use super::config::{Mode, Power};

/// Steps that are remembered of each device.
const STEPS: usize = 4096;

/// What is known of a device.
pub struct Known {
    /// Its power, dBm, as last read or set.
    pub power: Option<i32>,
    /// The greatest that it may have.
    pub most: i32,
    /// What was found to be enough.
    pub enough: Option<i32>,
    /// Why it has the power that it has.
    pub reason: Reason,
    /// Who is there, and what arrives.
    pub stations: Vec<Heard>,
    /// When it was looked at first: its steps count from then.
    pub begun: Instant,
    /// What was tried.
    pub log: Log,
    /// What does not work, in a sentence.
    pub trouble: Option<String>,
}

impl Known {
    /// By the clock of its steps, ms.
    pub fn now(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

/// A station, as last read.
pub struct Heard {
    /// What the kernel counts of it.
    pub station: Station,
    /// What it is sent to with, dBm, where that is known.
    pub power: Option<i32>,
    /// What arrives, kbit/s, where something was sent.
    pub throughput: Option<f64>,
}

/// All devices by name; shared with their threads.
pub type Shared = Arc<Mutex<BTreeMap<String, Known>>>;

/// What a thread that panicked left is no worse than what it had.
pub fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Power, as the module has it.
pub struct Powers {
    mode: Mode,
    config: Power,
    shared: Shared,
    ends: Arc<AtomicBool>,
    back: Arc<Mutex<WayBack>>,
    learned: Arc<Mutex<Learned>>,
    threads: BTreeMap<u32, JoinHandle<()>>,
}

impl Powers {
    /// Nothing is looked at yet.
    pub fn new(config: &Power, back: WayBack, learned: Learned) -> Self {
        Self {
            mode: *config.mode,
            config: config.clone(),
            shared: Shared::default(),
            ends: Arc::default(),
            back: Arc::new(Mutex::new(back)),
            learned: Arc::new(Mutex::new(learned)),
            threads: BTreeMap::new(),
        }
    }

    /// Whether a device of this name is meant.
    pub fn wants(&self, name: &str) -> bool {
        let named = &*self.config.devices;
        named.is_empty() || named.iter().any(|device| device.0 == name)
    }

    /// A device that may be an access point is there. The thread ends by itself where it is none.
    pub fn begin(&mut self, link: u32, name: &str) {
        self.threads.retain(|_, thread| !thread.is_finished());
        if self.threads.contains_key(&link) || !self.wants(name) {
            return;
        }
        let worker = Worker {
            runtime: Handle::current(),
            link,
            name: name.to_owned(),
            control: self.mode == Mode::Control,
            stations: *self.config.stations,
            settings: self.config.settings(),
            least: i32::from(*self.config.least),
            step: u32::from(*self.config.step),
            shared: Arc::clone(&self.shared),
            back: Arc::clone(&self.back),
            learned: Arc::clone(&self.learned),
            ends: Arc::clone(&self.ends),
        };
        let thread = std::thread::Builder::new().name("radio".into());
        match thread.spawn(move || worker.run()) {
            Ok(thread) => drop(self.threads.insert(link, thread)),
            Err(error) => tracing::warn!(%error, device = name, "no thread for its power"),
        }
    }

    /// The file of what was learned, where it could not be written.
    pub fn unwritten(&self) -> Option<String> {
        lock(&self.learned).unwritten()
    }

    /// The folder in which it writes.
    pub fn folder(&self) -> Option<PathBuf> {
        lock(&self.learned).folder()
    }

    /// What is known of devices.
    pub fn known(&self) -> MutexGuard<'_, BTreeMap<String, Known>> {
        lock(&self.shared)
    }

    /// The end: every device has the power again that it had.
    pub fn stop(&mut self) {
        self.ends.store(true, Ordering::Release);
        for (_, thread) in std::mem::take(&mut self.threads) {
            thread.thread().unpark();
            // One that panicked has a device's former power left to the way back.
            let _ = thread.join();
        }
        lock(&self.learned).keep();
    }
}
