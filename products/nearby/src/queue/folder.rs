//! Reads the queue's folders, whose files may come from elsewhere.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use tracing::warn;

use super::file;
use crate::machine::Message;

/// Names in a folder that are read, at most.
const NAMES: usize = 65_536;

/// Returns the name of a message's file.
pub fn place_name(place: u64) -> String {
    format!("{place:016x}")
}

/// Treats a missing file as removed.
pub fn gone(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// Returns the names in a folder, in order.
pub fn names(folder: &Path) -> Vec<(String, PathBuf)> {
    let all = match fs::read_dir(folder) {
        Ok(all) => all,
        Err(error) => {
            passed_over(folder, &error.into());
            return Vec::new();
        }
    };
    let name = |entry: fs::DirEntry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        (name, entry.path())
    };
    let mut names: Vec<_> = all.flatten().take(NAMES).map(name).collect();
    names.sort_unstable();
    names
}

/// Reason why a file is not a message.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file was read and is invalid.
    #[error(transparent)]
    Wrong(#[from] file::InvalidFile),
    /// The file cannot be read.
    #[error(transparent)]
    Disk(#[from] io::Error),
}

/// Logs that a file is skipped.
pub fn passed_over(path: &Path, error: &ReadError) {
    warn!(path = %path.display(), %error, "file skipped");
}

fn open(path: &Path) -> io::Result<(fs::File, u64)> {
    use std::os::unix::fs::OpenOptionsExt;
    // Opening any other kind of file with this name does not block.
    let mut options = fs::OpenOptions::new();
    let flags = (nix::fcntl::OFlag::O_NONBLOCK | nix::fcntl::OFlag::O_NOFOLLOW).bits();
    let file = options.read(true).custom_flags(flags).open(path)?;
    let about = file.metadata()?;
    match about.is_file() {
        true => Ok((file, about.len())),
        false => Err(io::Error::other("not a regular file")),
    }
}

/// Reads number, time and size of a file.
pub fn read_head(path: &Path) -> Result<(Option<u64>, u64, u64), ReadError> {
    let (file, size) = open(path)?;
    let mut head = Vec::new();
    file.take(file::HEAD as u64).read_to_end(&mut head)?;
    let (number, since) = file::head(&head, size as usize)?;
    Ok((number, since, size))
}

/// Reads the message in a file.
pub fn read(path: &Path) -> Result<Message, ReadError> {
    let (file, _) = open(path)?;
    let mut all = Vec::new();
    file.take(file::MOST as u64 + 1).read_to_end(&mut all)?;
    Ok(file::read(&all)?)
}
