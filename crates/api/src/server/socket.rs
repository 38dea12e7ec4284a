//! The socket: one daemon per path, access only for root and the daemon's user, no leftovers.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use tokio::net::{UnixListener, UnixStream};

/// A bound socket. Dropping it removes the socket file.
#[derive(Debug)]
pub struct Listener {
    listener: UnixListener,
    path: PathBuf,
    /// Lock that tells a stale socket file from one in use: held while this daemon lives, and
    /// released by the kernel however the daemon dies.
    _lock: Flock<File>,
}

/// Reason why the socket could not be created.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// Another daemon uses the socket.
    #[error("another weir is running here: it holds {}", .0.display())]
    InUse(PathBuf),
    /// Something that is not a socket is at the path.
    #[error("{} exists and is not a socket", .0.display())]
    NotASocket(PathBuf),
    /// The path is longer than a UNIX socket's address (107 bytes), is a root, or has no name.
    #[error("{} is not a valid path for a UNIX socket", .0.display())]
    BadPath(PathBuf),
    /// The system call failed.
    #[error("cannot make {}", path.display())]
    Io {
        /// Path that could not be created.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// `sun_path` holds 108 bytes, the last of which is 0 (unix(7)).
const LONGEST_PATH: usize = 107;

impl Listener {
    /// Binds the socket, mode 0660. Creates the directory, with mode 0700, if it does not exist.
    /// Replaces a socket file that a killed daemon left. Must be called inside a tokio runtime.
    pub fn bind(path: &Path) -> Result<Self, SocketError> {
        let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(SocketError::BadPath(path.to_owned()));
        };
        if path.as_os_str().len() > LONGEST_PATH {
            return Err(SocketError::BadPath(path.to_owned()));
        }
        let io = |path: &Path| {
            let path = path.to_owned();
            move |source| SocketError::Io { path, source }
        };
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory)
            .map_err(io(directory))?;

        let mut lock_name = name.to_owned();
        lock_name.push(".lock");
        let lock_path = directory.join(lock_name);
        // The lock file stays: removing it would let two daemons each lock a file of that name.
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(&lock_path)
            .map_err(io(&lock_path))?;
        let lock =
            Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(
                |(_, errno)| match errno {
                    Errno::EWOULDBLOCK => SocketError::InUse(path.to_owned()),
                    other => io(&lock_path)(other.into()),
                },
            )?;

        remove_stale(path)?;
        let listener = UnixListener::bind(path).map_err(io(path))?;
        let bound = Self {
            listener,
            path: path.to_owned(),
            _lock: lock,
        };
        fs::set_permissions(path, Permissions::from_mode(0o660)).map_err(io(path))?;
        Ok(bound)
    }

    /// Returns the path of the socket.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(super) async fn accept(&self) -> io::Result<UnixStream> {
        self.listener.accept().await.map(|(stream, _)| stream)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // Fails only if another process removed the file, which is harmless.
        let _ = fs::remove_file(&self.path);
    }
}

/// Removes an existing socket: under the lock, no daemon uses it.
fn remove_stale(path: &Path) -> Result<(), SocketError> {
    use std::os::unix::fs::FileTypeExt;
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(source) => Err(SocketError::Io {
            path: path.to_owned(),
            source,
        }),
        Ok(found) if found.file_type().is_socket() => {
            fs::remove_file(path).map_err(|source| SocketError::Io {
                path: path.to_owned(),
                source,
            })
        }
        Ok(_) => Err(SocketError::NotASocket(path.to_owned())),
    }
}
