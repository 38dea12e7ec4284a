//! Path of the socket.
//!
//! Network namespaces share `/run`, so each daemon has a socket of its own: `/run/weir/weir.sock`
//! in the namespace of process 1, `/run/weir/weir-INODE.sock` in any other, INODE being what
//! `stat -L -c %i /proc/self/ns/net` prints.
//!
//! The test for the namespace of process 1 must give the same result for a daemon with few rights
//! and for a client with all. Reading `/proc/1/ns/net` needs the right to trace process 1. Any
//! process can read `/proc/1/net`, whose inodes differ by network namespace (fs/proc/proc_net.c).

use std::env;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Environment variable that names the socket, for both the daemon and its clients.
pub const SOCKET_VARIABLE: &str = "WEIR_SOCKET";

/// Default directory of the sockets.
pub const SOCKET_DIRECTORY: &str = "/run/weir";

/// Returns the socket of this network namespace: `explicit` (the `--socket` flag), else
/// [`SOCKET_VARIABLE`], else `configured` (the configuration file), else by namespace.
pub fn socket_path(explicit: Option<&Path>, configured: Option<&Path>) -> PathBuf {
    let variable = env::var_os(SOCKET_VARIABLE)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from);
    choose(
        explicit,
        variable.as_deref(),
        configured,
        netns_inode().ok(),
        is_first(),
    )
}

/// Inode of the network namespace this process is in.
pub fn netns_inode() -> io::Result<u64> {
    inode("/proc/self/ns/net")
}

/// Returns true if this is the network namespace of process 1. `None`: unknown, as `hidepid` hides
/// that process.
pub fn is_first() -> Option<bool> {
    let own = inode("/proc/thread-self/net/dev").ok()?;
    let first = inode("/proc/1/net/dev").ok()?;
    Some(own == first)
}

fn inode(path: &str) -> io::Result<u64> {
    Ok(fs::metadata(path)?.ino())
}

fn choose(
    explicit: Option<&Path>,
    variable: Option<&Path>,
    configured: Option<&Path>,
    own: Option<u64>,
    first: Option<bool>,
) -> PathBuf {
    if let Some(path) = explicit.or(variable).or(configured) {
        return path.to_owned();
    }
    let name = match (own, first) {
        (Some(own), Some(false)) => format!("weir-{own}.sock"),
        // If process 1 is hidden, its namespace is the most likely one.
        _ => "weir.sock".to_owned(),
    };
    Path::new(SOCKET_DIRECTORY).join(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_counts() {
        let [flag, variable, file] =
            ["/flag", "/variable", "/file"].map(|name| Some(Path::new(name)));
        assert_eq!(
            choose(flag, variable, file, Some(1), Some(false)),
            Path::new("/flag")
        );
        assert_eq!(
            choose(None, variable, file, Some(1), Some(false)),
            Path::new("/variable")
        );
        assert_eq!(
            choose(None, None, file, Some(1), Some(false)),
            Path::new("/file")
        );
    }

    #[test]
    fn each_namespace_has_its_own() {
        assert_eq!(
            choose(None, None, None, Some(7), Some(true)),
            Path::new("/run/weir/weir.sock")
        );
        assert_eq!(
            choose(None, None, None, Some(7), None),
            Path::new("/run/weir/weir.sock")
        );
        assert_eq!(
            choose(None, None, None, Some(8), Some(false)),
            Path::new("/run/weir/weir-8.sock")
        );
    }

    #[test]
    fn this_namespace_has_an_inode() {
        assert!(netns_inode().is_ok_and(|inode| inode > 0));
        assert!(is_first().is_some(), "process 1 can be seen");
    }
}
