//! Foreign programs attached to a device by TCX (Linux 6.6). They are not filters: rtnetlink does
//! not list them.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Mutex, PoisonError};

use crate::program::{TC_PROGRAMS, name};

/// Programs of one device and side that are listed; the kernel takes 64.
const MOST: usize = 64;

/// The kernel's ids of programs that this process attached at TC: looking up names requires
/// CAP_SYS_ADMIN.
static OWN: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// Links that are gates of cables.
static GATES: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// Notes that a program is weir's own.
pub(crate) fn is_ours(program: u32, gate: bool) {
    let mut own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
    own.insert(program);
    if gate {
        let mut gates = GATES.lock().unwrap_or_else(PoisonError::into_inner);
        gates.insert(program);
    }
}

/// The gate of this process that is attached to a device.
pub(crate) fn gate(link: u32, kind: u32) -> Option<u32> {
    let gates = GATES.lock().unwrap_or_else(PoisonError::into_inner);
    if gates.is_empty() {
        return None;
    }
    let attached = attached(link, kind).ok()?;
    attached.into_iter().find(|program| gates.contains(program))
}

/// Describes foreign programs at TC ingress and at egress of a device; empty if the kernel has no
/// TCX, or the device does not exist.
///
/// # Errors
/// The kernel refused the query.
pub fn foreign_tcx(link: u32) -> io::Result<(Vec<String>, Vec<String>)> {
    let of = |kind| {
        let programs = attached(link, kind)?.into_iter();
        Ok::<_, io::Error>(programs.filter_map(foreign).collect())
    };
    Ok((
        of(libbpf_sys::BPF_TCX_INGRESS)?,
        of(libbpf_sys::BPF_TCX_EGRESS)?,
    ))
}

/// A program in words, unless it is weir's: of this process, or by its name.
fn foreign(program: u32) -> Option<String> {
    let own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
    if own.contains(&program) {
        return None;
    }
    match name(program) {
        Some(name) if TC_PROGRAMS.contains(&name.as_str()) => None,
        Some(name) if !name.is_empty() => Some(format!("the program {name}")),
        _ => Some(format!("the program number {program}")),
    }
}

/// Returns the kernel's ids of attached programs.
fn attached(link: u32, kind: u32) -> io::Result<Vec<u32>> {
    let mut programs = [0u32; MOST];
    // sz is the size of the struct as weir uses it.
    let mut options = libbpf_sys::bpf_prog_query_opts {
        sz: size_of::<libbpf_sys::bpf_prog_query_opts>() as libbpf_sys::size_t,
        prog_ids: programs.as_mut_ptr(),
        ..Default::default()
    };
    options.__bindgen_anon_1.count = MOST as u32;
    // SAFETY: options and the list, which has the stated length, outlive the call.
    let failed = unsafe { libbpf_sys::bpf_prog_query_opts(link as i32, kind, &raw mut options) };
    match -failed {
        // SAFETY: both fields of the union are one number.
        0 | libc::ENOSPC => {
            Ok(programs[..MOST.min(unsafe { options.__bindgen_anon_1.count } as usize)].to_vec())
        }
        // No TCX, no program attached, or no such device.
        libc::EINVAL | libc::ENOENT | libc::ENODEV => Ok(Vec::new()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}
