//! Network namespaces that are removed when dropped, after a panic, and on Ctrl-C or TERM.
//! [`sweep`] removes the namespaces of killed processes.

use std::fs::{self, File};
use std::io::Write;
use std::panic;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::sched::{CloneFlags, setns};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::Error;

/// Folder in which `ip netns` keeps names.
const NAMES: &str = "/run/netns";
/// Prefix of all namespaces of the lab; the process id follows.
const PREFIX: &str = "weir-";
/// Time between TERM and KILL.
const GRACE: Duration = Duration::from_secs(3);
/// Interval between two checks of [`wait_until`].
const SHORTEST: Duration = Duration::from_millis(5);
const LONGEST: Duration = Duration::from_secs(1);

type Children = Arc<Mutex<Vec<Arc<Mutex<Child>>>>>;

/// Namespaces of this process, for clean-up by the signal handler.
static REGISTRY: Mutex<Vec<(String, Children)>> = Mutex::new(Vec::new());
static COUNTER: AtomicU32 = AtomicU32::new(0);
static SIGNALS: Once = Once::new();
/// True after [`end_gently`].
static GENTLE: AtomicBool = AtomicBool::new(false);
static ASKED: AtomicBool = AtomicBool::new(false);

/// A panic with a lock held must not prevent the clean-up: the data is never half written.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A network namespace of this process, `weir-<pid>-<n>-<role>`, with its loopback up. Dropping the
/// namespace removes it and stops the processes started by [`Namespace::start`].
#[derive(Debug)]
pub struct Namespace {
    name: String,
    role: String,
    children: Children,
}

impl Namespace {
    /// Makes a namespace. `role` labels the list of namespaces for human readers. Needs root.
    pub fn new(role: &str) -> Result<Self, Error> {
        SIGNALS.call_once(handle_signals);
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let name = format!("{PREFIX}{}-{number}-{role}", std::process::id());
        let children = Children::default();
        // Registers the name first: a signal before the creation finds nothing to remove, which is
        // harmless. In the reverse order a signal would leak the namespace.
        lock(&REGISTRY).push((name.clone(), children.clone()));
        let namespace = Self {
            name: name.clone(),
            role: role.to_owned(),
            children,
        };
        let mut add = Command::new("ip");
        add.args(["netns", "add", &name]);
        checked(&mut add, None)?;
        namespace.run("ip link set lo up")?;
        Ok(namespace)
    }

    /// Returns the name, as in `ip netns`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the role given to [`Namespace::new`].
    pub fn role(&self) -> &str {
        &self.role
    }

    /// Returns the file of this namespace.
    pub fn path(&self) -> PathBuf {
        PathBuf::from(NAMES).join(&self.name)
    }

    /// Runs `work` on its own thread inside the namespace and waits for the thread. Sockets opened
    /// and processes started there stay in the namespace. A panic of `work` continues in the
    /// caller.
    pub fn enter<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, Error> {
        let handle = self.open()?;
        thread::scope(|scope| {
            let inside = scope.spawn(move || {
                switch(handle)?;
                Ok(work())
            });
            inside
                .join()
                .unwrap_or_else(|panicked| panic::resume_unwind(panicked))
        })
    }

    /// Runs `work` like [`Namespace::enter`], but in the background.
    pub fn background<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<thread::JoinHandle<Result<T, Error>>, Error> {
        let handle = self.open()?;
        Ok(thread::spawn(move || {
            switch(handle)?;
            Ok(work())
        }))
    }

