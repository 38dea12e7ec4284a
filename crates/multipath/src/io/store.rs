//! What a partner keeps on disk: its key, and which routers it was paired with.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::SystemTime;

use nix::fcntl::{Flock, FlockArg};

use crate::PORT;
use crate::choice::Ports;
use crate::key::{Key, KeyId, KeyIdError, Master};
use crate::welcome::MOST_FORWARDS;

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
    #[error("{path} does not hold a key: 32 bytes are expected, there are {found}")]
    NoKey {
        /// Which.
        path: PathBuf,
        /// Bytes in it.
        found: usize,
    },
    /// Others can read the key.
    #[error("{path} can be read by others: `chmod 600` it, or delete it and pair all routers anew")]
    Open {
        /// Which.
        path: PathBuf,
    },
    /// Which router?
    #[error("there is no router {0}: the list is in the file `routers` of the state's folder")]
    NoRouter(String),
    /// Which of them?
    #[error(
        "there are several routers {0}: name the key's id, from the file `routers` of the state's \
            folder"
    )]
    Several(String),
    /// Routers would not come any more.
    #[error("{0} cannot be given to a router: routers come to port {PORT}")]
    Own(Ports),
    /// Two cannot have it.
    #[error(
        "{ports} belongs to router {router}: give another port, or take it away there by `weir \
            multipath forward {router}`"
    )]
    Taken {
        /// What is taken.
        ports: Ports,
        /// By whom.
        router: String,
    },
    /// More than the router can be told of.
    #[error("a router may have {MOST_FORWARDS} ranges of ports: make fewer and larger ones")]
    TooMany,
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
                // Under another name first: a power cut must not leave half a key. Whoever is
                // second takes the first one's.
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

    /// The routers that it was paired with.
    ///
    /// # Errors
    /// The list cannot be read.
    pub fn paired(&self) -> Result<Vec<Paired>, StoreError> {
        let path = self.routers();
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            other => other.map_err(Self::failed(&path))?,
        };
        Ok(text.lines().filter_map(|line| line.parse().ok()).collect())
    }

    /// Pairs with one more router, which has these ports: its key.
    ///
    /// # Errors
    /// The list cannot be written, or a port is not free.
    pub fn pair(&self, name: &str, forwards: &[Ports]) -> Result<Key, StoreError> {
        let master = self.master()?;
        let id = KeyId::generate().map_err(|_| StoreError::Random)?;
        let router = Paired {
            id,
            name: name.to_owned(),
            forwards: forwards.to_vec(),
        };
        let _lock = self.lock()?;
        free(&router, &self.paired()?)?;
        let path = self.routers();
        let write = || -> io::Result<()> {
            let mut options = OpenOptions::new();
            let mut file = options.append(true).create(true).mode(0o600).open(&path)?;
            file.write_all(format!("{router}\n").as_bytes())?;
            file.sync_all()
        };
        write().map_err(Self::failed(&path))?;
        Ok(master.key(id))
    }

    /// Gives a router, by its name or its key's id, these ports, and takes others from it.
    ///
    /// # Errors
    /// There is no such router, or there are several; a port is not free; the list cannot be
    /// written.
    pub fn forward(&self, router: &str, forwards: &[Ports]) -> Result<(), StoreError> {
        let _lock = self.lock()?;
        let mut all = self.paired()?;
        let is = |paired: &Paired| paired.name == router || paired.id.to_string() == router;
        let mut found = (0..all.len()).filter(|place| is(&all[*place]));
        let place = found
            .next()
            .ok_or_else(|| StoreError::NoRouter(router.to_owned()))?;
        if found.next().is_some() {
            return Err(StoreError::Several(router.to_owned()));
        }
        all[place].forwards = forwards.to_vec();
        free(&all[place], &all)?;
        let path = self.routers();
        let write = || -> io::Result<()> {
            // What is no router's line, somebody wrote for himself.
            let mut text = String::new();
            let mut all = all.iter();
            for line in fs::read_to_string(&path)?.lines() {
                match line.parse::<Paired>().ok().and_then(|_| all.next()) {
                    Some(router) => text += &router.to_string(),
                    None => text += line,
                }
                text.push('\n');
            }
            // Under another name first: a power cut must not leave half a list.
            let fresh = self.folder.join("routers.new");
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(true).mode(0o600);
            let mut file = options.open(&fresh)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&fresh, &path)?;
            File::open(&self.folder)?.sync_all()
        };
        write().map_err(Self::failed(&path))
    }

    /// One at a time.
    fn lock(&self) -> Result<Flock<File>, StoreError> {
        let path = self.folder.join("lock");
        let mut options = OpenOptions::new();
        let file = options
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path);
        let file = file.map_err(Self::failed(&path))?;
        Flock::lock(file, FlockArg::LockExclusive).map_err(|(_, error)| StoreError::File {
            path,
            source: error.into(),
        })
    }
}

