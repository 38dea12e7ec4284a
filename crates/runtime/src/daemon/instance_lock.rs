//! Allows one weir per network namespace.
//!
//! The name of an abstract UNIX socket belongs to the namespace and ends with the process, so
//! neither a crash nor a second mount namespace can confuse it. But any process may take such a
//! name: if a process without rights took it, a lock on a file in root's directory decides instead.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use nix::sys::socket::sockopt::PeerCredentials;
use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, UnixAddr, bind, connect, getsockopt, listen, socket,
};
use nix::unistd::geteuid;
use tracing::warn;

const NAME: &[u8] = b"weir-offload";

/// Held for as long as this weir runs.
#[derive(Debug)]
#[allow(dead_code)]
pub enum InstanceLock {
    Name(OwnedFd),
    File(Flock<File>),
}

/// Time after which another weir must have released the name: a program that weir was starting as
/// it ended holds the name until the program runs.
const RELEASE: Duration = Duration::from_millis(500);

/// Takes the lock; `None` if another weir holds it for longer than [`RELEASE`].
///
/// # Errors
/// The kernel refuses a socket, or a lock is needed and cannot be made.
pub fn take() -> io::Result<Option<InstanceLock>> {
    let inode = api::path::netns_inode()?;
    let file = Path::new(api::path::SOCKET_DIRECTORY).join(format!("guard-{inode}.lock"));
    take_in_time(&file)
}

fn take_in_time(file: &Path) -> io::Result<Option<InstanceLock>> {
    let begun = Instant::now();
    loop {
        let guard = take_with(file)?;
        if guard.is_some() || begun.elapsed() >= RELEASE {
            return Ok(guard);
        }
        thread::sleep(RELEASE / 10);
    }
}

fn take_with(file: &Path) -> io::Result<Option<InstanceLock>> {
    let own = open()?;
    match bind(own.as_raw_fd(), &UnixAddr::new_abstract(NAME)?) {
        Ok(()) => {
            // A process that checks for a weir learns the rights of the name's owner from the
            // kernel: those of the caller of listen().
            listen(&own, Backlog::MAXCONN)?;
            // The file exists if another process had the name before.
            let free = !file.exists() || lock(file)?.is_some();
            return Ok(free.then_some(InstanceLock::Name(own)));
        }
        Err(Errno::EADDRINUSE) => {}
        Err(error) => return Err(error.into()),
    }
    if is_weirs()? {
        return Ok(None);
    }
    let Some(lock) = lock(file)? else {
        return Ok(None);
    };
    // Another weir may have taken the name before the file existed.
    if is_weirs()? {
        return Ok(None);
    }
    warn!(
        "another user's process holds the socket name that weir uses to detect a second instance \
            (`ss -xlp | grep weir-offload` shows the process): weir uses a lock file instead"
    );
    Ok(Some(InstanceLock::File(lock)))
}

fn open() -> nix::Result<OwnedFd> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    socket(AddressFamily::Unix, SockType::SeqPacket, flags, None)
}

/// Returns true if the owner of the name has the rights that a weir needs.
fn is_weirs() -> nix::Result<bool> {
    let asking = open()?;
    // A socket that does not listen, or refuses connections, is not a weir's.
    if connect(asking.as_raw_fd(), &UnixAddr::new_abstract(NAME)?).is_err() {
        return Ok(false);
    }
    let user = getsockopt(&asking, PeerCredentials)?.uid();
    Ok(user == 0 || user == geteuid().as_raw())
}

fn lock(path: &Path) -> io::Result<Option<Flock<File>>> {
    if let Some(directory) = path.parent() {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory)?;
    }
    // A process that may open the file may lock it.
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)?;
    match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
        Ok(lock) => Ok(Some(lock)),
        Err((_, Errno::EWOULDBLOCK)) => Ok(None),
        Err((_, error)) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs in a namespace of its own, so that a weir that runs on this machine does not matter.
    fn alone<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
        let thread = std::thread::spawn(|| {
            nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNET).expect("needs root");
            work()
        });
        thread.join().unwrap()
    }

    #[test]
    fn the_second_is_told() {
        let file = std::env::temp_dir().join(format!("weir-guard-{}", std::process::id()));
        let seen = alone(move || {
            let first = take_with(&file).unwrap();
            let second = take_with(&file).unwrap();
            let taken = (first.is_some(), second.is_some(), file.exists());
            drop(first);
            (taken, take_with(&file).unwrap().is_some())
        });
        assert_eq!(seen, ((true, false, false), true));
    }

    #[test]
    fn a_name_that_is_released_soon_is_waited_for() {
        let file = std::env::temp_dir().join(format!("weir-release-{}", std::process::id()));
        let taken = alone(move || {
            let first = take_with(&file).unwrap();
            thread::spawn(move || {
                thread::sleep(RELEASE / 5);
                drop(first);
            });
            let second = take_in_time(&file).unwrap();
            (second.is_some(), take_in_time(&file).unwrap().is_none())
        });
        assert_eq!(taken, (true, true));
    }
}
