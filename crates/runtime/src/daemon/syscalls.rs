//! Restricts the system calls of a process that untrusted clients connect to: seccomp. Landlock
//! covers neither MPTCP, nor listening without bind, nor user namespaces, in which any process has
//! every capability over the kernel's own code.

use tracing::{debug, warn};

/// Refuses, for this thread and all it starts, what a server has no use for that has its sockets
/// already: other sockets of the network, other programs and processes, their limits, priorities
/// and signals, namespaces, keys, and what reaches into the kernel. A failure is logged and not
/// fatal.
#[cfg(any(
    target_arch = "x86_64",
    target_arch = "aarch64",
    target_arch = "riscv64"
))]
pub fn refuse() {
    match filter().and_then(|program| Ok(seccompiler::apply_filter(&program)?)) {
        Ok(()) => debug!("system calls are filtered"),
        Err(error) => warn!(%error, "cannot filter system calls"),
    }
}

/// Filters are written for other processors only.
#[cfg(not(any(
    target_arch = "x86_64",
    target_arch = "aarch64",
    target_arch = "riscv64"
)))]
pub fn refuse() {
    let _: fn() = || warn!("never");
    debug!("system calls are not filtered on this processor");
}

#[cfg(any(
    target_arch = "x86_64",
    target_arch = "aarch64",
    target_arch = "riscv64"
))]
fn filter() -> Result<seccompiler::BpfProgram, Box<dyn std::error::Error>> {
    use nix::libc;
    use seccompiler::{
        SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    };
    use std::collections::BTreeMap;

    let always = [
        libc::SYS_socket,
        libc::SYS_connect,
        libc::SYS_bind,
        libc::SYS_listen,
        libc::SYS_clone,
        libc::SYS_clone3,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_fork,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_vfork,
        libc::SYS_execve,
        libc::SYS_execveat,
        libc::SYS_unshare,
        libc::SYS_setns,
        libc::SYS_kill,
        libc::SYS_tkill,
        libc::SYS_tgkill,
        libc::SYS_rt_sigqueueinfo,
        libc::SYS_rt_tgsigqueueinfo,
        // Limits and priorities, of other processes of the same user too.
        libc::SYS_prlimit64,
        #[cfg(not(target_arch = "riscv64"))]
        libc::SYS_setrlimit,
        libc::SYS_setpriority,
        libc::SYS_ioprio_set,
        libc::SYS_sched_setscheduler,
        libc::SYS_sched_setparam,
        libc::SYS_sched_setattr,
        libc::SYS_sched_setaffinity,
        libc::SYS_migrate_pages,
        libc::SYS_move_pages,
        libc::SYS_process_madvise,
        libc::SYS_process_mrelease,
        libc::SYS_kcmp,
        libc::SYS_pidfd_open,
        libc::SYS_pidfd_getfd,
        libc::SYS_pidfd_send_signal,
        libc::SYS_ptrace,
        libc::SYS_process_vm_readv,
        libc::SYS_process_vm_writev,
        libc::SYS_io_uring_setup,
        libc::SYS_io_uring_enter,
        libc::SYS_io_uring_register,
        libc::SYS_add_key,
        libc::SYS_request_key,
        libc::SYS_keyctl,
        libc::SYS_bpf,
        libc::SYS_perf_event_open,
        libc::SYS_userfaultfd,
        libc::SYS_mount,
        libc::SYS_umount2,
        libc::SYS_pivot_root,
        libc::SYS_chroot,
        libc::SYS_fsopen,
        libc::SYS_open_tree,
        libc::SYS_move_mount,
        libc::SYS_memfd_create,
        libc::SYS_truncate,
        libc::SYS_ftruncate,
        libc::SYS_fallocate,
        // The log may be a file: it can be added to, not written over.
        libc::SYS_lseek,
        libc::SYS_pwrite64,
        libc::SYS_pwritev,
        libc::SYS_pwritev2,
        libc::SYS_shmget,
        libc::SYS_msgget,
        libc::SYS_semget,
        libc::SYS_mq_open,
        libc::SYS_inotify_init1,
    ];
    let argument_is = |index, value: u64| {
        let condition =
            SeccompCondition::new(index, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)?;
        SeccompRule::new(vec![condition])
    };
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        always.iter().map(|call| (*call, Vec::new())).collect();
    // Input that a program types into a terminal: TIOCSTI and TIOCLINUX (asm-generic/ioctls.h).
    let typed = [0x5412, 0x541c];
    let typed: Result<_, _> = typed
        .map(|request| argument_is(1, request))
        .into_iter()
        .collect();
    rules.insert(libc::SYS_ioctl, typed?);
    // The process must end with weir in any case.
    let parent = argument_is(0, libc::PR_SET_PDEATHSIG as u64)?;
    rules.insert(libc::SYS_prctl, vec![parent]);
    // Block the x32 numbers of these calls as well, if the kernel has x32.
    #[cfg(target_arch = "x86_64")]
    {
        const X32: i64 = 0x4000_0000;
        let others: Vec<_> = rules
            .iter()
            .map(|(call, rule)| (call | X32, rule.clone()))
            .collect();
        rules.extend(others);
    }
    let filter = SeccompFilter::new(
        rules,
        SeccompAction::Allow,
        SeccompAction::Errno(libc::EPERM as u32),
        std::env::consts::ARCH.try_into()?,
    )?;
    Ok(filter.try_into()?)
}

