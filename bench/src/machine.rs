//! Machine that runs the bench: its lock, namespaces, and processor time.

use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use lab::Namespace;
use nix::fcntl::{Flock, FlockArg};
use nix::sched::{CloneFlags, setns};
use nix::sys::signal::{SigSet, Signal};
use serde::{Deserialize, Serialize};

use crate::Error;

/// Lock held while measuring: two benches at once would measure each other.
#[derive(Debug)]
pub struct Lock(#[allow(dead_code)] Flock<File>);

impl Lock {
    /// Waits until no other bench runs on this machine.
    pub fn take() -> Result<Self, Error> {
        let directory = Path::new("/run/lock");
        let path = directory.join("weir-bench");
        // A container's /run is empty.
        let file = fs::create_dir_all(directory)
            .and_then(|()| File::create(&path))
            .map_err(Error::system(format!("open {}", path.display())))?;
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => Ok(Self(lock)),
            Err((file, _)) => {
                eprintln!("bench: waiting for another running bench");
                let lock = Flock::lock(file, FlockArg::LockExclusive);
                lock.map(Self)
                    .map_err(|(_, error)| Error::system("wait for the other bench")(error))
            }
        }
    }
}

/// Runs `work` inside a namespace. Unlike [`Namespace::enter`], stays on this thread, which is
/// pinned and holds values that cannot change threads.
pub fn inside<T>(node: &Namespace, work: impl FnOnce() -> T) -> Result<T, Error> {
    let open =
        |path: &Path| File::open(path).map_err(Error::system(format!("open {}", path.display())));
    let home = open(Path::new("/proc/thread-self/ns/net"))?;
    let enter = |file: File| {
        setns(file, CloneFlags::CLONE_NEWNET).map_err(Error::system("enter a network namespace"))
    };
    enter(open(&node.path())?)?;
    let result = work();
    enter(home)?;
    Ok(result)
}

/// Blocks a signal in this thread while this value lives, so that another thread takes the signal.
/// A call into the kernel is not cut short then.
#[derive(Debug)]
pub struct Undisturbed(SigSet);

impl Undisturbed {
    /// Blocks Ctrl-C.
    pub fn by_interrupts() -> Result<Self, Error> {
        let set: SigSet = [Signal::SIGINT].into_iter().collect();
        set.thread_block()
            .map_err(Error::system("block a signal"))?;
        Ok(Self(set))
    }
}

impl Drop for Undisturbed {
    fn drop(&mut self) {
        let _ = self.0.thread_unblock();
    }
}

/// Kernel thread that continues with received packets after an interrupt's time share is used up:
/// `ksoftirqd/N`.
#[derive(Clone, Debug)]
pub struct SoftirqThread(PathBuf);

impl SoftirqThread {
    /// Finds the thread of a processor.
    pub fn of(cpu: usize) -> Result<Self, Error> {
        let name = format!("ksoftirqd/{cpu}");
        let processes = fs::read_dir("/proc").map_err(Error::system("read /proc"))?;
        let found = processes.flatten().map(|entry| entry.path()).find(|path| {
            fs::read_to_string(path.join("comm")).is_ok_and(|comm| comm.trim() == name)
        });
        found
            .map(|path| Self(path.join("schedstat")))
            .ok_or_else(|| Error::Wrong(format!("no thread {name}")))
    }

    /// Returns the thread's nanoseconds so far (CONFIG_SCHED_INFO; 0 without it).
    pub fn ran(&self) -> u64 {
        let text = fs::read_to_string(&self.0).unwrap_or_default();
        let first = text.split_whitespace().next();
        first.and_then(|word| word.parse().ok()).unwrap_or(0)
    }
}

/// Returns the number of usable processors.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Machine of a measurement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Model of the processor.
    pub processor: String,
    /// Number of processors.
    pub processors: usize,
    /// Set for a virtual machine.
    pub is_virtual: bool,
    /// Version of Linux.
    pub kernel: String,
    /// Version of weir.
    pub weir: String,
}

impl Machine {
    /// Returns this machine.
    pub fn this() -> Self {
        let about = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = about.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            let names = ["model name", "cpu model", "Hardware", "Processor"];
            names.contains(&name.trim()).then(|| value.trim())
        });
        let processors = about.lines().filter(|line| line.starts_with("processor"));
        Self {
            processor: model.unwrap_or("unknown processor").to_owned(),
            processors: processors.count(),
            is_virtual: about.contains(" hypervisor"),
            kernel: kernel::release::release(),
            weir: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.is_virtual {
            ", virtual machine"
        } else {
            ""
        };
        let Self {
            processor,
            processors,
            kernel,
            ..
        } = self;
        write!(
            f,
            "{processor}, {processors} processors{kind}, Linux {kernel}"
        )
    }
}

/// Time of a processor: seconds since the start of the machine, or shares of a period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Processor {
    /// Time neither idle nor waiting for disks.
    pub busy: f64,
    /// Part of `busy` in softirqs: receiving, sending, and other work that the kernel defers after
    /// an interrupt.
    pub softirq: f64,
}

impl Processor {
    /// Returns the shares of the seconds since `then`.
    pub fn since(&self, then: &Self, seconds: f64) -> Self {
        Self {
            busy: (self.busy - then.busy) / seconds,
            softirq: (self.softirq - then.softirq) / seconds,
        }
    }