/// A router that a partner was paired with: a line of its list, `ID NAME`, and behind a tab the
/// ports that it has, as `tcp/8022,udp/51820`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paired {
    /// Names its key.
    pub id: KeyId,
    /// What it is called.
    pub name: String,
    /// Ports of the partner that lead to it.
    pub forwards: Vec<Ports>,
}

impl fmt::Display for Paired {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.id, self.name)?;
        for (number, ports) in self.forwards.iter().enumerate() {
            let before = if number == 0 { '\t' } else { ',' };
            write!(formatter, "{before}{ports}")?;
        }
        Ok(())
    }
}

impl FromStr for Paired {
    type Err = KeyIdError;

    /// Ports that cannot be read are left out.
    fn from_str(line: &str) -> Result<Self, Self::Err> {
        let (router, forwards) = line.split_once('\t').unwrap_or((line, ""));
        let (id, name) = router.split_once(' ').unwrap_or((router, ""));
        let forwards = forwards.split(',').filter_map(|ports| ports.parse().ok());
        Ok(Self {
            id: id.parse()?,
            name: name.to_owned(),
            forwards: forwards.take(MOST_FORWARDS).collect(),
        })
    }
}

/// Whether a router may have its ports, beside the others.
fn free(router: &Paired, all: &[Paired]) -> Result<(), StoreError> {
    if router.forwards.len() > MOST_FORWARDS {
        return Err(StoreError::TooMany);
    }
    for ports in &router.forwards {
        if ports.range.contains(&PORT) {
            return Err(StoreError::Own(ports.clone()));
        }
        let has = |other: &&Paired| {
            other.id != router.id && other.forwards.iter().any(|other| other.overlap(ports))
        };
        if let Some(other) = all.iter().find(has) {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn store(name: &str) -> Store {
        let folder = std::env::temp_dir().join(format!("weir-store-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        Store::open(&folder).expect("a folder")
    }

    fn ports(text: &str) -> Vec<Ports> {
        let each = text.split_whitespace();
        each.map(|one| one.parse().expect("ports")).collect()
    }

    #[test]
    fn old_lists_are_read_and_kept() {
        let store = store("old");
        let old = "# mine\n0011223344556677 home\n8899aabbccddeeff\n";
        fs::write(store.routers(), old).expect("written");
        let read = store.paired().expect("read");
        assert_eq!(read.len(), 2);
        assert_eq!((&*read[0].name, &*read[1].name), ("home", ""));
        assert!(read.iter().all(|router| router.forwards.is_empty()));

        let wanted = ports("tcp/8022 udp/8000-8099");
        store.forward("8899aabbccddeeff", &wanted).expect("free");
        assert_eq!(store.paired().expect("read")[1].forwards, wanted);
        let text = fs::read_to_string(store.routers()).expect("read");
        assert!(
            text.starts_with("# mine\n0011223344556677 home\n"),
            "{text}"
        );
        store.forward("8899aabbccddeeff", &[]).expect("free");
        let text = fs::read_to_string(store.routers()).expect("read");
        assert_eq!(text.trim_end(), old.trim_end());
        fs::remove_dir_all(&store.folder).expect("removed");
    }

    #[test]
    fn a_port_belongs_to_one_router() {
        let store = store("ports");
        store.pair("home", &ports("tcp/8000-8099")).expect("free");
        store.pair("twin", &[]).expect("free");
        store.pair("twin", &ports("udp/8000")).expect("free");
        let told = |error: Result<(), StoreError>| error.expect_err("not free").to_string();
        let other = store.pair("other", &ports("tcp/8050"));
        assert_eq!(
            told(other.map(drop)),
            "tcp/8050 belongs to router home: give another port, or take it away there by `weir \
                multipath forward home`"
        );
        assert_eq!(
            store.paired().expect("read").len(),
            3,
            "and it is not paired"
        );
        let own = store.forward("home", &ports("tcp/9000-9400"));
        assert!(told(own).contains("routers come to"));
        assert!(told(store.forward("nobody", &[])).contains("no router nobody"));
        assert!(told(store.forward("twin", &[])).contains("several routers"));
        let many = vec![ports("tcp/1")[0].clone(); MOST_FORWARDS + 1];
        assert!(told(store.forward("home", &many)).contains("32"));
        fs::remove_dir_all(&store.folder).expect("removed");
    }
}
