//! Restores the old power if weir is killed: a process of its own, which waits for the end of a
//! pipe.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};
use std::process::{Child, ChildStdin, Command, Stdio};

use kernel::io::{Nl80211, RequestError};
use kernel::nl80211::{Setting, StationPower};
use nix::sys::signal::{SigSet, Signal};
use radio_core::power::Mac;
use tracing::warn;

use super::device::{AccessPoint, Device};
use super::search::Driver;

/// Weir's command that it is.
pub const COMMAND: &str = "radio-way-back";

/// Settings that each device gets back, sent to the process as soon as they are known.
pub struct Restorer {
    /// `None`: the process could not start, or is not needed.
    child: Option<(Child, ChildStdin)>,
}

impl Restorer {
    /// Creates a restorer without settings to restore.
    pub fn none() -> Self {
        Self { child: None }
    }

    /// Starts the process, with all rights that weir has.
    pub fn start() -> Self {
        let mut command = Command::new("/proc/self/exe");
        command.arg(COMMAND).env_clear().current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        let child = command.spawn().and_then(|mut child| {
            let pipe = child
                .stdin
                .take()
                .ok_or_else(|| io::Error::other("no pipe"))?;
            Ok((child, pipe))
        });
        if let Err(error) = &child {
            warn!(%error, "cannot start the guard: if weir is killed, radios keep their current power");
        }
        Self { child: child.ok() }
    }

    /// Sets the setting that a device gets back.
    pub fn remember(&mut self, link: u32, setting: Setting) {
        self.say(&line(link, Some(Left::All(setting))));
    }

    /// Makes a device's stations get back the device's power.
    pub fn remember_stations(&mut self, link: u32) {
        self.say(&line(link, Some(Left::Stations)));
    }

    /// Forgets a device that has its old settings, or no longer exists.
    pub fn forget(&mut self, link: u32) {
        self.say(&line(link, None));
    }

    fn say(&mut self, line: &str) {
        let Some((_, pipe)) = &mut self.child else {
            return;
        };
        if let Err(error) = pipe.write_all(line.as_bytes()).and_then(|()| pipe.flush()) {
            warn!(%error, "cannot reach the guard: if weir is killed, radios keep their current power");
            self.child = None;
        }
    }
}

impl Drop for Restorer {
    fn drop(&mut self) {
        if let Some((mut child, pipe)) = self.child.take() {
            drop(pipe);
            // The process ends as soon as it has restored all devices.
            let _ = child.wait();
        }
    }
}

/// Work that is left to restore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    /// The power of a device.
    All(Setting),
    /// Powers of stations; the device's power was not changed.
    Stations,
}

fn line(link: u32, left: Option<Left>) -> String {
    match left {
        None => format!("{link} -\n"),
        Some(Left::Stations) => format!("{link} stations\n"),
        Some(Left::All(Setting::Automatic)) => format!("{link} auto\n"),
        Some(Left::All(Setting::Fixed(level))) => format!("{link} {level}\n"),
    }
}

/// Parses a device, and the settings to restore; `None`: malformed line.
fn said(line: &str) -> Option<(u32, Option<Left>)> {
    let (link, left) = line.split_once(' ')?;
    let left = match left {
        "-" => None,
        "stations" => Some(Left::Stations),
        "auto" => Some(Left::All(Setting::Automatic)),
        level => Some(Left::All(Setting::Fixed(level.parse().ok()?))),
    };
    Some((link.parse().ok()?, left))
}

/// In the process: waits until weir's end, and restores the remaining settings.
pub fn keep() {
    // Signals that end weir with all of its processes are not meant for this one.
    let all: SigSet = [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP]
        .into_iter()
        .collect();
    let _ = all.thread_block();
    let _ = nix::unistd::setsid();
    let mut left = BTreeMap::new();
    for line in io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        match said(&line) {
            Some((link, Some(what))) => drop(left.insert(link, what)),
            Some((link, None)) => drop(left.remove(&link)),
            None => {}
        }
    }
    give_back(&left);
}

fn give_back(left: &BTreeMap<u32, Left>) {
    for (link, left) in left {
        let done = match left {
            Left::All(setting) => give_back_all(*link, *setting),
            Left::Stations => give_back_stations(*link),
        };
        if let Err(error) = done {
            warn!(%error, link, "cannot restore the power");
        }
    }
}

fn give_back_all(link: u32, setting: Setting) -> Result<(), RequestError> {
    match Nl80211::open()? {
        Some(mut nl80211) => nl80211.set_power(link, setting),
        None => Ok(()),
    }
}

/// Restores all stations: later ones have the device's power.
fn give_back_stations(link: u32) -> Result<(), RequestError> {
    let Some(mut device) = Device::open(link)? else {
        return Ok(());
    };
    let mut last = Ok(());
    for station in device.stations()? {
        let done = device.set_station(Mac(station.mac), StationPower::Automatic);
        last = last.and(done);
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_understood() {
        let all = [
            None,
            Some(Left::Stations),
            Some(Left::All(Setting::Automatic)),
            Some(Left::All(Setting::Fixed(-150))),
        ];
        for left in all {
            let text = line(7, left);
            assert_eq!(said(text.trim_end()), Some((7, left)));
        }
        for wrong in ["", "7", "7 ", "x auto", "7 loud", "-1 auto"] {
            assert_eq!(said(wrong), None, "{wrong}");
        }
    }
}
