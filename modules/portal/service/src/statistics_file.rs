//! The file of statistics. A thread writes the file, as disks are slow; the next minute writes lost
//! lines again.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

use portal_core::statistics::Statistics;
use tokio::sync::oneshot;
use tracing::warn;

use super::store;

/// Job of the writing thread.
enum Job {
    /// Append to the file.
    Append(String),
    /// Replaces the file.
    Replace(String),
    /// Writes nothing, and notifies the requester.
    Tell(oneshot::Sender<()>),
}

/// Handle to the file.
pub struct StatisticsFile {
    jobs: mpsc::Sender<Job>,
    waiting: Option<(PathBuf, mpsc::Receiver<Job>)>,
    path: PathBuf,
    /// The last figures could not be written.
    fails: Arc<AtomicBool>,
}

impl StatisticsFile {
    /// Reads the file. The first write creates a missing file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn open(path: &Path) -> io::Result<(Self, Statistics)> {
        let octets = match fs::read(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            read => read?,
        };
        let (figures, damaged) = Statistics::read(&octets);
        if damaged > 0 {
            warn!(file = %path.display(), damaged, "skipping damaged lines of figures");
        }
        let (jobs, receiver) = mpsc::channel();
        let waiting = Some((path.to_owned(), receiver));
        let file = Self {
            jobs,
            waiting,
            path: path.to_owned(),
            fails: Arc::default(),
        };
        Ok((file, figures))
    }

    /// Starts the writing thread.
    pub fn start(&mut self) {
        let Some((path, jobs)) = self.waiting.take() else {
            return;
        };
        let fails = Arc::clone(&self.fails);
        let work = move || {
            for job in jobs {
                let written = match job {
                    Job::Append(lines) => append(&path, &lines),
                    Job::Replace(text) => store::replace(&path, text.as_bytes()).map(drop),
                    Job::Tell(whom) => {
                        let _ = whom.send(());
                        continue;
                    }
                };
                fails.store(written.is_err(), Ordering::Relaxed);
                if let Err(error) = written {
                    warn!(%error, file = %path.display(), "cannot write figures");
                }
            }
        };
        let begun = thread::Builder::new().name("figures".to_owned());
        if let Err(error) = begun.spawn(work) {
            warn!(%error, "cannot store figures: no thread for it");
            self.fails.store(true, Ordering::Relaxed);
        }
    }

    /// Returns the file, if the last statistics could not be written.
    pub fn unwritten(&self) -> Option<String> {
        let fails = self.fails.load(Ordering::Relaxed);
        fails.then(|| self.path.display().to_string())
    }

    /// Writes lines behind the others.
    pub fn append(&self, lines: String) {
        let _ = self.jobs.send(Job::Append(lines));
    }

    /// Replaces the whole file.
    pub fn replace(&self, text: String) {
        let _ = self.jobs.send(Job::Replace(text));
    }

    /// Completes once all earlier jobs were attempted.
    pub fn settled(&self) -> oneshot::Receiver<()> {
        let (told, heard) = oneshot::channel();
        let _ = self.jobs.send(Job::Tell(told));
        heard
    }
}

fn append(path: &Path, lines: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options.append(true).create(true).mode(0o600).open(path)?;
    let length = file.metadata()?.len();
    let written = file.write_all(lines.as_bytes());
    written.and_then(|()| file.sync_data()).inspect_err(|_| {
        // Half a line would spoil the next one.
        let _ = file.set_len(length);
    })
}
