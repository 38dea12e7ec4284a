//! System calls that a worker may use: seccomp.

pub(super) use filter::{only_threads, only_what_sqlite_needs};

/// Without a filter for this processor, landlock must be available.
#[cfg(not(any(
    target_arch = "x86_64",
    target_arch = "aarch64",
    target_arch = "riscv64"
)))]
mod filter {
    use landlock::RulesetStatus;

    pub(in crate::sql) fn only_what_sqlite_needs(landlock: RulesetStatus) -> Result<(), String> {
        needs(landlock)
    }

    pub(in crate::sql) fn only_threads(landlock: RulesetStatus) -> Result<(), String> {
        needs(landlock)
    }

    fn needs(landlock: RulesetStatus) -> Result<(), String> {
        match landlock {
            RulesetStatus::NotEnforced => Err(
                "on this processor queries need a kernel with landlock: Linux 5.13 or newer".into(),
            ),
            _ => Ok(()),
        }
    }
}

#[cfg(any(
    target_arch = "x86_64",
    target_arch = "aarch64",
    target_arch = "riscv64"
))]
mod filter {
    use std::collections::BTreeMap;

    use landlock::RulesetStatus;
    use nix::libc;
    use seccompiler::{
        BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
        SeccompRule,
    };

    /// Bit of the calls in the x32 ABI of x86-64.
    #[cfg(target_arch = "x86_64")]
    const X32: i64 = 0x4000_0000;

    type Rules = BTreeMap<i64, Vec<SeccompRule>>;
    type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

    /// Calls of SQLite, the allocator and the exit of a process. Any other call kills the process.
    const NEEDED: &[i64] = &[
        libc::SYS_read,
        libc::SYS_pread64,
        libc::SYS_write,
        libc::SYS_writev,
        libc::SYS_lseek,
        libc::SYS_close,
        libc::SYS_fstat,
        libc::SYS_munmap,
        libc::SYS_mremap,
        libc::SYS_madvise,
        libc::SYS_brk,
        libc::SYS_futex,
        libc::SYS_rt_sigaction,
        libc::SYS_rt_sigprocmask,
        libc::SYS_rt_sigreturn,
        libc::SYS_sigaltstack,
        libc::SYS_restart_syscall,
        libc::SYS_getpid,
        libc::SYS_gettid,
        libc::SYS_tgkill,
        libc::SYS_getrandom,
        libc::SYS_clock_gettime,
        libc::SYS_setitimer,
        libc::SYS_sched_yield,
        libc::SYS_exit,
        libc::SYS_exit_group,
    ];

    /// Calls that open files by name, which fail: `localtime` reads the time zone.
    const REFUSED: &[i64] = &[
        libc::SYS_openat,
        libc::SYS_readlinkat,
        libc::SYS_faccessat,
        libc::SYS_statx,
        libc::SYS_getcwd,
        libc::SYS_fcntl,
        libc::SYS_ioctl,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_open,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_stat,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_lstat,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_access,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_readlink,
    ];

    /// Calls that an external engine never needs.
    const NEVER: &[i64] = &[
        libc::SYS_socket,
        libc::SYS_socketpair,
        libc::SYS_connect,
        libc::SYS_bind,
        libc::SYS_listen,
        libc::SYS_unshare,
        libc::SYS_setns,
        libc::SYS_kill,
        libc::SYS_tkill,
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
        libc::SYS_shmget,
        libc::SYS_msgget,
        libc::SYS_semget,
        libc::SYS_mq_open,
        libc::SYS_inotify_init1,
        libc::SYS_setpriority,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_fork,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_vfork,
    ];

    /// Allows the calls of SQLite; a kernel may then lack landlock.
    pub(in crate::sql) fn only_what_sqlite_needs(
        _landlock: RulesetStatus,
    ) -> std::result::Result<(), String> {
        let apply = || -> Result<()> {
            // The refusing filter comes first, as the other one permits no further filter.
            apply(refusing()?)?;
            apply(ending()?)
        };
        apply().map_err(|error| format!("cannot filter system calls: {error}"))
    }

    /// Refuses the calls that an external engine does not need for reading files in threads and
    /// writing an answer.
    pub(in crate::sql) fn only_threads(landlock: RulesetStatus) -> std::result::Result<(), String> {
        if landlock == RulesetStatus::NotEnforced {
            return Err("this engine needs a kernel with landlock: Linux 5.13 or newer".into());
        }
        let refuse = || threads()?.into_iter().try_for_each(apply);
        refuse().map_err(|error| format!("cannot filter system calls: {error}"))
    }

