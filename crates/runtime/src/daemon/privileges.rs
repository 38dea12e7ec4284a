//! Reduces the daemon's rights after set-up: it keeps those to attach to new devices and talk
//! netlink (CAP_NET_ADMIN), and to use its programs and maps (CAP_BPF, CAP_PERFMON where the kernel
//! requires it). [`super::confine`] limits access to files.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use caps::{CapSet, Capability, CapsHashSet};
use tracing::{debug, info, warn};

/// Capabilities that the daemon always keeps.
const KEPT: [Capability; 3] = [
    Capability::CAP_NET_ADMIN,
    Capability::CAP_BPF,
    Capability::CAP_PERFMON,
];

/// Gives up all other capabilities, for this thread and the processes it starts, and prevents new
/// ones. A reload reads `config` again. A failure is logged, not fatal: the daemon works as before.
///
/// `more`: capabilities that modules need.
///
/// Root without CAP_DAC_OVERRIDE still reads files of root. If the configuration belongs to another
/// user and others cannot read it (a home directory), weir keeps CAP_DAC_READ_SEARCH.
pub fn drop_privileges(config: &Path, more: &[Capability]) {
    let had = caps::read(None, CapSet::Permitted).unwrap_or_default();
    let mut kept: CapsHashSet = KEPT
        .iter()
        .chain(more)
        .copied()
        .filter(|c| had.contains(c))
        .collect();
    if had.contains(&Capability::CAP_DAC_READ_SEARCH) && !readable_without_override(config) {
        info!(
            config = %config.display(),
            "keeps CAP_DAC_READ_SEARCH to read the configuration again: make root the owner of \
                the file and its directory to avoid that"
        );
        kept.insert(Capability::CAP_DAC_READ_SEARCH);
    }
    give_up(&had, &kept);
}

/// Drops the privileges of a partner after its set-up: the partner keeps only CAP_NET_ADMIN, for
/// rules, routes and its device. CAP_NET_BIND_SERVICE stays for a port below 1024, CAP_DAC_OVERRIDE
/// for state that belongs to another user.
pub fn drop_to_partner(state: &Path, ports: &[u16]) {
    let had = caps::read(None, CapSet::Permitted).unwrap_or_default();
    let mut kept = CapsHashSet::from([Capability::CAP_NET_ADMIN]);
    if ports.iter().any(|port| (1..1024).contains(port)) {
        kept.insert(Capability::CAP_NET_BIND_SERVICE);
    }
    let own = nix::unistd::geteuid().as_raw();
    if fs::metadata(state).is_ok_and(|about| about.uid() != own) {
        info!(
            state = %state.display(),
            "keeps CAP_DAC_OVERRIDE to write its state: make root the owner of the folder to \
             avoid that"
        );
        kept.insert(Capability::CAP_DAC_OVERRIDE);
    }
    kept.retain(|capability| had.contains(capability));
    give_up(&had, &kept);
}

/// Drops all capabilities of a thread except `kept`.
pub fn drop_to(kept: &[Capability]) {
    let had = caps::read(None, CapSet::Permitted).unwrap_or_default();
    let kept = kept
        .iter()
        .copied()
        .filter(|capability| had.contains(capability));
    give_up(&had, &kept.collect());
}

/// Gives up all capabilities, in a process that untrusted clients connect to. From now on, other
/// processes of the same user cannot inspect the process either.
pub fn drop_all() {
    let had = caps::read(None, CapSet::Permitted).unwrap_or_default();
    give_up(&had, &CapsHashSet::new());
    if let Err(error) = nix::sys::prctl::set_dumpable(false) {
        warn!(%error, "cannot protect the process from inspection");
    }
}

fn give_up(had: &CapsHashSet, kept: &CapsHashSet) {
    // Dropping from the bounding set needs CAP_SETPCAP, hence first; a service manager that took
    // that away has bounded already.
    if had.contains(&Capability::CAP_SETPCAP) {
        let bounds = caps::read(None, CapSet::Bounding).unwrap_or_default();
        for capability in bounds.difference(kept) {
            told("bounding", caps::drop(None, CapSet::Bounding, *capability));
        }
    }
    // `nft` is started with the same ones.
    for (set, name) in [
        (CapSet::Effective, "effective"),
        (CapSet::Permitted, "permitted"),
        (CapSet::Inheritable, "inheritable"),
    ] {
        told(name, caps::set(None, set, kept));
    }
    if let Err(error) = nix::sys::prctl::set_no_new_privs() {
        warn!(%error, "cannot set no-new-privileges");
    }
    debug!(?kept, "privileges dropped");
}