    /// Returns a command that will run inside. `ip netns exec` gives the program a new `/sys`,
    /// which hides the BPF file system. Programs that need the BPF file system must be started by
    /// [`Namespace::start`] from a plain `Command`.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name, program]);
        command
    }

    /// Starts a plain `command` inside, with the mounts of the caller. Dropping the result or the
    /// namespace stops the process.
    pub fn start(&self, command: &mut Command) -> Result<Process, Error> {
        let line = format!("{command:?}");
        let child = self
            .enter(|| command.spawn())?
            .map_err(Error::system(line))?;
        let child = Arc::new(Mutex::new(child));
        lock(&self.children).push(child.clone());
        Ok(Process { child })
    }

    /// Runs a command line, split at white space, inside and returns its standard output. The error
    /// of a failed command has its standard error.
    pub fn run(&self, line: &str) -> Result<String, Error> {
        self.run_with(line, None)
    }

    /// Runs a command line with `input` on its standard input.
    pub fn feed(&self, line: &str, input: &str) -> Result<String, Error> {
        self.run_with(line, Some(input))
    }

    fn run_with(&self, line: &str, input: Option<&str>) -> Result<String, Error> {
        let mut words = line.split_whitespace();
        let program = words
            .next()
            .ok_or_else(|| Error::Unexpected("an empty command line".into()))?;
        let mut command = Command::new(program);
        command.args(words);
        self.enter(|| checked(&mut command, input))?
    }

    /// Runs the lines as one `ip -batch`, which is much faster than single processes. The first
    /// failed line ends the batch. Empty `lines` start no process.
    pub fn ip(&self, lines: &str) -> Result<String, Error> {
        if lines.is_empty() {
            return Ok(String::new());
        }
        let mut command = Command::new("ip");
        command.args(["-batch", "-"]);
        self.enter(|| checked(&mut command, Some(lines)))?
    }

    /// Loads nftables text, atomically.
    pub fn nft(&self, text: &str) -> Result<String, Error> {
        let mut command = Command::new("nft");
        command.args(["-f", "-"]);
        self.enter(|| checked(&mut command, Some(text)))?
    }

    /// Sets a kernel parameter of the namespace, for example `net.ipv4.ip_forward`.
    pub fn sysctl(&self, key: &str, value: impl ToString) -> Result<(), Error> {
        let path = format!("/proc/sys/{}", key.replace('.', "/"));
        let value = value.to_string();
        self.enter(|| fs::write(&path, &value))?
            .map_err(Error::system(format!("set {key} to {value}")))
    }

    fn open(&self) -> Result<File, Error> {
        let path = self.path();
        File::open(&path).map_err(Error::system(format!("open {}", path.display())))
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        dismantle(&self.name, &self.children);
        lock(&REGISTRY).retain(|(name, _)| *name != self.name);
    }
}

/// A process inside a namespace. Stopped when dropped.
#[derive(Debug)]
pub struct Process {
    child: Arc<Mutex<Child>>,
}

impl Process {
    /// Returns the process id.
    pub fn id(&self) -> u32 {
        lock(&self.child).id()
    }

    /// Returns the exit status, or `None` while the process runs.
    pub fn ended(&self) -> Result<Option<ExitStatus>, Error> {
        lock(&self.child)
            .try_wait()
            .map_err(Error::system("watch a process"))
    }

    /// Gives access to the child, for instance to its pipes. `work` must not wait for a running
    /// child: use [`Process::wait`].
    pub fn with<T>(&self, work: impl FnOnce(&mut Child) -> T) -> T {
        work(&mut lock(&self.child))
    }

