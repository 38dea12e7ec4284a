//! What a partner keeps on disk: its key, and which routers it was paired with.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::key::{Key, KeyId, Master};

/// Where a partner keeps it unless told otherwise.
pub const DEFAULT_STATE: &str = "/var/lib/weir/multipath";

/// The folder of a partner's state.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
}

/// What is wrong with it.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A file cannot be read or written.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The key's file holds something else.
    #[error("{path} does not hold a key: 32 octets are expected, there are {found}")]
    NoKey {
        /// Which.
        path: PathBuf,
        /// Octets in it.
        found: usize,
    },
    /// Others can read the key.
    #[error("{path} can be read by others: `chmod 600` it, or delete it and pair all routers anew")]
    Open {
        /// Which.
        path: PathBuf,
    },
    /// No random numbers.
    #[error("the kernel gives no random numbers")]
    Random,
}

impl Store {
    /// A folder, which is made where it is missing.
    ///
    /// # Errors
    /// It cannot be.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        let mut builder = fs::DirBuilder::new();
        let made = builder.recursive(true).mode(0o700).create(folder);
        made.map_err(|source| StoreError::File {
            path: folder.to_owned(),
            source,
        })?;
        Ok(Self {
            folder: folder.to_owned(),
        })
    }

    fn failed(path: &Path) -> impl FnOnce(io::Error) -> StoreError {
        let path = path.to_owned();
        move |source| StoreError::File { path, source }
    }

    /// The partner's own key, made where there is none yet.
    ///
    /// # Errors
    /// It cannot be read or made, or others can read it.
    pub fn master(&self) -> Result<Master, StoreError> {
        let path = self.folder.join("key");
        match File::open(&path) {
            Ok(file) => {
                let about = file.metadata().map_err(Self::failed(&path))?;
                if about.permissions().mode() & 0o077 != 0 {
                    return Err(StoreError::Open { path });
                }
                let mut octets = Vec::new();
                let read = file.take(64).read_to_end(&mut octets);
                read.map_err(Self::failed(&path))?;
                let found = octets.len();
                let octets: [u8; 32] = octets
                    .try_into()
                    .map_err(|_| StoreError::NoKey { path, found })?;
                Ok(Master::from(octets))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let master = Master::generate().map_err(|_| StoreError::Random)?;
                // Under another name first: a power cut must not leave half a key. Whoever is second takes the first one's.
                let fresh = self.folder.join(format!("key.{}", std::process::id()));
                let write = || -> io::Result<()> {
                    let mut options = OpenOptions::new();
                    options.write(true).create(true).truncate(true).mode(0o600);
                    let mut file = options.open(&fresh)?;
                    file.write_all(master.octets())?;
                    file.sync_all()?;
                    let linked = fs::hard_link(&fresh, &path);
                    fs::remove_file(&fresh)?;
                    match linked {
                        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
                        _ => File::open(&self.folder)?.sync_all(),
                    }
                };
                write().map_err(Self::failed(&path))?;
                self.master()
            }
            Err(source) => Err(StoreError::File { path, source }),
        }
    }

    fn routers(&self) -> PathBuf {
        self.folder.join("routers")
    }

    /// When the list of routers last changed.
    pub fn changed(&self) -> Option<SystemTime> {
        fs::metadata(self.routers()).ok()?.modified().ok()
    }

    /// The routers that it was paired with, and what they are called.
    ///
    /// # Errors
    /// The list cannot be read.
    pub fn paired(&self) -> Result<Vec<(KeyId, String)>, StoreError> {
        let path = self.routers();
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            other => other.map_err(Self::failed(&path))?,
        };
        let lines = text.lines().filter_map(|line| {
            let (id, name) = line.split_once(' ').unwrap_or((line, ""));
            Some((id.parse().ok()?, name.to_owned()))
        });
        Ok(lines.collect())
    }

    /// Pairs with one more router: its key.
    ///
    /// # Errors
    /// The list cannot be written.
    pub fn pair(&self, name: &str) -> Result<Key, StoreError> {
        let master = self.master()?;
        let id = KeyId::generate().map_err(|_| StoreError::Random)?;
        let path = self.routers();
        let write = || -> io::Result<()> {
            let mut options = OpenOptions::new();
            let mut file = options.append(true).create(true).mode(0o600).open(&path)?;
            // One write: two at once do not mix.
            file.write_all(format!("{id} {name}\n").as_bytes())?;
            file.sync_all()
        };
        write().map_err(Self::failed(&path))?;
        Ok(master.key(id))
    }
}
