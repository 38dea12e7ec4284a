//! Processes that untrusted clients connect to. Each process is weir itself, started with a command
//! of its own, and gives up every right before it listens. The process queries the daemon through a
//! [`channel`] and restarts when it ends.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::Stdio;
use std::rc::Rc;
use std::time::{Duration, Instant};

use api::{Limits, Routes};
use caps::Capability;
use nix::sys::signal::Signal;
use nix::unistd::{self, Gid, Uid};
use tokio::process::{Child, Command};
use tracing::warn;
use web::channel::{self, DaemonEnd, ServerRequests};

use super::{confine, privileges, syscalls};

/// Delay before a restart: the first, and the longest.
const REST: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(30));

/// Interval of liveness checks. A process that misses two checks hangs.
const ASKED: Duration = Duration::from_secs(10);

/// Lifetime after which a process counts as healthy.
const WELL: Duration = Duration::from_secs(60);

/// Variables of weir's environment that the process inherits: they set the format of the log.
const ENVIRONMENT: [&str; 2] = ["NO_COLOR", "JOURNAL_STREAM"];

/// User and group of the page's process. The user owns nothing and has no name: neither Debian
/// (65000 to 65533) nor systemd (up to 65519) assigns the number.
pub const PAGE: u32 = 65_521;

/// The user of the portal's process: what was taken over of one reaches nothing of the other.
pub const PORTAL: u32 = 65_522;

/// Capabilities that weir keeps for such a process: the first two change the process's user, and
/// the third ends a process of another user.
pub const CAPABILITIES: [Capability; 3] = [
    Capability::CAP_SETUID,
    Capability::CAP_SETGID,
    Capability::CAP_KILL,
];

/// A separate process with few rights.
#[derive(Clone, Copy, Debug)]
pub struct Subprocess {
    /// Weir's command that it is.
    pub command: &'static str,
    /// Name of the process: "the web page's process".
    pub what: &'static str,
    /// The user that it runs as, and its group.
    pub user: u32,
}

impl Subprocess {
    /// Serves the process's requests, forever. `begin` sends the initial data, and returns the
    /// requests with their access levels.
    pub async fn keep(
        self,
        begin: impl Fn(DaemonEnd) -> io::Result<ServerRequests>,
        routes: &Routes,
        limits: impl Fn() -> Limits,
    ) {
        let what = self.what;
        let mut rest = REST.0;
        loop {
            let began = Instant::now();
            match self.begin(&begin) {
                Ok((mut child, questions)) => {
                    let questions = Rc::new(questions);
                    let ours = Rc::clone(&questions);
                    tokio::select! {
                        ended = child.wait() => {
                            let ended = ended.map_or_else(|e| e.to_string(), |s| s.to_string());
                            warn!(ended, "{what} ended; restarting it");
                        }
                        () = ours.silence(ASKED) => {
                            warn!("{what} hangs; restarting it");
                            if let Err(error) = child.start_kill() {
                                let hint = "give weir CAP_KILL";
                                warn!(%error, hint, "cannot kill the hanging process");
                            }
                        }
                        () = api::serve(questions, routes, limits()) => continue,
                    }
                }
                Err(error) => warn!(%error, "cannot start {what}"),
            }
            if began.elapsed() >= WELL {
                rest = REST.0;
            }
            tokio::time::sleep(rest).await;
            rest = (rest * 2).min(REST.1);
        }
    }

    /// Starts the process.
    fn begin(
        self,
        begin: &impl Fn(DaemonEnd) -> io::Result<ServerRequests>,
    ) -> io::Result<(Child, ServerRequests)> {
        let (ours, theirs) = channel::pair()?;
        let questions = begin(ours)?;
        Ok((self.spawn(theirs)?, questions))
    }

    fn spawn(self, theirs: OwnedFd) -> io::Result<Child> {
        // Run the current program file, even if another file has replaced it meanwhile. The process
        // gives up its rights by itself: starting it with fewer rights would take a copy of all of
        // this memory (fork instead of posix_spawn, see std::process::Command).
        let mut command = Command::new("/proc/self/exe");
        command
            .arg(self.command)
            .arg("--log")
            .arg(crate::log::level().to_string())
            .env_clear()
            .envs(ENVIRONMENT.iter().filter_map(|name| {
                let value = std::env::var_os(name)?;
                Some((*name, value))
            }))
            .current_dir("/")
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::null())
            .kill_on_drop(true);
        command.spawn()
    }

    /// Gives up every right, in the process itself. Returns the channel.
    ///
    /// # Errors
    /// The process was not started by weir.
    pub fn enter(self, name: &std::ffi::CStr) -> io::Result<OwnedFd> {
        // Only for `ps`.
        let _ = nix::sys::prctl::set_name(name);
        let control = io::stdin().as_fd().try_clone_to_owned()?;
        // A session of its own: no terminal receives input from the process.
        let _ = unistd::setsid();
        self.become_user();
        privileges::drop_all();
        // After that: another user's process is not ended with its parent.
        if let Err(error) = nix::sys::prctl::set_pdeathsig(Signal::SIGKILL) {
            warn!(%error, "{} may outlive weir", self.what);
        }
        confine::confine_wholly();
        syscalls::refuse();
        Ok(control)
    }

    /// If weir may not change the user, the process keeps weir's user and logs a warning.
    fn become_user(self) {
        let changed = unistd::setgroups(&[])
            .and_then(|()| unistd::setgid(Gid::from_raw(self.user)))
            .and_then(|()| unistd::setuid(Uid::from_raw(self.user)));
        if let Err(error) = changed {
            warn!(
                %error,
                hint = "give weir CAP_SETUID and CAP_SETGID",
                "{} runs as weir's own user", self.what
            );
        }
    }
}
