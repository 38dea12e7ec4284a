//! Exceptions of routes: path MTUs and gateways of single destinations that the kernel learned.

use std::time::{Duration, Instant};

use kernel::io::Exceptions;
use tracing::debug;

/// Reading takes one part in so many of the time at most.
const SHARE: u32 = 50;

/// Reads exceptions, and tells when they changed.
pub(super) struct Watch {
    /// `None`: the kernel cannot list them.
    kernel: Option<Exceptions>,
    seen: Option<u64>,
    /// The next reading is not before: routes are so many that each takes long.
    rests: Option<Instant>,
}

impl Watch {
    pub fn open() -> Self {
        let kernel = Exceptions::open()
            .inspect_err(|error| debug!(%error, "exceptions of routes cannot be read"))
            .ok();
        Self {
            kernel,
            seen: None,
            rests: None,
        }
    }

    /// Returns true if exceptions changed since the last call, or may have.
    pub fn changed(&mut self) -> bool {
        let begun = Instant::now();
        if self.rests.is_some_and(|until| begun < until) {
            return true;
        }
        let Some(kernel) = &mut self.kernel else {
            return false;
        };
        let read = kernel
            .read()
            .inspect_err(|error| debug!(%error, "exceptions of routes cannot be read"));
        let rest = begun.elapsed() * SHARE;
        self.rests = (rest > Duration::from_secs(1)).then(|| begun + rest);
        // A single reading may fail where many routes come and go.
        let Ok(now) = read else { return true };
        self.seen.replace(now).is_some_and(|before| before != now)
    }
}
