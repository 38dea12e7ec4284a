//! Totals of removed records. The kernel's table of a probe is bounded, and any host on the network
//! can make up stations. So when the table fills, inactive records are removed, and their values
//! are added to their port: sums never decrease.

use std::collections::{BTreeMap, HashMap, HashSet};

use kernel::Mac;

/// Subject of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Subject {
    /// Index of the port; 0 if unknown.
    pub link: u32,
    /// Label of the record, as the kernel numbers it; 0 for probes without a label.
    pub label: u32,
    /// Station at that port; all zero if unknown.
    pub station: Mac,
}

impl Subject {
    /// Returns the subject without a station.
    fn of_the_port(self) -> Self {
        Self {
            station: Mac::default(),
            ..self
        }
    }
}

/// A record: a counter's one number, or a histogram's sum and its buckets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Subject of the record.
    pub subject: Subject,
    /// The numbers.
    pub words: Vec<u64>,
}

/// Sums of one probe outside of the kernel.
#[derive(Debug)]
pub struct Ledger {
    room: usize,
    kept: HashMap<Subject, Vec<u64>>,
    /// The table at the previous reading, while the table fills.
    before: HashMap<Subject, Vec<u64>>,
}

impl Ledger {
    /// Creates a ledger. `room`: records of the kernel's table. The ledger never holds more than
    /// twice as many.
    pub fn new(room: usize) -> Self {
        Self {
            room,
            kept: HashMap::new(),
            before: HashMap::new(),
        }
    }

    /// Returns the records to remove from the kernel's table: if the table is three quarters full,
    /// those without growth since the last call, half of the room at most. Due every minute.
    pub fn stale(&mut self, records: Vec<Record>) -> Vec<Subject> {
        if records.len() < self.room / 4 * 3 {
            self.before.clear();
            return Vec::new();
        }
        let stale = records
            .iter()
            .filter(|record| self.before.get(&record.subject) == Some(&record.words))
            .map(|record| record.subject)
            .take(self.room / 2)
            .collect();
        self.before = records
            .into_iter()
            .map(|record| (record.subject, record.words))
            .collect();
        stale
    }

    /// Keeps the values of removed records.
    pub fn keep(&mut self, taken: Vec<Record>) {
        for Record { subject, words } in taken {
            self.before.remove(&subject);
            let mut at = subject.of_the_port();
            if !self.kept.contains_key(&at) && self.kept.len() >= self.room {
                // Ports come and go, and their indices with them.
                at.link = 0;
            }
            if !self.kept.contains_key(&at) && self.kept.len() >= self.room {
                at.label = 0;
            }
            add(self.kept.entry(at).or_default(), &words);
        }
    }

    /// Adds up the kernel's table and the kept totals, by port, label and station. `own` stations
    /// are omitted: they are devices of this router.
    pub fn sum(&self, records: Vec<Record>, own: &HashSet<Mac>) -> Vec<Record> {
        let mut sums: BTreeMap<Subject, Vec<u64>> = BTreeMap::new();
        let kept = self.kept.iter().map(|(subject, words)| Record {
            subject: *subject,
            words: words.clone(),
        });
        for Record { subject, words } in records.into_iter().chain(kept) {
            let subject = match own.contains(&subject.station) {
                true => subject.of_the_port(),
                false => subject,
            };
            add(sums.entry(subject).or_default(), &words);
        }
        let all = sums.into_iter();
        all.map(|(subject, words)| Record { subject, words })
            .collect()
    }
}

fn add(sum: &mut Vec<u64>, words: &[u64]) {
    if sum.len() < words.len() {
        sum.resize(words.len(), 0);
    }
    for (sum, word) in sum.iter_mut().zip(words) {
        *sum = sum.saturating_add(*word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(link: u32, label: u32, station: u8, word: u64) -> Record {
        Record {
            subject: Subject {
                link,
                label,
                station: [0, 0, 0, 0, 0, station],
            },
            words: vec![word],
        }
    }

    fn total(records: &[Record]) -> u64 {
        records.iter().map(|record| record.words[0]).sum()
    }

    #[test]
    fn what_stands_still_makes_room_and_is_not_lost() {
        let mut ledger = Ledger::new(8);
        let few: Vec<_> = (0..5).map(|n| record(1, 2, n, 10)).collect();
        assert!(ledger.stale(few.clone()).is_empty());
        assert!(ledger.stale(few).is_empty(), "there is room");
        let mut table: Vec<_> = (0..7).map(|n| record(1, 2, n, 10)).collect();
        assert!(
            ledger.stale(table.clone()).is_empty(),
            "nothing to compare with"
        );
        table[3].words[0] += 1;
        let before = total(&table);
        let stale = ledger.stale(table.clone());
        assert_eq!(stale.len(), 4, "half of the room");
        assert!(!stale.contains(&table[3].subject), "it moved");
        let (taken, left): (Vec<_>, Vec<_>) = table
            .into_iter()
            .partition(|record| stale.contains(&record.subject));
        ledger.keep(taken);
        let sums = ledger.sum(left, &HashSet::new());
        assert_eq!(total(&sums), before);
        let of_the_port = sums.iter().find(|r| r.subject.station == [0; 6]);
        assert_eq!(of_the_port.map(|r| r.words[0]), Some(40));
    }

    #[test]
    fn whatever_comes_memory_is_bounded_and_sums_hold() {
        let mut ledger = Ledger::new(16);
        for n in 0..10_000u32 {
            ledger.keep(vec![record(n, n % 100, n as u8, 1)]);
        }
        assert!(ledger.kept.len() <= 2 * 16, "{}", ledger.kept.len());
        let sums = ledger.sum(Vec::new(), &HashSet::new());
        assert_eq!(total(&sums), 10_000);
    }

    #[test]
    fn a_device_of_the_router_is_no_station() {
        let ledger = Ledger::new(8);
        let own = HashSet::from([[0, 0, 0, 0, 0, 9]]);
        let sums = ledger.sum(vec![record(1, 0, 9, 3), record(1, 0, 0, 4)], &own);
        assert_eq!(sums, [record(1, 0, 0, 7)]);
    }
}
