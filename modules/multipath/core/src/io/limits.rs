//! Limits on the number of connections.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Descriptors for other purposes: files, unused pipes, sockets of the daemon.
const OTHERS: u64 = 512;
/// Descriptors of a connection while bytes move both ways: two sockets, two pipes.
const EACH: u64 = 6;
/// Assumed memory of a connection in bytes, in sockets and pipes: the maximum is far higher, but
/// not all connections reach it at once.
const MEMORY: u64 = 64 * 1024;

/// Raises the limit of open descriptors to as many as memory has room for, if permitted (OpenWrt
/// begins daemons with 4096 at most). Returns the number of connections that fit.
pub fn raise() -> usize {
    let by_memory = memory() / 2 / MEMORY;
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).unwrap_or((1024, 1024));
    let wanted = (by_memory * EACH + OTHERS).min(everybodys()).max(most);
    let _ = setrlimit(Resource::RLIMIT_NOFILE, wanted, wanted)
        .or_else(|_| setrlimit(Resource::RLIMIT_NOFILE, most, most));
    let (now, _) = getrlimit(Resource::RLIMIT_NOFILE).unwrap_or((1024, 1024));
    let by_descriptors = now.saturating_sub(OTHERS) / EACH;
    usize::try_from(by_descriptors.min(by_memory).max(64)).unwrap_or(64)
}

/// Returns the system's limit of descriptors per process (`fs.nr_open`).
fn everybodys() -> u64 {
    let text = std::fs::read_to_string("/proc/sys/fs/nr_open").unwrap_or_default();
    text.trim().parse().unwrap_or(0)
}

/// Returns this machine's memory, bytes.
pub fn memory() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(128 * 1024) * 1024
}
