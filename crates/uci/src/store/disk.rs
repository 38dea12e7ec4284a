//! Replacing, locking and checking of files.

use crate::error::Error;
use nix::fcntl::OFlag;
use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

/// Replaces a file by a rename, with the same permissions. A link stays a link.
pub(super) fn write(path: &Path, text: &[u8]) -> Result<(), Error> {
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = path.parent().unwrap_or(Path::new("/"));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mode = fs::metadata(path).map_or(0o600, |data| data.mode() & 0o7777);
    let beside = folder.join(format!(".{name}.uci-{}", std::process::id()));
    let put = || {
        let _ = fs::remove_file(&beside);
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&beside)?;
        file.write_all(text)?;
        file.set_permissions(fs::Permissions::from_mode(mode))?;
        file.sync_all()?;
        fs::rename(&beside, path)?;
        File::open(folder)?.sync_all()
    };
    put().map_err(|error| {
        let _ = fs::remove_file(&beside);
        failed(path)(error)
    })
}

/// Kind of lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hold {
    /// Others may read the file too.
    Shared,
    /// Only this process uses the file.
    Exclusive,
}

/// Opens and locks a file, and retries if another file has taken its name meanwhile. Returns `None`
/// if there is no file.
pub(super) fn lock(path: &Path, open: &OpenOptions, hold: Hold) -> Result<Option<File>, Error> {
    loop {
        let file = match open.open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(path)(error)),
        };
        // Uses flock(2), like libuci; closing the file releases the lock.
        match hold {
            Hold::Shared => file.lock_shared(),
            Hold::Exclusive => file.lock(),
        }
        .map_err(failed(path))?;
        let held = file.metadata().map_err(failed(path))?;
        match fs::metadata(path) {
            Ok(named) if (held.dev(), held.ino()) == (named.dev(), named.ino()) => {
                return Ok(Some(file));
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(failed(path)(error));
            }
            _ => {}
        }
    }
}

/// Refuses a folder of changes that another user could have created or filled: `/tmp` is shared,
/// and changes become configuration. A link is refused too: another user could choose its target.
pub(super) fn trusted(folder: &Path) -> Result<(), Error> {
    // A trailing slash would follow the link.
    let plain: PathBuf = folder.components().collect();
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags((OFlag::O_NOFOLLOW | OFlag::O_DIRECTORY).bits())
        .open(&plain);
    match opened {
        Ok(opened) => own(folder, &opened.metadata().map_err(failed(folder))?),
        Err(_) if plain.is_symlink() => Err(linked(folder)),
        Err(error) => Err(failed(folder)(error)),
    }
}

/// Opens and locks a file of changes, with the same checks as for its folder.
pub(super) fn lock_changes(
    path: &Path,
    open: &mut OpenOptions,
    hold: Hold,
) -> Result<Option<File>, Error> {
    open.custom_flags((OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits());
    let file = match lock(path, open, hold) {
        Err(_) if path.is_symlink() => return Err(linked(path)),
        file => file?,
    };
    if let Some(file) = &file {
        own(path, &file.metadata().map_err(failed(path))?)?;
    }
    Ok(file)
}

fn own(path: &Path, data: &fs::Metadata) -> Result<(), Error> {
    let path = path.display();
    let (owner, group, mode) = (data.uid(), data.gid(), data.mode());
    if owner != 0 && owner != nix::unistd::geteuid().as_raw() {
        let what = format!("{path} belongs to another user: remove it");
        return Err(Error::Invalid(what));
    }
    let groups = group != 0 && group != nix::unistd::getegid().as_raw();
    if mode & 0o002 != 0 || mode & 0o020 != 0 && groups {
        let what = format!("{path} can be written by other users: remove it, or chmod go-w");
        return Err(Error::Invalid(what));
    }
    Ok(())
}

fn linked(path: &Path) -> Error {
    Error::Invalid(format!("{} is a link: remove it", path.display()))
}

/// Removes leftovers of interrupted commits. The caller must hold the lock.
pub(super) fn sweep(path: &Path) {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return;
    };
    let start = format!(".{}.uci-", name.to_string_lossy());
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(&start) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

pub(super) fn failed(path: &Path) -> impl Fn(io::Error) -> Error + '_ {
    move |error| Error::Io {
        path: path.to_owned(),
        error,
    }
}
