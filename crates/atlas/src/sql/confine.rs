//! What a worker takes from itself before it reads a query. Each of these would be enough to keep
//! a query from the rest of the machine; a hole in one is no hole in the others.

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

/// The newest version whose rights are known here; the crate leaves out what the kernel lacks.
pub(super) const VERSION: ABI = ABI::V6;

/// Where libraries are.
const LIBRARIES: [&str; 4] = ["/usr/lib", "/lib", "/lib64", "/etc/ld.so.cache"];
/// How many processors there are, and how much memory. DuckDB ends where it may not read the
/// control groups of itself.
const TELLING: [&str; 4] = [
    "/sys/devices/system/cpu",
    "/sys/fs/cgroup",
    "/proc/meminfo",
    "/proc/self",
];

/// Takes from this process, for good, all but memory, time, and what it has open: no file, no
/// socket, no program, no other process, no rights of another user. To be called where there is
/// one thread.
pub(super) fn confine(limits: &Limits) -> Result<(), String> {
    // Its rules are a file that is open for a moment.
    let landlock = without_files().map_err(|error| format!("landlock: {error}"))?;
    bound(limits, 0, limits.addresses())?;
    syscalls::only_what_sqlite_needs(landlock)
}

/// Time, memory, open files, and sizes of files that are written. `open`: numbers that files which
/// are opened from here on may have; `addresses`: octets.
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

/// A bound as the kernel takes it: of 32 bits on some processors, where what is larger is no bound.
fn of_kernel(bound: u64) -> rlim_t {
    rlim_t::try_from(bound).unwrap_or(rlim_t::MAX)
}

/// Ends this process by a signal, whatever it does then.
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

/// Leaves a program, what it is linked with, what tells it of the machine, and a folder: all to be
/// read, and the program alone, with the one that loads it, to be run.
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

/// The programs that load others.
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

    use nix::sys::signal::Signal;

    use super::*;

    /// What this test does in a process of its own, once that is confined.
    const TRY: &str = "WEIR_ATLAS_TRY";

    /// What a child of this process may not change.
    fn file_of(process: u32) -> PathBuf {
        env::temp_dir().join(format!("weir-atlas-confined-{process}"))
    }

    fn attempt(what: &str) -> Output {
        let itself = env::current_exe().expect("a program");
        let mut again = Command::new(itself);
        again.args(["--exact", "--nocapture", "--test-threads=1"]);
        again.arg("sql::confine::tests::a_worker_is_left_memory_time_and_what_it_has_open");
        again.env(TRY, what).output().expect("an end")
    }

    fn try_it(what: &str) {
        let open = file_of(std::os::unix::process::parent_id());
        let mut file = File::options().write(true).open(&open).expect("a file");
        let program = Path::new("/bin/true").canonicalize().expect("a program");
        let limits = Limits {
            seconds: 1,
            ..Limits::STRANGERS
        };
        match what.strip_prefix("other: ") {
            None => confine(&limits).expect("confined"),
            Some(_) => {
                let landlock = with_program(&program, Path::new("/usr/share")).expect("landlock");
                bound(&limits, 100, limits.addresses()).expect("bounds");
                syscalls::only_threads(landlock).expect("a filter");
            }
        }
        let refused = |done: io::Result<()>| match done {
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{error}"),
            Ok(()) => panic!("it could"),
        };
        let run = |program: &Path| Command::new(program).status().map(drop);
        match what.trim_start_matches("other: ") {
            "nothing" => {}
            "memory" => assert_eq!(vec![1_u8; 64 << 20].len(), 64 << 20),
            "much memory" => assert_eq!(vec![1_u8; 1 << 30].len(), 1 << 30),
            "spin" => {
                end_after(Duration::from_secs(1));
                loop {
                    std::hint::spin_loop();
                }
            }
            "read" => refused(fs::read("/etc/passwd").map(drop)),
            "make" => refused(File::create(env::temp_dir().join("weir-atlas-made")).map(drop)),
            "remove" => refused(fs::remove_file(&open)),
            "write" => {
                let written = file.write_all(b"x").and_then(|()| file.sync_all());
                panic!("written: {written:?}");
            }
            "socket" => refused(TcpListener::bind("127.0.0.1:0").map(drop)),
            "run" => refused(run(&program)),
            "run another" => refused(run(Path::new("/bin/sh"))),
            "become another" => refused(Err(Command::new("/bin/sh").arg("-c").exec())),
            "thread" => {
                let thread = std::thread::Builder::new().spawn(|| 7).expect("a thread");
                assert_eq!(thread.join().expect("its end"), 7);
            }
            "kill" => {
                let myself = nix::unistd::getpid();
                let killed = nix::sys::signal::kill(myself, None);
                refused(killed.map_err(io::Error::from));
            }
            other => panic!("what is {other}?"),
        }
        println!("as it should be");
    }

    /// A filter of the kernel's calls ends the process, and bounds are of all its threads.
    #[test]
    fn a_worker_is_left_memory_time_and_what_it_has_open() {
        if let Ok(what) = env::var(TRY) {
            return try_it(&what);
        }
        let open = file_of(std::process::id());
        fs::write(&open, "kept").expect("a file");
        let right = |what: &str| {
            let output = attempt(what);
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(said.contains("as it should be"), "{what}: {said} {errors}");
        };
        let ended = |what: &str, by: Signal| {
            let output = attempt(what);
            assert_eq!(
                output.status.signal(),
                Some(by as i32),
                "{what}: {output:?}"
            );
        };
        for what in [
            "nothing",
            "memory",
            "read",
            "other: memory",
            "other: thread",
        ] {
            right(what);
        }
        for what in [
            "make",
            "remove",
            "socket",
            "read",
            "run",
            "run another",
            "kill",
        ] {
            right(&format!("other: {what}"));
        }
        right("other: become another");
        right("make");
        for what in [
            "remove",
            "socket",
            "run",
            "become another",
            "thread",
            "kill",
        ] {
            ended(what, Signal::SIGSYS);
        }
        for what in ["much memory", "other: much memory"] {
            ended(what, Signal::SIGABRT);
        }
        for what in ["write", "other: write"] {
            ended(what, Signal::SIGXFSZ);
        }
        ended("spin", Signal::SIGALRM);
        assert_eq!(fs::read_to_string(&open).expect("still there"), "kept");
        fs::remove_file(&open).expect("removed");
    }
}
