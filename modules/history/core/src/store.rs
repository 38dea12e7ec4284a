//! The history: its file and its pending data. The store acts only when called;
//! [`crate::store_thread`] calls it.
//!
//! Added traffic is not lost while the process lives: unwritten traffic waits in bounded memory.
//! Each write is in the file as a whole or not at all.

use std::cell::RefCell;
use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use monitor_core::count::Traffic;

use crate::Mac;
use crate::error::Error;
use crate::pending::{self, Pending, Sums};
use crate::periods::{Calendar, Unit};
use crate::query::{self, Memory, Period, Query};
use crate::schema::{self, File, State};
use crate::settings::Settings;
use crate::usage::Usage;
use crate::words::ApplicationIds;
use crate::write::{self, Batch};

/// Maximum length of a name in characters, as in DHCP.
const NAME: usize = 64;
/// Seconds without a jump of the clock after which old data may be deleted.
const STEADY: i64 = 3600;

/// Message for the administrator, reported once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The file was broken, and is now kept at `aside`. A new one has begun.
    Broken {
        /// The broken file that was set aside.
        aside: PathBuf,
        /// Error of SQLite.
        reason: String,
    },
}

impl std::fmt::Display for Notice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Broken { aside, reason } => write!(
                f,
                "the history was damaged ({reason}); weir starts a new one, and keeps the old \
                    file as {}: `sqlite3 FILE .recover` may save a part",
                aside.display()
            ),
        }
    }
}

/// A history.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    settings: Settings,
    calendar: Calendar,
    file: Option<File>,
    /// The file system that it was on.
    disk: Option<u64>,
    words: ApplicationIds,
    pending: Pending,
    /// Traffic counted before the clock was set.
    held: Sums,
    names: HashMap<i64, String>,
    /// Names in the file, as far as this run has set them.
    stored_names: HashMap<i64, String>,
    usage: Option<Usage>,
    /// The latest time that was believed, in this life or by the file.
    last: Option<i64>,
    /// Start of the time without a jump of the clock.
    steady: Option<(i64, i64)>,
    notices: Vec<Notice>,
    /// Damage found by a query: the next flush sets the file aside.
    broken: RefCell<Option<String>>,
}

impl Store {
    /// Opens the history at `path`, or creates it, with its directory. `now` is the system's clock,
    /// correct or not.
    ///
    /// Fails if another attempt is useless ([`Error::refused`]). If the disk is full, read-only or
    /// missing, the store keeps new data in memory, and [`Store::flush`] tries again: the error is
    /// the second part of the result.
    pub fn open(
        path: &Path,
        settings: Settings,
        calendar: Calendar,
        now: i64,
    ) -> Result<(Self, Option<Error>), Error> {
        settings.check()?;
        let mut store = Self {
            path: path.to_owned(),
            settings,
            calendar,
            file: None,
            disk: None,
            words: ApplicationIds::default(),
            pending: Pending::default(),
            held: Sums::default(),
            names: HashMap::new(),
            stored_names: HashMap::new(),
            usage: None,
            last: None,
            steady: None,
            notices: Vec::new(),
            broken: RefCell::new(None),
        };
        match store.connect(now) {
            Ok(()) => Ok((store, None)),
            Err(error) if error.refused() => Err(error),
            Err(error) => Ok((store, Some(error))),
        }
    }

    /// Counts traffic of a device (`None`: all merged ones) and an application (`other` if
    /// unknown).
    pub fn add(&mut self, now: i64, device: Option<Mac>, application: &str, traffic: &Traffic) {
        if *traffic == Traffic::default() {
            return;
        }
        self.clock(now);
        let (device, application) = (pending::code(device), self.words.number(application));
        let (devices, entries) = (self.settings.devices, self.settings.entries());
        if self.settings.sane(now) {
            let hour = self.calendar.span(Unit::Hour, now).start;
            self.pending
                .add(hour, (device, application), traffic, devices, entries);
        } else {
            self.held.add(device, application, traffic);
            if self.held.devices() > 2 * devices || self.held.entries() > entries {
                let keep = devices.min(self.held.devices() / 2);
                self.held.fold(keep);
            }
        }
        if let (Some(usage), Some(mac)) = (&mut self.usage, pending::device(device)) {
            let at = best(&self.settings, self.last, now);
            if let Some(at) = at {
                usage.add(at, mac, pending::bytes(traffic));
                usage.bound(self.settings.devices);
            }
        }
    }

    /// Sets the name of a device. Control characters, and those that change the direction of text,
    /// are removed.
    pub fn name(&mut self, mac: Mac, name: &str) {
        let name: String = name
            .chars()
            .filter(|c| !c.is_control() && !turns(*c))
            .take(NAME)
            .collect();
        let code = pending::code(Some(mac));
        if name.is_empty() || self.stored_names.get(&code) == Some(&name) {
            return;
        }
        // Names are not traffic: names from a flood of devices may be dropped, and sent again.
        if self.names.len() < 2 * self.settings.devices || self.names.contains_key(&code) {
            self.names.insert(code, name);
        }
    }

