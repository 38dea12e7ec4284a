//! Disk operations, behind a trait so that tests can replace them.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// Operations that change files; each succeeds or fails as a whole.
pub trait Disk {
    /// Writes and syncs a new file.
    fn write(&self, path: &Path, octets: &[u8]) -> io::Result<()>;
    /// Adds another name for a file.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Renames a file, replacing an existing one.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a name.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Creates a folder, if it is missing.
    fn folder(&self, path: &Path) -> io::Result<()>;
    /// Syncs the names in a folder.
    fn sync(&self, folder: &Path) -> io::Result<()>;
}

/// The disk.
#[derive(Debug, Default)]
pub struct Files;

impl Disk for Files {
    fn write(&self, path: &Path, octets: &[u8]) -> io::Result<()> {
        let mut options = fs::OpenOptions::new();
        let options = options.write(true).create_new(true).mode(0o600);
        let mut file = options.open(path)?;
        file.write_all(octets)?;
        file.sync_data()
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::hard_link(from, to)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn folder(&self, path: &Path) -> io::Result<()> {
        let mut folder = fs::DirBuilder::new();
        folder.recursive(true).mode(0o700).create(path)
    }

    fn sync(&self, folder: &Path) -> io::Result<()> {
        fs::File::open(folder)?.sync_all()
    }
}