fn told(set: &str, result: Result<(), caps::errors::CapsError>) {
    if let Err(error) = result {
        warn!(%error, set, "cannot give up capabilities");
    }
}

/// Returns true if root can read the file, or see that it does not exist, under the mode bits. The
/// capabilities are effective again afterwards.
fn readable_without_override(file: &Path) -> bool {
    const OVERRIDES: [Capability; 2] = [
        Capability::CAP_DAC_OVERRIDE,
        Capability::CAP_DAC_READ_SEARCH,
    ];
    let effective = caps::read(None, CapSet::Effective).unwrap_or_default();
    for capability in OVERRIDES {
        let _ = caps::drop(None, CapSet::Effective, capability);
    }
    let readable = match File::open(file) {
        Ok(_) => true,
        Err(error) => error.kind() != io::ErrorKind::PermissionDenied,
    };
    let _ = caps::set(None, CapSet::Effective, &effective);
    readable
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::thread;

    use super::*;

    /// Capabilities belong to the thread: run on a separate thread, which can lose them.
    fn alone<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
        thread::spawn(work).join().expect("no panic")
    }

    #[test]
    fn what_is_needed_stays_and_no_more_can_come() {
        let (sets, no_new) = alone(|| {
            drop_privileges(
                Path::new("/nonexistent/weir.toml"),
                &[Capability::CAP_SETUID],
            );
            let sets = [
                CapSet::Effective,
                CapSet::Permitted,
                CapSet::Inheritable,
                CapSet::Bounding,
            ]
            .map(|set| caps::read(None, set).expect("own capabilities"));
            (sets, nix::sys::prctl::get_no_new_privs())
        });
        assert_eq!(no_new, Ok(true));
        for set in sets {
            let more = KEPT.into_iter().chain([Capability::CAP_SETUID]);
            assert_eq!(set, more.collect(), "run as root");
        }
    }

    #[test]
    fn who_speaks_to_strangers_keeps_nothing() {
        let sets = alone(|| {
            drop_all();
            [
                CapSet::Effective,
                CapSet::Permitted,
                CapSet::Inheritable,
                CapSet::Bounding,
            ]
            .map(|set| caps::read(None, set).expect("own capabilities"))
        });
        // The flag is of the whole process: the other tests start programs.
        let _ = nix::sys::prctl::set_dumpable(true);
        assert!(sets.iter().all(CapsHashSet::is_empty), "{sets:?}");
    }

    #[test]
    fn a_partner_keeps_less() {
        let kept = |state: &Path, ports: &[u16]| {
            let (state, ports) = (state.to_owned(), ports.to_vec());
            alone(move || {
                drop_to_partner(&state, &ports);
                let sets = [CapSet::Effective, CapSet::Permitted, CapSet::Bounding];
                sets.map(|set| caps::read(None, set).expect("own capabilities"))
            })
        };
        let folder = std::env::temp_dir().join(format!("weir-partner-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let (own, low) = (kept(&folder, &[9349]), kept(&folder, &[9349, 443]));
        let nobody = nix::unistd::Uid::from_raw(65_534);
        nix::unistd::chown(&folder, Some(nobody), None).expect("as root");
        let somebodys = kept(&folder, &[9349]);
        fs::remove_dir_all(&folder).expect("removed");
        let admin = Capability::CAP_NET_ADMIN;
        for (sets, wanted) in [
            (own, CapsHashSet::from([admin])),
            (low, [admin, Capability::CAP_NET_BIND_SERVICE].into()),
            (somebodys, [admin, Capability::CAP_DAC_OVERRIDE].into()),
        ] {
            for set in sets {
                assert_eq!(set, wanted, "run as root");
            }
        }
    }

    #[test]
    fn the_file_of_somebody_else_stays_readable() {
        let directory =
            std::env::temp_dir().join(format!("weir-privileges-{}", std::process::id()));
        fs::create_dir_all(&directory).expect("a directory");
        let file = directory.join("weir.toml");
        fs::write(&file, "").expect("written");
        fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).expect("mode");
        let read = |file: &Path| {
            let file = file.to_owned();
            alone(move || {
                drop_privileges(&file, &[]);
                let kept = caps::has_cap(None, CapSet::Effective, Capability::CAP_DAC_READ_SEARCH);
                (File::open(&file).is_ok(), kept.expect("own capabilities"))
            })
        };
        let roots = read(&file);
        let nobody = nix::unistd::Uid::from_raw(65_534);
        nix::unistd::chown(&file, Some(nobody), None).expect("as root");
        let somebodys = read(&file);
        fs::remove_dir_all(&directory).expect("removed");
        assert_eq!(roots, (true, false), "root's own needs nothing");
        assert_eq!(somebodys, (true, true));
    }
}
