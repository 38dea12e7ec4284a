//! Identity of the store's file and of its journal: after a replacement, SQLite would apply the
//! journal of the old file to the new one.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::error::Error;

/// Identity of a file: its device and inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Identity(u64, u64);

impl Identity {
    pub fn of(path: &Path) -> io::Result<Self> {
        Ok(Self::from(&fs::metadata(path)?))
    }
}

impl From<&Metadata> for Identity {
    fn from(data: &Metadata) -> Self {
        Self(data.dev(), data.ino())
    }
}

/// Stamp that changes with each write to a file, and with a replacement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Stamp {
    file: Identity,
    size: u64,
    written: (i64, i64),
}

impl Stamp {
    /// Returns the identity. `None`: the file does not exist.
    pub fn of(path: &Path) -> Option<Self> {
        let data = fs::metadata(path).ok()?;
        Some(Self {
            file: Identity::from(&data),
            size: data.size(),
            written: (data.mtime(), data.mtime_nsec()),
        })
    }

    /// Returns true if both stamps are of one file, at any time.
    pub fn is_of(&self, other: &Self) -> bool {
        self.file == other.file
    }
}

/// An open file, and its journal, with their identities when last read by name.
#[derive(Debug)]
pub(crate) struct Standing {
    path: PathBuf,
    file: Identity,
    /// Missing before the first read or write.
    journal: Option<Identity>,
}

impl Standing {
    /// Returns the identity of the open file.
    pub fn of(path: &Path) -> Result<Self, Error> {
        Ok(Self {
            path: path.to_owned(),
            file: Identity::of(path).map_err(Error::file(path))?,
            journal: journal(path),
        })
    }

    /// Returns true if the file is still at its name.
    pub fn look(&mut self) -> io::Result<bool> {
        let same = Identity::of(&self.path)? == self.file;
        if same {
            self.journal = journal(&self.path);
        }
        Ok(same)
    }

    /// Removes the journal of this file, which another file has replaced.
    pub fn leave(&self) -> Result<(), Error> {
        if self.journal.is_none() {
            return Ok(());
        }
        let path = beside(&self.path, "-wal");
        // Of two concurrent removals the second would remove the first one's new journal.
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let locked = File::open(folder).and_then(|folder| folder.lock().map(|()| folder));
        let _locked = locked.map_err(Error::file(folder))?;
        if journal(&self.path) != self.journal {
            return Ok(());
        }
        let of = |path: &Path| fs::metadata(path).map_err(Error::file(path));
        let (written, put) = (of(&path)?, of(&self.path)?);
        if (written.mtime(), written.mtime_nsec()) > (put.ctime(), put.ctime_nsec()) {
            return Err(Error::Other(format!(
                "{} belongs to the previous file, and was written since: end the program that writes it, and remove it",
                path.display()
            )));
        }
        for stale in [path, beside(&self.path, "-shm")] {
            match fs::remove_file(&stale) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(Error::file(&stale)(error));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn journal(path: &Path) -> Option<Identity> {
    Identity::of(&beside(path, "-wal")).ok()
}

/// Returns the path of one of SQLite's own files.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}
