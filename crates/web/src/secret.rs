//! Files that hold a secret: read only if closed to other users, and written atomically.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Most bytes of a one-line file.
const LONGEST: u64 = 4096;

/// Fewest characters of a token.
const SHORTEST_TOKEN: usize = 16;

/// Reason why a secret cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// Users other than the owner may read or change the file.
    #[error("other users can read or change {}: its mode is {mode:04o}", path.display())]
    Open {
        /// File.
        path: PathBuf,
        /// Permission bits of the file.
        mode: u32,
    },
    /// The file belongs to another user, who could change it.
    #[error("{} belongs to user {owner}", path.display())]
    Owner {
        /// File.
        path: PathBuf,
        /// Owner of the file.
        owner: u32,
    },
    /// The content is not valid.
    #[error("{} {why}", path.display())]
    Content {
        /// File.
        path: PathBuf,
        /// Description of the problem.
        why: &'static str,
    },
    /// The system call failed.
    #[error("{}: {source}", path.display())]
    Io {
        /// File or directory.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

impl SecretError {
    /// Returns advice.
    pub fn hint(&self) -> String {
        match self {
            Self::Open { path, .. } => format!("chmod 600 {}", path.display()),
            Self::Owner { path, .. } => format!("chown root {}", path.display()),
            Self::Content { path, .. } => {
                format!(
                    "write {} again (`weir passwd` writes the file of the password)",
                    path.display()
                )
            }
            Self::Io { source, .. } => match source.kind() {
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                    "run as root, on a writable file system".to_owned()
                }
                io::ErrorKind::StorageFull => "make room on the disk".to_owned(),
                _ => "check the path".to_owned(),
            },
        }
    }
}

/// Observed state of a file: another inode, time or length means that it changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStamp {
    device: u64,
    inode: u64,
    length: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FileStamp {
    fn of(metadata: &fs::Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            length: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Returns the stamp of the file at a path; `None` if it cannot be read.
    pub fn at(path: &Path) -> Option<Self> {
        fs::metadata(path).ok().map(|metadata| Self::of(&metadata))
    }
}

/// Reads a plain file that belongs to root or this user and is closed to others. `None` if the file
/// does not exist.
pub fn read(path: &Path) -> Result<Option<(String, FileStamp)>, SecretError> {
    let io = |source| SecretError::Io {
        path: path.to_owned(),
        source,
    };
    // Avoids blocking on a FIFO.
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(nix::fcntl::OFlag::O_NONBLOCK.bits())
        .open(path);
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io(error)),
    };
    let metadata = file.metadata().map_err(io)?;
    let content = |why| SecretError::Content {
        path: path.to_owned(),
        why,
    };
    if !metadata.is_file() {
        return Err(content("is not a file"));
    }
    check_access(path, &metadata)?;
    let mut text = String::new();
    file.take(LONGEST + 1)
        .read_to_string(&mut text)
        .map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData => content("is not text"),
            _ => io(error),
        })?;
    if text.len() as u64 > LONGEST {
        return Err(content("is too long"));
    }
    Ok(Some((text, FileStamp::of(&metadata))))
}

/// Reads a file that holds a token. A missing file is an error, as an empty one is.
pub fn token(path: &Path) -> Result<String, SecretError> {
    let text = read(path)?.map(|(text, _)| text.trim().to_owned());
    match text {
        Some(text)
            if text.len() >= SHORTEST_TOKEN && text.bytes().all(|b| b.is_ascii_graphic()) =>
        {
            Ok(text)
        }
        _ => Err(SecretError::Content {
            path: path.to_owned(),
            why: "does not contain one line of at least 16 letters and digits",
        }),
    }
}

/// Checks that the file belongs to root or this user, and is closed to others.
pub(crate) fn check_access(path: &Path, metadata: &fs::Metadata) -> Result<(), SecretError> {
    let owner = metadata.uid();
    if owner != 0 && owner != nix::unistd::geteuid().as_raw() {
        return Err(SecretError::Owner {
            path: path.to_owned(),
            owner,
        });
    }
    let mode = metadata.mode() & 0o7777;
    if mode & 0o077 != 0 {
        return Err(SecretError::Open {
            path: path.to_owned(),
            mode,
        });
    }
    Ok(())
}

