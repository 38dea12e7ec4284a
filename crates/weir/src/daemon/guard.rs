//! One weir in a network namespace: an abstract UNIX socket belongs to the namespace and ends with the process, so neither a
//! crash nor a second mount namespace can confuse it.

use std::os::fd::OwnedFd;

use nix::errno::Errno;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, bind, socket};

/// Held for as long as this weir runs.
#[derive(Debug)]
pub struct Guard(#[allow(dead_code)] OwnedFd);

/// Whether this is the only weir here; `None` when there is another.
pub fn take() -> nix::Result<Option<Guard>> {
    let fd = socket(
        AddressFamily::Unix,
        SockType::Datagram,
        SockFlag::SOCK_CLOEXEC,
        None,
    )?;
    match bind(
        std::os::fd::AsRawFd::as_raw_fd(&fd),
        &UnixAddr::new_abstract(b"weir-offload")?,
    ) {
        Ok(()) => Ok(Some(Guard(fd))),
        Err(Errno::EADDRINUSE) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_told() {
        // In a namespace of its own, so that a weir that runs on this machine does not matter.
        let first_and_second = std::thread::spawn(|| {
            nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNET).expect("needs root");
            let first = take().unwrap();
            let second = take().unwrap();
            let taken = (first.is_some(), second.is_some());
            drop(first);
            (taken, take().unwrap().is_some())
        });
        assert_eq!(first_and_second.join().unwrap(), ((true, false), true));
    }
}
