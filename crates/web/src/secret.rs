//! Files that hold a secret: read only if nobody else can, and written whole or not at all.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Bytes that a file of one line may have.
const LONGEST: u64 = 4096;

/// Characters of a token, at least.
const SHORTEST_TOKEN: usize = 16;

/// Why a secret cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// Others than its owner may read or change it.
    #[error("{} may be read or changed by others: its mode is {mode:04o}", path.display())]
    Open {
        /// File.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// It belongs to somebody else, who could change it.
    #[error("{} belongs to user {owner}", path.display())]
    Owner {
        /// File.
        path: PathBuf,
        /// Whose it is.
        owner: u32,
    },
    /// It is not what it should be.
    #[error("{} {why}", path.display())]
    Content {
        /// File.
        path: PathBuf,
        /// What is wrong.
        why: &'static str,
    },
    /// The system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// File or directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl SecretError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Open { path, .. } => format!("chmod 600 {}", path.display()),
            Self::Owner { path, .. } => format!("chown root {}", path.display()),
            Self::Content { path, .. } => {
                format!(
                    "write {} anew (`weir passwd` makes the password's)",
                    path.display()
                )
            }
            Self::Io { source, .. } => match source.kind() {
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                    "do it as root, on a file system that can be written".to_owned()
                }
                io::ErrorKind::StorageFull => "make room on the disk".to_owned(),
                _ => "see whether the path is right".to_owned(),
            },
        }
    }
}

/// Which state of a file was seen: another inode, time or length means that it changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    device: u64,
    inode: u64,
    length: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(metadata: &fs::Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            length: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Of the file at a path; `None` where there is none to be seen.
    pub fn at(path: &Path) -> Option<Self> {
        fs::metadata(path).ok().map(|metadata| Self::of(&metadata))
    }
}

/// Reads a file that must be a plain one, root's or one's own, and closed to others. `None` where
/// there is none.
pub fn read(path: &Path) -> Result<Option<(String, Stamp)>, SecretError> {
    let io = |source| SecretError::Io {
        path: path.to_owned(),
        source,
    };
    // Not to hang on a FIFO that somebody put there.
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
    Ok(Some((text, Stamp::of(&metadata))))
}

/// Reads a file that holds a token. One that is not there is as wrong as one that is empty.
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
            why: "does not hold one line of at least 16 letters and digits",
        }),
    }
}

/// Root's or one's own, and closed to others.
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

/// Writes a file anew, mode 0600: under another name first, so that after a power cut there is the
/// old one or the new one. The directory is made, with mode 0700, where it does not exist.
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
    // Two that write at once must not write into one file.
    aside.push(format!(".{}", std::process::id()));
    let aside = directory.join(aside);
    // What a killed process of this number left.
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
    // Where a directory cannot be opened (landlock without that right), the name is safe a little
    // later.
    if let Ok(directory) = File::open(directory) {
        let _ = directory.sync_all();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    struct Place(PathBuf);

    impl Place {
        fn new(name: &str) -> Self {
            let path =
                std::env::temp_dir().join(format!("weir-secret-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            Self(path)
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn written_closed_and_read_again() {
        let place = Place::new("write");
        let file = place.0.join("deep/secret");
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
        let place = Place::new("stamp");
        let file = place.0.join("secret");
        assert_eq!(Stamp::at(&file), None);
        write(&file, "one").expect("written");
        let first = Stamp::at(&file);
        assert!(first.is_some() && first == Stamp::at(&file));
        write(&file, "one").expect("written");
        assert_ne!(first, Stamp::at(&file), "another file of the same text");
    }

    #[test]
    fn what_others_could_touch_is_refused() {
        let place = Place::new("modes");
        let file = place.0.join("secret");
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
        let place = Place::new("text");
        let file = place.0.join("secret");
        write(&file, &"x".repeat(5000)).expect("written");
        assert!(matches!(read(&file), Err(SecretError::Content { .. })));
        fs::write(&file, b"\xff\xfe").expect("written");
        assert!(matches!(read(&file), Err(SecretError::Content { .. })));
        assert!(matches!(read(&place.0), Err(SecretError::Content { .. })));
        let pipe = place.0.join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).expect("a FIFO");
        assert!(matches!(read(&pipe), Err(SecretError::Content { .. })));
    }
}
