//! Transmit power that follows throughput: one thread for each access point reads the stations'
//! counters and sets the power.

mod device;
mod failures;
mod prior_store;
mod restorer;
mod search;
mod state;
mod station_list;
mod tallies;
mod worker;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;

use tokio::runtime::Handle;

pub use prior_store::{FILE, PriorStore};
pub use restorer::{COMMAND, Restorer, keep};
pub use state::{DeviceState, Shared, StationReport, lock};
use worker::Worker;

use super::config::{Mode, Power};

/// Power control, as the module has it.
pub struct PowerControl {
    mode: Mode,
    config: Power,
    shared: Shared,
    ends: Arc<AtomicBool>,
    back: Arc<Mutex<Restorer>>,
    learned: Arc<Mutex<PriorStore>>,
    threads: BTreeMap<u32, JoinHandle<()>>,
}

impl PowerControl {
    /// Creates the control, without any reading yet.
    pub fn new(config: &Power, back: Restorer, learned: PriorStore) -> Self {
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

    /// Returns true if the configuration covers a device of this name.
    pub fn wants(&self, name: &str) -> bool {
        let named = &*self.config.devices;
        named.is_empty() || named.iter().any(|device| device.0 == name)
    }

    /// Starts a thread for a possible access point. For any other device, the thread ends at once.
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
            Err(error) => {
                tracing::warn!(%error, device = name, "cannot start a thread for the power")
            }
        }
    }

    /// Returns the file of learned powers, if it could not be written.
    pub fn unwritten(&self) -> Option<String> {
        lock(&self.learned).unwritten()
    }

    /// Returns the folder of the written files.
    pub fn folder(&self) -> Option<PathBuf> {
        lock(&self.learned).folder()
    }

    /// Returns the state of the devices.
    pub fn known(&self) -> MutexGuard<'_, BTreeMap<String, DeviceState>> {
        lock(&self.shared)
    }

    /// Stops: every device gets its old power.
    pub fn stop(&mut self) {
        self.ends.store(true, Ordering::Release);
        for (_, thread) in std::mem::take(&mut self.threads) {
            thread.thread().unpark();
            // After a panic, the restorer resets a device's old power.
            let _ = thread.join();
        }
        lock(&self.learned).keep();
    }
}
