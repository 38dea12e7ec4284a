//! The file of vouchers. A thread writes it, as disks take their time; what it could not write whole
//! is cut off again.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::mpsc;
use std::thread;

use portal::journal;
use tokio::sync::oneshot;
use tracing::{error, warn};

/// Lines for each voucher, beyond which the file is written anew at the start.
const WORN: usize = 4;
/// Lines that are always too few for that.
const FEW: usize = 1024;

type Told = oneshot::Sender<Result<(), String>>;

/// What is to be written, and who waits for it.
type Job = (String, Option<Told>);

/// A file of vouchers, open.
pub struct Store {
    jobs: mpsc::Sender<Job>,
    waiting: Option<(File, mpsc::Receiver<Job>)>,
}

impl Store {
    /// Opens the file, or makes one, and reads it. To be called with all rights.
    ///
    /// # Errors
    /// It cannot be read or written.
    pub fn open(path: &Path) -> io::Result<(Self, journal::Read)> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let open = || {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).mode(0o600);
            options.open(path)
        };
        let mut file = open()?;
        let mut octets = Vec::new();
        file.read_to_end(&mut octets)?;
        let read = journal::read(&octets);
        if !read.damaged.is_empty() {
            let lines = &read.damaged;
            warn!(file = %path.display(), ?lines, "damaged lines are left out");
        }
        if read.lines > FEW && read.lines > WORN * read.vouchers.len() && read.damaged.is_empty() {
            let fresh = path.with_extension("new");
            write_anew(&fresh, &read)?;
            fs::rename(&fresh, path)?;
            file = open()?;
        } else {
            // What was not written whole.
            file.set_len(read.whole as u64)?;
        }
        file.seek(SeekFrom::End(0))?;
        let (jobs, receiver) = mpsc::channel();
        let waiting = Some((file, receiver));
        Ok((Self { jobs, waiting }, read))
    }

    /// Begins to write what there is to write.
    pub fn start(&mut self) {
        let Some((file, jobs)) = self.waiting.take() else {
            return;
        };
        let begun = thread::Builder::new()
            .name("vouchers".to_owned())
            .spawn(move || work(file, &jobs));
        if let Err(error) = begun {
            error!(%error, "vouchers cannot be kept: there is no thread for it");
        }
    }

    /// Writes lines. They are on the disk when that was told.
    pub fn write(&self, lines: String) -> oneshot::Receiver<Result<(), String>> {
        let (told, heard) = oneshot::channel();
        // Who listens no more says so by the other channel.
        let _ = self.jobs.send((lines, Some(told)));
        heard
    }

    /// Writes lines for which nobody waits.
    pub fn note(&self, lines: String) {
        let _ = self.jobs.send((lines, None));
    }
}

fn write_anew(path: &Path, read: &journal::Read) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let options = options.write(true).create(true).truncate(true).mode(0o600);
    let mut file = options.open(path)?;
    file.write_all(journal::write(read.vouchers.values()).as_bytes())?;
    file.sync_all()
}

fn work(mut file: File, jobs: &mpsc::Receiver<Job>) {
    for (lines, told) in jobs {
        let done = append(&mut file, &lines).map_err(|error| error.to_string());
        if let Err(error) = &done {
            error!(error, "vouchers cannot be written");
        }
        if let Some(told) = told {
            let _ = told.send(done);
        }
    }
}

/// All of it, or nothing.
fn append(file: &mut File, lines: &str) -> io::Result<()> {
    let before = file.stream_position()?;
    let written = file
        .write_all(lines.as_bytes())
        .and_then(|()| file.sync_data());
    if written.is_err() {
        file.set_len(before)?;
        file.seek(SeekFrom::Start(before))?;
    }
    written
}
