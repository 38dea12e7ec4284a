//! What a partner keeps on disk: its key, and which routers it was paired with.

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
use super::roll::{Paired, Roll};
use super::secret;
use super::seen::Seen;
use crate::PORT;
use crate::choice::Ports;
use crate::identity::Master;
use crate::key::{Key, KeyId, Public};
use crate::welcome::MOST_FORWARDS;

pub use error::StoreError;

/// Where a partner keeps it unless told otherwise.
pub const DEFAULT_STATE: &str = "/var/lib/weir/multipath";

/// Places of a tunnel whose network nobody has told yet: those of 10.93.0.0/16.
const PLACES: usize = 65_533;

/// That this process is the partner of a folder.
pub type Serves = Flock<File>;

/// How often and how far apart is tried to be the one that serves.
const TRIES: u32 = 20;
const MOMENT: Duration = Duration::from_millis(50);

/// Longest name of a router, characters.
const LONGEST_NAME: usize = 64;

/// By which a change of the list is found.
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

    /// One that is there, or seems empty.
    pub fn existing(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
        }
    }

    /// What root writes here is the folder's owner's, as whom a partner may run.
    fn give(&self, file: &File) {
        if let (Ok(folder), Ok(about)) = (fs::metadata(&self.folder), file.metadata())
            && (about.uid(), about.gid()) != (folder.uid(), folder.gid())
        {
            // Who may not do so is no root, and the folder is his or nobody's whom he knows.
            let _ = fchown(file, Some(folder.uid()), Some(folder.gid()));
        }
    }

    fn failed(path: &Path) -> impl FnOnce(io::Error) -> StoreError {
        let path = path.to_owned();
        move |source| StoreError::File { path, source }
    }

    /// The partner's own key, made where there is none yet.
    ///
    /// # Errors
    /// It cannot be read or made, or others can read it; or it is gone, and routers were paired with
    /// it.
    pub fn master(&self) -> Result<Master, StoreError> {
        let path = self.folder.join("key");
        // Another one would make all their lines worthless, without a word.
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

    /// What tells whether the list of routers changed; `None`: there is none.
    pub fn stamp(&self) -> Option<Stamp> {
        let about = fs::metadata(self.routers()).ok()?;
        Some(Stamp {
            inode: about.ino(),
            length: about.len(),
            written: about.modified().ok()?,
        })
    }

    /// The list of routers.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn roll(&self) -> Result<Roll, StoreError> {
        Ok(Roll::read(&Self::text(&self.routers())?))
    }

    fn text(path: &Path) -> Result<String, StoreError> {
        let read = || -> io::Result<String> {
            let mut octets = Vec::new();
            files::open(path)?.read_to_end(&mut octets)?;
            // One line that is broken breaks no other.
            Ok(String::from_utf8_lossy(&octets).into_owned())
        };
        match read() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
            other => other.map_err(Self::failed(path)),
        }
    }

    /// Writes the places of all routers down, where that has not been done: from then on none moves
    /// when the line of another is deleted.
    ///
    /// # Errors
    /// The list cannot be read or written.
    pub fn settle(&self) -> Result<(), StoreError> {
        let _lock = self.lock()?;
        let text = Self::text(&self.routers())?;
        let roll = Roll::read(&text);
        if roll.all().next().is_none() || roll.to_string() == text {
            return Ok(());
        }
        self.write(&roll)
    }

    fn write(&self, roll: &Roll) -> Result<(), StoreError> {
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

    /// Says that a partner serves, for as long as what it gives is kept: also to who asks after it was
    /// killed.
    ///
    /// # Errors
    /// Its file cannot be made, or another partner serves.
    pub fn serve(&self) -> Result<Serves, StoreError> {
        let mut tries = 0;
        loop {
            match self.locked(self.serving(), FlockArg::LockExclusiveNonblock) {
                // Who asks whether somebody serves holds it for a moment.
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

    /// Whether a partner serves now, as far as can be seen.
    pub fn is_served(&self) -> bool {
        let Ok(file) = files::open(&self.serving()) else {
            return false;
        };
        Flock::lock(file, FlockArg::LockSharedNonblock).is_err()
    }

    /// What a partner that serves, or served, has seen of its routers.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn seen(&self) -> Result<Option<Seen>, StoreError> {
        Ok(Seen::read(&Self::text(&self.folder.join("seen"))?))
    }

    /// Keeps it.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn see(&self, seen: &Seen) -> Result<(), StoreError> {
        self.replace("seen", &seen.to_string())
    }

    /// Pairs with one more router, which has these ports: its key.
    ///
    /// # Errors
    /// The list cannot be written, a port is not free, or the name is none.
    pub fn pair(&self, name: &str, forwards: &[Ports]) -> Result<Key, StoreError> {
        if !is_name(name) {
            return Err(StoreError::Name(name.to_owned()));
        }
        let master = self.master()?;
        let places = self.seen()?.map_or(PLACES, |seen| seen.net.places());
        let _lock = self.lock()?;
        let mut roll = self.roll()?;
        let id = unused(&roll)?;
        free(id, forwards, &roll)?;
        roll.add(id, name, forwards, places);
        self.write(&roll)?;
        Ok(master.key(id))
    }

    /// Gives a router, by its name or its key's id, these ports, and takes others from it.
    ///
    /// # Errors
    /// There is no such router, or there are several; a port is not free; the list cannot be
    /// written.
    pub fn forward(&self, router: &str, forwards: &[Ports]) -> Result<(), StoreError> {
        let _lock = self.lock()?;
        let mut roll = self.roll()?;
        let id = one(&mut roll, router)?.id;
        free(id, forwards, &roll)?;
        one(&mut roll, router)?.forwards = forwards.to_vec();
        self.write(&roll)
    }

    /// Lets a router have so many connections at once; `None`: as many as are left for the others.
    ///
    /// # Errors
    /// There is no such router, or there are several; the list cannot be written.
    pub fn limit(&self, router: &str, most: Option<u32>) -> Result<(), StoreError> {
        let _lock = self.lock()?;
        let mut roll = self.roll()?;
        one(&mut roll, router)?.most = most;
        self.write(&roll)
    }

    /// Sends a router away: neither its key nor its place is anybody's from now on.
    ///
    /// # Errors
    /// There is no such router, or there are several; the list cannot be written.
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
    /// There is no such router, or there are several; the list cannot be written.
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

    /// A router came with its line: for the first time, and the line is kept for it; or again. False:
    /// the line is another's. `of_line` is nobody in particular: whoever has the line is that, and the
    /// first one with a key of its own takes its place.
    ///
    /// # Errors
    /// There is no such line; the list cannot be read or written.
    pub fn admit(&self, id: KeyId, router: Public, of_line: Public) -> Result<bool, StoreError> {
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

    /// One at a time.
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

/// The router of this name, or of this key's id.
fn one<'a>(roll: &'a mut Roll, router: &'a str) -> Result<&'a mut Paired, StoreError> {
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

/// Whether a router may be called so: it stands in the list, and on terminals.
fn is_name(name: &str) -> bool {
    name.chars().count() <= LONGEST_NAME
        && !name.chars().any(char::is_control)
        && !name.contains("key:")
        && name.parse::<KeyId>().is_err()
}

/// The id of a key that nobody has or had.
fn unused(roll: &Roll) -> Result<KeyId, StoreError> {
    loop {
        let id = KeyId::generate().map_err(|_| StoreError::Random)?;
        if roll.all().all(|router| router.id != id) {
            return Ok(id);
        }
    }
}

/// Whether a router may have these ports, beside the others.
fn free(id: KeyId, forwards: &[Ports], roll: &Roll) -> Result<(), StoreError> {
    if forwards.len() > MOST_FORWARDS {
        return Err(StoreError::TooMany);
    }
    for ports in forwards {
        if ports.range.contains(&PORT) {
            return Err(StoreError::Own(ports.clone()));
        }
        let has = |other: &&Paired| {
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
