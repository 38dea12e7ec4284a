//! A partner's state on disk: its key, and its paired routers.

mod error;
#[cfg(test)]
mod tests;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, SystemTime};

use nix::fcntl::{Flock, FlockArg};
use nix::libc::O_NONBLOCK;

use super::files;
use super::observations::Observations;
use super::router_list::{RouterEntry, RouterList};
use super::secret;
use crate::PORT;
use crate::identity::Master;
use crate::key::{Key, KeyId, PublicKey};
use crate::traffic_policy::Ports;
use crate::welcome::MOST_FORWARDS;

pub use error::StoreError;

/// Default folder of a partner's state.
pub const DEFAULT_STATE: &str = "/var/lib/weir/multipath";

/// Number of addresses of a tunnel whose network is not known yet: those of 10.93.0.0/16.
const PLACES: usize = 65_533;

/// Lock of a folder: this process is its partner.
pub type Serves = Flock<File>;

/// Tries to get the lock of the folder, and the pause between them.
const TRIES: u32 = 20;
const MOMENT: Duration = Duration::from_millis(50);

/// Longest name of a router, characters.
const LONGEST_NAME: usize = 64;

/// State of the list's file, to detect a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    inode: u64,
    length: u64,
    written: SystemTime,
}

/// The folder of a partner's state.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
}

impl Store {
    /// Opens a folder; creates it if missing.
    ///
    /// # Errors
    /// The folder cannot be created.
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

