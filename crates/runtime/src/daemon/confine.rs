//! Landlock (Linux ≥ 5.13): from set-up on, the daemon and the `nft` it starts reach only the files
//! that they need. Older Landlock versions confine less; older kernels confine nothing.

use std::collections::BTreeSet;
use std::env;
use std::path::{Component, Path, PathBuf};

use answers::ConfigEntry;
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetError, RulesetStatus, Scope, path_beneath_rules,
};
use tracing::{debug, warn};

/// Newest Landlock version in use; the crate leaves out rights that the kernel lacks.
const VERSION: ABI = ABI::V6;

/// Directories of programs and their libraries.
const PROGRAMS: [&str; 6] = ["/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin"];

/// Paths that stay reachable.
#[derive(Debug, Default, PartialEq, Eq)]
struct Places {
    /// Programs and libraries: read and execute.
    programs: BTreeSet<PathBuf>,
    /// Readable paths.
    read: BTreeSet<PathBuf>,
    /// Directories in which files are made, written, replaced and removed.
    write: BTreeSet<PathBuf>,
    /// Devices.
    devices: BTreeSet<PathBuf>,
    /// The directory of the socket: files in it may be removed.
    socket: PathBuf,
}

/// Paths that the daemon needs after set-up.
pub struct Reach<'a> {
    /// The configuration.
    pub config: &'a Path,
    /// The API's socket.
    pub socket: &'a Path,
    /// Other files that are read now and then. A file that may be replaced needs a readable
    /// directory, so the directory is allowed, unless every user may write there.
    pub read: &'a [PathBuf],
    /// Directories in which it writes.
    pub write: &'a [PathBuf],
    /// Character devices that it opens and steers.
    pub devices: &'a [PathBuf],
    /// Programs that it starts, besides those of the system.
    pub programs: &'a [PathBuf],
}

/// Confines this thread and the processes it starts. `config` can be read again, also after a
/// replacement, and the socket at `socket` can be removed at the end. A failure is logged, not
/// fatal.
pub fn confine(reach: &Reach<'_>) {
    let (config, socket) = (reach.config, reach.socket);
    let search = env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    let nft = env::split_paths(&search)
        .map(|directory| directory.join("nft"))
        .find(|file| file.is_file());
    let mut places = places(config, socket, nft.as_deref());
    places
        .read
        .extend(reach.read.iter().map(|file| match file.parent() {
            Some(parent) if parent != Path::new("/tmp") && parent != Path::new("/") => {
                parent.to_owned()
            }
            _ => file.clone(),
        }));
    places.write.extend(reach.write.iter().cloned());
    places.devices.extend(reach.devices.iter().cloned());
    places.programs.extend(reach.programs.iter().cloned());
    told(enforce(&places));
}

/// Separates writable directories from those with files that root obeys: the configuration, the
/// journal of the setup process. An attacker in the daemon must not write to the latter, which the
/// second list returns. `config`: the keys, as a warning names those with files there.
pub fn unsealed(
    write: Vec<PathBuf>,
    sealed: &[PathBuf],
    config: &[ConfigEntry],
) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let real = |path: &Path| {
        // A missing path counts, too: its nearest existing directory.
        let there = path
            .ancestors()
            .find_map(|one| Some((one, one.canonicalize().ok()?)));
        match there {
            Some((one, real)) => real.join(path.strip_prefix(one).unwrap_or(Path::new(""))),
            None => path.to_owned(),
        }
    };
    let sealed: Vec<PathBuf> = sealed.iter().map(|path| real(path)).collect();
    let holds = |folder: &PathBuf| {
        let folder = real(folder);
        sealed
            .iter()
            .any(|path| path.starts_with(&folder) || folder.starts_with(path))
    };
    // Several modules may write to one folder.
    let write: BTreeSet<_> = write.into_iter().collect();
    let (refused, free): (Vec<_>, Vec<_>) = write.into_iter().partition(holds);
    for folder in &refused {
        warn!(
            folder = %folder.display(),
            keys = keys_in(folder, config),
            hint = "set the key to a file in /var/lib/weir, or in a new folder below this one",
            "weir does not write to this folder: it holds the configuration, or files that setup \
             changes"
        );
    }
    (free, refused)
}

/// Names the keys whose files are in a folder.
fn keys_in(folder: &Path, config: &[ConfigEntry]) -> String {
    let inside = |file: &str| Path::new(file).parent() == Some(folder);
    let keys = config
        .iter()
        .filter(|entry| entry.value.as_str().is_some_and(inside));
    keys.map(|entry| &*entry.key).collect::<Vec<_>>().join(", ")
}

