//! A device whose packets this process sends and receives (`Documentation/networking/tuntap.rst`).

use std::ffi::{CStr, c_int};
use std::fs::OpenOptions;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

/// Makes a device of IP packets, without a header in front of them, in the network namespace of
/// this thread. `name`: with `%d` for a number of the kernel's choice. It is gone when the
/// descriptor, which does not block, is closed. Its name is returned, too.
///
/// # Errors
/// There is no `/dev/net/tun` (CONFIG_TUN), no CAP_NET_ADMIN, or the name is taken.
pub fn open(name: &str) -> io::Result<(OwnedFd, String)> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
        .open("/dev/net/tun")?;
    // SAFETY: all zero is a valid `ifreq`: integers, arrays and pointers that are not followed.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if name.is_empty() || name.len() >= request.ifr_name.len() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as i16;
    // SAFETY: the descriptor is open, and TUNSETIFF takes a pointer to an `ifreq`, which it reads
    // and writes.
    let result: c_int = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw mut request) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel ends names with 0.
    let named = unsafe { CStr::from_ptr(request.ifr_name.as_ptr()) };
    Ok((file.into(), named.to_string_lossy().into_owned()))
}
