//! What is known of devices, shared with their threads.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use kernel::nl80211::Station;
use radio_core::power::{Log, Reason};

/// Steps that are remembered of each device.
pub const STEPS: usize = 4096;

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
