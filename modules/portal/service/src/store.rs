//! The file of vouchers. A thread writes the file, as disks are slow; a partial write is cut off
//! again.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use portal_core::journal;
use tokio::sync::oneshot;
use tracing::{error, warn};

/// Growth factor after which the file is rewritten.
const WORN: u64 = 8;
/// Bytes that are always too few for that.
const FEW: u64 = 256 << 10;

/// Interval after which a failed write is repeated.
const AGAIN: Duration = Duration::from_secs(10);
/// Maximum bytes of the queue: beyond that, new lines are lost.
const MOST_LATE: usize = 4 << 20;

/// Longest time for which past accounts stay on the disk if no other rewrite happens: flash wears
/// out.
const FORGOTTEN: Duration = Duration::from_secs(3600);

type Completion = oneshot::Sender<Result<(), String>>;

/// Job of the writing thread.
enum Job {
    /// Writes these lines, and notifies the requester.
    Write(String, Option<Completion>),
    /// Removes past accounts: within the hour.
    Forget,
}

/// A file of vouchers, open.
pub struct VoucherStore {
    jobs: mpsc::Sender<Job>,
    waiting: Option<(VoucherFile, mpsc::Receiver<Job>)>,
    path: PathBuf,
    /// The last lines could not be written.
    fails: Arc<AtomicBool>,
}

/// State of the file in the thread.
struct VoucherFile {
    path: PathBuf,
    file: File,
    /// Length of the complete lines, in bytes.
    length: u64,
    /// Length right after the last rewrite.
    fresh: u64,
    /// Lines that could not be written yet.
    late: String,
    /// Time of the next rewrite that removes past accounts.
    forgets: Option<Instant>,
}

impl VoucherStore {
    /// Opens the file, or makes one, and reads it. To be called with all rights.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn open(path: &Path) -> io::Result<(Self, journal::JournalContent)> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut file = open(path)?;
        let mut octets = Vec::new();
        file.read_to_end(&mut octets)?;
        let read = journal::read(&octets);
        if !read.damaged.is_empty() {
            let lines = &read.damaged;
            warn!(file = %path.display(), ?lines, "skipping damaged lines");
        }
        // Cuts off a partial write.
        file.set_len(read.whole as u64)?;
        file.seek(SeekFrom::End(0))?;
        let keeping = VoucherFile {
            path: path.to_owned(),
            file,
            length: read.whole as u64,
            fresh: journal::write(read.vouchers.values()).len() as u64,
            late: String::new(),
            // Past accounts are removed at once.
            forgets: read.forgets.then(Instant::now),
        };
        let (jobs, receiver) = mpsc::channel();
        let waiting = Some((keeping, receiver));
        let store = Self {
            jobs,
            waiting,
            path: path.to_owned(),
            fails: Arc::default(),
        };
        Ok((store, read))
    }

    /// Starts the writing thread.
    pub fn start(&mut self) {
        let Some((keeping, jobs)) = self.waiting.take() else {
            return;
        };
        let fails = Arc::clone(&self.fails);
        let begun = thread::Builder::new()
            .name("vouchers".to_owned())
            .spawn(move || work(keeping, &jobs, &fails));
        if let Err(error) = begun {
            error!(%error, "cannot store vouchers: no thread for it");
            self.fails.store(true, Ordering::Relaxed);
        }
    }

    /// Returns the file, if the last lines could not be written.
    pub fn unwritten(&self) -> Option<String> {
        let fails = self.fails.load(Ordering::Relaxed);
        fails.then(|| self.path.display().to_string())
    }

    /// Writes lines. The receiver gets the result once the lines are on the disk.
    pub fn write(&self, lines: String) -> oneshot::Receiver<Result<(), String>> {
        let (told, heard) = oneshot::channel();
        // If the receiver is gone, the result is not needed.
        let _ = self.jobs.send(Job::Write(lines, Some(told)));
        heard
    }

    /// Writes lines without a notification. A failed write is repeated.
    pub fn note(&self, lines: String) {
        let _ = self.jobs.send(Job::Write(lines, None));
    }

    /// Schedules the removal of past accounts: the file must not record visits.
    pub fn forget(&self) {
        let _ = self.jobs.send(Job::Forget);
    }

    /// Completes once all earlier lines are on the disk.
    pub fn settled(&self) -> oneshot::Receiver<Result<(), String>> {
        self.write(String::new())
    }
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).mode(0o600);
    options.open(path)
}

fn work(mut keeping: VoucherFile, jobs: &mpsc::Receiver<Job>, fails: &AtomicBool) {
    loop {
        keeping.tidy();
        let (lines, told) = match jobs.recv_timeout(AGAIN) {
            Ok(Job::Write(lines, told)) => (lines, told),
            Ok(Job::Forget) => {
                keeping.forgets.get_or_insert(Instant::now() + FORGOTTEN);
                continue;
            }
            Err(mpsc::RecvTimeoutError::Timeout) => (String::new(), None),
            Err(mpsc::RecvTimeoutError::Disconnected) => return,
        };
        let done = keeping.take(&lines, told.is_none());
        fails.store(done.is_err(), Ordering::Relaxed);
        let done = done.map_err(|error| error.to_string());
        if let Err(error) = &done {
            error!(error, "cannot write vouchers");
        }
        if let Some(told) = told {
            let _ = told.send(done);
        }
    }
}

impl VoucherFile {
    /// Writes late lines and then these lines. `keep`: if the write fails, these lines are late
    /// from now on; otherwise they are dropped.
    fn take(&mut self, lines: &str, keep: bool) -> io::Result<()> {
        let late = self.late.len();
        self.late.push_str(lines);
        let all = std::mem::take(&mut self.late);
        let written = match all.is_empty() {
            true => Ok(()),
            false => self.append(&all),
        };
        if written.is_err() {
            self.late = all;
            if !keep || self.late.len() > MOST_LATE {
                self.late.truncate(late);
            }
        }
        written
    }