    fn threads() -> Result<[BpfProgram; 2]> {
        // A filter cannot inspect the arguments of `clone3`: after ENOSYS, callers use `clone`.
        let unknown = SeccompAction::Errno(libc::ENOSYS as u32);
        let first = program(always(&[libc::SYS_clone3]), SeccompAction::Allow, unknown)?;
        let mut rules = always(NEVER);
        rules.insert(libc::SYS_clone, vec![masked(0, libc::CLONE_THREAD as u64)?]);
        #[cfg(target_arch = "x86_64")]
        {
            // Repeats the rules for the x32 ABI, where the kernel has it.
            let others = rules.iter().map(|(call, rule)| (call | X32, rule.clone()));
            rules.extend(others.collect::<Vec<_>>());
            rules.insert(libc::SYS_clone3 | X32, Vec::new());
        }
        let errno = SeccompAction::Errno(libc::EPERM as u32);
        Ok([first, program(rules, SeccompAction::Allow, errno)?])
    }

    fn refusing() -> Result<BpfProgram> {
        let mut rules = always(REFUSED);
        // Queries of open files are allowed: some C libraries implement `fstat` by them.
        let by_path = masked(3, libc::AT_EMPTY_PATH as u64)?;
        rules.insert(libc::SYS_newfstatat, vec![by_path]);
        let errno = SeccompAction::Errno(libc::EACCES as u32);
        program(rules, SeccompAction::Allow, errno)
    }

    fn ending() -> Result<BpfProgram> {
        let mut rules = always(NEEDED);
        rules.extend(always(REFUSED));
        rules.insert(libc::SYS_newfstatat, Vec::new());
        #[cfg(target_arch = "x86_64")]
        rules.insert(libc::SYS_alarm, Vec::new());
        // Memory, but none that could be run.
        let data = masked(2, libc::PROT_EXEC as u64)?;
        rules.insert(libc::SYS_mmap, vec![data.clone()]);
        rules.insert(libc::SYS_mprotect, vec![data]);
        program(rules, SeccompAction::KillProcess, SeccompAction::Allow)
    }

    fn always(calls: &[i64]) -> Rules {
        calls.iter().map(|call| (*call, Vec::new())).collect()
    }

    /// Requires that no bit of `bits` is set in an argument.
    fn masked(argument: u8, bits: u64) -> Result<SeccompRule> {
        let (length, compare) = (SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(bits));
        let condition = SeccompCondition::new(argument, length, compare, 0)?;
        Ok(SeccompRule::new(vec![condition])?)
    }

    fn program(rules: Rules, other: SeccompAction, these: SeccompAction) -> Result<BpfProgram> {
        let filter = SeccompFilter::new(rules, other, these, std::env::consts::ARCH.try_into()?)?;
        Ok(filter.try_into()?)
    }

