//! Files of services: present and wanted.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};
use nix::unistd::Group;
use setup_core::debian::{Access, Content, RenderedFile, Rendering, Service, is_ours};

use runtime::Error;

/// Prefix of files that are not in their place yet. dnsmasq and networkd ignore names with a dot.
const NEW: &str = ".weir-setup-new";

/// Files to change.
pub struct Difference<'a> {
    write: Vec<&'a RenderedFile>,
    remove: Vec<String>,
    /// Services whose files change.
    pub services: BTreeSet<Service>,
}

/// Returns a path below a root.
pub fn under(root: &Path, path: &str) -> PathBuf {
    root.join(path.trim_start_matches('/'))
}

fn trouble(what: &str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    let what = format!("{} cannot be {what}", path.display());
    |error| Error::with_cause(what, &error, "run it as root, and check for free space")
}

/// Compares the rendered files with those on disk.
pub fn difference<'a>(root: &Path, outcome: &'a Rendering) -> Result<Difference<'a>, Error> {
    let mut difference = Difference {
        write: Vec::new(),
        remove: Vec::new(),
        services: BTreeSet::new(),
    };
    for file in &outcome.files {
        let path = under(root, &file.path);
        if !same(file, &path).map_err(trouble("read", &path))? {
            difference.write.push(file);
            difference.services.extend(Service::of(&file.path));
        }
    }
    for folder in Service::FOLDERS {
        let path = under(root, folder);
        let entries = match fs::read_dir(&path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(trouble("read", &path)(error)),
        };
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{folder}/{name}");
            let wanted = outcome.files.iter().any(|file| file.path == path);
            if !wanted && (is_ours(&path) || name.starts_with(NEW)) {
                difference.services.extend(Service::of(&path));
                difference.remove.push(path);
            }
        }
    }
    Ok(difference)
}

fn same(file: &RenderedFile, path: &Path) -> io::Result<bool> {
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    match &file.content {
        Content::Link(to) => Ok(found.is_symlink() && fs::read_link(path)? == Path::new(to)),
        Content::Text(text) => Ok(found.is_file()
            && found.permissions().mode() & 0o7777 == mode(file.access)
            && fs::read(path)? == text.as_bytes()),
    }
}

fn mode(access: Access) -> u32 {
    match access {
        Access::All => 0o644,
        Access::Root => 0o600,
        Access::Network => 0o640,
    }
}

impl Difference<'_> {
    /// Applies the changes, each file atomically: no reader sees half of one.
    pub fn write(&self, root: &Path) -> Result<(), Error> {
        let mut folders = BTreeSet::new();
        for file in &self.write {
            let path = under(root, &file.path);
            replace(file, &path).map_err(trouble("written", &path))?;
            folders.extend(path.parent().map(Path::to_path_buf));
        }
        for path in &self.remove {
            let path = under(root, path);
            fs::remove_file(&path).map_err(trouble("removed", &path))?;
            folders.extend(path.parent().map(Path::to_path_buf));
        }
        for folder in folders {
            let synced = File::open(&folder).and_then(|folder| folder.sync_all());
            synced.map_err(trouble("brought to the disk", &folder))?;
        }
        Ok(())
    }
}

fn replace(file: &RenderedFile, path: &Path) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(folder)?;
    let new = folder.join(NEW);
    match fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    match &file.content {
        Content::Link(to) => symlink(to, &new)?,
        Content::Text(text) => {
            // Other users must not read the file before it has its owner.
            let mut open = OpenOptions::new();
            let mut out = open.write(true).create_new(true).mode(0o600).open(&new)?;
            out.write_all(text.as_bytes())?;
            if file.access == Access::Network {
                let group = Group::from_name("systemd-network")?.ok_or_else(|| {
                    io::Error::other("no group systemd-network: check that networkd is installed")
                })?;
                chown(&new, None, Some(group.gid.as_raw()))?;
            }
            out.set_permissions(Permissions::from_mode(mode(file.access)))?;
            out.sync_all()?;
        }
    }
    fs::rename(&new, path)
}

/// Services whose files changed and that may not have been reloaded: in `/run`, as after a boot all
/// services have read their files. Only one process at a time has it open.
pub struct PendingReloads {
    path: PathBuf,
    _lock: Flock<File>,
}

impl PendingReloads {
    pub fn open(root: &Path) -> Result<Self, Error> {
        let folder = under(root, "run/weir-setup");
        fs::create_dir_all(&folder).map_err(trouble("made", &folder))?;
        let path = folder.join("lock");
        let file = File::create(&path).map_err(trouble("written", &path))?;
        let lock = Flock::lock(file, FlockArg::LockExclusive)
            .map_err(|(_, error)| trouble("locked", &path)(error.into()))?;
        Ok(Self {
            path: folder.join("untold"),
            _lock: lock,
        })
    }

    pub fn services(&self) -> Result<BTreeSet<Service>, Error> {
        match fs::read_to_string(&self.path) {
            Ok(text) => Ok(text.lines().filter_map(Service::from_word).collect()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(BTreeSet::new()),
            Err(error) => Err(trouble("read", &self.path)(error)),
        }
    }

    pub fn set(&self, services: &BTreeSet<Service>) -> Result<(), Error> {
        let words: Vec<String> = services.iter().map(Service::word).collect();
        let new = self.path.with_extension("new");
        let written = fs::write(&new, words.join("\n")).and_then(|()| fs::rename(&new, &self.path));
        written.map_err(trouble("written", &self.path))
    }
}
