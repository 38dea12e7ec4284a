//! Confines a worker before it reads a query. Each layer alone would isolate a query from the
//! machine; a hole in one leaves the others intact.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use landlock::{
    ABI, Access, AccessFs, AccessNet, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetStatus,
    Scope, path_beneath_rules,
};
use nix::sys::prctl;
use nix::sys::resource::{Resource, rlim_t, setrlimit};

use super::limits::Limits;
use super::syscalls;

/// Newest known version of landlock's rights; the crate omits those that the kernel lacks.
pub(super) const VERSION: ABI = ABI::V6;

/// Folders of libraries.
const LIBRARIES: [&str; 4] = ["/usr/lib", "/lib", "/lib64", "/etc/ld.so.cache"];
/// Files with the number of processors and the memory. DuckDB ends if its own control groups are
/// unreadable.
const TELLING: [&str; 4] = [
    "/sys/devices/system/cpu",
    "/sys/fs/cgroup",
    "/proc/meminfo",
    "/proc/self",
];

/// Drops all rights of this process, for good, except memory, time, and open files: no new file, no
/// socket, no program, no other process, no other user. Requires a single thread.
pub(super) fn confine(limits: &Limits) -> Result<(), String> {
    // Landlock's ruleset is a file that is open for a moment.
    let landlock = without_files().map_err(|error| format!("landlock: {error}"))?;
    bound(limits, 0, limits.addresses())?;
    syscalls::only_what_sqlite_needs(landlock)
}

/// Limits time, memory, open files, and sizes of written files. `open`: numbers of files opened
/// from here on; `addresses`: bytes.
pub(super) fn bound(limits: &Limits, open: u64, addresses: u64) -> Result<(), String> {
    let seconds = u64::from(limits.seconds) + 1;
    for (resource, soft, hard) in [
        (Resource::RLIMIT_CORE, 0, 0),
        (Resource::RLIMIT_FSIZE, 0, 0),
        (Resource::RLIMIT_NOFILE, open, open),
        (Resource::RLIMIT_AS, addresses, addresses),
        (Resource::RLIMIT_CPU, seconds, seconds + 1),
    ] {
        setrlimit(resource, of_kernel(soft), of_kernel(hard))
            .map_err(|error| format!("{resource:?}: {error}"))?;
    }
    // No debugger, no file in /proc that another process of the same user could read.
    prctl::set_dumpable(false).map_err(|error| format!("dumpable: {error}"))?;
    prctl::set_no_new_privs().map_err(|error| format!("no new privileges: {error}"))
}

/// Converts a limit for the kernel, with 32 bits on some processors, where larger means none.
fn of_kernel(bound: u64) -> rlim_t {
    rlim_t::try_from(bound).unwrap_or(rlim_t::MAX)
}

/// Kills this process by a signal after a time, whatever it does then.
pub(super) fn end_after(time: Duration) {
    nix::unistd::alarm::set(time.as_secs().clamp(1, 3600) as u32);
}

fn without_files() -> Result<RulesetStatus, landlock::RulesetError> {
    let status = Ruleset::default()
        .handle_access(AccessFs::from_all(VERSION))?
        .handle_access(AccessNet::from_all(VERSION))?
        .scope(Scope::from_all(VERSION))?
        .create()?
        .restrict_self()?;
    Ok(status.ruleset)
}

/// Allows a program, its libraries, the machine's description and a folder: all for reading, and
/// the program with its loader for execution.
pub(super) fn with_program(
    program: &Path,
    folder: &Path,
) -> Result<RulesetStatus, landlock::RulesetError> {
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let run = AccessFs::ReadFile | AccessFs::Execute;
    let status = Ruleset::default()
        .handle_access(AccessFs::from_all(VERSION))?
        .handle_access(AccessNet::from_all(VERSION))?
        .scope(Scope::from_all(VERSION))?
        .create()?
        .add_rules(path_beneath_rules(LIBRARIES, read))?
        .add_rules(path_beneath_rules([folder], read))?
        .add_rules(path_beneath_rules(TELLING, AccessFs::ReadFile))?
        .add_rules(path_beneath_rules(loaders(), run))?
        .add_rules(path_beneath_rules([program], run))?
        .restrict_self()?;
    Ok(status.ruleset)
}

/// Returns the dynamic loaders.
fn loaders() -> Vec<PathBuf> {
    let folders = ["/lib", "/lib64"]
        .into_iter()
        .filter_map(|folder| fs::read_dir(folder).ok());
    folders
        .flatten()
        .flatten()
        .filter(|entry| entry.file_name().as_encoded_bytes().starts_with(b"ld-"))
        .map(|entry| entry.path())
        .collect()
}