    fn apply(program: BpfProgram) -> Result<()> {
        Ok(seccompiler::apply_filter(&program)?)
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        const ALLOWED: u32 = 0x7fff_0000;
        const ENDED: u32 = 0x8000_0000;

        /// Runs a program on a call with these arguments, as the kernel does (linux/filter.h), and
        /// returns its verdict. Covers the instructions that the crate emits.
        fn run(program: &BpfProgram, call: i64, arguments: &[(usize, u64)]) -> u32 {
            let arch = match std::env::consts::ARCH {
                "x86_64" => 0xc000_003e,
                "aarch64" => 0xc000_00b7,
                _ => 0xc000_00f3,
            };
            let mut data = [0_u32; 16];
            (data[0], data[1]) = (call as u32, arch);
            for (at, value) in arguments {
                data[4 + at * 2] = *value as u32;
                data[5 + at * 2] = (*value >> 32) as u32;
            }
            let (mut at, mut value) = (0, 0);
            loop {
                let step = &program[at];
                at += 1;
                let mut jump = |yes: bool| at += usize::from(if yes { step.jt } else { step.jf });
                match step.code {
                    0x20 => value = data[step.k as usize / 4],
                    0x54 => value &= step.k,
                    0x05 => at += step.k as usize,
                    0x15 => jump(value == step.k),
                    0x25 => jump(value > step.k),
                    0x35 => jump(value >= step.k),
                    0x06 => return step.k,
                    other => panic!("{other:#x}"),
                }
            }
        }

        /// Returns the strictest verdict of all filters.
        fn all(programs: &[BpfProgram], call: i64, arguments: &[(usize, u64)]) -> u32 {
            let answers = programs.iter().map(|one| run(one, call, arguments));
            let rank = |answer: &u32| (*answer != ENDED, *answer >= ALLOWED);
            answers.min_by_key(rank).expect("a program")
        }

        fn refusal(errno: i32) -> u32 {
            0x0005_0000 | errno as u32
        }

        #[test]
        fn sqlite_is_left_what_it_needs() {
            let programs = [refusing().unwrap(), ending().unwrap()];
            let answer = |call, arguments: &[(usize, u64)]| all(&programs, call, arguments);
            let allowed = (0..1024).filter(|call| answer(*call, &[]) == ALLOWED);
            let mut known: Vec<i64> = NEEDED.to_vec();
            known.extend([libc::SYS_newfstatat, libc::SYS_mmap, libc::SYS_mprotect]);
            #[cfg(target_arch = "x86_64")]
            known.push(libc::SYS_alarm);
            // Without `AT_EMPTY_PATH` the call resolves a file name.
            known.retain(|call| *call != libc::SYS_newfstatat);
            known.sort_unstable();
            assert_eq!(allowed.collect::<Vec<_>>(), known);
            assert_eq!(
                NEEDED.len(),
                26,
                "docs/reference/atlas-sql.md says how many"
            );
            let nothing = [libc::SYS_socket, libc::SYS_clone, libc::SYS_execve];
            for call in nothing
                .into_iter()
                .chain([libc::SYS_kill, libc::SYS_ptrace])
            {
                assert_eq!(answer(call, &[]), ENDED, "{call}");
            }
            let refused = refusal(libc::EACCES);
            assert_eq!(answer(libc::SYS_openat, &[]), refused);
            let empty = (3, libc::AT_EMPTY_PATH as u64);
            assert_eq!(answer(libc::SYS_newfstatat, &[]), refused);
            assert_eq!(answer(libc::SYS_newfstatat, &[empty]), ALLOWED);
            let bits = |bits: i32| [(2, bits as u64)];
            let data = libc::PROT_READ | libc::PROT_WRITE;
            for call in [libc::SYS_mmap, libc::SYS_mprotect] {
                assert_eq!(answer(call, &bits(data)), ALLOWED);
                assert_eq!(answer(call, &bits(data | libc::PROT_EXEC)), ENDED);
            }
        }

        #[test]
        fn a_program_of_others_has_threads_and_no_process() {
            let programs = threads().unwrap();
            let answer = |call, flags: i32| all(&programs, call, &[(0, flags as u64)]);
            let refused = refusal(libc::EPERM);
            for call in [
                libc::SYS_socket,
                libc::SYS_connect,
                libc::SYS_kill,
                libc::SYS_tkill,
                libc::SYS_ptrace,
                libc::SYS_process_vm_writev,
                libc::SYS_io_uring_setup,
                libc::SYS_bpf,
                libc::SYS_unshare,
                libc::SYS_mount,
                libc::SYS_memfd_create,
                libc::SYS_ftruncate,
            ] {
                assert_eq!(answer(call, 0), refused, "{call}");
                #[cfg(target_arch = "x86_64")]
                assert_eq!(answer(call | X32, 0), refused, "{call}");
            }
            for call in [libc::SYS_read, libc::SYS_openat, libc::SYS_execve] {
                assert_eq!(answer(call, 0), ALLOWED, "{call}");
            }
            let thread = libc::CLONE_THREAD | libc::CLONE_VM;
            assert_eq!(answer(libc::SYS_clone, thread), ALLOWED);
            assert_eq!(answer(libc::SYS_clone, libc::CLONE_VM), refused);
            assert_eq!(answer(libc::SYS_clone3, 0), refusal(libc::ENOSYS));
            #[cfg(target_arch = "x86_64")]
            assert_eq!(answer(libc::SYS_clone3 | X32, 0), refused);
        }

        #[test]
        fn a_program_of_others_needs_landlock() {
            let told = only_threads(RulesetStatus::NotEnforced).unwrap_err();
            assert!(told.contains("Linux 5.13 or newer"), "{told}");
        }
    }
}