    /// Parses a line of /proc/stat (proc_stat(5)): `cpu0`, then user, nice, system, idle, iowait,
    /// irq, softirq, steal.
    fn read(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        words
            .next()
            .filter(|word| word.len() > 3)?
            .strip_prefix("cpu")?;
        // USER_HZ is 100 on all architectures that weir runs on.
        let seconds = words
            .take(8)
            .map(|word| word.parse().map(|ticks: f64| ticks / 100.0));
        let seconds: Vec<_> = seconds.collect::<Result<_, _>>().ok()?;
        let idle = seconds.get(3)? + seconds.get(4)?;
        Some(Self {
            busy: seconds.iter().sum::<f64>() - idle,
            softirq: *seconds.get(6)?,
        })
    }
}

/// Returns the time of each processor so far.
pub fn processor_times() -> Vec<Processor> {
    let text = fs::read_to_string("/proc/stat").unwrap_or_default();
    text.lines().filter_map(Processor::read).collect()
}

/// Returns the packets received by a device of this thread's namespace (see [`inside`]).
pub fn received(device: &str) -> Result<u64, Error> {
    let text = fs::read_to_string("/proc/thread-self/net/dev")
        .map_err(Error::system("read /proc/net/dev"))?;
    let found = text.lines().find_map(|line| {
        let (name, numbers) = line.split_once(':')?;
        let packets = numbers.split_whitespace().nth(1)?;
        (name.trim() == device).then(|| packets.parse().ok())?
    });
    found.ok_or_else(|| Error::Wrong(format!("no device {device}")))
}

/// Returns the kernel's limit of tracked connections (`net.netfilter.nf_conntrack_max`), or `None`
/// before conntrack is in use.
pub fn most_connections() -> Option<u64> {
    let text = fs::read_to_string("/proc/sys/net/netfilter/nf_conntrack_max").ok()?;
    text.trim().parse().ok()
}

/// Checks that the kernel has memory for TCP: its count in use must be below the threshold at which
/// it saves (`net.ipv4.tcp_mem`, the first number).
///
/// # Errors
/// TCP memory is low. Without open connections, the kernel has miscounted, which only a reboot
/// cures. Linux 6.18 did so by 2.3 GB once, with a WARNING of `inet_sock_destruct`, while
/// shadowsocks-libev carried a connection by MPTCP. All TCP ran at 34 Mbit/s from then on.
pub fn has_memory_for_tcp() -> Result<(), Error> {
    let read = |file: &str| fs::read_to_string(file).unwrap_or_default();
    let (used, from) = tcp_memory(
        &read("/proc/net/sockstat"),
        &read("/proc/sys/net/ipv4/tcp_mem"),
    );
    if used < from {
        return Ok(());
    }
    let [used, from] = [used, from].map(|pages| pages * 4096 / 1_000_000);
    Err(Error::Wrong(format!(
        "the kernel counts {used} MB of TCP memory as in use, and limits TCP from {from} MB on, \
            so all TCP is slow: close connections; if there are none, the count is wrong: reboot"
    )))
}

/// Returns the pages in use, and the threshold at which the kernel saves; `u64::MAX` if the
/// threshold is missing.
fn tcp_memory(sockstat: &str, limits: &str) -> (u64, u64) {
    let line = sockstat.lines().find_map(|line| line.strip_prefix("TCP:"));
    let mut words = line.unwrap_or_default().split_whitespace();
    let used = words.find(|word| *word == "mem").and(words.next());
    let from = limits.split_whitespace().next();
    let number = |word: Option<&str>| word.and_then(|word| word.parse().ok());
    (number(used).unwrap_or(0), number(from).unwrap_or(u64::MAX))
}

/// Describes processor and kernel in a line.
pub fn describe() -> String {
    Machine::this().to_string()
}

/// Returns the C compiler of the loaded BPF programs, as `clang 14`.
pub fn compiler() -> String {
    let whole = datapath::object::compiler();
    whole.split('.').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_processor_did_is_read() {
        let line = "cpu1 100 200 300 4000 500 60 700 8 9 9";
        let found = Processor::read(line).expect("a processor");
        assert!(
            (found.busy - 13.68).abs() < 1e-9 && (found.softirq - 7.0).abs() < 1e-9,
            "{found:?}"
        );
        let then = Processor {
            busy: 12.68,
            softirq: 6.5,
        };
        let share = found.since(&then, 2.0);
        assert!(
            (share.busy - 0.5).abs() < 1e-9 && (share.softirq - 0.25).abs() < 1e-9,
            "{share:?}"
        );
        for other in [
            "cpu 1 2 3 4 5 6 7 8",
            "intr 1 2 3 4 5 6 7 8",
            "cpu0 1 2 x",
            "cpu0 1 2",
            "",
        ] {
            assert_eq!(Processor::read(other), None, "{other}");
        }
        assert!(!processor_times().is_empty());
    }

    #[test]
    fn memory_of_tcp_is_read() {
        let sockstat = "sockets: used 10\nTCP: inuse 1 orphan 0 tw 0 alloc 38 mem 575938\nUDP: \
            inuse 0 mem 362\n";
        assert_eq!(
            tcp_memory(sockstat, "287901\t383868\t575802\n"),
            (575_938, 287_901)
        );
        assert_eq!(tcp_memory("", ""), (0, u64::MAX));
        assert_eq!(tcp_memory("TCP: mem", "x"), (0, u64::MAX));
    }
}
