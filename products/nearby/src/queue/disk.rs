//! What is done to a disk, so that a test can do otherwise.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// What changes files. Each is done, or not.
pub trait Disk {
    /// Writes a new file, which is on the disk then.
    fn write(&self, path: &Path, octets: &[u8]) -> io::Result<()>;
    /// Gives a file another name, too.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Gives a file another name, whatever had it.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Takes a name away.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Makes a folder, if it is not there.
    fn folder(&self, path: &Path) -> io::Result<()>;
    /// The names in a folder are on the disk then.
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