#[cfg(test)]
mod tests {
    use std::env;
    use std::fs::File;
    use std::io::{self, Write};
    use std::net::TcpListener;
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    use std::process::{Command, Output};

    use nix::libc;
    use nix::sys::resource::getrlimit;
    use nix::sys::signal::Signal;

    use super::*;

    /// Environment variable with the action to try in a confined child process.
    const TRY: &str = "WEIR_ATLAS_TRY";

    /// True if there are filters of system calls for this processor.
    const FILTERED: bool = cfg!(any(
        target_arch = "x86_64",
        target_arch = "aarch64",
        target_arch = "riscv64"
    ));

    /// Returns true for this kernel or a newer one: landlock has TCP from 6.7, signals from 6.12.
    fn since(major: u32, minor: u32) -> bool {
        let release = fs::read_to_string("/proc/sys/kernel/osrelease").expect("a kernel");
        let mut parts = release
            .split(['.', '-'])
            .map(|part| part.parse().expect("a number"));
        (parts.next(), parts.next()) >= (Some(major), Some(minor))
    }

    /// Returns a file that a child of this process must not change.
    fn file_of(process: u32) -> PathBuf {
        env::temp_dir().join(format!("weir-atlas-confined-{process}"))
    }

    /// Returns a folder that another engine may read, with a program in it.
    fn folder_of(process: u32) -> PathBuf {
        file_of(process).with_extension("folder")
    }

    fn attempt(what: &str) -> Output {
        let itself = env::current_exe().expect("a program");
        let mut again = Command::new(itself);
        again.args(["--exact", "--nocapture", "--test-threads=1"]);
        again.arg("sql::confine::tests::a_worker_is_left_memory_time_and_what_it_has_open");
        again.env(TRY, what).output().expect("an end")
    }

