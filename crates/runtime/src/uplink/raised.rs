//! Brings a device up for a while.

use std::os::fd::AsFd;

use kernel::io::Device;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, SigmaskHow, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

use super::port::{Port, inside};
use crate::Error;
use crate::output::sanitize;

/// A device that was down, and goes down again when this value is dropped. Blocks Ctrl-C and TERM
/// in this thread meanwhile, so that they do not leave the device up.
pub struct Raised {
    index: u32,
    signals: SignalFd,
    former: SigSet,
}

impl Raised {
    /// Brings the device up.
    ///
    /// # Errors
    /// The kernel refused.
    pub fn new(port: &Port) -> Result<Self, Error> {
        let set: SigSet = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP]
            .into_iter()
            .collect();
        let former = set.thread_swap_mask(SigmaskHow::SIG_BLOCK);
        let former = former.map_err(|error| port.failed("bring up", error))?;
        let signals = SignalFd::with_flags(&set, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC);
        let signals = signals.map_err(|error| port.failed("bring up", error))?;
        let raised = Self {
            index: port.index,
            signals,
            former,
        };
        change(port.index, true).map_err(|why| {
            let what = format!("cannot bring up {}", sanitize(&port.name));
            Error::new(format!("{what}: {why}"), "run it as root")
        })?;
        Ok(raised)
    }

    /// Returns true if a signal asked for the end.
    pub fn is_interrupted(&self) -> bool {
        let mut sources = [PollFd::new(self.signals.as_fd(), PollFlags::POLLIN)];
        poll(&mut sources, PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
    }
}

impl Drop for Raised {
    fn drop(&mut self) {
        let _ = change(self.index, false);
        // Blocked signals take effect now.
        let _ = self.former.thread_set_mask();
    }
}

fn change(index: u32, up: bool) -> Result<(), String> {
    let done = inside(|| -> Result<(), String> {
        let mut device = Device::open(index).map_err(|error| error.to_string())?;
        device.set_up(up).map_err(|error| error.to_string())
    });
    done.map_err(|_| "there are too many open files".to_owned())?
}
