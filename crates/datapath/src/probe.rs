//! Kernel features that the packet path needs, found by trying: distributions backport features to
//! old versions and remove others from new ones, so a version number proves little. The probes
//! change nothing outside of this process; those that need a device run in a temporary network
//! namespace.

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use libbpf_sys::{bpf_insn, bpf_prog_type};

use crate::program;

/// Ability of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KernelFeature {
    /// The system call bpf() may be used.
    Bpf,
    /// Programs of type XDP load.
    Xdp,
    /// Atomic instructions that return the old value.
    AtomicFetch,
    /// Programs of type SYSCALL load.
    SyscallProgram,
    /// Arrays that user space can map.
    MmapableArray,
    /// Maps of type DEVMAP.
    Devmap,
    /// The helper bpf_jiffies64.
    Jiffies,
    /// XDP programs that take frames of several buffers.
    XdpFragments,
    /// Programs are turned into machine code.
    Jit,
    /// TC programs attach by links (TCX).
    Tcx,
    /// TC programs attach by clsact.
    Clsact,
}

/// Returns true if a program can query whether IPsec decrypted a packet. A kernel without IPsec
/// cannot answer, and decrypts nothing.
pub(crate) fn tells_decrypted() -> bool {
    load(libbpf_sys::BPF_PROG_TYPE_SCHED_CLS, 0, &DECRYPTED).is_ok()
}

/// Returns true if XDP sees frames in several buffers.
pub(crate) fn takes_buffers() -> bool {
    let flags = libbpf_sys::BPF_F_XDP_HAS_FRAGS;
    load(libbpf_sys::BPF_PROG_TYPE_XDP, flags, &ZERO).is_ok()
}

/// Tries the feature.
///
/// # Errors
/// The kernel's answer. `PermissionDenied` does not show whether the kernel has the feature.
pub fn probe(ability: KernelFeature) -> io::Result<()> {
    // libbpf's messages about failures are expected.
    libbpf_rs::set_print(None);
    match ability {
        KernelFeature::Bpf => map(libbpf_sys::BPF_MAP_TYPE_ARRAY, 0),
        KernelFeature::MmapableArray => {
            map(libbpf_sys::BPF_MAP_TYPE_ARRAY, libbpf_sys::BPF_F_MMAPABLE)
        }
        KernelFeature::Devmap => map(libbpf_sys::BPF_MAP_TYPE_DEVMAP, 0),
        KernelFeature::Xdp => load(libbpf_sys::BPF_PROG_TYPE_XDP, 0, &ZERO).map(drop),
        KernelFeature::XdpFragments => {
            let flags = libbpf_sys::BPF_F_XDP_HAS_FRAGS;
            load(libbpf_sys::BPF_PROG_TYPE_XDP, flags, &ZERO).map(drop)
        }
        KernelFeature::SyscallProgram => {
            let flags = libbpf_sys::BPF_F_SLEEPABLE;
            load(libbpf_sys::BPF_PROG_TYPE_SYSCALL, flags, &ZERO).map(drop)
        }
        KernelFeature::AtomicFetch => load(libbpf_sys::BPF_PROG_TYPE_XDP, 0, &FETCH).map(drop),
        KernelFeature::Jiffies => load(libbpf_sys::BPF_PROG_TYPE_XDP, 0, &JIFFIES).map(drop),
        KernelFeature::Jit => jit(),
        KernelFeature::Tcx => tcx(),
        KernelFeature::Clsact => in_a_namespace_of_its_own(clsact)?,
    }
}

/// Index of `lo` in every network namespace (LOOPBACK_IFINDEX).
pub(crate) const LOOPBACK: u32 = 1;

/// Runs `work` on a thread that moves to a network namespace of its own; the namespace ends with
/// the thread.
pub(crate) fn in_a_namespace_of_its_own<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<T> {
    std::thread::scope(|scope| {
        let inside = scope.spawn(|| {
            // SAFETY: affects this thread alone, and takes no pointer.
            if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(work())
        });
        inside
            .join()
            .unwrap_or_else(|panicked| std::panic::resume_unwind(panicked))
    })
}

