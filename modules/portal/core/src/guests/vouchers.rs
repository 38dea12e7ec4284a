//! All vouchers, by their ids and codes, and the order in which a device uses its own.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use super::voucher_record::Record;
use crate::Millis;
use crate::code::{Code, FormerCode};
use crate::voucher::{Origin, State, Voucher};

/// All vouchers.
#[derive(Clone, Debug, Default)]
pub(super) struct Vouchers {
    all: BTreeMap<String, Record>,
    codes: HashMap<Code, String>,
    formers: HashMap<FormerCode, String>,
}

impl Vouchers {
    pub fn get(&self, id: &str) -> Option<&Record> {
        self.all.get(id)
    }

    pub fn get_mut(&mut self, id: &str) -> Option<&mut Record> {
        self.all.get_mut(id)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Record> {
        self.all.values()
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Record> {
        self.all.values_mut()
    }

    pub fn remove(&mut self, id: &str) {
        self.all.remove(id);
    }

    /// Adds a voucher of a file. Of two with one code the first has the code.
    pub fn insert(&mut self, voucher: Voucher, now: Millis) {
        let id = &voucher.id;
        // Vouchers that were not sold have no usable code.
        if voucher.origin.is_sold() {
            self.codes.entry(voucher.code).or_insert(id.clone());
        }
        if let Some(former) = &voucher.former {
            self.formers.entry(former.clone()).or_insert(id.clone());
        }
        self.all.insert(id.clone(), Record::new(voucher, now));
    }

    /// Adds a voucher. Returns false if its code or id is already in use.
    pub fn add(&mut self, voucher: Voucher, now: Millis) -> bool {
        // If two nodes sold one code, the second voucher is usable only by its signed form.
        let coded = voucher.origin.is_sold();
        let taken = coded && voucher.signed.is_none() && self.codes.contains_key(&voucher.code);
        let former = voucher.former.as_ref();
        let taken = taken || former.is_some_and(|code| self.formers.contains_key(code));
        if taken || self.all.contains_key(&voucher.id) {
            return false;
        }
        self.insert(voucher, now);
        true
    }

    pub fn coded(&self, code: &Code) -> Option<&String> {
        self.codes.get(code)
    }

    pub fn former(&self, code: &FormerCode) -> Option<&String> {
        self.formers.get(code)
    }

    pub fn has_formers(&self) -> bool {
        !self.formers.is_empty()
    }

    fn running(&self) -> impl Iterator<Item = &Record> {
        self.all.values().filter(|record| record.is_running())
    }

    pub fn next(&self, now: Millis) -> Option<Millis> {
        let ends = self.running();
        ends.filter_map(|record| Some(now + record.left(now)?))
            .min()
    }

    /// Returns the ids of expired vouchers.
    pub fn over(&self, now: Millis) -> Vec<String> {
        let over = self.running().filter(|record| record.is_over(now));
        over.map(|record| record.voucher.id.clone()).collect()
    }

    pub fn used(&self, now: Millis) -> BTreeMap<String, Millis> {
        self.running()
            .filter(|record| record.voucher.origin != Origin::Free)
            .map(|record| (record.voucher.id.clone(), record.used(now)))
            .collect()
    }

    pub fn note_moved(&mut self, is_due: impl Fn(&Record) -> bool) -> BTreeMap<String, u64> {
        let limited = self.all.values_mut();
        let limited = limited.filter(|record| record.voucher.bytes.is_some() && record.is_in_use());
        let due = limited.filter(|record| is_due(record));
        due.map(|record| (record.voucher.id.clone(), record.note_moved()))
            .collect()
    }

    /// Returns true if a voucher can admit a device.
    pub fn is_good(&self, id: &str, when: (Millis, u64)) -> bool {
        let state = self.all.get(id).map(|record| record.state(when));
        matches!(state, Some(State::Available | State::Active))
    }

    /// Returns the priority of a voucher among those of its device. Of the begun vouchers the
    /// fastest comes first, then the one that ends first; paused time can wait. Unused vouchers
    /// follow in order of arrival, and free access is last.
    fn priority(&self, id: &str, now: Millis) -> (u8, Reverse<u64>, Millis) {
        match self.all.get(id) {
            Some(record) if record.voucher.origin == Origin::Free => (2, Reverse(0), 0),
            Some(record) if record.has_begun() => {
                let end = record.left(now).filter(|_| record.runs());
                (0, Reverse(record.rate()), end.unwrap_or(Millis::MAX))
            }
            _ => (1, Reverse(0), 0),
        }
    }

    /// Sorts the vouchers of a device by turn.
    pub fn sort(&self, ids: &mut [String], now: Millis) {
        ids.sort_by_key(|id| self.priority(id, now));
    }

    /// Returns true if a second voucher is of no use to a device: it ends earlier, or never begins,
    /// and is no faster.
    pub fn covers(&self, one: &str, other: &str, now: Millis) -> bool {
        let (Some(one), Some(other)) = (self.all.get(one), self.all.get(other)) else {
            return false;
        };
        let is_no_faster = one.rate() >= other.rate() || !other.has_begun();
        let ends_later = match (one.left(now), other.left(now)) {
            (None, _) => true,
            (Some(one_left), Some(left)) => one.runs() && other.runs() && one_left >= left,
            (Some(_), None) => false,
        };
        one.voucher.bytes.is_none() && is_no_faster && ends_later
    }

    /// Returns how long the vouchers admit a device one after the other, if the first lasts for
    /// `first`. `None`: without an end.
    pub fn in_turn(&self, first: Option<Millis>, next: &[String], now: Millis) -> Option<Millis> {
        let next = next.iter().filter_map(|id| self.all.get(id));
        next.fold(first, |end, record| {
            let (end, left) = (end?, record.left(now)?);
            Some(match record.runs() {
                true => end.max(left),
                false => end.saturating_add(left),
            })
        })
    }
}