/// Confines this thread to its open files: no other file; from Linux 6.7 on, no TCP connection of
/// its own; from 6.12 on, no signal to others.
pub fn confine_wholly() {
    told(enforce_all());
}

/// Confines this thread to writing in one folder.
pub fn confine_to_folder(folder: &Path) {
    told(enforce(&Places {
        write: [folder.to_owned()].into(),
        ..Places::default()
    }));
}

/// Confines this thread to reading the kernel's files.
pub fn confine_to_proc() {
    told(enforce(&Places {
        read: [PathBuf::from("/proc")].into(),
        ..Places::default()
    }));
}

fn told(enforced: Result<RulesetStatus, RulesetError>) {
    match enforced {
        Ok(RulesetStatus::NotEnforced) => {
            debug!("the kernel has no Landlock: only capabilities restrict access to files");
        }
        Ok(status) => debug!(?status, "file access is restricted to the needed paths"),
        Err(error) => warn!(%error, "cannot restrict file access to the needed paths"),
    }
}

fn places(config: &Path, socket: &Path, nft: Option<&Path>) -> Places {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let parent = |path: &Path| match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        // A bare name is of the current directory.
        _ => PathBuf::from("."),
    };
    // `nft` may be installed separately, with its libraries: then the whole tree is reachable.
    let programs = PROGRAMS
        .into_iter()
        .map(PathBuf::from)
        .chain(nft.map(real).and_then(|nft| tree(&nft)))
        .collect();
    let read = ["/etc", "/proc", "/sys"]
        .into_iter()
        .map(PathBuf::from)
        // The directory by its own name, and by the target of a symbolic link.
        .chain([parent(config), parent(&real(config))])
        .collect();
    Places {
        programs,
        read,
        write: BTreeSet::new(),
        devices: BTreeSet::new(),
        socket: parent(socket),
    }
}

/// The first directory below the root that leads to a file: `/nix` for `/nix/store/…/nft`.
fn tree(file: &Path) -> Option<PathBuf> {
    file.components()
        .find(|part| matches!(part, Component::Normal(_)))
        .map(|first| Path::new("/").join(first))
}

fn enforce_all() -> Result<RulesetStatus, RulesetError> {
    let status = Ruleset::default()
        .handle_access(AccessFs::from_all(VERSION))?
        .handle_access(AccessNet::from_all(VERSION))?
        .scope(Scope::from_all(VERSION))?
        .create()?
        .restrict_self()?;
    Ok(status.ruleset)
}