#[cfg(all(
    test,
    any(
        target_arch = "x86_64",
        target_arch = "aarch64",
        target_arch = "riscv64"
    )
))]
mod tests {
    use std::net::TcpStream;
    use std::os::unix::net::UnixStream;
    use std::process::Command;
    use std::thread;

    use nix::errno::Errno;
    use nix::sched::{CloneFlags, unshare};
    use nix::sched::{CpuSet, sched_setaffinity};
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    use nix::sys::signal::{Signal, kill, raise};
    use nix::sys::socket::{
        AddressFamily, Backlog, SockFlag, SockProtocol, SockType, listen, socket,
    };
    use nix::unistd::{getpid, pipe, read, write};

    /// Filters belong to the thread, so that one of its own can have one.
    #[test]
    fn a_server_that_has_its_sockets_gets_no_more() {
        let tcp = |protocol| {
            let kind = (AddressFamily::Inet, SockType::Stream, SockFlag::empty());
            socket(kind.0, kind.1, kind.2, protocol)
        };
        let own = tcp(SockProtocol::Tcp).expect("a socket");
        let limits = getrlimit(Resource::RLIMIT_NOFILE).expect("limits");
        thread::spawn(move || {
            super::refuse();
            let refused = Errno::EPERM;
            assert_eq!(tcp(SockProtocol::Tcp).err(), Some(refused));
            assert_eq!(listen(&own, Backlog::MAXCONN).err(), Some(refused));
            let sides = (TcpStream::connect("127.0.0.1:9"), UnixStream::connect("/"));
            for error in [sides.0.err(), sides.1.err()] {
                assert_eq!(error.and_then(|e| e.raw_os_error()), Some(refused as i32));
            }
            assert_eq!(unshare(CloneFlags::CLONE_NEWUSER).err(), Some(refused));
            assert!(Command::new("/bin/true").status().is_err());
            assert!(thread::Builder::new().spawn(|| ()).is_err());
            assert_eq!(kill(getpid(), None::<Signal>).err(), Some(refused));
            assert_eq!(nix::sys::prctl::set_pdeathsig(None).err(), Some(refused));
            // Limits, priorities and signals, of others of the same user too.
            let limit = setrlimit(Resource::RLIMIT_NOFILE, limits.0, limits.1);
            assert_eq!(limit.err(), Some(refused));
            assert_eq!(raise(Signal::SIGCONT).err(), Some(refused));
            let processors = sched_setaffinity(getpid(), &CpuSet::new());
            assert_eq!(processors.err(), Some(refused));
            // Calls that a server needs stay allowed.
            let pair = UnixStream::pair().expect("two sockets");
            pair.0.set_nonblocking(true).expect("an ioctl");
            let (from, to) = pipe().expect("a pipe");
            assert_eq!(write(&to, b"x"), Ok(1));
            assert_eq!(read(&from, &mut [0]), Ok(1));
        })
        .join()
        .expect("as it should be");
    }
}