    /// Waits until the process ends, at most `limit`.
    pub fn wait(&self, limit: Duration) -> Result<ExitStatus, Error> {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(status) = self.ended()? {
                return Ok(status);
            }
            if Instant::now() >= deadline {
                return Err(Error::Timeout(format!("process {} to end", self.id())));
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Sends TERM and, after some seconds, KILL; returns once the process is gone.
    pub fn stop(&self) {
        stop(&self.child);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Waits until `done` returns true, at most `limit`; errors name `what`. A slow check, such as a
/// command, runs less often: the awaited work needs the processor more.
pub fn wait_until(
    what: &str,
    limit: Duration,
    mut done: impl FnMut() -> Result<bool, Error>,
) -> Result<(), Error> {
    let deadline = Instant::now() + limit;
    loop {
        let asked = Instant::now();
        if done()? {
            return Ok(());
        }
        if Instant::now() >= deadline {
            return Err(Error::Timeout(what.into()));
        }
        thread::sleep((2 * asked.elapsed()).clamp(SHORTEST, LONGEST));
    }
}

/// Removes the namespaces of killed processes and returns their names. Processes that still run
/// inside are left alone, because their owner is unknown.
pub fn sweep() -> Result<Vec<String>, Error> {
    let entries = match fs::read_dir(NAMES) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => {
            return Err(Error::system::<std::io::Error>(format!("read {NAMES}"))(
                error,
            ));
        }
    };
    let mut removed = Vec::new();
    for name in entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
    {
        let orphan =
            owner(&name).is_some_and(|pid| !PathBuf::from(format!("/proc/{pid}")).exists());
        if orphan && remove(&name) {
            removed.push(name);
        }
    }
    Ok(removed)
}

/// Returns the process id in the name of a lab namespace.
fn owner(name: &str) -> Option<u32> {
    name.strip_prefix(PREFIX)?.split('-').next()?.parse().ok()
}

fn switch(handle: File) -> Result<(), Error> {
    setns(handle, CloneFlags::CLONE_NEWNET).map_err(Error::system("enter a network namespace"))
}

/// Runs a command with `input` on its standard input; fails unless the command succeeds.
fn checked(command: &mut Command, input: Option<&str>) -> Result<String, Error> {
    let line = format!("{command:?}").replace('"', "");
    let output = output(command, input).map_err(Error::system(line.clone()))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(Error::Command {
        command: line,
        status: output.status.to_string(),
        stderr: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
    })
}

fn output(command: &mut Command, input: Option<&str>) -> std::io::Result<Output> {
    let stdin = if input.is_some() {
        Stdio::piped()
    } else {
        Stdio::null()
    };
    let mut child = command
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    if let (Some(text), Some(mut pipe)) = (input, child.stdin.take()) {
        // A program that stops reading early explains the reason on standard error, so the broken
        // pipe needs no report.
        let _ = pipe.write_all(text.as_bytes());
    }
    child.wait_with_output()
}

fn remove(name: &str) -> bool {
    let status = Command::new("ip")
        .args(["netns", "del", name])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}

fn dismantle(name: &str, children: &Children) {
    for child in lock(children).drain(..) {
        stop(&child);
    }
    remove(name);
}

/// Stops by handle: the process id could meanwhile belong to another process.
fn stop(child: &Mutex<Child>) {
    let mut child = lock(child);
    let deadline = Instant::now() + GRACE;
    let mut asked = false;
    while matches!(child.try_wait(), Ok(None)) {
        if !asked {
            asked = true;
            if let Ok(pid) = i32::try_from(child.id()) {
                let _ = kill(Pid::from_raw(pid), Signal::SIGTERM);
            }
        }
        if Instant::now() >= deadline {
            let _ = child.kill();
            let _ = child.wait();
            return;
        }
        thread::sleep(Duration::from_millis(2));
    }
}

/// Makes the first Ctrl-C set only the flag of [`asked_to_end`], so that measurements keep their
/// data. The second Ctrl-C, and TERM, end the process as usual.
pub fn end_gently() {
    GENTLE.store(true, Ordering::Relaxed);
    SIGNALS.call_once(handle_signals);
}

/// Returns true after the first Ctrl-C since [`end_gently`].
pub fn asked_to_end() -> bool {
    ASKED.load(Ordering::Relaxed)
}

/// On Ctrl-C or TERM, removes all namespaces of this process and exits with 130. Tokio's handler
/// works even if other threads block signals, unlike `sigwait`.
fn handle_signals() {
    use tokio::signal::unix::{SignalKind, signal};

    let watch = || -> std::io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        runtime.block_on(async {
            let mut interrupt = signal(SignalKind::interrupt())?;
            let mut terminate = signal(SignalKind::terminate())?;
            loop {
                tokio::select! {
                    _ = interrupt.recv() => {
                        if GENTLE.load(Ordering::Relaxed) && !ASKED.swap(true, Ordering::Relaxed) {
                            continue;
                        }
                    }
                    _ = terminate.recv() => {}
                }
                break;
            }
            for (name, children) in lock(&REGISTRY).drain(..) {
                dismantle(&name, &children);
            }
            std::process::exit(130);
        })
    };
    let started = thread::Builder::new()
        .name("lab-signals".into())
        .spawn(watch);
    if let Err(error) = started {
        eprintln!("lab: cannot watch for signals, so Ctrl-C will leave namespaces behind: {error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_owner_from_the_name() {
        assert_eq!(owner("weir-12-0-client"), Some(12));
        assert_eq!(owner("weir-x-0-client"), None);
        assert_eq!(owner("other-12-0-client"), None);
    }
}