fn enforce(places: &Places) -> Result<RulesetStatus, RulesetError> {
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let all: BitFlags<AccessFs> = AccessFs::from_read(VERSION) | AccessFs::from_write(VERSION);
    let status = Ruleset::default()
        .handle_access(all)?
        .create()?
        .add_rules(path_beneath_rules(
            &places.programs,
            read | AccessFs::Execute,
        ))?
        .add_rules(path_beneath_rules(&places.read, read))?
        .add_rules(path_beneath_rules(
            &places.write,
            read | AccessFs::WriteFile
                | AccessFs::MakeReg
                | AccessFs::RemoveFile
                | AccessFs::Truncate,
        ))?
        .add_rules(path_beneath_rules(
            &places.devices,
            AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev,
        ))?
        .add_rules(path_beneath_rules([&places.socket], AccessFs::RemoveFile))?
        // The standard input of a child process.
        .add_rules(path_beneath_rules(
            ["/dev/null"],
            AccessFs::ReadFile | AccessFs::WriteFile,
        ))?
        .restrict_self()?;
    Ok(status.ruleset)
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::{fs, io, thread};

    use landlock::Compatible;

    use super::*;

    #[test]
    fn programs_elsewhere_come_with_their_tree() {
        let found = places(
            Path::new("weir.toml"),
            Path::new("/run/weir/weir.sock"),
            Some(Path::new("/nowhere/store/nft/bin/nft")),
        );
        assert!(found.programs.contains(Path::new("/nowhere")));
        assert!(found.read.contains(Path::new(".")));
        assert_eq!(found.socket, Path::new("/run/weir"));
    }

    /// A process that may write next to the configuration, or the journal, could make root do
    /// anything.
    #[test]
    fn nothing_is_written_beside_what_root_obeys() {
        let base = env::temp_dir().join(format!("weir-sealed-{}", std::process::id()));
        fs::create_dir_all(base.join("etc/weir/page")).expect("a directory");
        std::os::unix::fs::symlink("etc", base.join("link")).expect("a link");
        let of =
            |names: &[&str]| -> Vec<PathBuf> { names.iter().map(|name| base.join(name)).collect() };
        let sealed = of(&["etc/weir/weir.toml", "etc/weir/setup", "etc/config"]);
        let write = of(&[
            "etc/weir",
            "etc/weir/page",
            "etc/weir/setup/states",
            "etc",
            "link/weir",
            "link/weir/page",
            "etc/config",
            "var",
        ]);
        let keys = [ConfigEntry {
            key: "history.file".into(),
            value: "/etc/weir/history.db".into(),
            origin: String::new(),
        }];
        let found = ["/etc/weir", "/etc"].map(|folder| keys_in(Path::new(folder), &keys));
        assert_eq!(found, ["history.file", ""]);
        let write = [write.clone(), write].concat();
        let (free, refused) = unsealed(write, &sealed, &keys);
        fs::remove_dir_all(&base).expect("removed");
        assert_eq!(free, of(&["etc/weir/page", "link/weir/page", "var"]));
        assert_eq!(refused.len(), 5);
    }

    #[test]
    fn who_is_confined_wholly_reaches_nothing() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("bound");
        let address = listener.local_addr().expect("an address");
        let accepting = listener.try_clone().expect("the same");
        // Confine only this thread, for good.
        let alone = thread::spawn(move || {
            confine_wholly();
            let denied = |result: io::Result<()>| {
                result.is_err_and(|e| e.kind() == io::ErrorKind::PermissionDenied)
            };
            assert!(denied(fs::read("/etc/passwd").map(drop)));
            assert!(denied(fs::read_dir("/").map(drop)));
            assert!(denied(fs::write(env::temp_dir().join("weir-wholly"), "x")));
            assert!(denied(Command::new("/bin/true").status().map(drop)));
            // A client of the inherited listener is served (TCP is confined since Linux 6.7).
            if tcp_is_confined() {
                assert!(denied(std::net::TcpStream::connect(address).map(drop)));
                assert!(denied(std::net::TcpListener::bind("127.0.0.1:0").map(drop)));
            }
            accepting.accept().map(drop)
        });
        let _client = std::net::TcpStream::connect(address).expect("it listens");
        alone.join().expect("no panic").expect("accepted");
        drop(listener);
    }

    /// Landlock of version 4 confines TCP.
    fn tcp_is_confined() -> bool {
        let asked = Ruleset::default()
            .set_compatibility(landlock::CompatLevel::HardRequirement)
            .handle_access(AccessNet::ConnectTcp);
        asked.is_ok()
    }

    #[test]
    fn what_is_needed_works_and_the_rest_does_not() {
        let base = env::temp_dir().join(format!("weir-confine-{}", std::process::id()));
        let (inside, outside) = (base.join("inside"), base.join("outside"));
        for directory in [&inside, &outside] {
            fs::create_dir_all(directory).expect("a directory");
            fs::write(directory.join("weir.toml"), "x").expect("written");
            fs::write(directory.join("socket"), "").expect("written");
        }
        let (config, socket) = (inside.join("weir.toml"), inside.join("socket"));
        let secret = outside.join("weir.toml");
        // Confine only this thread, for good.
        let result = thread::spawn(move || {
            confine(&Reach {
                config: &config,
                socket: &socket,
                read: &[],
                write: &[],
                devices: &[],
                programs: &[],
            });
            let denied = |result: io::Result<()>| {
                result.is_err_and(|e| e.kind() == io::ErrorKind::PermissionDenied)
            };
            assert_eq!(fs::read(&config).expect("the configuration"), b"x");
            fs::remove_file(&socket).expect("the socket");
            fs::read("/proc/self/status").expect("/proc");
            let nft = Command::new("nft").arg("--version").output().expect("nft");
            assert!(nft.status.success());
            assert!(denied(fs::read(&secret).map(drop)));
            assert!(denied(fs::write(&config, "y")));
            assert!(denied(fs::write(inside.join("new"), "y")));
            assert!(denied(fs::remove_file(&secret)));
        })
        .join();
        let _ = fs::remove_dir_all(&base);
        result.expect("no panic");
    }
}