    fn right(what: &str) {
        let output = attempt(what);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("as it should be"), "{what}: {said} {errors}");
    }

    fn ended(what: &str, by: Signal) {
        let output = attempt(what);
        assert_eq!(
            output.status.signal(),
            Some(by as i32),
            "{what}: {output:?}"
        );
    }

    /// Drops the rights that `layers` names.
    fn lose(layers: &str, limits: &Limits, program: &Path, folder: &Path) {
        let filtered = |done: Result<(), String>| done.expect("a filter");
        let enforced = RulesetStatus::FullyEnforced;
        match layers {
            "" => confine(limits).expect("confined"),
            "other" => {
                let landlock = with_program(program, folder).expect("landlock");
                bound(limits, 100, limits.addresses()).expect("bounds");
                filtered(syscalls::only_threads(landlock));
            }
            "landlock" => drop(without_files().expect("landlock")),
            "landlock of other" => drop(with_program(program, folder).expect("landlock")),
            "filter" => filtered(syscalls::only_what_sqlite_needs(RulesetStatus::NotEnforced)),
            "filter of other" => filtered(syscalls::only_threads(enforced)),
            "bounds" => bound(limits, 0, limits.addresses()).expect("bounds"),
            unknown => panic!("what is {unknown}?"),
        }
    }

    fn refused(done: io::Result<()>) {
        match done {
            // Without a filter, the limit of open files may be reached first.
            Err(error) if !FILTERED && error.raw_os_error() == Some(libc::EMFILE) => {}
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{error}"),
            Ok(()) => panic!("it could"),
        }
    }

    fn bounds_are_set(limits: &Limits) {
        for (resource, soft, hard) in [
            (Resource::RLIMIT_CORE, 0, 0),
            (Resource::RLIMIT_FSIZE, 0, 0),
            (Resource::RLIMIT_NOFILE, 0, 0),
            (Resource::RLIMIT_AS, limits.addresses(), limits.addresses()),
            (Resource::RLIMIT_CPU, 2, 3),
        ] {
            let set = getrlimit(resource).expect("a bound");
            assert_eq!(set, (of_kernel(soft), of_kernel(hard)), "{resource:?}");
        }
        assert!(!prctl::get_dumpable().expect("told"));
        assert!(prctl::get_no_new_privs().expect("told"));
    }

    fn try_it(what: &str) {
        let parent = std::os::unix::process::parent_id();
        let (open, folder) = (file_of(parent), folder_of(parent));
        let mut file = File::options().write(true).open(&open).expect("a file");
        let program = Path::new("/bin/true").canonicalize().expect("a program");
        let limits = Limits {
            seconds: 1,
            ..Limits::STRANGERS
        };
        let (layers, what) = what.split_once(": ").unwrap_or(("", what));
        lose(layers, &limits, &program, &folder);
        let run = |program: &Path| Command::new(program).status().map(drop);
        match what {
            "nothing" => {}
            "memory" => assert_eq!(vec![1_u8; 64 << 20].len(), 64 << 20),
            "much memory" => assert_eq!(vec![1_u8; 1 << 30].len(), 1 << 30),
            "spin" => {
                end_after(Duration::from_secs(1));
                loop {
                    std::hint::spin_loop();
                }
            }
            "ask for bounds" => bounds_are_set(&limits),
            "open" => {
                let error = File::open("/dev/null").expect_err("one more");
                assert_eq!(error.raw_os_error(), Some(libc::EMFILE));
            }
            "read" => refused(fs::read("/etc/passwd").map(drop)),
            "read what it is given" => drop(fs::read(folder.join("true")).expect("read")),
            "make" => refused(File::create(env::temp_dir().join("weir-atlas-made")).map(drop)),
            "make where it reads" => refused(File::create(folder.join("made")).map(drop)),
            "remove" => refused(fs::remove_file(&open)),
            "write" => {
                let written = file.write_all(b"x").and_then(|()| file.sync_all());
                panic!("written: {written:?}");
            }
            "socket" => refused(TcpListener::bind("127.0.0.1:0").map(drop)),
            "run" => refused(run(&program)),
            "run itself" => run(&program).expect("run"),
            "run another" => refused(run(Path::new("/bin/sh"))),
            "run what it reads" => refused(run(&folder.join("true"))),
            "become another" => refused(Err(Command::new("/bin/sh").arg("-c").exec())),
            "thread" => {
                let thread = std::thread::Builder::new().spawn(|| 7).expect("a thread");
                assert_eq!(thread.join().expect("its end"), 7);
            }
            "kill" => {
                let other = nix::unistd::Pid::from_raw(parent as i32);
                let killed = nix::sys::signal::kill(other, None);
                refused(killed.map_err(io::Error::from));
            }
            other => panic!("what is {other}?"),
        }
        println!("as it should be");
    }

    /// Each layer refuses its actions, together with the others and alone.
    #[test]
    fn a_worker_is_left_memory_time_and_what_it_has_open() {
        if let Ok(what) = env::var(TRY) {
            return try_it(&what);
        }
        let (open, folder) = (file_of(std::process::id()), folder_of(std::process::id()));
        fs::write(&open, "kept").expect("a file");
        fs::create_dir_all(&folder).expect("a folder");
        fs::copy("/bin/true", folder.join("true")).expect("a program");
        all_layers();
        landlock_alone();
        for what in ["ask for bounds", "open", "memory"] {
            right(&format!("bounds: {what}"));
        }
        if FILTERED {
            filters_alone();
        }
        assert_eq!(fs::read_to_string(&open).expect("still there"), "kept");
        fs::remove_file(&open).expect("removed");
        fs::remove_dir_all(&folder).expect("removed");
    }

    fn all_layers() {
        for what in ["nothing", "memory", "read", "make"] {
            right(what);
        }
        for what in [
            "memory",
            "thread",
            "make",
            "remove",
            "read",
            "read what it is given",
            "run another",
            "become another",
        ] {
            right(&format!("other: {what}"));
        }
        for (what, new) in [("socket", since(6, 7)), ("kill", since(6, 12))] {
            if FILTERED || new {
                right(&format!("other: {what}"));
            }
        }
        if FILTERED {
            right("other: run");
        }
        for what in ["remove", "socket", "run", "become another"] {
            match FILTERED {
                true => ended(what, Signal::SIGSYS),
                false => right(what),
            }
        }
        match FILTERED {
            true => ["thread", "kill"].map(|what| ended(what, Signal::SIGSYS)),
            false => ["thread", "kill"].map(|what| {
                if what != "kill" || since(6, 12) {
                    right(what);
                }
            }),
        };
        for what in ["much memory", "other: much memory"] {
            ended(what, Signal::SIGABRT);
        }
        for what in ["write", "other: write"] {
            ended(what, Signal::SIGXFSZ);
        }
        ended("spin", Signal::SIGALRM);
    }

    fn landlock_alone() {
        for layer in ["landlock", "landlock of other"] {
            for what in ["read", "make", "remove", "run another", "become another"] {
                right(&format!("{layer}: {what}"));
            }
            for (what, new) in [("socket", since(6, 7)), ("kill", since(6, 12))] {
                if new {
                    right(&format!("{layer}: {what}"));
                }
            }
        }
        for what in [
            "run itself",
            "read what it is given",
            "make where it reads",
            "run what it reads",
        ] {
            right(&format!("landlock of other: {what}"));
        }
    }

    fn filters_alone() {
        for what in ["read", "make"] {
            right(&format!("filter: {what}"));
        }
        for what in ["remove", "socket", "run", "thread", "kill"] {
            ended(&format!("filter: {what}"), Signal::SIGSYS);
        }
        for what in ["socket", "run", "kill", "thread"] {
            right(&format!("filter of other: {what}"));
        }
    }
}
