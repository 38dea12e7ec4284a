//! Disk operations of a journal: each call is one step, at which power may be lost.

use super::change::Found;
use super::error::{JournalError, failed};
use ring::digest::{SHA256, digest as sha};
use std::{
    fs::{self, DirBuilder, File, OpenOptions, Permissions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown},
    path::{Path, PathBuf},
};

/// Refuses a file for the place `path` that is not as recorded: another content, a link, set-user
/// or set-group bits, another mode or another owner.
pub(super) fn is_in(found: &Found, written: &Path, path: &Path) -> Result<(), JournalError> {
    let data = fs::symlink_metadata(written).map_err(failed(written))?;
    // Only root may give files away: files of another user's journal are that user's.
    let is_owned = !nix::unistd::geteuid().is_root() || (data.uid(), data.gid()) == found.owner;
    let is_same = data.mode() & 0o7777 == found.mode && is_owned;
    let text = match data.is_file() && data.mode() & 0o6000 == 0 && is_same {
        true => fs::read(written).map_err(failed(written))?,
        false => return Err(JournalError::Outside(path.to_owned())),
    };
    match digest(&text) == found.says {
        true => Ok(()),
        false => Err(JournalError::Outside(path.to_owned())),
    }
}

/// Returns the SHA-256, in hexadecimal digits.
pub(super) fn digest(text: &[u8]) -> String {
    net::hex::text(sha(&SHA256, text).as_ref())
}

/// The disk. In tests it stops at a step, as if power was lost.
#[derive(Clone, Debug, Default)]
pub(super) struct Disk {
    #[cfg(test)]
    pub left: std::rc::Rc<std::cell::Cell<Option<u32>>>,
}

impl Disk {
    fn step(&self) {
        #[cfg(test)]
        match self.left.get() {
            Some(0) => std::panic::panic_any("the power is off"),
            left => self.left.set(left.map(|left| left - 1)),
        }
    }

    /// Reads the state of a file. Follows a link: the target is replaced.
    pub fn file_state(&self, path: &Path) -> Result<Option<Found>, JournalError> {
        let text = match fs::read(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(path)(error)),
        };
        let data = fs::metadata(path).map_err(failed(path))?;
        Ok(Some(Found {
            mode: data.mode() & 0o7777,
            owner: (data.uid(), data.gid()),
            says: digest(&text),
        }))
    }

    pub fn make_folder(&self, path: &Path) -> Result<(), JournalError> {
        if path.is_dir() {
            return Ok(());
        }
        self.step();
        // Secrets in files stay secret in this folder.
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path)
            .map_err(failed(path))
    }

    /// Writes a new file, and brings it to the disk.
    pub fn write(
        &self,
        path: &Path,
        text: &[u8],
        mode: u32,
        owner: (u32, u32),
    ) -> Result<(), JournalError> {
        self.step();
        let write = || {
            let mut file = OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(path)?;
            file.write_all(text)?;
            // A user who cannot give files away has no files of others.
            if let Err(error) = fchown(&file, Some(owner.0), Some(owner.1))
                && error.kind() != io::ErrorKind::PermissionDenied
            {
                return Err(error);
            }
            file.set_permissions(Permissions::from_mode(mode))?;
            file.sync_all()
        };
        write().map_err(failed(path))
    }

    pub fn rename(&self, from: &Path, to: &Path) -> Result<(), JournalError> {
        self.step();
        fs::rename(from, to).map_err(failed(to))
    }

    /// Moves a file that is on the disk already into its place, or copies it there from another
    /// file system.
    pub fn put(&self, written: &Path, path: &Path) -> Result<(), JournalError> {
        // `/tmp` is empty after a start: files there may lack their folder.
        if let Some(folder) = path.parent() {
            self.make_folder(folder)?;
        }
        self.step();
        let path = &real(path);
        match fs::rename(written, path) {
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {}
            other => return other.map_err(failed(path)),
        }
        let text = fs::read(written).map_err(failed(written))?;
        let data = fs::metadata(written).map_err(failed(written))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let beside = path.with_file_name(format!(".{name}.weir"));
        let _ = fs::remove_file(&beside);
        self.write(
            &beside,
            &text,
            data.mode() & 0o7777,
            (data.uid(), data.gid()),
        )?;
        self.rename(&beside, path)?;
        fs::remove_file(written).map_err(failed(written))
    }

    pub fn remove(&self, path: &Path) -> Result<(), JournalError> {
        self.step();
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(path)(error)),
            _ => Ok(()),
        }
    }

    /// Keeps another program's file under another name.
    pub fn keep(&self, path: &Path, under: &Path) -> Result<(), JournalError> {
        self.step();
        fs::copy(path, under).map(|_| ()).map_err(failed(under))
    }

    pub fn sync_folder(&self, path: &Path) -> Result<(), JournalError> {
        self.step();
        File::open(path)
            .and_then(|folder| folder.sync_all())
            .map_err(failed(path))
    }
}

/// Resolves links.
fn real(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}