/// Replaces a file, mode 0600, by a rename, so that after a power cut the old or the new one is
/// there. Creates the directory, with mode 0700, if it does not exist.
pub fn write(path: &Path, text: &str) -> Result<(), SecretError> {
    let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(SecretError::Content {
            path: path.to_owned(),
            why: "cannot be a file",
        });
    };
    let directory = match directory.as_os_str().is_empty() {
        true => Path::new("."),
        false => directory,
    };
    let io = |path: &Path| {
        let path = path.to_owned();
        move |source| SecretError::Io { path, source }
    };
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
        .map_err(io(directory))?;
    let mut aside = std::ffi::OsString::from(".");
    aside.push(name);
    // Two processes that write at once must not share a file.
    aside.push(format!(".{}", std::process::id()));
    let aside = directory.join(aside);
    // Removes the leftover of a killed process with this number.
    let _ = fs::remove_file(&aside);
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&aside)
        .and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()
        })
        .map_err(io(&aside))
        .and_then(|()| fs::rename(&aside, path).map_err(io(path)));
    if written.is_err() {
        let _ = fs::remove_file(&aside);
        return written;
    }
    // If the directory cannot be opened (landlock without that right), the rename is durable a
    // little later.
    if let Ok(directory) = File::open(directory) {
        let _ = directory.sync_all();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use testing::Directory;

    use super::*;

    #[test]
    fn written_closed_and_read_again() {
        let place = Directory::new();
        let file = place.join("deep/secret");
        assert!(read(&file).expect("no file is no error").is_none());
        write(&file, "one").expect("written");
        write(&file, "two").expect("written again");
        assert_eq!(
            read(&file).expect("read").map(|(text, _)| text).as_deref(),
            Some("two")
        );
        let mode = fs::metadata(&file).expect("there").mode() & 0o7777;
        assert_eq!(mode, 0o600);
        let left: Vec<_> = fs::read_dir(file.parent().expect("a directory"))
            .expect("listed")
            .collect();
        assert_eq!(left.len(), 1, "nothing is left beside it");
    }

    #[test]
    fn a_change_is_seen() {
        let place = Directory::new();
        let file = place.join("secret");
        assert_eq!(FileStamp::at(&file), None);
        write(&file, "one").expect("written");
        let first = FileStamp::at(&file);
        assert!(first.is_some() && first == FileStamp::at(&file));
        write(&file, "one").expect("written");
        assert_ne!(first, FileStamp::at(&file), "another file of the same text");
    }

    #[test]
    fn what_others_could_touch_is_refused() {
        let place = Directory::new();
        let file = place.join("secret");
        write(&file, "x").expect("written");
        for mode in [0o604, 0o640, 0o620, 0o601, 0o666] {
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).expect("mode");
            let error = read(&file).expect_err("open to others");
            assert!(
                matches!(error, SecretError::Open { .. }),
                "{mode:o}: {error}"
            );
            assert!(error.hint().starts_with("chmod 600 "));
        }
        fs::set_permissions(&file, fs::Permissions::from_mode(0o400)).expect("mode");
        assert!(read(&file).is_ok());
        nix::unistd::chown(&file, Some(nix::unistd::Uid::from_raw(65_534)), None).expect("as root");
        assert!(matches!(
            read(&file),
            Err(SecretError::Owner { owner: 65_534, .. })
        ));
    }

    #[test]
    fn what_is_no_text_is_refused() {
        let place = Directory::new();
        let file = place.join("secret");
        write(&file, &"x".repeat(5000)).expect("written");
        assert!(matches!(read(&file), Err(SecretError::Content { .. })));
        fs::write(&file, b"\xff\xfe").expect("written");
        assert!(matches!(read(&file), Err(SecretError::Content { .. })));
        assert!(matches!(read(&place), Err(SecretError::Content { .. })));
        let pipe = place.join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).expect("a FIFO");
        assert!(matches!(read(&pipe), Err(SecretError::Content { .. })));
    }
}
