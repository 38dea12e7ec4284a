//! State of a known voucher: its used time and bytes.
//!
//! The time of some vouchers passes only while one of their devices is online, that is, while
//! packets go to or from a device. The kernel has no such timer. The kernel gets the whole
//! remaining time whenever the voucher pauses or resumes, and from time to time during a pause, so
//! that the kernel's timeout does not expire.

use kernel::Mac;

use super::change::Change;
use crate::Millis;
use crate::keys::PublicKey;
use crate::notes::{self, Note};
use crate::voucher::{RemoteNote, State, User, Voucher};

/// Maximum bytes of a voucher that may be used without a write; less for small vouchers: a
/// sixteenth of the limit. Flash wears out; unwritten bytes are granted again after a power
/// failure.
const UNNOTED: u64 = 16 << 20;

/// After so long without a packet a device is off-line; this time does not count. Vouchers that are
/// almost over use less, but not zero, because each change updates the kernel.
const SILENCE: std::ops::RangeInclusive<Millis> = 1_000..=60_000;

/// Margin of the kernel's timeout during a pause. Without weir, a device may get so much time too
/// much.
const SPARE: Millis = 60_000;

/// Interval between readings of the byte counters: traffic may have begun earlier by this much.
pub(super) const LOOK: Millis = 1_000;

/// Voucher with its running time.
#[derive(Clone, Debug)]
pub(super) struct Record {
    pub voucher: Voucher,
    /// Start of the time not yet added to the used time.
    since: Option<Millis>,
    /// Used bytes at the last note.
    written_bytes: u64,
    /// Time of the last packet of its devices.
    seen: Millis,
    /// Time of the last kernel update during a pause.
    told_at: Millis,
}

impl Record {
    /// Creates the record. Time that passes in any case resumes; online devices are found later.
    pub fn new(voucher: Voucher, now: Millis) -> Self {
        let is_active = voucher.state(voucher.used, 0) == State::Active;
        Self {
            written_bytes: voucher.moved,
            since: (is_active && !voucher.online).then_some(now),
            voucher,
            seen: now,
            told_at: now,
        }
    }

    pub fn used(&self, now: Millis) -> Millis {
        let running = self.since.map_or(0, |since| now.saturating_sub(since));
        self.voucher.used.saturating_add(running)
    }

    pub fn left(&self, now: Millis) -> Option<Millis> {
        self.voucher.left(self.used(now))
    }

    pub fn state(&self, (now, wall): (Millis, u64)) -> State {
        self.voucher.state(self.used(now), wall)
    }

    /// Returns true if the device uses the voucher.
    pub fn is_of(&self, mac: &Mac) -> bool {
        self.voucher.users.iter().any(|user| user.mac == *mac)
    }

    /// Returns the devices of the voucher.
    pub fn macs(&self) -> Vec<Mac> {
        self.voucher.users.iter().map(|user| user.mac).collect()
    }

    /// Bits a second; as many as there are count as the most.
    pub fn rate(&self) -> u64 {
        self.voucher.rate.unwrap_or(u64::MAX)
    }

    /// Returns true if a device has used the voucher already.
    pub fn has_begun(&self) -> bool {
        self.voucher.activated.is_some()
    }

    /// Returns true while the voucher's time passes.
    pub fn is_running(&self) -> bool {
        self.since.is_some()
    }

    /// Returns true if the time passes even without use, so that the voucher cannot wait.
    pub fn runs(&self) -> bool {
        self.since.is_some() && !self.voucher.online
    }

    pub fn is_over(&self, now: Millis) -> bool {
        self.left(now) == Some(0) || self.voucher.bytes_left() == Some(0)
    }

    /// Returns true if the voucher's time passes or is paused.
    pub fn is_in_use(&self) -> bool {
        self.since.is_some() || self.rests()
    }

    /// Returns true if enough bytes were used since the last write for another write.
    pub fn is_due(&self) -> bool {
        let bound = |bytes: u64| (bytes / 16).clamp(1, UNNOTED);
        let bound = self.voucher.bytes.map(bound);
        bound.is_some_and(|bound| self.voucher.moved.saturating_sub(self.written_bytes) >= bound)
    }

    /// Returns the used bytes, and marks them as written.
    pub fn note_moved(&mut self) -> u64 {
        self.written_bytes = self.voucher.moved;
        self.written_bytes
    }

    /// Returns true if the voucher's time is paused until the next packet.
    fn rests(&self) -> bool {
        let voucher = &self.voucher;
        let begun = voucher.activated.is_some() && voucher.revoked.is_none();
        voucher.online && begun && self.since.is_none() && voucher.over.is_none()
    }

    /// Returns the silence after which an online device counts as offline.
    fn silence(&self, now: Millis) -> Millis {
        let quarter = self.left(now).unwrap_or(Millis::MAX) / 4;
        quarter.clamp(*SILENCE.start(), *SILENCE.end())
    }

    /// Returns the remaining time for the kernel's timeout; `None`: for ever.
    pub fn kernel_timeout(&self, now: Millis) -> Option<Millis> {
        let left = self.left(now)?;
        Some(match self.rests() && left > 0 {
            true => left.saturating_add(SPARE),
            false => left,
        })
    }

