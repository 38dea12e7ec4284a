//! Messages that wait for peers on the disk, as in a mail server: `queue/ID/PLACE` is a message for
//! one peer, and a message for many peers is one file with many names. Acknowledged and old
//! messages are removed, and the oldest ones if the queue is full.
//!
//! A file gets its name in a peer's folder once it is complete and synced. The log names invalid
//! files, which stay. Ages count the running time of the program: routers' clocks are wrong until
//! they reach a network, and a clock that jumps must make no message old.

mod digests;
mod disk;
mod file;
mod folder;
mod index;
mod queue_state;

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use folder::{gone, names, passed_over, place_name, read, read_head};
use tracing::{info, warn};

pub use disk::{Disk, Files};
pub use index::DroppedMessage;
use index::{Entry, Index};
use queue_state::{LastContact, QueueState};

use crate::Id;
use crate::machine::{Message, StoreRequest};

/// Age at which a message is dropped, ms.
pub const AGE: u64 = 7 * 86_400_000;
/// Delay after a disk error before the next attempt, ms.
const AGAIN: u64 = 30_000;
/// Interval of writing the notes, ms: they belong to no message, and a disk may be a flash.
const NOTES: u64 = 3_600_000;
/// Delay of writing the notes after a new peer, ms.
const SOON: u64 = 60_000;
/// Size of a block of message numbers: the notes store blocks rather than single numbers.
const NUMBERS: u64 = 64;
/// Upper bound of the sequence of messages.
const PLACES: u64 = 1 << 62;

/// The queue.
pub struct Queue<D: Disk = Files> {
    folder: PathBuf,
    disk: D,
    index: Index,
    notes: QueueState,
    /// Known peers without a folder.
    unmade: BTreeSet<Id>,
    /// Upper bound of the numbers reserved for own messages of this run.
    number: u64,
    /// Time of the next write of the notes.
    due: u64,
    /// Highest sequence in use.
    last: u64,
    /// End of the pause after a disk error.
    trouble: Option<u64>,
}

impl<D: Disk> Queue<D> {
    /// Opens the queue in a folder, and logs damaged entries.
    pub fn open(folder: PathBuf, limit: u64, disk: D) -> Self {
        let mut queue = Self {
            index: Index::new(limit),
            notes: QueueState::default(),
            unmade: BTreeSet::new(),
            number: 0,
            due: 0,
            last: 0,
            trouble: None,
            folder,
            disk,
        };
        if let Err(error) = queue.disk.folder(&queue.folder) {
            queue.went(0, Err(error));
            return queue;
        }
        queue.read_notes();
        queue.due = queue.notes.clock + SOON;
        queue.read_folders();
        queue.number = queue.notes.number.max(queue.index.number());
        queue.notes.number = queue.number;
        let (peers, waiting) = (queue.notes.peers.len(), queue.index.messages());
        if waiting > 0 {
            info!(peers, waiting, "messages waiting since the last run");
        }
        queue
    }

