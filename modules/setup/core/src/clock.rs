//! Time that no clock setting changes, and that identifies the boot of the machine.

use nix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use std::{fs, io, time::Duration};

/// File with the kernel's id of this start of the machine.
pub(crate) const BOOT: &str = "/proc/sys/kernel/random/boot_id";

/// A moment since the machine started, time asleep too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BootTime {
    /// The kernel's id of that start of the machine.
    pub boot: String,
    /// Seconds since then.
    pub seconds: u64,
}

impl BootTime {
    /// Returns the present time.
    ///
    /// # Errors
    /// The kernel does not report the time: no change can be made then, as its end could not be
    /// determined.
    pub(crate) fn now() -> io::Result<BootTime> {
        let boot = fs::read_to_string(BOOT)?;
        let since = clock_gettime(ClockId::CLOCK_BOOTTIME)?;
        let boot = boot.trim().to_owned();
        Ok(BootTime {
            boot,
            seconds: Duration::from(since).as_secs(),
        })
    }

    /// Returns the time `seconds` seconds later.
    pub fn after(&self, seconds: u64) -> BootTime {
        BootTime {
            boot: self.boot.clone(),
            seconds: self.seconds.saturating_add(seconds),
        }
    }

    /// Returns the seconds from `now` until then; `None` if over, or if the machine was restarted.
    pub fn left(&self, now: &BootTime) -> Option<u64> {
        if self.boot != now.boot {
            return None;
        }
        self.seconds
            .checked_sub(now.seconds)
            .filter(|&left| left > 0)
    }
}