    /// Refers to a folder that exists, or is taken as empty.
    pub fn existing(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
        }
    }

    /// Gives a file that root wrote to the folder's owner, as whom a partner may run.
    fn give(&self, file: &File) {
        if let (Ok(folder), Ok(about)) = (fs::metadata(&self.folder), file.metadata())
            && (about.uid(), about.gid()) != (folder.uid(), folder.gid())
        {
            // Without the right to do so, this process is not root, and the owner is right already.
            let _ = fchown(file, Some(folder.uid()), Some(folder.gid()));
        }
    }

    fn failed(path: &Path) -> impl FnOnce(io::Error) -> StoreError {
        let path = path.to_owned();
        move |source| StoreError::File { path, source }
    }

    /// Reads the partner's master key; creates it if missing.
    ///
    /// # Errors
    /// The key cannot be read or created, or others can read it; or the key is missing, and routers
    /// were paired with it.
    pub fn master(&self) -> Result<Master, StoreError> {
        let path = self.folder.join("key");
        // A new key would silently invalidate the lines of all routers.
        if !path.exists() && self.roll()?.paired().next().is_some() {
            return Err(StoreError::KeyGone(path));
        }
        let master = secret::keep(&path).map(Master::from)?;
        self.give(&File::open(&path).map_err(Self::failed(&path))?);
        Ok(master)
    }

    fn routers(&self) -> PathBuf {
        self.folder.join("routers")
    }

    /// Returns the state of the list's file; `None`: the list does not exist.
    pub fn stamp(&self) -> Option<Stamp> {
        let about = fs::metadata(self.routers()).ok()?;
        Some(Stamp {
            inode: about.ino(),
            length: about.len(),
            written: about.modified().ok()?,
        })
    }

    /// Reads the list of routers.
    ///
    /// # Errors
    /// The list cannot be read.
    pub fn roll(&self) -> Result<RouterList, StoreError> {
        Ok(RouterList::read(&Self::text(&self.routers())?))
    }

    fn text(path: &Path) -> Result<String, StoreError> {
        let read = || -> io::Result<String> {
            let mut octets = Vec::new();
            files::open(path)?.read_to_end(&mut octets)?;
            // A malformed line must not invalidate the others.
            Ok(String::from_utf8_lossy(&octets).into_owned())
        };
        match read() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
            other => other.map_err(Self::failed(path)),
        }
    }

    /// Writes down missing places of routers: afterwards, deleting a line moves no other router.
    ///
    /// # Errors
    /// The list cannot be read or written.
    pub fn settle(&self) -> Result<(), StoreError> {
        let _lock = self.lock()?;
        let text = Self::text(&self.routers())?;
        let roll = RouterList::read(&text);
        if roll.all().next().is_none() || roll.to_string() == text {
            return Ok(());
        }
        self.write(&roll)
    }

    fn write(&self, roll: &RouterList) -> Result<(), StoreError> {
        self.replace("routers", &roll.to_string())
    }

    fn replace(&self, name: &str, text: &str) -> Result<(), StoreError> {
        let path = self.folder.join(name);
        let fresh = path.with_added_extension("new");
        let written = files::write(&fresh, text.as_bytes(), |file| {
            self.give(file);
            fs::rename(&fresh, &path)?;
            files::settle(&path)
        });
        written.map_err(Self::failed(&path))
    }

    fn serving(&self) -> PathBuf {
        self.folder.join("serving")
    }

    /// Locks the folder for a partner, until the result is dropped. The kernel unlocks the folder
    /// when the process is killed.
    ///
    /// # Errors
    /// The file cannot be created, or another partner serves.
    pub fn serve(&self) -> Result<Serves, StoreError> {
        let mut tries = 0;
        loop {
            match self.locked(self.serving(), FlockArg::LockExclusiveNonblock) {
                // A process that only checks holds the lock for a moment.
                Err(StoreError::File { source, .. })
                    if source.kind() == io::ErrorKind::WouldBlock =>
                {
                    if tries == TRIES {
                        return Err(StoreError::Served(self.folder.clone()));
                    }
                    tries += 1;
                    sleep(MOMENT);
                }
                other => return other,
            }
        }
    }

    /// Returns true if a partner appears to serve now.
    pub fn is_served(&self) -> bool {
        let Ok(file) = files::open(&self.serving()) else {
            return false;
        };
        Flock::lock(file, FlockArg::LockSharedNonblock).is_err()
    }

    /// Reads the observations of a present or earlier partner about its routers.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn observations(&self) -> Result<Option<Observations>, StoreError> {
        Ok(Observations::read(&Self::text(&self.folder.join("seen"))?))
    }

    /// Writes the observations.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn see(&self, seen: &Observations) -> Result<(), StoreError> {
        self.replace("seen", &seen.to_string())
    }

    /// Pairs with a new router, which gets these ports, and returns its key.
    ///
    /// # Errors
    /// The list cannot be written, a port is not free, or the name is not valid.
    pub fn pair(&self, name: &str, forwards: &[Ports]) -> Result<Key, StoreError> {
        if !is_name(name) {
            return Err(StoreError::Name(name.to_owned()));
        }
        let master = self.master()?;
        let places = self
            .observations()?
            .map_or(PLACES, |seen| seen.net.places());
        let _lock = self.lock()?;
        let mut roll = self.roll()?;
        let id = unused(&roll)?;
        free(id, forwards, &roll)?;
        roll.add(id, name, forwards, places);
        self.write(&roll)?;
        Ok(master.key(id))
    }

    /// Sets the forwarded ports of a router, given by its name or its key's id.
    ///
    /// # Errors
    /// No router or several routers have this name; a port is not free; the list cannot be written.
    pub fn forward(&self, router: &str, forwards: &[Ports]) -> Result<(), StoreError> {
        let _lock = self.lock()?;
        let mut roll = self.roll()?;
        let id = one(&mut roll, router)?.id;
        free(id, forwards, &roll)?;
        one(&mut roll, router)?.forwards = forwards.to_vec();
        self.write(&roll)
    }

    /// Limits a router's connections at once; `None`: as many as are left for the others.
    ///
    /// # Errors
    /// No router or several routers have this name; the list cannot be written.
    pub fn limit(&self, router: &str, most: Option<u32>) -> Result<(), StoreError> {
        let _lock = self.lock()?;
        let mut roll = self.roll()?;
        one(&mut roll, router)?.max_connections = most;
        self.write(&roll)
    }

    /// Revokes a router: neither its key nor its place is given to another.
    ///
    /// # Errors
    /// No router or several routers have this name; the list cannot be written.
    pub fn revoke(&self, router: &str) -> Result<(), StoreError> {
        let _lock = self.lock()?;
        let mut roll = self.roll()?;
        let id = one(&mut roll, router)?.id;
        roll.revoke(id);
        self.write(&roll)
    }

    /// Gives a router another key; it keeps its name, its ports and its place.
    ///
    /// # Errors
    /// No router or several routers have this name; the list cannot be written.
    pub fn rotate(&self, router: &str) -> Result<Key, StoreError> {
        let master = self.master()?;
        let _lock = self.lock()?;
        let mut roll = self.roll()?;
        let old = one(&mut roll, router)?.id;
        let new = unused(&roll)?;
        roll.rotate(old, new);
        self.write(&roll)?;
        Ok(master.key(new))
    }

    /// Admits a router with its line: the first use reserves the line for this router. Returns
    /// false if the line belongs to another router. `of_line` is the key that all owners of a line
    /// share: the first router with a key of its own replaces it.
    ///
    /// # Errors
    /// The line does not exist; the list cannot be read or written.
    pub fn admit(
        &self,
        id: KeyId,
        router: PublicKey,
        of_line: PublicKey,
    ) -> Result<bool, StoreError> {
        let _lock = self.lock()?;
        let mut roll = self.roll()?;
        let name = id.to_string();
        let paired = one(&mut roll, &name)?;
        if paired.router == Some(router) {
            return Ok(true);
        }
        if paired.router.is_some_and(|first| first != of_line) {
            return Ok(false);
        }
        paired.router = Some(router);
        self.write(&roll)?;
        Ok(true)
    }

    /// Locks the list for a change.
    fn lock(&self) -> Result<Flock<File>, StoreError> {
        self.locked(self.folder.join("lock"), FlockArg::LockExclusive)
    }

    fn locked(&self, path: PathBuf, how: FlockArg) -> Result<Flock<File>, StoreError> {
        let mut options = OpenOptions::new();
        let file = options
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(O_NONBLOCK)
            .open(&path);
        let file = file.map_err(Self::failed(&path))?;
        self.give(&file);
        Flock::lock(file, how).map_err(|(_, error)| StoreError::File {
            path,
            source: error.into(),
        })
    }
}