    /// Writes pending data, in one transaction. After success, the data are on the disk.
    pub fn flush(&mut self, now: i64) -> Result<(), Error> {
        self.clock(now);
        let found = self.broken.borrow().clone();
        if let Some(reason) = found {
            self.set_aside(now, reason)?;
        }
        match self.try_flush(now) {
            Err(error) if error.corrupt() => {
                self.set_aside(now, reason(&error))?;
                self.try_flush(now)
            }
            // SQLite opens an unwritable file for reading; meanwhile the disk may be remounted for
            // writing.
            Err(error) if error.read_only() => {
                self.file = None;
                self.connect(now)?;
                self.try_flush(now)
            }
            other => other,
        }
    }

    /// Flushes for the last time. Traffic counted before the clock was ever set is added to the
    /// last hour in the file.
    pub fn close(mut self, now: i64) -> Result<(), Error> {
        self.last_flush(now)
    }

    /// Flushes a store that another owner drops.
    pub(crate) fn last_flush(&mut self, now: i64) -> Result<(), Error> {
        if let Some(at) = best(&self.settings, self.last, now) {
            self.attribute(at);
        }
        self.flush(now)
    }

    /// Closes the file: the next flush opens the file at its path.
    pub fn let_go(&mut self) {
        self.file = None;
    }

    /// Answers a query, including pending data.
    pub fn query(&self, query: &Query) -> Result<Vec<Period>, Error> {
        let memory = Memory {
            pending: &self.pending,
            words: &self.words,
            names: &self.names,
            calendar: &self.calendar,
        };
        let connection = self.file.as_ref().map(|file| &file.connection);
        query::answer(connection, &memory, query).map_err(|source| self.error(source))
    }

    /// Returns the usage of devices in the periods that contain `now`. While the clock is not set,
    /// the last hour in the file counts, so that a blocked device stays blocked over a restart;
    /// `None` without such an hour.
    pub fn usage(&mut self, now: i64) -> Result<Option<&Usage>, Error> {
        self.clock(now);
        let Some(at) = best(&self.settings, self.last, now) else {
            return Ok(None);
        };
        if self.usage.as_ref().is_none_or(|usage| !usage.holds(at)) {
            let mut usage = Usage::new(&self.calendar, at);
            let most = self.settings.devices;
            if let Some(file) = &self.file {
                query::usage(&file.connection, usage.start(), |start, mac, octets| {
                    usage.add(start, mac, octets);
                    usage.bound(most);
                })
                .map_err(|source| self.error(source))?;
            }
            let held = self.held.iter().map(|entry| (at, entry));
            let pending = self
                .pending
                .hours()
                .flat_map(|(hour, sums)| sums.iter().map(move |entry| (hour, entry)));
            for (at, (device, _, traffic)) in pending.chain(held) {
                if let Some(mac) = pending::device(device) {
                    usage.add(at, mac, pending::bytes(&traffic));
                }
            }
            usage.bound(most);
            self.usage = Some(usage);
        }
        Ok(self.usage.as_ref())
    }

    /// Applies new settings, zone, and first days of week and month. Periods in the file keep their
    /// start.
    pub fn change(
        &mut self,
        settings: Settings,
        calendar: Calendar,
        now: i64,
    ) -> Result<(), Error> {
        settings.check()?;
        self.settings = settings;
        self.calendar = calendar;
        self.usage = None;
        // Opened again, the file is brought below its limit.
        self.connect(now)
    }

