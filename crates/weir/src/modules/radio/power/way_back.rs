//! Who gives the former power back where weir is killed: a process of its own, which waits for the
//! end of a pipe.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};
use std::process::{Child, ChildStdin, Command, Stdio};

use kernel::io::Nl80211;
use kernel::nl80211::Setting;
use nix::sys::signal::{SigSet, Signal};
use tracing::warn;

/// Weir's command that it is.
pub const COMMAND: &str = "radio-way-back";

/// What each device gets back. Told to the process, as soon as it is to be.
pub struct WayBack {
    /// `None`: there is none, which was told.
    child: Option<(Child, ChildStdin)>,
}

impl WayBack {
    /// Nothing is to be given back.
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
            warn!(%error, "where weir is killed, radios keep the power that they have then");
        }
        Self { child: child.ok() }
    }

    /// That is what a device gets back from now on.
    pub fn remember(&mut self, link: u32, setting: Setting) {
        self.say(&line(link, Some(setting)));
    }

    /// A device has what it had, or is gone.
    pub fn forget(&mut self, link: u32) {
        self.say(&line(link, None));
    }

    fn say(&mut self, line: &str) {
        let Some((_, pipe)) = &mut self.child else {
            return;
        };
        if let Err(error) = pipe.write_all(line.as_bytes()).and_then(|()| pipe.flush()) {
            warn!(%error, "where weir is killed, radios keep the power that they have then");
            self.child = None;
        }
    }
}

impl Drop for WayBack {
    fn drop(&mut self) {
        if let Some((mut child, pipe)) = self.child.take() {
            drop(pipe);
            // It ends as soon as it has given back what was left.
            let _ = child.wait();
        }
    }
}

fn line(link: u32, setting: Option<Setting>) -> String {
    match setting {
        None => format!("{link} -\n"),
        Some(Setting::Automatic) => format!("{link} auto\n"),
        Some(Setting::Fixed(level)) => format!("{link} {level}\n"),
    }
}

/// A device, and what it is to get back; `None`: no such line.
fn said(line: &str) -> Option<(u32, Option<Setting>)> {
    let (link, setting) = line.split_once(' ')?;
    let setting = match setting {
        "-" => None,
        "auto" => Some(Setting::Automatic),
        level => Some(Setting::Fixed(level.parse().ok()?)),
    };
    Some((link.parse().ok()?, setting))
}

/// On the other side: waits until weir's end, and gives back what is left.
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
            Some((link, Some(setting))) => drop(left.insert(link, setting)),
            Some((link, None)) => drop(left.remove(&link)),
            None => {}
        }
    }
    give_back(&left);
}

fn give_back(left: &BTreeMap<u32, Setting>) {
    if left.is_empty() {
        return;
    }
    let Ok(Some(mut nl80211)) = Nl80211::open() else {
        return;
    };
    for (link, setting) in left {
        if let Err(error) = nl80211.set_power(*link, *setting) {
            warn!(%error, link, "its power is not given back");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_understood() {
        let all = [None, Some(Setting::Automatic), Some(Setting::Fixed(-150))];
        for setting in all {
            let text = line(7, setting);
            assert_eq!(said(text.trim_end()), Some((7, setting)));
        }
        for wrong in ["", "7", "7 ", "x auto", "7 loud", "-1 auto"] {
            assert_eq!(said(wrong), None, "{wrong}");
        }
    }
}
