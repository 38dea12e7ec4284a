//! Free access: ways in without a voucher, for a while.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use kernel::Mac;
use portal_core::form::Password;
use portal_core::page::GuestProblem;
use portal_core::voucher::{Origin, Voucher};

use super::schedule::seconds;
use super::voucher_issue::make;

/// Time required for reading the page.
const READING: Duration = Duration::from_secs(15);

/// Devices of which is remembered when they came; there are seldom as many at once.
const MOST_SEEN: usize = 8192;

/// Terms of free access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FreeAccessTerms {
    /// For how long.
    pub time: Duration,
    /// Pause after the end of free access until the next one.
    pub pause: Duration,
    /// Bits a second that each device may send, and get.
    pub rate: Option<u64>,
    /// The page is to be read first.
    pub read: bool,
    /// Password for free access, if one is needed.
    pub password: Option<Password>,
}

/// Free access, and the devices that may have it.
pub struct FreeAccess {
    pub terms: Option<FreeAccessTerms>,
    /// First visit of each device, and the end of its free access.
    visits: HashMap<Mac, (Instant, Option<Instant>)>,
}

impl FreeAccess {
    pub fn new(gift: Option<FreeAccessTerms>) -> Self {
        Self {
            terms: gift,
            visits: HashMap::new(),
        }
    }

    /// Records a visit of the page. Returns the seconds of free access, and true if free access
    /// needs a password.
    pub fn visit(&mut self, mac: Mac) -> Option<(u64, bool)> {
        let gift = self.terms?;
        if self.visits.len() >= MOST_SEEN {
            let now = Instant::now();
            let rests = |end: &Option<Instant>| end.is_some_and(|end| end + gift.pause > now);
            self.visits.retain(|_, (_, end)| rests(end));
        }
        if self.visits.len() < MOST_SEEN {
            self.visits.entry(mac).or_insert((Instant::now(), None));
        }
        Some((gift.time.as_secs(), gift.password.is_some()))
    }

    /// Creates a voucher for free access, if the device may have one now.
    pub fn voucher(&self, mac: &Mac, gift: &FreeAccessTerms) -> Result<Voucher, GuestProblem> {
        let Some((first, end)) = self.visits.get(mac).copied() else {
            return Err(GuestProblem::Read(seconds(READING)));
        };
        let now = Instant::now();
        if let Some(end) = end.map(|end| end + gift.pause).filter(|end| *end > now) {
            return Err(GuestProblem::Rest(seconds(end - now)));
        }
        let read = first.elapsed();
        if gift.read && read < READING {
            return Err(GuestProblem::Read(seconds(READING - read)));
        }
        let voucher = make().map_err(|_| GuestProblem::Broken)?;
        Ok(Voucher {
            duration: Some(gift.time.as_secs()),
            rate: gift.rate,
            origin: Origin::Free,
            ..voucher
        })
    }

    /// Records a log-in.
    pub fn given(&mut self, mac: Mac, gift: &FreeAccessTerms) {
        let now = Instant::now();
        self.visits.insert(mac, (now, Some(now + gift.time)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAC: Mac = [2, 0, 0, 0, 0, 1];

    #[test]
    fn a_page_is_seen_and_read_before_anything_is_free() {
        for read in [false, true] {
            let gift = FreeAccessTerms {
                time: Duration::from_secs(10),
                pause: Duration::from_secs(3600),
                rate: Some(8_000_000),
                read,
                password: None,
            };
            let mut free = FreeAccess::new(Some(gift));
            let unseen = free.voucher(&MAC, &gift);
            assert!(matches!(unseen, Err(GuestProblem::Read(_))), "{unseen:?}");
            assert_eq!(free.visit(MAC), Some((10, false)));
            let seen = free.voucher(&MAC, &gift);
            match read {
                true => assert!(matches!(seen, Err(GuestProblem::Read(1..=16))), "{seen:?}"),
                false => assert!(seen.is_ok(), "{seen:?}"),
            }
            let before = Instant::now().checked_sub(READING);
            let before = before.expect("the machine runs that long");
            free.visits.insert(MAC, (before, None));
            // Seen again, it was read all the same.
            free.visit(MAC);
            let voucher = free.voucher(&MAC, &gift).expect("free");
            assert_eq!(
                (voucher.duration, voucher.rate, voucher.origin),
                (Some(10), Some(8_000_000), Origin::Free)
            );
            free.given(MAC, &gift);
            let again = free.voucher(&MAC, &gift);
            assert!(matches!(again, Err(GuestProblem::Rest(_))), "{again:?}");
        }
    }
}
