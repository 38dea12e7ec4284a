//! Watchdog that restores the old files unless a change is confirmed: a separate process, since the
//! change may cut off the terminal from which it was made.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use nix::unistd;
use setup_core::JournalError;

use super::config_store::{ConfigStore, trouble};
use runtime::Error;

/// Interval of checks.
const LOOKS: Duration = Duration::from_millis(250);

/// Starts the guard.
pub fn start(config: Option<&Path>, number: u64) -> io::Result<()> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["setup", "guard", &number.to_string()]);
    if let Some(config) = config {
        command.arg("--config").arg(config);
    }
    command.current_dir("/");
    let null = || Stdio::null();
    command.stdin(null()).stdout(null()).stderr(null());
    command.spawn().map(|_| ())
}

/// Waits until change `number` is confirmed or undone, or undoes it.
pub fn run(place: &ConfigStore, number: u64) -> Result<(), Error> {
    // A closing terminal must not end the guard.
    let _ = unistd::setsid();
    // Nor must the kernel, if memory is short: without the guard the change stays until the next
    // start.
    let _ = std::fs::write("/proc/self/oom_score_adj", "-1000");
    loop {
        match place.journal.pending().map_err(trouble)? {
            Some(pending) if pending.change.number == number => {}
            _ => return Ok(()),
        }
        match place.put_back_late() {
            Ok(Some(change)) => return place.reload(&change).map(|_| ()),
            Err(JournalError::Refused { change, .. }) => return place.reload(&change).map(|_| ()),
            Ok(None) => {}
            // A full flash may have room later, and the next start tries again.
            Err(_) => sleep(Duration::from_secs(5)),
        }
        sleep(LOOKS);
    }
}