    fn read_notes(&mut self) {
        let path = self.folder.join("notes");
        match fs::read_to_string(&path) {
            Ok(text) => {
                let (notes, wrong) = QueueState::read(&text);
                if wrong > 0 {
                    warn!(path = %path.display(), wrong, "skipping malformed lines");
                }
                self.notes = notes;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => warn!(path = %path.display(), %error, "cannot read this file: skipped"),
        }
        // Known peers are those with a folder.
        let clock = self.notes.clock;
        let known = std::mem::take(&mut self.notes.peers);
        let mut known: Vec<(Id, LastContact)> = known.into_iter().collect();
        known.retain(|(id, _)| self.folder_of(*id).is_dir());
        self.notes.peers = known.into_iter().collect();
        for (name, path) in names(&self.folder) {
            match name.parse::<Id>() {
                Ok(id) if path.is_dir() && name == id.to_string() => {
                    let seen = LastContact { clock, time: 0 };
                    self.notes.peers.entry(id).or_insert(seen);
                }
                _ if name == "notes" || name == "seen" => {}
                // Files of an interrupted write.
                _ if name == "new" || name == "notes.new" => _ = self.disk.remove(&path),
                _ => warn!(path = %path.display(), "not a file of weir-nearby: skipped"),
            }
        }
    }

    fn read_folders(&mut self) {
        let all: Vec<Id> = self.notes.peers.keys().copied().collect();
        for id in all {
            for (name, path) in names(&self.folder_of(id)) {
                let place = u64::from_str_radix(&name, 16).ok();
                let place = place.filter(|it| *it < PLACES && name == place_name(*it));
                self.last = self.last.max(place.unwrap_or(0));
                let read = place.map(|place| (place, read_head(&path)));
                match read {
                    Some((place, Ok((number, since, size)))) => {
                        let since = since.min(self.notes.clock);
                        let entry = Entry {
                            number,
                            since,
                            size,
                        };
                        self.index.add(id, place, entry);
                    }
                    Some((_, Err(error))) => passed_over(&path, &error),
                    None => warn!(path = %path.display(), "not a file of weir-nearby: skipped"),
                }
            }
        }
    }

    /// Returns the total running time of the program before, ms.
    pub fn clock(&self) -> u64 {
        self.notes.clock
    }

    /// Returns the known peers, with the time of the last contact by this clock.
    pub fn known(&self) -> Vec<(Id, u64)> {
        let known = self.notes.peers.iter();
        known.map(|(id, seen)| (*id, seen.clock)).collect()
    }

    /// Returns the last contact with a peer: milliseconds since 1970, or 0.
    pub fn last_seen(&self, id: Id) -> u64 {
        self.notes.peers.get(&id).map_or(0, |seen| seen.time)
    }

    /// Returns the last sequence of a message.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Returns the number of messages that wait for a peer.
    pub fn waiting(&self, id: Id) -> usize {
        self.index.count(id)
    }

    /// Returns the number of the next own message.
    pub fn next_number(&mut self, now: u64) -> u64 {
        self.number += 1;
        if self.number > self.notes.number {
            self.notes.number = self.number + NUMBERS;
            self.write_notes(now);
        }
        self.number
    }

    /// Notes that a peer is near, or was until now.
    pub fn saw(&mut self, now: u64, time: u64, id: Id) {
        let seen = LastContact { clock: now, time };
        if self.notes.peers.insert(id, seen).is_none() {
            self.unmade.insert(id);
            self.make_folders(now);
            self.due = self.due.min(now + SOON);
        }
    }

    /// Stores a message for all of its peers, or for none. Returns true on success, and the entries
    /// dropped; the message itself is among them for peers without room.
    pub fn keep(&mut self, now: u64, keep: &StoreRequest) -> (bool, Vec<DroppedMessage>) {
        let octets = file::write(&keep.message);
        let size = octets.len() as u64;
        let number = keep.message.number;
        let go = self
            .index
            .room_for(&keep.peers, keep.sequence, size, number.is_some());
        let Some(go) = go.filter(|_| self.works(now)) else {
            return (false, Vec::new());
        };
        let goes = |id: &Id| {
            let mut itself = go.iter().filter(|it| it.sequence == keep.sequence);
            itself.any(|it| it.id == *id)
        };
        let peers: Vec<Id> = keep.peers.iter().copied().filter(|it| !goes(it)).collect();
        if peers.is_empty() {
            return (true, go);
        }
        let written = self.write(keep.sequence, &peers, &octets);
        if !self.went(now, written) {
            return (false, Vec::new());
        }
        let since = keep.message.since;
        for id in &peers {
            let entry = Entry {
                number,
                since,
                size,
            };
            self.index.add(*id, keep.sequence, entry);
        }
        let old: Vec<DroppedMessage> = go
            .iter()
            .copied()
            .filter(|it| it.sequence != keep.sequence)
            .collect();
        self.remove_all(&old);
        (true, go)
    }

    fn write(&self, sequence: u64, peers: &[Id], octets: &[u8]) -> io::Result<()> {
        for id in peers {
            self.disk.folder(&self.folder_of(*id))?;
        }
        let new = self.folder.join("new");
        let from = match self.index.holder(sequence) {
            Some(id) => self.path(id, sequence),
            None => {
                // Writing to the old file would change all its links.
                gone(self.disk.remove(&new))?;
                self.disk.write(&new, octets)?;
                new.clone()
            }
        };
        let mut linked = Vec::new();
        let done = self.link(sequence, peers, &from, &mut linked);
        if done.is_err() {
            for path in linked {
                // At worst a peer gets the message all the same.
                let _ = self.disk.remove(&path);
            }
        }
        if from == new {
            // A remaining file is removed by the next write, which reports an error.
            let _ = self.disk.remove(&new);
        }
        done
    }

    fn link(
        &self,
        sequence: u64,
        peers: &[Id],
        from: &Path,
        linked: &mut Vec<PathBuf>,
    ) -> io::Result<()> {
        for id in peers {
            let path = self.path(*id, sequence);
            self.disk.link(from, &path)?;
            linked.push(path);
        }
        let mut folders = peers.iter().map(|id| self.folder_of(*id));
        folders.try_for_each(|it| self.disk.sync(&it))
    }

    /// Loads messages for a peer beyond a sequence, in order: up to a limit of bytes, or one
    /// message. Returns the messages, true if there are no more, and those that could not be read.
    pub fn load(
        &mut self,
        id: Id,
        after: u64,
        octets: usize,
    ) -> (Vec<(u64, Message)>, bool, Vec<DroppedMessage>) {
        let (mut messages, mut lost, mut sum) = (Vec::new(), Vec::new(), 0);
        let all: Vec<(u64, u64)> = self.index.after(id, after).collect();
        for (place, size) in all {
            sum += size as usize;
            if sum > octets && !messages.is_empty() {
                return (messages, false, lost);
            }
            let path = self.path(id, place);
            match read(&path) {
                Ok(mut message) => {
                    message.since = message.since.min(self.index.since(id, place));
                    messages.push((place, message));
                }
                Err(error) => {
                    passed_over(&path, &error);
                    lost.extend(self.index.get(id, place));
                    self.index.remove(id, place);
                }
            }
        }
        (messages, true, lost)
    }

    /// Removes a message that a peer has received.
    pub fn done(&mut self, id: Id, place: u64) {
        let lost = self.index.get(id, place);
        self.remove_all(lost.as_slice());
    }

    /// Forgets a peer. Returns the messages that waited.
    pub fn forget(&mut self, id: Id) -> Vec<DroppedMessage> {
        let all = self.index.of(id);
        self.remove_all(&all);
        self.notes.peers.remove(&id);
        self.unmade.remove(&id);
        let folder = self.folder_of(id);
        if let Err(error) = gone(fs::remove_dir(&folder)) {
            warn!(path = %folder.display(), %error, "cannot remove the folder");
        }
        all
    }

    /// Returns true if [`Self::tick`] is due.
    pub fn is_due(&self, now: u64) -> bool {
        now >= self.due
    }

    /// Drops old messages, and writes the notes.
    pub fn tick(&mut self, now: u64) -> Vec<DroppedMessage> {
        let old = self.index.old(now, AGE);
        self.remove_all(&old);
        self.write_notes(now);
        old
    }

    /// Writes the notes at the end of the program.
    pub fn end(&mut self, now: u64) {
        self.notes.number = self.number;
        self.write_notes(now);
    }

    /// Writes the notes; after a failure they stay in memory until the next attempt.
    fn write_notes(&mut self, now: u64) {
        self.due = now + NOTES;
        self.notes.clock = now;
        let text = self.notes.text();
        let is = self.make_folders(now) && self.replace(now, "notes", text.as_bytes());
        if !is {
            let again = self.trouble.unwrap_or(now);
            self.due = again.clamp(now + 1, now + AGAIN);
        }
    }

    /// Creates the folders of known peers. Returns true if all exist.
    fn make_folders(&mut self, now: u64) -> bool {
        while let Some(id) = self.unmade.first().copied() {
            if !self.works(now) {
                return false;
            }
            let made = self.disk.folder(&self.folder_of(id));
            if !self.went(now, made) {
                return false;
            }
            self.unmade.remove(&id);
        }
        true
    }

    /// Replaces a file atomically. Returns true on success.
    fn replace(&mut self, now: u64, name: &str, octets: &[u8]) -> bool {
        if !self.works(now) {
            return false;
        }
        let (new, path) = (self.folder.join("notes.new"), self.folder.join(name));
        let written = gone(self.disk.remove(&new))
            .and_then(|()| self.disk.folder(&self.folder))
            .and_then(|()| self.disk.write(&new, octets))
            .and_then(|()| self.disk.rename(&new, &path));
        self.went(now, written)
    }

    /// Returns the sums of recent messages, the oldest first, as last written.
    pub fn remembered(&self) -> Vec<[u8; digests::SUM]> {
        let path = self.folder.join("seen");
        let all = match fs::read(&path) {
            Ok(all) => digests::read(&all),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
            Err(_) => None,
        };
        all.unwrap_or_else(|| {
            warn!(path = %path.display(), "damaged file: skipped");
            Vec::new()
        })
    }

    /// Writes the digests of recent messages.
    pub fn remember(&mut self, now: u64, sums: impl Iterator<Item = [u8; digests::SUM]>) {
        self.replace(now, "seen", &digests::write(sums));
    }

    fn remove_all(&mut self, all: &[DroppedMessage]) {
        for lost in all {
            let path = self.path(lost.id, lost.sequence);
            // The message would be sent again after the next start, and be discarded there.
            if let Err(error) = gone(self.disk.remove(&path)) {
                warn!(path = %path.display(), %error, "cannot remove this file");
            }
            self.index.remove(lost.id, lost.sequence);
        }
    }

    /// Returns true unless a disk error is recent.
    pub fn works(&self, now: u64) -> bool {
        self.trouble.is_none_or(|until| now >= until)
    }

    /// Logs a change between success and failure. Returns true for success.
    fn went(&mut self, now: u64, done: io::Result<()>) -> bool {
        let path = self.folder.display();
        match done {
            Ok(()) => {
                if self.trouble.take().is_some() {
                    info!(%path, "messages are stored again");
                }
                true
            }
            Err(error) => {
                if self.trouble.is_none() {
                    let fix = "free space there and make it writable, or name another --state";
                    warn!(%path, %error, fix, "cannot store messages: they wait in memory only, for ten minutes");
                }
                self.trouble = Some(now + AGAIN);
                false
            }
        }
    }

    fn folder_of(&self, id: Id) -> PathBuf {
        self.folder.join(id.to_string())
    }

    fn path(&self, id: Id, place: u64) -> PathBuf {
        self.folder_of(id).join(place_name(place))
    }
}

#[cfg(test)]
mod tests;