    /// Pauses the time after a silence of the devices. Returns true if the kernel needs an update.
    pub fn pause(&mut self, now: Millis, out: &mut Vec<Change>) -> bool {
        match self.since {
            Some(since) if now.saturating_sub(self.seen) >= self.silence(now) => {
                let ran = self.seen.saturating_sub(since);
                self.voucher.used = self.voucher.used.saturating_add(ran);
                self.since = None;
                out.push(self.persist_change(now));
            }
            // Before half of the time has passed, but not all the time.
            None if self.rests() => {
                let half = self.left(now).map_or(Millis::MAX, |left| left / 2);
                if now.saturating_sub(self.told_at) < half.max(SPARE / 2) {
                    return false;
                }
            }
            _ => return false,
        }
        self.told_at = now;
        true
    }

    /// Handles a sign of life of the devices. Returns true if the time was paused until now.
    pub fn resume(&mut self, now: Millis) -> bool {
        self.seen = now;
        let rested = self.rests();
        if rested {
            self.since = Some(now.saturating_sub(LOOK));
        }
        rested
    }

    /// Handles the first use of the voucher by a device.
    pub fn activate(&mut self, (now, wall): (Millis, u64)) {
        if self.voucher.activated.is_none() {
            self.voucher.activated = Some(wall);
            self.since = Some(now);
        }
    }

    /// Adds a device to the voucher. Returns the devices that no longer have room.
    pub fn take_in(&mut self, mac: Mac, wall: u64) -> Vec<Mac> {
        let users = &mut self.voucher.users;
        let known = users.iter().find(|user| user.mac == mac).copied();
        users.retain(|user| user.mac != mac);
        users.push(known.unwrap_or(User::new(mac, wall)));
        let room = self.voucher.devices.max(1) as usize;
        let excess = users.len().saturating_sub(room);
        users.drain(..excess).map(|user| user.mac).collect()
    }

    /// Removes a device from the voucher.
    pub fn drop_user(&mut self, mac: &Mac) {
        self.voucher.users.retain(|user| user.mac != *mac);
    }

    /// Ends the voucher: its time is over, or it is not used any more.
    pub fn end(&mut self, (now, wall): (Millis, u64), out: &mut Vec<Change>) {
        self.voucher.over.get_or_insert(wall);
        out.push(self.persist_change(now));
        self.since = None;
    }

    /// Revokes the voucher. Returns its devices.
    pub fn revoke(&mut self, (now, wall): (Millis, u64), out: &mut Vec<Change>) -> Vec<Mac> {
        let macs = self.macs();
        self.voucher.users.clear();
        self.voucher.revoked.get_or_insert(wall);
        out.push(self.persist_change(now));
        self.since = None;
        macs
    }

    /// Adds the elapsed time to the used time.
    fn fold(&mut self, now: Millis) {
        self.voucher.used = self.used(now);
        if self.since.is_some() {
            self.since = Some(now);
        }
    }

    /// Returns the change that stores the voucher.
    pub fn persist_change(&mut self, now: Millis) -> Change {
        self.fold(now);
        self.written_bytes = self.voucher.moved;
        Change::Persist(Box::new(self.voucher.clone()))
    }

    /// Applies another node's note. `None`: the note is not new. Else true if the note revokes the
    /// voucher.
    pub fn apply_note(
        &mut self,
        (note, line): (&Note, &str),
        (own, now, wall): (PublicKey, Millis, u64),
    ) -> Option<bool> {
        let before = self.voucher.elsewhere.get(&note.node);
        let before = before.and_then(|heard| Note::read(&heard.line));
        if before.is_some_and(|before| !note.is_newer(&before)) {
            return None;
        }
        self.fold(now);
        let voucher = &mut self.voucher;
        let heard = RemoteNote {
            line: line.to_owned(),
            moved: note.moved,
            late: wall as i64 - note.noted as i64,
        };
        voucher.elsewhere.insert(note.node, heard);
        if voucher.signed.is_some() && voucher.name.is_empty() {
            voucher.name.clone_from(&note.name);
        }
        voucher.used = voucher.used.max(note.used);
        if let Some(activated) = note.activated {
            voucher.activated.get_or_insert(activated.min(wall));
        }
        let called_back = voucher.revoked.is_none() && note.revoked.is_some();
        if called_back {
            voucher.revoked = note.revoked;
            self.since = None;
        } else if voucher.activated.is_some() && voucher.revoked.is_none() && !voucher.online {
            self.since.get_or_insert(now);
        }
        let used = voucher.used;
        let own = Note::of(voucher, (note.voucher, used), (own, wall));
        voucher.double = voucher.double.or_else(|| {
            let others = voucher.elsewhere.values();
            let mut others = others.filter_map(|one| Some((Note::read(&one.line)?, one.late)));
            let found = |other: &(Note, i64)| {
                let (late, other) = (wall as i64 - note.noted as i64, (&other.0, other.1));
                notes::double(voucher, (note, late), other)
                    .filter(|_| other.0.node != note.node)
                    .or_else(|| notes::double(voucher, (&own, 0), other))
            };
            others.find_map(|other| found(&other))
        });
        Some(called_back)
    }
}
