//! Loaded programs, as the kernel lists them: ids and names.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::error::Error;

/// Names of the programs that are attached at TC. Before Linux 6.6 they are filters, which libbpf
/// names `weir_tc:[17]`.
pub const TC_PROGRAMS: [&str; 6] = [
    "weir_tc",
    "weir_witness",
    "weir_meter_in",
    "weir_meter_out",
    "weir_cable_in",
    "weir_cable_out",
];

/// Returns the kernel's description of a loaded program.
pub fn info(program: BorrowedFd<'_>) -> io::Result<libbpf_sys::bpf_prog_info> {
    // SAFETY: the struct of a program, all numbers.
    unsafe { object_info(program) }
}

/// Returns the kernel's description of a program, a map or a link.
///
/// # Safety
/// `T` is the C struct for it, of which the kernel may set every byte to any value.
pub unsafe fn object_info<T: Default>(object: BorrowedFd<'_>) -> io::Result<T> {
    let mut info = T::default();
    let mut length = size_of::<T>() as u32;
    // SAFETY: the buffer is ours and has the stated length.
    let failed = unsafe {
        libbpf_sys::bpf_obj_get_info_by_fd(object.as_raw_fd(), (&raw mut info).cast(), &mut length)
    };
    match failed {
        0 => Ok(info),
        error => Err(io::Error::from_raw_os_error(-error)),
    }
}

/// A program that outlives its object.
pub fn keep(program: &impl AsFd) -> Result<OwnedFd, Error> {
    let kept = program.as_fd().try_clone_to_owned();
    kept.map_err(|source| Error::System {
        what: "keep a program".into(),
        source,
    })
}

/// A program's name: 15 bytes at most (BPF_OBJ_NAME_LEN).
pub fn name_of(info: &libbpf_sys::bpf_prog_info) -> String {
    let octets = info.name.iter().map(|octet| *octet as u8);
    let name: Vec<u8> = octets.take_while(|octet| *octet != 0).collect();
    String::from_utf8_lossy(&name).into_owned()
}

/// The kernel's number of a loaded program.
pub fn id(program: &impl AsFd) -> Option<u32> {
    info(program.as_fd()).ok().map(|info| info.id)
}

/// Returns the name of a loaded program, if this process may ask.
pub(crate) fn name(program: u32) -> Option<String> {
    // SAFETY: takes a number and gives a descriptor or an error.
    let fd = unsafe { libbpf_sys::bpf_prog_get_fd_by_id(program) };
    if fd < 0 {
        return None;
    }
    // SAFETY: a new descriptor without another owner.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    info(fd.as_fd()).ok().map(|info| name_of(&info))
}
