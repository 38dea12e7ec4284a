//! The wall clock, which jumps when it is set.

use std::time::{Duration, UNIX_EPOCH};

/// Returns the time since 1970; zero if the clock shows an earlier time. Cores take the time as an
/// argument instead.
pub fn unix() -> Duration {
    UNIX_EPOCH.elapsed().unwrap_or_default()
}

/// Returns the time since 1970 in whole seconds.
pub fn unix_seconds() -> u64 {
    unix().as_secs()
}