/// Returns the router with this name, or with this key's id.
fn one<'a>(roll: &'a mut RouterList, router: &'a str) -> Result<&'a mut RouterEntry, StoreError> {
    let mut found = roll.named(router);
    match (found.next(), found.next()) {
        (Some(router), None) => Ok(router),
        (Some(one), Some(other)) => {
            let all = [one, other].into_iter().chain(found);
            let ids: Vec<_> = all.map(|it| it.id.to_string()).collect();
            Err(StoreError::Several(router.to_owned(), ids.join(", ")))
        }
        (None, _) => Err(StoreError::NoRouter(router.to_owned())),
    }
}

/// Returns true if a router's name is valid: it appears in the list, and on terminals.
fn is_name(name: &str) -> bool {
    name.chars().count() <= LONGEST_NAME
        && !name.chars().any(char::is_control)
        && !name.contains("key:")
        && name.parse::<KeyId>().is_err()
}

/// Generates the id of a key that no router has or had.
fn unused(roll: &RouterList) -> Result<KeyId, StoreError> {
    loop {
        let id = KeyId::generate().map_err(|_| StoreError::Random)?;
        if roll.all().all(|router| router.id != id) {
            return Ok(id);
        }
    }
}

/// Fails if a router may not have these ports, because of the others.
fn free(id: KeyId, forwards: &[Ports], roll: &RouterList) -> Result<(), StoreError> {
    if forwards.len() > MOST_FORWARDS {
        return Err(StoreError::TooMany);
    }
    for ports in forwards {
        if ports.range.contains(&PORT) {
            return Err(StoreError::Own(ports.clone()));
        }
        let has = |other: &&RouterEntry| {
            other.id != id && other.forwards.iter().any(|other| other.overlap(ports))
        };
        if let Some(other) = roll.paired().find(has) {
            return Err(StoreError::Taken {
                ports: ports.clone(),
                router: match &*other.name {
                    "" => other.id.to_string(),
                    name => name.to_owned(),
                },
            });
        }
    }
    Ok(())
}
