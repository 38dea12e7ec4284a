//! Small files that persist over a restart.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, TryLockError};

use tracing::error;

/// The longest file that is read, in bytes.
pub const LONGEST: u64 = 64 * 1024;

/// Reads a file, and creates its folder. A missing file counts as empty; an unreadable one is
/// quarantined and logged with `lost`: a router forwards all the same.
pub fn read(path: &Path, lost: &str) -> Vec<u8> {
    if let Some(folder) = path.parent() {
        // Without the folder there is nothing to read, and a later write reports the error.
        let _ = fs::create_dir_all(folder);
    }
    let read = match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Ok(file) if !file.is_file() => {
            error!(
                "{} is not a regular file, and is left alone: {lost}",
                path.display()
            );
            return Vec::new();
        }
        Ok(file) if file.len() > LONGEST => {
            let what = format!("it has more than {LONGEST} bytes");
            Err(io::Error::new(io::ErrorKind::InvalidData, what))
        }
        found => found.and_then(|_| fs::read(path)),
    };
    read.unwrap_or_else(|error| {
        quarantine(path, &error, lost);
        Vec::new()
    })
}

/// Keeps a damaged file under another name for later inspection.
pub fn quarantine(path: &Path, why: &dyn std::error::Error, lost: &str) {
    // Damaged files from earlier are kept, too.
    let names = (1..10).map(|number| match number {
        1 => path.with_extension("damaged"),
        number => path.with_extension(format!("damaged.{number}")),
    });
    let beside = names.reduce(|first, next| match first.symlink_metadata() {
        Ok(_) => next,
        Err(_) => first,
    });
    let beside = beside.unwrap_or_default();
    let kept = match fs::rename(path, &beside) {
        Ok(()) => format!("it was moved to {}", beside.display()),
        Err(error) => format!("nor move it aside: {error}"),
    };
    error!("cannot read {} ({why}), {kept}: {lost}", path.display());
}

/// The folder in which it is written.
pub fn folder(path: &Path) -> PathBuf {
    path.parent().map_or_else(PathBuf::new, Path::to_owned)
}

/// Writes a file as a whole, or leaves the former one.
///
/// # Errors
/// The file cannot be written.
pub fn write(path: &Path, octets: &[u8]) -> io::Result<()> {
    let beside = path.with_added_extension("new");
    let written = File::create(&beside).and_then(|mut file| {
        file.write_all(octets)?;
        file.sync_all()
    });
    let done = written.and_then(|()| fs::rename(&beside, path));
    if done.is_err() {
        // A partial file is useless.
        let _ = fs::remove_file(&beside);
    }
    done
}

/// Writer of one file, on separate threads, in the order of the requests.
#[derive(Clone, Debug)]
pub struct Writer {
    path: PathBuf,
    asked: Arc<AtomicU64>,
    /// The last one that was written.
    written: Arc<AtomicU64>,
    /// Lock that admits one writer at a time.
    turn: Arc<Mutex<()>>,
}

impl Writer {
    /// Creates a writer of this file.
    pub fn new(path: PathBuf) -> Self {
        Self {
            path,
            asked: Arc::default(),
            written: Arc::default(),
            turn: Arc::default(),
        }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder in which it is written.
    pub fn folder(&self) -> PathBuf {
        folder(&self.path)
    }

    /// Marks the file as outdated.
    pub fn mark_dirty(&self) {
        self.asked.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns true if the last requested content is not written yet.
    pub fn is_dirty(&self) -> bool {
        self.written.load(Ordering::Relaxed) < self.asked.load(Ordering::Relaxed)
    }

    /// Returns true while a write is in progress.
    pub fn is_busy(&self) -> bool {
        matches!(self.turn.try_lock(), Err(TryLockError::WouldBlock))
    }

    /// Writes all of the file, or leaves the former one. A write that a later one overtook may be
    /// skipped: the later one has all content.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, octets: Vec<u8>) -> impl Future<Output = io::Result<()>> + use<> {
        let work = self.begin(octets);
        async move {
            let done = tokio::task::spawn_blocking(work).await;
            done.unwrap_or_else(|error| Err(io::Error::other(error)))
        }
    }

    /// Writes the file and waits for the end.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write_now(&self, octets: Vec<u8>) -> io::Result<()> {
        self.begin(octets)()
    }

    /// Requests a write: from now on the file is dirty, and the returned work writes it.
    fn begin(&self, octets: Vec<u8>) -> impl FnOnce() -> io::Result<()> + use<> {
        let number = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        let own = self.clone();
        move || {
            let _turn = own.turn.lock().unwrap_or_else(PoisonError::into_inner);
            if own.written.load(Ordering::Relaxed) < number {
                write(&own.path, &octets)?;
                own.written.store(number, Ordering::Relaxed);
            }
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_damaged_goes_aside_and_what_is_no_file_stays() {
        let folder = std::env::temp_dir().join(format!("weir-aside-{}", std::process::id()));
        let path = folder.join("own/file");
        fs::create_dir_all(&folder).expect("a folder");
        for number in 0..3_u8 {
            assert!(read(&path, "x").is_empty());
            fs::write(&path, vec![number; LONGEST as usize + 1]).expect("a file");
        }
        assert!(read(&path, "x").is_empty() && !path.exists());
        let first = |name: &str| fs::read(folder.join("own").join(name)).expect("a file")[0];
        assert_eq!([first("file.damaged"), first("file.damaged.2")], [0, 1]);
        assert_eq!(first("file.damaged.3"), 2);
        // A folder with whatever is in it.
        assert!(read(&folder.join("own"), "x").is_empty());
        assert!(folder.join("own").is_dir());
        fs::remove_dir_all(&folder).expect("to go");
    }

    #[tokio::test]
    async fn what_was_asked_for_last_is_written_last() {
        let folder = std::env::temp_dir().join(format!("weir-kept-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join("file");
        let writer = Writer::new(path.clone());
        let all: Vec<_> = (0..20_u8).map(|one| writer.write(vec![one])).collect();
        // In the opposite order of the requests.
        for write in all.into_iter().rev() {
            write.await.expect("to be written");
        }
        assert_eq!(fs::read(&path).expect("a file"), [19]);
        assert!(!writer.is_dirty() && !writer.is_busy());
        fs::remove_dir_all(&folder).expect("to go");
        assert!(writer.write(vec![0]).await.is_err(), "without a folder");
        assert!(writer.is_dirty());
        fs::create_dir_all(&folder).expect("a folder");
        writer.write_now(vec![1]).expect("to be written");
        assert!(!writer.is_dirty());
        writer.mark_dirty();
        assert!(writer.is_dirty());
        fs::remove_dir_all(&folder).expect("to go");
    }
}