    /// Appends all lines, or nothing.
    fn append(&mut self, lines: &str) -> io::Result<()> {
        let written = self
            .file
            .write_all(lines.as_bytes())
            .and_then(|()| self.file.sync_data());
        match written {
            Ok(()) => self.length += lines.len() as u64,
            Err(_) => {
                // If that fails, too, the next line follows a partial one, and counts as damaged.
                let cut = self.file.set_len(self.length);
                cut.and_then(|()| self.file.seek(SeekFrom::Start(self.length)))?;
            }
        }
        written
    }

    /// Rewrites the file if due.
    fn tidy(&mut self) {
        let worn = self.length > FEW.max(WORN * self.fresh);
        if !worn && self.forgets.is_none_or(|at| at > Instant::now()) {
            return;
        }
        self.forgets = None;
        if let Err(error) = self.renew() {
            // The file stays in use; the next attempt comes when the file has grown eightfold.
            warn!(%error, "cannot rewrite the file of vouchers");
            self.fresh = self.length;
        }
    }

    /// Rewrites the file with the same vouchers: the new file replaces the old one once complete.
    fn renew(&mut self) -> io::Result<()> {
        let read = journal::read(&std::fs::read(&self.path)?);
        // A user who examines damaged lines needs all of them.
        if !read.damaged.is_empty() {
            return Err(io::Error::other("the file has damaged lines"));
        }
        let text = journal::write(read.vouchers.values());
        let length = text.len() as u64;
        self.file = replace(&self.path, text.as_bytes())?;
        (self.length, self.fresh) = (length, length);
        Ok(())
    }
}

/// Replaces a file by another once the new file is complete.
pub fn replace(path: &Path, octets: &[u8]) -> io::Result<File> {
    let beside = path.with_added_extension("new");
    let mut file = open(&beside)?;
    file.set_len(0)?;
    file.write_all(octets)?;
    file.sync_all()?;
    fs::rename(&beside, path)?;
    settle(path)?;
    Ok(file)
}

/// Removes a file, if it exists.
pub fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => settle(path),
    }
}

/// Makes the entries of the folder durable.
fn settle(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use portal_core::code::Code;
    use portal_core::journal::Entry;
    use portal_core::voucher::Voucher;
    use testing::Directory;

    use super::*;

    fn voucher(number: u8) -> Voucher {
        Voucher {
            duration: Some(3600),
            activated: Some(1),
            ..Voucher::new(format!("{number:016x}"), Code::new([number; 5]), 0)
        }
    }

    fn keeping(path: &Path) -> (VoucherFile, journal::JournalContent) {
        let (mut store, read) = VoucherStore::open(path).expect("opened");
        (store.waiting.take().expect("not begun").0, read)
    }

    #[test]
    fn what_was_cut_off_is_cut_away() {
        let folder = Directory::new();
        let path = folder.join("vouchers");
        let line = Entry::Voucher(Box::new(voucher(1))).line();
        fs::write(&path, format!("{line}{}", &line[..line.len() / 2])).expect("written");
        let (mut keeping, read) = keeping(&path);
        assert_eq!(read.vouchers.len(), 1);
        keeping
            .append(&Entry::Voucher(Box::new(voucher(2))).line())
            .expect("appended");
        let (_, read) = self::keeping(&path);
        assert_eq!((read.vouchers.len(), read.damaged.len()), (2, 0));
    }

    /// A full disk: revocations meanwhile stay in effect, and sales that failed are not made later.
    #[test]
    fn what_is_late_is_written_once_there_is_room() {
        let folder = Directory::new();
        let path = folder.join("vouchers");
        let (mut keeping, _) = keeping(&path);
        keeping
            .take(&Entry::Voucher(Box::new(voucher(1))).line(), false)
            .expect("written");
        let full = File::options()
            .write(true)
            .open("/dev/full")
            .expect("a full disk");
        let disk = std::mem::replace(&mut keeping.file, full);
        let over = Voucher {
            revoked: Some(5),
            ..voucher(1)
        };
        assert!(
            keeping
                .take(&Entry::Voucher(Box::new(over)).line(), true)
                .is_err()
        );
        assert!(
            keeping
                .take(&Entry::Voucher(Box::new(voucher(2))).line(), false)
                .is_err()
        );
        assert!(keeping.take("", false).is_err(), "it is not settled");
        keeping.file = disk;
        keeping.take("", false).expect("written");
        let (_, read) = self::keeping(&path);
        assert_eq!(read.vouchers.len(), 1);
        assert_eq!(read.vouchers[&voucher(1).id].revoked, Some(5));
    }

    /// A minute each for years: the file stays short, and its contents equal.
    #[test]
    fn a_file_does_not_grow_for_ever() {
        let folder = Directory::new();
        let path = folder.join("vouchers");
        let (mut keeping, _) = keeping(&path);
        let mut text = journal::write([&voucher(1), &voucher(2)]);
        for minute in 0..10_000_u64 {
            let used = BTreeMap::from([(voucher(1).id, minute * 60_000)]);
            text += &Entry::Used(used).line();
        }
        keeping.append(&text).expect("appended");
        keeping.renew().expect("written anew");
        assert!(keeping.length < 1024);
        keeping
            .append(&Entry::Voucher(Box::new(voucher(3))).line())
            .expect("appended");
        let (_, read) = self::keeping(&path);
        assert_eq!(read.vouchers.len(), 3);
        assert_eq!(read.vouchers[&voucher(1).id].used, 9_999 * 60_000);
    }
}
