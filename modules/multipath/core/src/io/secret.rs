//! Secrets of 32 bytes, each in a file of its own.

use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tracing::warn;

use super::files;
use crate::derive;
use crate::identity::Identity;

/// Failure to read or make a secret.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// The file cannot be read or written.
    #[error("{path}: {source}")]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        #[source]
        source: io::Error,
    },
    /// The file does not hold a key.
    #[error("no valid key in {path}: it must have 32 bytes, not {found}")]
    NoKey {
        /// Path of the file.
        path: PathBuf,
        /// Bytes in the file.
        found: usize,
    },
    /// Other users can read the file.
    #[error("others can read {path}: `chmod 600` it, or delete it and pair all routers again")]
    Open {
        /// Path of the file.
        path: PathBuf,
    },
    /// The system gives no random numbers.
    #[error("cannot read random numbers from the kernel")]
    Random,
}

/// Reads a secret; creates the file if missing.
///
/// # Errors
/// The file cannot be read or created, or other users can read it.
pub(super) fn keep(path: &Path) -> Result<[u8; 32], SecretError> {
    match read(path)? {
        (secret, false) => Ok(secret),
        (_, true) => Err(SecretError::Open {
            path: path.to_owned(),
        }),
    }
}

/// Reads or makes a secret, and returns true if other users can read it.
fn read(path: &Path) -> Result<([u8; 32], bool), SecretError> {
    let failed = |source| SecretError::File {
        path: path.to_owned(),
        source,
    };
    let file = match files::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let secret = derive::random().map_err(|_| SecretError::Random)?;
            make(path, &secret).map_err(failed)?;
            // If another process was first, its secret counts.
            files::open(path).map_err(failed)?
        }
        file => file.map_err(failed)?,
    };
    let about = file.metadata().map_err(failed)?;
    let mut octets = Vec::new();
    file.take(64).read_to_end(&mut octets).map_err(failed)?;
    let found = octets.len();
    let secret = octets.try_into().map_err(|_| SecretError::NoKey {
        path: path.to_owned(),
        found,
    })?;
    Ok((secret, about.permissions().mode() & 0o077 != 0))
}

fn make(path: &Path, secret: &[u8; 32]) -> io::Result<()> {
    let fresh = path.with_added_extension(std::process::id().to_string());
    files::write(&fresh, secret, |_| {
        let linked = fs::hard_link(&fresh, path);
        fs::remove_file(&fresh)?;
        match linked {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => files::settle(path),
        }
    })
}

/// Reads a router's own key; makes the file if it is missing.
///
/// # Errors
/// The file cannot be read or created. A file that others can read is only logged: without the key,
/// the partner would not recognise the router.
pub fn identity(path: &Path) -> Result<Identity, SecretError> {
    let (secret, exposed) = read(path)?;
    if exposed {
        let file = path.display();
        warn!(%file, "others can read this router's own key: `chmod 600 {file}`");
    }
    Ok(Identity::from(secret))
}
