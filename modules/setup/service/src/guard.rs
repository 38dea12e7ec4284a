//! Whoever puts the former files back when nobody confirms a change: a process of its own, since
//! the terminal from which the change was made may be cut off by it.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use nix::unistd;
use setup_core::Trouble;

use super::place::{Place, trouble};
use runtime::Error;

/// How often it looks.
const LOOKS: Duration = Duration::from_millis(250);

/// Starts it.
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
pub fn run(place: &Place, number: u64) -> Result<(), Error> {
    // No terminal that closes ends it.
    let _ = unistd::setsid();
    // Nor does the kernel, where memory is short: without it nobody undoes the change before the
    // next start.
    let _ = std::fs::write("/proc/self/oom_score_adj", "-1000");
    loop {
        match place.journal.pending().map_err(trouble)? {
            Some(pending) if pending.change.number == number => {}
            _ => return Ok(()),
        }
        match place.put_back_late() {
            Ok(Some(change)) => return place.reload(&change).map(|_| ()),
            Err(Trouble::Refused { change, .. }) => return place.reload(&change).map(|_| ()),
            Ok(None) => {}
            // A full flash may have room later, and the next start tries again.
            Err(_) => sleep(Duration::from_secs(5)),
        }
        sleep(LOOKS);
    }
}
