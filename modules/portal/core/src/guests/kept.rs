//! A voucher while it is known: how its time goes by.

use kernel::Mac;

use super::Change;
use crate::Millis;
use crate::voucher::Voucher;

/// As many bytes of a voucher may go by without being noted, or a sixteenth of all that it is good
/// for, whichever is less. Flash wears out, and bytes that are not noted come back after a power
/// failure.
const UNNOTED: u64 = 16 << 20;

/// A voucher, and the time that goes by.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) voucher: Voucher,
    /// Since when its time goes by, beyond what is noted as used.
    pub(super) since: Option<Millis>,
    /// Used bytes at the last note.
    pub(super) noted: u64,
    /// When something of its devices was seen last.
    pub(super) seen: Millis,
    /// When the kernel was told last of what rests.
    pub(super) told_at: Millis,
}

impl Kept {
    /// One that nobody uses yet, or of which nothing goes by now.
    pub(super) fn new(voucher: Voucher, now: Millis) -> Self {
        Self {
            noted: voucher.moved,
            voucher,
            since: None,
            seen: now,
            told_at: now,
        }
    }

    pub(super) fn used(&self, now: Millis) -> Millis {
        let running = self.since.map_or(0, |since| now.saturating_sub(since));
        self.voucher.used.saturating_add(running)
    }

    pub(super) fn left(&self, now: Millis) -> Option<Millis> {
        self.voucher.left(self.used(now))
    }

    /// A device is one of its.
    pub(super) fn is_of(&self, mac: &Mac) -> bool {
        self.voucher.users.iter().any(|user| user.mac == *mac)
    }

    /// Bits a second; as many as there are count as the most.
    pub(super) fn rate(&self) -> u64 {
        self.voucher.rate.unwrap_or(u64::MAX)
    }

    /// A device used it already.
    pub(super) fn has_begun(&self) -> bool {
        self.voucher.activated.is_some()
    }

    /// Its time goes by, used or not: it can wait for no other.
    pub(super) fn runs(&self) -> bool {
        self.since.is_some() && !self.voucher.online
    }

    pub(super) fn is_over(&self, now: Millis) -> bool {
        self.left(now) == Some(0) || self.voucher.bytes_left() == Some(0)
    }

    /// Its time goes by, or rests.
    pub(super) fn is_in_use(&self) -> bool {
        self.since.is_some() || self.rests()
    }

    /// So many of its bytes are gone since that was noted that it is to be noted again.
    pub(super) fn is_due(&self) -> bool {
        let bound = |bytes: u64| (bytes / 16).clamp(1, UNNOTED);
        let bound = self.voucher.bytes.map(bound);
        bound.is_some_and(|bound| self.voucher.moved.saturating_sub(self.noted) >= bound)
    }

    /// Its time so far counts as used.
    pub(super) fn fold(&mut self, now: Millis) {
        self.voucher.used = self.used(now);
        if self.since.is_some() {
            self.since = Some(now);
        }
    }

    /// As it is to be kept.
    pub(super) fn noted(&mut self, now: Millis) -> Change {
        self.fold(now);
        self.noted = self.voucher.moved;
        Change::Keep(Box::new(self.voucher.clone()))
    }
}
