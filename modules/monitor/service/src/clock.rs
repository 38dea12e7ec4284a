//! The clocks of core and system.

use std::time::{Duration, Instant};

use monitor_core::Millis;
use net::clock::unix_seconds;

/// Start of the core's clock: on the monotonic clock, and in seconds since 1970.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    began: Instant,
    unix: u64,
}

impl Clock {
    /// Starts the clock now.
    pub fn begin() -> Self {
        Self {
            began: Instant::now(),
            unix: unix_seconds(),
        }
    }

    pub fn now(&self) -> Millis {
        self.began.elapsed().as_millis() as Millis
    }

    /// Seconds since 1970 when the core's clock began.
    pub fn began(&self) -> u64 {
        self.unix
    }

    /// Converts a time of the core's clock to seconds since 1970.
    pub fn unix(&self, at: Millis) -> u64 {
        self.unix + Duration::from_millis(at).as_secs()
    }
}

/// Returns the system's time, in seconds since 1970.
pub fn unix_now() -> i64 {
    i64::try_from(unix_seconds()).unwrap_or(i64::MAX)
}