    /// Returns the messages since the last call.
    pub fn notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.notices)
    }

    /// Pairs of device and application that wait to be written, or for the clock.
    pub fn waiting(&self) -> usize {
        self.pending.entries() + self.held.entries()
    }

    /// Returns the rules by which time is divided.
    pub fn calendar(&self) -> &Calendar {
        &self.calendar
    }

    fn try_flush(&mut self, now: i64) -> Result<(), Error> {
        let waits = !self.pending.is_empty() || !self.names.is_empty();
        // A file that was removed is missed only when there is something to write.
        let present = |file: &File| !waits || file.present(&self.path);
        if !self.file.as_ref().is_some_and(present) {
            self.file = None;
            self.connect(now)?;
        }
        if !waits {
            return Ok(());
        }
        let names: Vec<(i64, String)> = self
            .names
            .iter()
            .map(|(device, name)| (*device, name.clone()))
            .collect();
        let batch = Batch {
            pending: &self.pending,
            words: &self.words,
            names: &names,
            steady: self
                .steady
                .filter(|(since, until)| until - since >= STEADY)
                .map(|(_, until)| until),
        };
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        let mut written =
            write::write(&mut file.connection, &batch, &self.calendar, &self.settings);
        // Full: perhaps not the disk, but the file at its limit.
        let full = |error: &rusqlite::Error| {
            error.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull)
        };
        if written.as_ref().is_err_and(full) {
            write::trim(&mut file.connection, self.settings.limit)
                .map_err(|source| self.error(source))?;
            let Some(file) = &mut self.file else {
                return Ok(());
            };
            written = write::write(&mut file.connection, &batch, &self.calendar, &self.settings);
        }
        written.map_err(|source| self.error(source))?;
        self.pending.clear();
        self.words.save();
        if self.stored_names.len() + names.len() > 4 * self.settings.devices {
            self.stored_names.clear();
        }
        self.stored_names.extend(names);
        self.names.clear();
        Ok(())
    }

    /// Opens the file, also where the last one was lost. Applications have the numbers of that file
    /// then.
    fn connect(&mut self, now: i64) -> Result<(), Error> {
        self.mounted()?;
        let opened = match schema::open(&self.path, self.settings.limit) {
            Err(error) if error.corrupt() => {
                self.set_aside(now, reason(&error))?;
                schema::open(&self.path, self.settings.limit)
            }
            other => other,
        };
        let mut file = opened?;
        if std::fs::metadata(&self.path).is_ok_and(|found| found.len() > self.settings.limit) {
            // The limit was lowered. If the disk has no room for trimming, the next flush tries
            // again.
            write::trim(&mut file.connection, self.settings.limit)
                .map_err(|source| self.error(source))?;
        }
        let mut words =
            ApplicationIds::load(&file.connection).map_err(|source| self.error(source))?;
        let state = State::load(&file.connection).map_err(|source| self.error(source))?;
        if !self.words.is_fresh() {
            let numbers = words.renumbering(&self.words);
            self.pending.renumber(&numbers);
            self.held.renumber(&numbers);
        }
        self.words = words;
        self.stored_names.clear();
        self.usage = None;
        let known = state.map(|state| state.hour);
        self.last = self.last.or(known.filter(|hour| self.settings.sane(*hour)));
        self.disk = Some(file.disk());
        self.file = Some(file);
        Ok(())
    }

    /// Fails if the disk of the file is not mounted: a file created in the folder below would fill
    /// the wrong disk, and the returning disk would hide the file.
    fn mounted(&self) -> Result<(), Error> {
        let Some(disk) = self.disk.filter(|_| !self.path.exists()) else {
            return Ok(());
        };
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let device = |path: &Path| std::fs::metadata(path).map(|found| found.dev());
        let (Ok(here), above) = (device(folder), device(&folder.join(".."))) else {
            return Ok(());
        };
        // Another disk mounted at the folder is valid as well.
        match here == disk || above.is_ok_and(|above| above != here) {
            true => Ok(()),
            false => Err(Error::Unmounted {
                path: self.path.clone(),
            }),
        }
    }

    fn set_aside(&mut self, now: i64, reason: String) -> Result<(), Error> {
        // Closed first: closing may still remove the journal.
        self.file = None;
        let (year, month, day) = self.calendar.date(now);
        let date = format!("{year:04}{month:02}{day:02}");
        let aside = schema::set_aside(&self.path, &date)?;
        self.broken.replace(None);
        self.notices.push(Notice::Broken { aside, reason });
        Ok(())
    }

    /// Checks the clock: once it is set, held traffic counts as present traffic.
    fn clock(&mut self, now: i64) {
        if !self.settings.sane(now) {
            return;
        }
        if self.held.entries() > 0 {
            self.attribute(now);
        }
        let jump = 2 * self.settings.flush.as_secs() as i64 + 60;
        self.steady = match self.steady {
            Some((since, until)) if now >= until && now - until <= jump => Some((since, now)),
            _ => Some((now, now)),
        };
        self.last = Some(now);
    }

    fn attribute(&mut self, at: i64) {
        let hour = self.calendar.span(Unit::Hour, at).start;
        self.pending.absorb(hour, std::mem::take(&mut self.held));
    }

    fn error(&self, source: rusqlite::Error) -> Error {
        let error = Error::File {
            path: self.path.clone(),
            source,
        };
        if error.corrupt() {
            self.broken.replace(Some(reason(&error)));
        }
        error
    }
}

fn reason(error: &Error) -> String {
    match error {
        Error::File { source, .. } => source.to_string(),
        other => other.to_string(),
    }
}

/// Returns the clock's time if plausible, otherwise the last known time.
fn best(settings: &Settings, last: Option<i64>, now: i64) -> Option<i64> {
    if settings.sane(now) { Some(now) } else { last }
}

/// Returns true for characters that change the direction of writing or are invisible: in a name
/// they make other characters look different.
fn turns(c: char) -> bool {
    matches!(c,
        '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}