const fn instruction(code: u8, dst: u8, src: u8, off: i16, imm: i32) -> [u8; 8] {
    // struct bpf_insn: the two registers share a byte, in the order of the machine's bit fields.
    let registers = if cfg!(target_endian = "big") {
        dst << 4 | src
    } else {
        src << 4 | dst
    };
    let (off, imm) = (off.to_ne_bytes(), imm.to_ne_bytes());
    [
        code, registers, off[0], off[1], imm[0], imm[1], imm[2], imm[3],
    ]
}

/// `r0 = 0`
const CLEAR: [u8; 8] = instruction(0xb7, 0, 0, 0, 0);
const EXIT: [u8; 8] = instruction(0x95, 0, 0, 0, 0);
const ZERO: [[u8; 8]; 2] = [CLEAR, EXIT];
/// `call bpf_jiffies64`
const JIFFIES: [[u8; 8]; 3] = [
    instruction(0x85, 0, 0, 0, libbpf_sys::BPF_FUNC_jiffies64 as i32),
    CLEAR,
    EXIT,
];
/// `r2 = 0; r3 = r10 - 32; r4 = sizeof(struct bpf_xfrm_state); r5 = 0; call bpf_skb_get_xfrm_state`
const DECRYPTED: [[u8; 8]; 8] = [
    instruction(0xb7, 2, 0, 0, 0),
    instruction(0xbf, 3, 10, 0, 0),
    instruction(0x07, 3, 0, 0, -32),
    instruction(0xb7, 4, 0, 0, 28),
    instruction(0xb7, 5, 0, 0, 0),
    instruction(
        0x85,
        0,
        0,
        0,
        libbpf_sys::BPF_FUNC_skb_get_xfrm_state as i32,
    ),
    CLEAR,
    EXIT,
];
/// `r1 = 1; *(u64 *)(r10 - 8) = r1; r1 = atomic_fetch_add(r10 - 8, r1)`
const FETCH: [[u8; 8]; 5] = [
    instruction(0xb7, 1, 0, 0, 1),
    instruction(0x7b, 10, 1, -8, 0),
    instruction(0xdb, 10, 1, -8, 1),
    CLEAR,
    EXIT,
];

fn load(kind: bpf_prog_type, flags: u32, code: &[[u8; 8]]) -> io::Result<OwnedFd> {
    let mut options = libbpf_sys::bpf_prog_load_opts {
        sz: size_of::<libbpf_sys::bpf_prog_load_opts>() as libbpf_sys::size_t,
        attempts: 1,
        prog_flags: flags,
        ..Default::default()
    };
    // SAFETY: the strings end with 0, the instruction count is that of the array, and all of it
    // outlives the call. `bpf_insn` needs alignment that an array of bytes lacks, so the
    // instructions are copied.
    let fd = unsafe {
        let code: Vec<bpf_insn> = code
            .iter()
            .map(|octets| std::ptr::read_unaligned(octets.as_ptr().cast()))
            .collect();
        libbpf_sys::bpf_prog_load(
            kind,
            c"weir_probe".as_ptr(),
            c"GPL".as_ptr(),
            code.as_ptr(),
            code.len() as libbpf_sys::size_t,
            &mut options,
        )
    };
    owned(fd)
}

fn map(kind: libbpf_sys::bpf_map_type, flags: u32) -> io::Result<()> {
    let options = libbpf_sys::bpf_map_create_opts {
        sz: size_of::<libbpf_sys::bpf_map_create_opts>() as libbpf_sys::size_t,
        map_flags: flags,
        ..Default::default()
    };
    // SAFETY: name and options outlive the call.
    let fd = unsafe { libbpf_sys::bpf_map_create(kind, c"weir_probe".as_ptr(), 4, 4, 1, &options) };
    owned(fd).map(drop)
}

