//! State of devices, shared with their threads.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use kernel::nl80211::Station;
use radio_core::power::{Log, Reason};

/// Steps that are remembered of each device.
pub const STEPS: usize = 4096;

/// State of a device.
pub struct DeviceState {
    /// Power, dBm, as last read or set.
    pub power: Option<i32>,
    /// The greatest that it may have.
    pub most: i32,
    /// Sufficient power.
    pub enough: Option<i32>,
    /// Reason for the present power.
    pub reason: Reason,
    /// Stations and their throughput.
    pub stations: Vec<StationReport>,
    /// Time of the first reading: steps count from then.
    pub begun: Instant,
    /// Tried powers.
    pub log: Log,
    /// Current problem, one sentence.
    pub trouble: Option<String>,
}

impl DeviceState {
    /// Returns the time on the clock of its steps, ms.
    pub fn now(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

/// A station, as last read.
pub struct StationReport {
    /// The kernel's counters of the station.
    pub station: Station,
    /// Power used for the station, dBm, if known.
    pub power: Option<i32>,
    /// Throughput, kbit/s, if something was sent.
    pub throughput: Option<f64>,
}

/// All devices by name; shared with their threads.
pub type Shared = Arc<Mutex<BTreeMap<String, DeviceState>>>;

/// Locks the state, also after a panic of a thread: the state is still usable.
pub fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