/// libbpf's low-level calls return the negated error.
fn owned(fd: i32) -> io::Result<OwnedFd> {
    if fd < 0 {
        return Err(io::Error::from_raw_os_error(-fd));
    }
    // SAFETY: a new descriptor without another owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn jit() -> io::Result<()> {
    let program = load(libbpf_sys::BPF_PROG_TYPE_XDP, 0, &ZERO)?;
    match program::info(program.as_fd())?.jited_prog_len {
        0 => Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "programs are interpreted",
        )),
        _ => Ok(()),
    }
}

/// Creates a link to a device that cannot exist: a kernel with TCX reports a missing device, one
/// without rejects the kind of link.
fn tcx() -> io::Result<()> {
    let program = load(libbpf_sys::BPF_PROG_TYPE_SCHED_CLS, 0, &ZERO)?;
    // SAFETY: no options are a valid choice.
    let fd = unsafe {
        libbpf_sys::bpf_link_create(
            program.as_raw_fd(),
            i32::MAX,
            libbpf_sys::BPF_TCX_INGRESS,
            std::ptr::null(),
        )
    };
    match owned(fd) {
        Err(error) if error.raw_os_error() == Some(libc::ENODEV) => Ok(()),
        other => other.map(drop),
    }
}

fn clsact() -> io::Result<()> {
    let program = load(libbpf_sys::BPF_PROG_TYPE_SCHED_CLS, 0, &ZERO)?;
    let mut hook = libbpf_sys::bpf_tc_hook {
        sz: size_of::<libbpf_sys::bpf_tc_hook>() as libbpf_sys::size_t,
        ifindex: LOOPBACK as i32,
        attach_point: libbpf_sys::BPF_TC_INGRESS,
        ..Default::default()
    };
    let mut options = libbpf_sys::bpf_tc_opts {
        sz: size_of::<libbpf_sys::bpf_tc_opts>() as libbpf_sys::size_t,
        prog_fd: program.as_raw_fd(),
        ..Default::default()
    };
    // SAFETY: both structs are owned here, state their size, and outlive the calls.
    let result = unsafe {
        match libbpf_sys::bpf_tc_hook_create(&mut hook) {
            0 => libbpf_sys::bpf_tc_attach(&hook, &mut options),
            failed => failed,
        }
    };
    match result {
        0 => Ok(()),
        failed => Err(io::Error::from_raw_os_error(-failed)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [KernelFeature; 11] = [
        KernelFeature::Bpf,
        KernelFeature::Xdp,
        KernelFeature::AtomicFetch,
        KernelFeature::SyscallProgram,
        KernelFeature::MmapableArray,
        KernelFeature::Devmap,
        KernelFeature::Jiffies,
        KernelFeature::XdpFragments,
        KernelFeature::Jit,
        KernelFeature::Tcx,
        KernelFeature::Clsact,
    ];

    /// The tests' kernels are 6.1 and newer, which have all of it but TCX (6.6).
    #[test]
    fn this_kernel_has_everything() {
        for ability in ALL {
            let expected = ability != KernelFeature::Tcx || kernel::release::is_at_least([6, 6]);
            let found = probe(ability);
            assert_eq!(found.is_ok(), expected, "{ability:?}: {found:?}");
        }
    }

    /// A probe reports a failure: a program that the verifier refuses, a map that cannot exist.
    #[test]
    fn a_refusal_is_seen() {
        let unset = [EXIT];
        let refused = load(libbpf_sys::BPF_PROG_TYPE_XDP, 0, &unset).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(libc::EACCES), "r0 is not set");
        let refused = load(u32::MAX, 0, &ZERO).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(libc::EINVAL));
        let refused = map(libbpf_sys::BPF_MAP_TYPE_DEVMAP, libbpf_sys::BPF_F_MMAPABLE).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(libc::EINVAL));
    }
}
